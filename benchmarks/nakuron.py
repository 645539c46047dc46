"""The table of docs/nakuron.md: every strategy on 20 random boards of each contest's setting.

``python benchmarks/nakuron.py --out nakuron.jsonl`` adds a line a board and strategy, and goes on where it was stopped;
``--show`` prints the table. Games of a strategy are single ones, beams have the width given; each works on one thread,
and its CPU seconds are counted.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from hakoiri.coordinator.executors.opening import open_context
from hakoiri.coordinator.plays.beam import Beam
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.puzzles.nakuron.board import Board, random_board
from hakoiri.puzzles.nakuron.kernels import field_of, ground_of
from hakoiri.puzzles.nakuron.puzzle import Nakuron
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.nakuron.tilting import load_tilting_kernels, play_game

#: What a beam of width 100 with a price of 0.3 reaches on a board of each setting (puzzles.md).
BASELINE = {1: 15_600, 2: 15_000, 3: 15_200}


def main() -> None:
    """Run what is missing, or show what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("nakuron.jsonl"))
    parser.add_argument("--boards", type=int, default=20, help="seeds 1 to this, of each setting")
    parser.add_argument("--settings", default="123")
    parser.add_argument("--widths", type=int, nargs="*", default=[100], help="of the beams")
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    if not arguments.show:
        load_tilting_kernels()
        for seed in range(1, arguments.boards + 1):
            for setting in map(int, arguments.settings):
                for strategy in [*Nakuron.games, *(f"beam {width}" for width in arguments.widths)]:
                    _measure(arguments.out, setting, seed, strategy)
    _show(arguments.out)


def _rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []


def _measure(out: Path, setting: int, seed: int, strategy: str) -> None:
    what = {"setting": setting, "seed": seed, "strategy": strategy}
    if any(what.items() <= row.items() for row in _rows(out)):
        return
    board = random_board(250, setting, seed)
    began, cpu = time.perf_counter(), time.process_time()
    score, sequence, tilts = _beam(board, int(strategy[5:])) if strategy.startswith("beam") else _game(board, strategy)
    row = what | {"score": score, "moves": len(sequence), "tilts": tilts}
    row |= {"seconds": round(time.perf_counter() - began, 2), "cpu_seconds": round(time.process_time() - cpu, 2)}
    if seed == 1 and Nakuron().replay(sequence, board.text()) != score:
        raise SystemExit(f"{what}: the rules do not give {score}")
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def _game(board: Board, strategy: str) -> tuple[int, str, int]:
    game = play_game(Nakuron.games.index(strategy), 1, 0, ground_of(board), field_of(board))
    return game.score, "".join(map(str, game.sequence)), game.tried


def _beam(board: Board, width: int) -> tuple[int, str, int]:
    puzzle = Nakuron()
    resources = Resources(workers=1)
    with open_context(puzzle, PuzzleSpec("nakuron"), resources, Control(), SilentObserver()) as context:
        beam = Beam(context, puzzle, puzzle.arena(board.text()), 1)
        while not beam.finished:
            beam.step(width)
    return beam.points, "".join(map(str, beam.sequence)), beam.tried


def _show(out: Path) -> None:
    rows = _rows(out)
    print("| setting | strategy | boards | mean score | least | above the baseline | moves | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for setting, strategy in sorted({(row["setting"], row["strategy"]) for row in rows}):
        own = [row for row in rows if (row["setting"], row["strategy"]) == (setting, strategy)]
        scores = [row["score"] for row in own]
        mean, moves = statistics.mean(scores), statistics.mean(row["moves"] for row in own)
        above = f"{100 * (mean / BASELINE[setting] - 1):+.1f} %"
        cpu = statistics.mean(row["cpu_seconds"] for row in own)
        cells = (setting, strategy, len(own), f"{mean:,.0f}", f"{min(scores):,}", above, f"{moves:,.0f}", f"{cpu:.1f}")
        print(f"| {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()
