"""Puzzles that break one promise each, by the check that must refuse them: a table of what they change of `Dial`."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.puzzles.contract import BitKernel, Expansion, Puzzle
from hakoiri.puzzles.options import Number
from hakoiri.puzzles.quotient import MergedMirrors
from tests.support.conformance.dial import Dial, aiming_at, changed, flags

#: Each has its check as `refused_by`.
BROKEN: list[Any] = []


def _broken(check: str, name: str, base: type[Puzzle] = Dial, /, **changes: Any) -> None:
    """Add a puzzle that this check must refuse, and no other one."""
    BROKEN.append(changed(name, base, refused_by=check, **changes))


def _fails(error: Exception) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise error

    return fail


def _prepared(**made: Callable[[Any], Any]) -> Callable[[Any, str | None], None]:
    """Return a `prepare` that sets these attributes, too."""

    def prepare(self: Any, start: str | None) -> None:
        Dial.prepare(self, start)
        for name, make in made.items():
            setattr(self, name, make(self))

    return prepare


def _expanding(change: Callable[..., Any]) -> Callable[[Any, Keys], Expansion]:
    """Return an `expand` that gives what `change` makes of the puzzle, successors and counts."""
    return lambda self, keys: Expansion(*change(self, *Dial.expand(self, keys)))


def _byte_swapped(keys: Keys) -> Keys:
    """The bytes of the numbers in the other order."""
    return keys.astype(keys.dtype.newbyteorder())


def _refusing(mark: int) -> Callable[[Any, Key], None]:
    """Return a `check_key` that refuses a mark that there is."""

    def check_key(self: Any, key: Key) -> None:
        Dial.check_key(self, key)
        if self.mark_of(key) == mark:
            raise ConfigurationError(f"{key:#x} has mark {mark}, which this puzzle refuses")

    return check_key


# What is said of the puzzle


class _Silent(Number):
    def describe(self) -> str:
        return ""


def _takes_any_option(self: Any, options: Mapping[str, str] | None = None, start: str | None = None) -> None:
    Dial.__init__(self, {name: value for name, value in (options or {}).items() if name in self.options}, start)


def _pins_wrongly(self: Any, start: str | None) -> None:
    Dial.prepare(self, start)
    if start is None:
        self.parameters["marks"] = str(self.marks - 2)


def _prepare_first(self: Any, start: str | None) -> None:
    Dial.prepare(self, start)
    self.is_usual = start is None


_broken("attributes", "NamedInCapitals", name="The Dial")
_broken("attributes", "HasMoreSuccessorsThanCountsHold", most_successors=1 << 16)
_broken("attributes", "DoesNotSayWhatIsAllowed", options=MappingProxyType({**Dial.options, "hands": _Silent(1, 1, 3)}))
_broken("attributes", "OfNoVersion", version=0)
_broken("attributes", "TakesAnyOption", __init__=_takes_any_option)
_broken("start", "StartsElsewhereByItsText", start_text=lambda self: "at 8")
_broken("start", "StartsOnTwoLines", start_text=lambda self: f"{Dial.start_text(self)}\n")
_broken(
    "start", "WritesItsStartAnew", prepare=_prepare_first,
    start_text=lambda self: Dial.start_text(self) if self.is_usual else f"{self.start:#x}",
)  # fmt: skip
_broken("start", "PinsAnOptionWrongly", prepare=_pins_wrongly)

# Texts


def _reads_small_letters_alone(self: Any, text: Any) -> Key:
    if str(text).startswith("0X"):
        raise ConfigurationError(f"{text!r} is no key")
    return Dial.parse(self, text)


def _takes_any_number(self: Any, text: str) -> Key:
    digits = text.removeprefix("at ")
    return int(digits) * int(self.stride) if digits.isdecimal() else Dial.parse_text(self, text)


def _refuses_in_two_lines(self: Any, text: str) -> Key:
    try:
        return Dial.parse_text(self, text)
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}\nwrite: at 7") from error


def _stumbles(self: Any, key: Key) -> None:
    assert key % self.stride == 0


_AS_EVER: dict[str, Any] = {"start_text": lambda self: Dial.render(self, self.start)}
_broken("texts", "WritesAnotherMark", render=lambda self, key: f"at {(self.mark_of(key) + 1) % self.marks}", **_AS_EVER)
_broken("texts", "WritesABlank", render=lambda self, key: f"{Dial.render(self, key)} ", **_AS_EVER)
_broken("texts", "ReadsSmallLettersAlone", parse=_reads_small_letters_alone)
_broken(
    "texts", "WritesTwoLines", render=lambda self, key: f"at\n{self.mark_of(key)}",
    parse_text=lambda self, text: Dial.parse_text(self, text.replace("\n", " ")), **_AS_EVER,
)  # fmt: skip
_broken("refusals", "StumblesOverTexts", parse_text=lambda self, text: self.key_of(int(text.removeprefix("at "))))
_broken("refusals", "TakesNothingForTheStart", parse_text=lambda self, text: Dial.parse_text(self, text or "at 7"))
_broken("refusals", "TakesAnyNumber", parse_text=_takes_any_number)
_broken(
    "refusals", "TakesKeysBetweenMarks", configurations=Puzzle.configurations,
    check_key=lambda self, key: Dial.check_key(self, key // self.stride * self.stride),
)  # fmt: skip
_broken("refusals", "RefusesInTwoLines", parse_text=_refuses_in_two_lines)
_broken("refusals", "StumblesOverKeys", configurations=Puzzle.configurations, check_key=_stumbles)

# The whole space


def _listing(name: str, listed: Callable[[Any, list[Keys]], Any]) -> None:
    """Add a puzzle that lists what `listed` makes of the blocks."""

    def configurations(self: Any) -> Iterator[Keys]:
        yield from listed(self, list(Dial.configurations(self)))

    _broken("listing", name, configurations=configurations)


_listing("ListsOneTwice", lambda it, blocks: [it.keys(sorted([*ints(block), ints(block)[4]])) for block in blocks])
_listing("ListsBlocksThatOverlap", lambda it, blocks: [blocks[0], blocks[0][-1:], *blocks[1:]])
_listing("ListsInDisorder", lambda it, blocks: blocks[::-1])
_listing(
    "LeavesOneOut",
    lambda it, blocks: [it.keys([key for key in ints(block) if it.mark_of(key) != 8]) for block in blocks],
)
_listing("ListsNothingBeyond", lambda it, blocks: [it.keys([it.key_of(mark) for mark in range(7)])])
_listing(
    "ListsAnotherLayout", lambda it, blocks: [_byte_swapped(block) if ints(block)[0] else block for block in blocks]
)
# A fault at keys that the walks do not reach.
_broken("listing", "RefusesWhatItLists", check_key=_refusing(153))
_broken(
    "listing", "TakesWhatItDoesNotList", check_key=lambda self, key: None,
    render=lambda self, key: Dial.render(self, key) if key % self.stride == 0 else f"{key:#x}",
)  # fmt: skip

# Pictures, goals, and whether a number is a key


def _sees_the_first_alone(self: Any, keys: Keys) -> Any:
    found = Dial.is_goal(self, keys)
    found[1:] = False
    return found


_broken(
    "pictures", "HasTwoPartsOfOneName",
    pictures=lambda self, path: [each._replace(parts=each.parts * 2) for each in Dial.pictures(self, path)],
)  # fmt: skip
_broken("pictures", "DrawsTheEndsAlone", pictures=lambda self, path: Dial.pictures(self, [path[0], path[-1]]))
_broken("pictures", "WritesThePathBackwards", render_path=lambda self, path: Dial.render_path(self, path[::-1]))
_broken("goals", "AimsElsewhere", is_goal=aiming_at(lambda self, mark: False))
_broken("goals", "SaysGoalsInNumbers", is_goal=lambda self, keys: Dial.is_goal(self, keys).astype(np.uint8))
_broken("goals", "SeesTheFirstGoalAlone", is_goal=_sees_the_first_alone)
_broken("goals", "NamesAnotherGoal", only_goal=0)
_broken(
    "keys", "RefusesAKeyOfItsOwn",
    are_keys=lambda self, keys: Dial.are_keys(self, keys) & flags(self.mark_of(key) != 7 for key in ints(keys)),
)  # fmt: skip
_broken("keys", "SaysKeysInNumbers", are_keys=lambda self, keys: Dial.are_keys(self, keys).astype(np.uint8))

# The reference rules

_broken("rules", "LeadsToNothing", successors=lambda self, key: [*Dial.successors(self, key)[:1], key + 1])
_broken(
    "rules", "LeavesTheKeys",
    successors=lambda self, key: [*Dial.successors(self, key)[:1], self.layout.greatest + 1],
    check_key=lambda self, key: Dial.check_key(self, key % (self.layout.greatest + 1)),
)  # fmt: skip
_broken("rules", "FailsToList", configurations=_fails(PuzzleError("too many")))
_broken("rules", "RefusesItsOwn", check_key=_refusing(9))

# The kernel


def _forgets_a_successor(_: Any, successors: Keys, counts: Any) -> tuple[Keys, Any]:
    counts[3:4] = 1
    return np.delete(successors, slice(6, 7 if len(counts) > 3 else 6), axis=0), counts


def _leads_elsewhere(self: Any, keys: Keys) -> Expansion:
    steps = ((key, step) for key in ints(keys) for step in (1, -1 - (key == self.start)))
    further = [self.key_of(self.mark_of(key) + step) for key, step in steps]
    return Expansion(self.keys(further), Dial.expand(self, keys).counts)


def _gives_one_twice(self: Any, keys: Keys) -> Expansion:
    found = [key for each in ints(keys) for key in (*self.successors(each), self.successors(each)[0])]
    return Expansion(self.keys(found), np.full(len(keys), 3, dtype=np.uint16))


def _swaps_neighbours(_: Any, successors: Keys, counts: Any) -> tuple[Keys, Any]:
    successors[1:3] = successors[1:3][::-1].copy()
    return successors, counts


def _fails_at_the_end(_: Any, successors: Keys, counts: Any) -> tuple[Keys, Any]:
    successors[1_024:] = successors[:1].copy()
    return successors, counts


def _keeps_the_successors(self: Any, keys: Keys) -> Expansion:
    successors, counts = Dial.expand(self, keys)
    return Expansion(self.known.setdefault(keys.tobytes(), successors), counts)


def _reuses_its_room(self: Any, successors: Keys, counts: Any) -> tuple[Keys, Any]:
    self.room[: len(successors)] = successors
    return self.room[: len(successors)], counts


def _changes_its_batch(self: Any, keys: Keys) -> Expansion:
    expansion = Dial.expand(self, keys)
    keys[:] = 0
    return expansion


def _needs_a_key(self: Any, keys: Keys) -> Expansion:
    assert len(keys)
    return Dial.expand(self, keys)


def _counts_too_many(_: Any, successors: Keys, counts: Any) -> tuple[Keys, Any]:
    counts[-1:] += 1
    return successors, counts


def _drops_the_upper_half(_: Any, successors: Keys, counts: Any) -> tuple[Keys, Any]:
    """In each word: what a kernel does that was written for narrower keys."""
    return successors & successors.dtype.type((1 << successors.dtype.itemsize * 4) - 1), counts


def _drops_the_first_word(self: Any, successors: Keys, counts: Any) -> tuple[Keys, Any]:
    """Drops the first word of wide keys, and the sign of others."""
    if self.layout.words > 1:
        successors[:, 0] = 0
    return successors & successors.dtype.type(self.layout.greatest >> 1 & (1 << 63) - 1), counts


def _prepare_numbers(self: Any, start: str | None) -> None:
    Dial.prepare(self, start)
    self.stride, self.total = 1, self.marks


_broken("expand", "ForgetsASuccessor", expand=_expanding(_forgets_a_successor))
_broken("expand", "LeadsSomewhereElse", expand=_leads_elsewhere)
_broken("expand", "GivesOneTwice", most_successors=3, expand=_gives_one_twice)
_broken("expand", "SwapsNeighboursOfABatch", expand=_expanding(_swaps_neighbours))
_broken("expand", "FailsAtTheEndOfLongBatches", expand=_expanding(_fails_at_the_end))
_broken("expand", "KeepsTheSuccessors", prepare=_prepared(known=lambda self: {}), expand=_keeps_the_successors)
_broken(
    "expand", "ReusesItsRoom", prepare=_prepared(room=lambda self: self.layout.empty(10_000)),
    expand=_expanding(_reuses_its_room),
)  # fmt: skip
_broken(
    "expand", "KeepsTheCounts", prepare=_prepared(counts=lambda self: {}),
    expand=_expanding(lambda self, keys, counts: (keys, self.counts.setdefault(len(counts), counts))),
)  # fmt: skip
_broken("expand", "ChangesItsBatch", expand=_changes_its_batch)
_broken("expand", "NeedsAKey", expand=_needs_a_key)
_broken("expand", "CountsInOtherNumbers", expand=_expanding(lambda _, keys, counts: (keys, counts.astype(np.int64))))
_broken("expand", "CountsTooMany", most_successors=3, expand=_expanding(_counts_too_many))
_broken("expand", "GivesAnotherLayout", expand=_expanding(lambda _, keys, counts: (_byte_swapped(keys), counts)))
_broken("expand", "HasMoreSuccessorsThanItSays", most_successors=1)
_broken("expand", "DropsTheUpperHalf", expand=_expanding(_drops_the_upper_half))
_broken("expand", "DropsTheFirstWord", expand=_expanding(_drops_the_first_word))
_broken("expand", "SetsNoBits", prepare=_prepare_numbers, spread=property(lambda self: BitKernel(lambda *_: None)))
_broken(
    "undirected", "GoesOneWay", has_mirrors=False, canonical=Puzzle.canonical,
    successors=lambda self, key: Dial.successors(self, key)[:1],
)  # fmt: skip

# Moves in words, and those of merged mirrors


def _loses_its_words(self: Any, before: Key, after: Key) -> str:
    if before > after:
        raise KeyError(after)
    return Dial.describe_move(self, before, after)


def _lifts_to_other_classes(self: Any, path: list[Key], start: Key) -> list[Key]:
    real = [start]
    while len(real) < len(path):
        real.append(self.base.successors(real[-1])[0])
    return real


def _lifts_by_leaps(self: Any, path: list[Key], start: Key) -> list[Key]:
    """From one side of the mirror to the other."""
    return [self.base.key_of(self.base.mark_of(key) * (-1) ** place) for place, key in enumerate(path)]


_ON: dict[str, Any] = {"describe_moves": lambda self, path: ["on"] * (len(path) - 1)}
_broken(
    "moves in words", "HasNoWords", **_ON,
    describe_move=lambda self, *move: Dial.describe_move(self, *move).removeprefix("on"),
)  # fmt: skip
_broken("moves in words", "SaysTheSameOfAll", describe_move=lambda *_: "one mark further")
_broken("moves in words", "LosesItsWords", describe_move=_loses_its_words)
_broken(
    "moves in words", "SaysMovesInTwoLines", **_ON,
    describe_move=lambda self, *move: "one mark\n" + Dial.describe_move(self, *move),
)  # fmt: skip
_broken(
    "moves in words", "SaysPathsInTwoLines",
    describe_moves=lambda self, path: [f"{said}\n" for said in Dial.describe_moves(self, path)],
)  # fmt: skip
_broken("moves in words", "TellsOneMoveTooFew", describe_moves=lambda self, path: Dial.describe_moves(self, path)[1:])
_broken("moves in words", "LiftsToOtherClasses", MergedMirrors, lift=_lifts_to_other_classes)
_broken("moves in words", "LiftsByLeaps", MergedMirrors, lift=_lifts_by_leaps)

# Mirror images


def _mirroring(image: Callable[[Any, Key], Key]) -> Callable[[Any, Keys], Keys]:
    """Return a `canonical` by the image of each key."""
    return lambda self, keys: self.keys([image(self, key) for key in ints(keys)])


def _forgets_the_last(self: Any, keys: Keys) -> Keys:
    images = Dial.canonical(self, keys)
    if len(keys) > 4:
        images[-1] = keys[-1]
    return images


_NO_MIRRORS: dict[str, Any] = {"has_mirrors": False, "canonical": Puzzle.canonical}
_broken("mirrors", "TurnsTheImageOn", canonical=_mirroring(lambda self, key: key - (self.stride if key else 0)))
_broken(
    "mirrors", "TakesTheGreaterImage",
    canonical=_mirroring(lambda self, key: max(key, self.key_of(-self.mark_of(key)))),
)  # fmt: skip
# Pairs of neighbours are no images of each other.
_broken(
    "mirrors", "MirrorsWithoutKeepingMoves",
    canonical=_mirroring(lambda self, key: self.key_of(self.mark_of(key) & ~1)),
    is_goal=aiming_at(lambda self, mark: mark // 2 == self.marks // 4),
)  # fmt: skip
_broken("mirrors", "MirrorsAwayFromTheGoal", is_goal=aiming_at(lambda self, mark: 2 * mark >= self.marks))
_broken("mirrors", "ForgetsTheLastOfManyImages", canonical=_forgets_the_last)
_broken(
    "mirrors", "GivesImagesInAnotherLayout",
    canonical=lambda self, keys: _byte_swapped(Dial.canonical(self, keys)),
)  # fmt: skip
# Though all are alike: each leads to the same two.
_broken(
    "mirrors", "HasImagesOfImages", undirected=False, vertex_transitive=False, describe_move=Puzzle.describe_move,
    successors=lambda self, key: [self.key_of(7), self.key_of(8)], is_goal=aiming_at(lambda self, mark: True),
    canonical=_mirroring(lambda self, key: max(0, key - self.stride)),
)  # fmt: skip


def _with_mirrors(image: Callable[[Any, Key], Key]) -> Callable[[Any], list[Callable[[Keys], Keys]]]:
    """Return `mirrors` with one map."""
    return lambda self: [lambda keys: self.keys([image(self, key) for key in ints(keys)])]


def _opposite(self: Any, key: Key) -> Key:
    return int(self.key_of(-self.mark_of(key)))


_broken(
    "mirrors",
    "MirrorsNeighboursOnEachOther",
    mirrors=_with_mirrors(lambda self, key: self.key_of(self.mark_of(key) ^ 1)),
)
_broken("mirrors", "NamesNotWhatItMirrors", mirrors=_with_mirrors(lambda self, key: self.key_of(self.mark_of(key) + 1)))
_broken(
    "mirrors", "CountsMarkZeroTwice", mirrors=_with_mirrors(_opposite),
    usual_start=lambda self: 0, orbit_sizes=lambda self, keys: np.full(len(keys), 2, dtype=np.int64),
)  # fmt: skip
_broken("mirrors", "HasNoImagesAfterAll", canonical=Puzzle.canonical)
_broken("mirrors", "HidesItsImages", has_mirrors=False)

# Orbits and symmetry maps


def _of_two_dials(self: Any, key: Key) -> list[Key]:
    """Of 80 and of 120 marks: each has two successors, but not all have so many further on."""
    mark = self.mark_of(key)
    first, size = (0, 80) if mark < 80 else (80, 120)
    return [self.key_of(first + (mark - first + step) % size) for step in (1, -1)]


def _with_a_gap(self: Any, key: Key) -> list[Key]:
    return [after for after in Dial.successors(self, key) if {0, self.key_of(-1)} != {key, after}]


def _trades_two_marks(self: Any) -> list[Callable[[Keys], Keys]]:
    traded = {self.key_of(3): self.key_of(4), self.key_of(4): self.key_of(3)}
    return [lambda keys: self.keys([traded.get(key, key) for key in ints(keys)])]


_broken("orbits", "IsNotAlikeEverywhere", **_NO_MIRRORS, successors=_with_a_gap)
# All marks are alike, and yet not all lead to the same orbits.
_broken(
    "orbits", "SaysOrbitsOfTens",
    orbits=lambda self, keys: np.array([self.mark_of(key) // 10 % 2 for key in ints(keys)], dtype=np.int64),
)  # fmt: skip
_broken(
    "orbits", "SaysOrbitsByThePlace",
    orbits=lambda self, keys: np.array([not place and len(keys) > 4 for place in range(len(keys))], dtype=np.int64),
)  # fmt: skip
_broken("orbits", "SaysOrbitsInSmallNumbers", orbits=lambda self, keys: np.zeros(len(keys), dtype=np.int32))
_broken(
    "orbits", "HasTwoDials", **_NO_MIRRORS, successors=_of_two_dials,
    describe_move=lambda self, before, after: f"to {after}",
)  # fmt: skip
_broken("symmetry maps", "MirrorsOneMark", symmetry_maps=_trades_two_marks)
# A mark and its mirror image become one.
_broken("symmetry maps", "FoldsTheDial", symmetry_maps=lambda self: [self.canonical])
_broken("symmetry maps", "LosesAnImage", symmetry_maps=lambda self: [lambda keys: keys[1:]])
