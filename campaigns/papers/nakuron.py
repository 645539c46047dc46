"""Supercomputing Contest 2011: Nakuron."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from campaigns.atlas.entries import Answer
from campaigns.papers.claims import Claim, Ours, Paper, Work, field

_CONTEST = "a contest of other programs on a machine of its own (SX-8R)"
#: The paper's four games, from worse to better by its hints; ``sample`` is its sample program.
_GAMES = ("cycle", "random", "greedy", "two-step", "sample")
_PRICES = ("0", "0.3", "0.4", "0.5", "0.6", "0.5^")
#: Parts of the cells: balls of each colour, and walls.
_PARTS = {1: ("9/40", "1/10"), 2: ("17/80", "3/20"), 3: ("1/5", "1/5")}
_FRAME = {1: "red", 2: "yellow", 3: "green", 4: "blue", 5: "wall"}


def _scores(answers: Sequence[Answer], named: str, what: str = "mean score") -> list[float]:
    """Return a column of the study, one value per setting."""
    return [row[what] for row in answers[0]["rows"] if row["strategy"] == named]


def _mean(answers: Sequence[Answer], named: str) -> float:
    scores = _scores(answers, named)
    return sum(scores) / len(scores)


def _by_setting(named: str) -> Ours:
    """Describe the scores in settings 1, 2 and 3, their mean and CPU seconds."""

    def told(answers: Sequence[Answer]) -> str:
        scores, seconds = _scores(answers, named), sum(_scores(answers, named, "CPU s"))
        listed = " / ".join(f"{score:,.0f}" for score in scores)
        return f"{listed}; mean {_mean(answers, named):,.0f}; {seconds:.1f} CPU s a board of each"

    return told


def _in_order(less: str, more: str) -> dict[str, Any]:
    """Make a claim that one strategy scores more than another; in small boxes it need not."""
    return {
        "ours": lambda answers: f"{_mean(answers, more):,.0f} and {_mean(answers, less):,.0f}",
        "holds": lambda answers: _mean(answers, more) > _mean(answers, less),
    }


def _longer(answers: Sequence[Answer], what: str) -> list[float]:
    return [_scores(answers, "two-step", what)[number] for number in (0, 1, 2)]


def _study(name: str, size: int, boards: int, width: int, short: bool) -> Work:
    line = ("study", "nakuron", "--size", f"{size}", "--boards", f"{boards}", "--width", f"{width}")
    row, beam = f"hints, {size} x {size}", f"beam {width}, price 0.5"
    return Work(
        name,
        (line,),
        (
            *(
                Claim(row, f"scores by {game}", _HINTS[game], _by_setting(game), "", "answered") for game in _GAMES
            ),
            *(
                Claim(row, f"scores by a beam of width {width}, a lost ball costs {_priced(price)}", "not asked",
                      _by_setting(f"beam {width}, price {price}"), "", "answered")
                for price in _PRICES
            ),
            Claim(row, "greedy by two steps scores more than greedy", "may", **_in_order("greedy", "two-step")),
            Claim(row, "other values of a board are worth trying: a beam and greedy by two steps", "more",
                  **_in_order("two-step", beam)),
            Claim(row, "with more walls a play has more moves: two-step, by setting", "more",
                  lambda answers: _longer(answers, "mean moves"),
                  holds=lambda answers: _longer(answers, "mean moves") == sorted(_longer(answers, "mean moves"))),
        ),
        short,
    )  # fmt: skip


_HINTS = {
    "cycle": "fast, no high score", "random": "no high score", "greedy": "simple", "two-step": "may be tried",
    "sample": "not told",
}  # fmt: skip


def _priced(price: str) -> str:
    base = float(price.rstrip("^"))
    return f"{0.7 * base:g} to {1.2 * base:g}, rising" if "^" in price else f"{base:g}"


def _teams(answers: Sequence[Answer]) -> str:
    return ", ".join(f"{team['place']}. {team['team']} {team['points']}" for team in answers[0]["teams"])


def _by_rank(setting: int) -> Ours:
    def found(answers: Sequence[Answer]) -> list[Any]:
        plays = [play for play in answers[0]["plays"] if play["setting"] == setting]
        return [play["points"] for play in sorted(plays, key=lambda play: play["rank"])]

    return found


def _ties(answers: Sequence[Answer]) -> bool:
    """Return True if equal scores are ranked by fewer moves, and then by less time."""
    plays = sorted(answers[0]["plays"], key=lambda play: (play["board"], play["setting"], play["rank"]))
    return plays == sorted(
        plays, key=lambda play: (play["board"], play["setting"], -play["score"], play["moves"], play["seconds"])
    )


def _cells(setting: int) -> Ours:
    """Describe which parts of a drawn board are balls of one colour, and walls."""

    def told(answers: Sequence[Answer]) -> str:
        return "{:.3f}, {:.3f}".format(*_parts(answers, setting))

    return told


def _parts(answers: Sequence[Answer], setting: int) -> tuple[float, float]:
    answer = answers[setting - 1]
    cells = "".join(answer["board"].split("/")[5:])
    return answer["balls"] / len(cells) / 4, cells.count("5") / len(cells)


def _near(answers: Sequence[Answer], setting: int) -> bool:
    wanted = map(Fraction, _PARTS[setting])
    return all(abs(found - part) < 0.005 for found, part in zip(_parts(answers, setting), wanted, strict=True))


def _frame(answers: Sequence[Answer]) -> Counter[str]:
    return Counter("".join("".join(answer["board"].split("/")[1:5]) for answer in answers[:3]))


_SMALL = Work(
    "a small board",
    (
        ("run", "nakuron", "--from", "examples/nakuron.txt"),
        ("components", "last", "--strong", "--limit", "1"),
        ("replay", "nakuron", "examples/nakuron.txt", "012-1 33"),
        ("optimise", "nakuron", "--from", "examples/nakuron.txt", "--strategy", "greedy", "--rounds", "1"),
    ),
    (
        Claim("hints", "small boards can be searched in full: the best score of one of 8 x 8", "not told",
              field("score"), "proved: all 3,941 boards that it leads to", "answered"),
        Claim("hints", "its score by the greedy method, the best of three sides", "not told", field("score", number=3),
              "", "answered"),
        Claim("rules", "boards may come back after some moves: boards on a cycle", "some",
              lambda answers: f"{answers[1]['configurations'] - answers[1]['single']:,}",
              holds=lambda answers: answers[1]["configurations"] > answers[1]["single"]),
        Claim("rules", "moves after the stop code do not count: moves of 012-1 33", 3, field("moves", number=2)),
    ),
)  # fmt: skip
_TABLE_1 = Work(
    "table 1",
    tuple(("generate", "nakuron", "--setting", f"{setting}") for setting in _PARTS),
    (
        *(
            Claim("table 1", f"problem {setting}: balls of each colour, and walls, as parts of the cells",
                  " and ".join(_PARTS[setting]), _cells(setting),
                  holds=partial(_near, setting=setting))
            for setting in _PARTS
        ),
        Claim("rules", "of the frame a fifth each is red, yellow, green, blue and wall: 3,000 cells", [600] * 5,
              lambda answers: [_frame(answers)[f"{colour}"] for colour in _FRAME],
              holds=lambda answers: all(abs(count - 600) < 80 for count in _frame(answers).values())),
    ),
)  # fmt: skip
_RULES = Work(
    "a contest",
    (("contest", "nakuron", "--size", "40", "--time", "2s", "--boards", "1"),),
    (
        *(
            Claim("ranking", f"points for problem {setting} by rank, {bonus}", [11 + extra, 10, 9, 8, 7, 6],
                  _by_rank(setting))
            for setting, extra, bonus in ((1, 0, "no bonus"), (2, 1, "a bonus of 1"), (3, 2, "a bonus of 2"))
        ),
        Claim("ranking", "equal scores are ranked by fewer moves, and then by less time", True, _ties),
        Claim("ranking", "the winner of six strategies", "not told", _teams,
              "2, 4 and 6 seconds on one core; without --time it is 5, 10 and 15 minutes", "answered"),
    ),
    short=False,
)  # fmt: skip
NAKURON = Paper(
    "nakuron",
    "Supercomputing Contest 2011: Nakuron",
    "A box of balls is tilted, and they drop through holes. The scan has lost figures 1 to 3. Scores are listed for "
    "problems 1 / 2 / 3 of table 1.",
    (
        _SMALL,
        _TABLE_1,
        _RULES,
        _study("strategies, small", 40, 2, 10, short=True),
        _study("strategies", 250, 1, 10, short=False),
        Work(
            "history",
            (),
            (
                Claim("ranking", "who won, with which scores", "not in this text", why=_CONTEST),
                Claim("figure 1", "the first move, to the right, scores", 7, why="the figure is lost"),
                Claim("figure 1", "its red, yellow, green and blue balls", [8, 15, 16, 14], why="the figure is lost"),
                Claim("hints", "boards of 250 x 250 cannot be searched in full within 10 minutes", "yes",
                      why="no search shows that there is no faster one"),
                Claim("background", "Tetris and Puyo Puyo are NP-hard", "yes", why="a theorem about other games"),
            ),
        ),
    ),
)  # fmt: skip
