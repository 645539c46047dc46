"""The parts of the atlas, in the order of its page."""

from campaigns.atlas.entries import Part
from campaigns.atlas.pancakes import PANCAKES
from campaigns.atlas.tiles import TILES

PARTS: dict[str, Part] = {part.name: part for part in (TILES, PANCAKES)}
