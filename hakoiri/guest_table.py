"""The guests' rows of the tables of puzzles, kinds of run, tasks, questions and commands, and of answers.

A guest is a folder of `hakoiri/guests`. All names are text: a module and a name in it, imported when needed
(`hakoiri.loading`). Nothing else outside of the guests says what is in them.
"""

_G = "hakoiri.guests."
#: Puzzles by name (`hakoiri.puzzles.registry`).
PUZZLES = {
    "gap": f"{_G}deals.solitaire:Gap",
    "magic-star": f"{_G}stars.magic_star:MagicStar",
    "nakuron": f"{_G}nakuron.puzzle:Nakuron",
    "sliding": f"{_G}boards.puzzle:Sliding",
    "superpuzz": f"{_G}deals.solitaire:Superpuzz",
}
#: Kinds of run by the name in manifests (`coordinator.runs.kinds`).
KINDS = {
    "tree": f"{_G}stars.kind:TreeKind",
    "study": f"{_G}deals.kind:DealsKind",
    "sizes": f"{_G}sizes.kind:SizesKind",
    "boards": f"{_G}boards.kind:MixesKind",
    "starts": f"{_G}starts.kind:StartsKind",
    "cosets": f"{_G}cosets.kind:CosetsKind",
    "generate": f"{_G}boards.kind:BoardsKind",
    "hunt": f"{_G}deals.kind:HuntKind",
    "optimise": f"{_G}nakuron.kind:OptimiseKind",
}
_REQUEST, _GROUND = "; u1[B]; u1[A]", "u8[4,256,4] u8[4,256,4] u8[4,3,D256,4] u8[1]<9"
_PLANES = f"{_GROUND}; u8[M,3,D,4] int[P]<M int[P]<4; u8[N,3,D,4] u8[N,2] i4[N,4] i4[N,4]"
#: Tasks of workers: the form, the function, and perhaps that for the answer without its time (`worker.tasks.Task`).
TASKS: dict[str, tuple[str, ...]] = {
    "coset": (_REQUEST, f"{_G}cosets.filling:task"),
    "design": (_REQUEST, f"{_G}boards.designing:task"),
    "hunt": (_REQUEST, f"{_G}deals.tasks:hunt"),
    "member": (_REQUEST, f"{_G}boards.family:task"),
    "solve": (_REQUEST, f"{_G}deals.tasks:solve", f"{_G}deals.tasks:untimed"),
    "start": (_REQUEST, f"{_G}deals.searching:task"),
    "subtrees": ("; keys[K]; i8[5] u8[2] keys[F]", f"{_G}stars.counting:subtrees", f"{_G}stars.counting:untimed"),
    # A scored puzzle may have a row of its own: the task and its `mover` (`guests.nakuron.scored.Scored`).
    "move": ("; any[M,W] int[P]<M int[P]; u8[N,W] u8[N,2] i4[N,O] i4[N,O]", f"{_G}nakuron.moving:move"),
    "move planes": (_PLANES, f"{_G}nakuron.tilting:move"),
    "play": (f"{_GROUND} u8[3,D,4]; u1[B]; u1[A]", f"{_G}nakuron.tilting:play"),
}
#: Questions to a run, as in `questions.question.QUESTIONS`.
QUESTIONS = {
    "solutions": f"{_G}stars.questions:Solutions",
    "/solution-pictures": f"{_G}stars.questions:SolutionPictures",
    "/best-play": f"{_G}nakuron.best_play:BestPlay",
}
#: What some runs can answer, and the function that refuses the question to others (`hakoiri.questions.abilities`).
REFUSALS = {
    "statistics": f"{_G}boards.statistics:require_statistics",
    "solutions": f"{_G}stars.solutions:require_solutions",
    "play": f"{_G}nakuron.best_play:require_plays",
}
#: Commands that are neither a kind of run nor a question, by module (`hakoiri.cli.app`).
COMMANDS = {
    f"{_G}deals.commands": "deal solve replay",
    f"{_G}nakuron.commands": "study generate contest",
    f"{_G}stars.commands": "study",
}
#: Functions for the answers of any run (`hakoiri.api`), for files of some runs, and for plays of boards without keys.
ANSWERS = {
    "best play": f"{_G}nakuron.best_play:play_of",
    "solutions": f"{_G}stars.solutions:solutions_of",
    "statistics": f"{_G}boards.statistics:statistics_of",
    "tree": f"{_G}stars.solutions:tree_of",
    "each solution": f"{_G}stars.solutions:each_solution",
    "file of solutions": f"{_G}stars.solutions:write_solutions",
    "boards to print": f"{_G}boards.print_sheet:require_printed",
    "sheet of boards": f"{_G}boards.print_sheet:write_print_sheet",
    "plot of deals": f"{_G}deals.plots:plot_study",
    "tables of sizes": f"{_G}sizes.job:b_files",
}
