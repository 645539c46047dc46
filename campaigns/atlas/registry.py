"""The parts of the atlas, in the order of its page."""

from campaigns.atlas.boards import BOARDS, SINGLE
from campaigns.atlas.entries import Part
from campaigns.atlas.pancakes import BURNT, PANCAKES
from campaigns.atlas.tiles import TILE_RUNS, TILES
from campaigns.atlas.topspin import TOPSPIN
from campaigns.atlas.towers import HANOI, TOWERS

PARTS: dict[str, Part] = {
    part.name: part for part in (TILES, TILE_RUNS, PANCAKES, BURNT, TOPSPIN, TOWERS, HANOI, BOARDS, SINGLE)
}
