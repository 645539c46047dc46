"""The parts of the atlas, in the order of its page."""

from campaigns.atlas.boards import BOARDS, SINGLE
from campaigns.atlas.cars import CARS
from campaigns.atlas.entries import Part
from campaigns.atlas.nakuron import NAKURON
from campaigns.atlas.pancakes import BURNT, PANCAKES
from campaigns.atlas.solitaires import GAP, HUNTS, SUPERPUZZ
from campaigns.atlas.stars import STARS
from campaigns.atlas.tiles import TILES
from campaigns.atlas.topspin import TOPSPIN
from campaigns.atlas.towers import HANOI, TOWERS

_SPACES = (TILES, PANCAKES, BURNT, TOPSPIN, TOWERS, HANOI)
_OTHERS = (BOARDS, SINGLE, CARS, GAP, HUNTS, SUPERPUZZ, STARS, NAKURON)
PARTS: dict[str, Part] = {part.name: part for part in (*_SPACES, *_OTHERS)}
