"""The towers of Hanoi with four and five pegs: how far one can be from a tower, and from any other configuration."""

from collections.abc import Sequence

from campaigns.atlas.entries import Answer, Entry, Known, Part, Row, exploring, in_order

#: Discs from which a tower is left, by pegs; and up to how many all distances are known.
_TOWERS, _DIAMETERS = {4: range(2, 17), 5: range(2, 13)}, {4: range(2, 13), 5: range(2, 11)}


def _tower(pegs: int, discs: int) -> Entry:
    options = ("-o", f"pegs={pegs}", "-o", f"discs={discs}")
    return exploring(f"{discs} discs, {pegs} pegs", "hanoi", *options, short=discs == 6)


def _diameter(pegs: int, discs: int) -> Entry:
    line = ("study", "sizes", "hanoi", "-o", f"pegs={pegs}", "--sizes", str(discs))
    name = f"{discs} discs, {pegs} pegs"

    def rows(answers: Sequence[Answer]) -> list[Row]:
        names = ("configurations", "depth", "diameter", "radius", "pairs", "digest")
        return [{"row": name} | {name: row[name] for name in names} for row in answers[0]["rows"]]

    return Entry(name, (line,), rows, discs == 5, verify=("verify", "last", "--full"))


_KORF = Known(
    "depth",
    "OEIS A382111 (Korf, 2004)",
    in_order(2, 3, 5, 9, 13, 17, 25, 33, 41, 49, 65, 81, 97, 113, 130, 161, name="{} discs, 4 pegs"),
)
_LOOKED = "OEIS and pages on Hanoi graphs; Hinz, Klavžar, Milutinović, Petr, *The Tower of Hanoi*, was not at hand"

TOWERS = Part(
    "towers",
    "Hanoi: from a tower",
    "How far the farthest configuration is from all discs on one peg.",
    {"configurations": "configurations", "depth": "farthest", "farthest": "so far away"},
    tuple(_tower(pegs, discs) for pegs, sizes in _TOWERS.items() for discs in sizes),
    (_KORF,),
    {"depth": _LOOKED, "farthest": _LOOKED},
)
HANOI = Part(
    "hanoi",
    "Hanoi: any two configurations",
    "The true diameter, between whatever two configurations are farthest from each other, which is at least the "
    "distance from a tower. Pairs are unordered.",
    {"configurations": "configurations", "depth": "from a tower", "diameter": "diameter", "radius": "radius",
     "pairs": "diametral pairs"},
    tuple(_diameter(pegs, discs) for pegs, sizes in _DIAMETERS.items() for discs in sizes),
    (_KORF,),
    dict.fromkeys(("depth", "diameter", "radius", "pairs"), _LOOKED),
)  # fmt: skip
