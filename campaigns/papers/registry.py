"""The five papers, in the order of the page."""

from campaigns.papers.claims import Paper
from campaigns.papers.gap import GAP
from campaigns.papers.musume import MUSUME
from campaigns.papers.nakuron import NAKURON
from campaigns.papers.stars import STARS
from campaigns.papers.superpuzz import SUPERPUZZ

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (MUSUME, GAP, SUPERPUZZ, STARS, NAKURON)}
