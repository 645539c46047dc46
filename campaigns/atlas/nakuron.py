"""Nakuron: plays of the length of the contest, beside what no play can score more than."""

from collections.abc import Sequence

from campaigns.atlas.entries import TO_FILE, VERIFY, Answer, Entry, Part, Row

_BOARDS, _SIZE, _SHORT_SIZE = 20, 250, 12
_SETTINGS, _MINUTES = (1, 2, 3), (5, 10, 15)
_BOARD = "board.txt"


def _plays(name: str, setting: int, size: int, boards: range, ends: tuple[str, str], short: bool = False) -> Entry:
    """A play of each board of some seeds, that ends as `ends` says."""

    def lines(seed: int) -> list[tuple[str, ...]]:
        drawn = ("generate", "nakuron", "--size", f"{size}", "--setting", f"{setting}", "--seed", f"{seed}")
        return [(*drawn, TO_FILE, _BOARD), ("optimise", "nakuron", "--from", _BOARD, *ends)]

    def rows(answers: Sequence[Answer]) -> list[Row]:
        plays = [answer for answer in answers if "score" in answer]
        scores, bounds = ([play[each] for play in plays] for each in ("score", "bound"))
        spread = f"{min(scores):,} / {sum(scores) / len(scores):,.1f} / {max(scores):,}"
        moves, bound = (sum(values) / len(plays) for values in ([play["moves"] for play in plays], bounds))
        means = {"moves": f"{moves:,.1f}", "bound": f"{bound:,.1f}"}
        return [{"row": name, "boards": len(plays), "scores": spread} | means]

    *every, _ = (line for seed in boards for line in (*lines(seed), VERIFY))
    return Entry(name, tuple(every), rows, short)


def _contest(setting: int, minutes: int, boards: range) -> Entry:
    seeds = f"board {boards[0]}" if len(boards) == 1 else f"boards {boards[0]} to {boards[-1]}"
    return _plays(f"setting {setting}, {minutes} minutes, {seeds}", setting, _SIZE, boards, ("--time", f"{minutes}m"))


_GROUPS = (range(1, 2), range(2, _BOARDS + 1))
NAKURON = Part(
    "nakuron",
    "Nakuron: plays as long as those of the contest",
    f"Boards of {_SIZE} x {_SIZE} by the three settings of the Supercomputing Contest of 2011, seeds from 1 on. A "
    "beam plays each for 5, 10 and 15 minutes of the clock, by all threads that there are. It is as wide as that time "
    "allows, so what the machine did besides counts; *CPU s* below says how much of it a play had. *Bound* is "
    "what no play can score more than, proved (the mean over the boards). A play that was stopped has its time again. "
    "The first row is of boards that end in a moment.",
    {"boards": "boards", "scores": "score: least / mean / most", "moves": "moves", "bound": "bound"},
    (
        _plays("12 x 12, setting 1, two rounds", 1, _SHORT_SIZE, range(1, 3), ("--rounds", "2"), True),
        *(_contest(setting, minutes, boards) for boards in _GROUPS for minutes in _MINUTES for setting in _SETTINGS),
    ),
)
