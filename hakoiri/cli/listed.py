"""The commands by panel of the help, each with the first line of its own help.

The list of commands is printed from this table, because importing all commands takes as long as all the rest of it.
"""

#: Panels, their commands in order, and the lines.
PANELS = {
    "Look at puzzles": {
        "puzzles": "List the puzzles and their options, or describe one of them.",
        "show": "Draw a configuration and list its key and its moves.",
        "play": "Play a puzzle on the terminal.",
        "new": "Write a small working puzzle for you to change.",
        "try": "Check a puzzle of yours on some of its configurations.",
    },
    "Run a search": {
        "run": "Find every configuration of a puzzle, in this process.",
        "enqueue": "Queue a run for the coordinator and return at once.",
        "status": "Show the status, progress and figures of a run.",
        "cancel": "Cancel a queued or running run.",
        "resume": "Continue a stopped run from its last commit.",
        "collect": "Copy a run from the hosts that keep it to this machine.",
    },
    "Ask a run": {
        "path": "Draw a shortest path, board by board.",
        "distance": "Show how many moves a configuration is from the start.",
        "layers": "Show the size and digest of each layer, or draw one layer.",
        "hardest": "Show the configurations farthest from their nearest goal.",
        "diameter": "Show the exact diameter of a component and its farthest pairs.",
        "components": "List the components, largest first, with exact diameters.",
        "component-of": "Show the component that a configuration belongs to.",
        "solutions": "Draw the stored solutions of a tree, such as a magic star.",
        "map": "Write a map: a component laid out in space.",
        "sample": "Draw random configurations, each as likely as any other.",
    },
    "Study deals, boards and sizes": {
        "study": "Study many deals, all boards of some pieces, or many sizes.",
        "hunt": "Look for the hardest deal by changing deals step by step.",
        "deal": "Print random deals, the same on every machine.",
        "solve": "Print the fewest moves per deal, or -1 if unsolvable.",
        "generate": "Make boards of a given difficulty, or random ones.",
        "optimise": "Look for the play with the highest score.",
        "contest": "Rank strategies by the rules of the Supercomputing Contest.",
        "replay": "Check and score a given solution or play.",
    },
    "Serve": {
        "coordinator": "Drive queued runs, by priority and then the oldest first, each to its end.",
        "worker": "Start worker processes and keep them alive until Ctrl-C.",
        "serve": "Serve runs on the web, and drive queued runs.",
        "health": "Check that the service works; exit with code 1 if not.",
        "drain": "Move all that a host keeps to the other hosts.",
    },
    "Keep": {
        "runs": "List all runs, the oldest first.",
        "verify": "Check a run or a certificate by deriving it again.",
        "export": "Write a run to files: tables, graphs, a page to play, a PDF.",
        "cite": "Print a run as an entry of BibTeX: what was found, its digest, and the command that makes it again.",
        "archive": "Copy a run to a folder or to a bucket of S3, with the runs that belong to it and checksums of "
        "all files.",
        "archives": "List the archives in a folder or in a bucket of S3.",
        "restore": "Restore a run from an archive, if all checksums are right.",
        "delete": "Delete runs and all their data.",
    },
}
PANEL_OF = {name: panel for panel, lines in PANELS.items() for name in lines}
