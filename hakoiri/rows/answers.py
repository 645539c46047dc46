"""Answers of a run as plain values."""

from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from hakoiri.keys.layout import ints, key_at
from hakoiri.storage.results import read_profile

if TYPE_CHECKING:
    from hakoiri.coordinator.graphs.strong import StrongComponents
    from hakoiri.puzzles.contract import Puzzle
    from hakoiri.run.opened import Hardest, Map, OpenRun
    from hakoiri.run.paths import ShortestPath, ShortestPaths
    from hakoiri.storage.ledger.manifest import ComponentRecord
    from hakoiri.storage.results import Diameter


def map_row(run: "OpenRun", found: "Map") -> dict[str, Any]:
    """Return the description of a map: component, shown part, origin."""
    origin = key_at(found.keys, 0)
    return {
        "component": found.component,
        "size": found.size,
        "configurations": len(found.keys),
        "whole": found.whole,
        "moves": len(found.moves),
        "undirected": run.puzzle.undirected,
        "origin": run.puzzle.render(origin),
        "start": origin == run.puzzle.start,
        "depth": int(found.depths.max()),
        "axes": found.places.shape[1],
        "stress": round(found.stress, 5),
    }


def path_row(found: "ShortestPath") -> dict[str, Any]:
    """Return a shortest path."""
    return {"length": len(found), "configurations": found.configurations, "moves": found.moves}


def paths_row(found: "ShortestPaths", limit: int) -> dict[str, Any]:
    """Return the number of shortest paths, and the first `limit`."""
    listed = [{"configurations": one.configurations, "moves": one.moves} for one in islice(found, limit)]
    return {"length": found.length, "count": found.count} | ({"paths": listed} if limit else {})


def statistics_row(run: "OpenRun", configuration: str | None) -> dict[str, Any]:
    """Return a board, by default the start, with the figures for its designer."""
    found = run.statistics(configuration)
    key = run.puzzle.start if configuration is None else run.puzzle.parse(configuration)
    return {"configuration": run.puzzle.render(key)} | asdict(found)


def component_row(record: "ComponentRecord", puzzle: "Puzzle") -> dict[str, Any]:
    """Return one component."""
    names = ("component", "size", "diameter", "radius", "centre", "periphery")
    return {name: getattr(record, name) for name in names} | {"representative": puzzle.render(record.representative)}


def component_rows(run: "OpenRun", limit: int | None = None) -> list[dict[str, Any]]:
    """Return the components, largest first; those of a directed puzzle have no distances."""
    records = run.components(limit) if run.puzzle.undirected else run.weak_components(limit)
    rows = [component_row(record, run.puzzle) for record in records]
    for row in rows:
        if (layers := read_profile(run.store, row["component"])) is not None:
            row["layers"] = layers
    return rows


def components_row(run: "OpenRun", limit: int | None = None) -> dict[str, Any]:
    """Return all components, and whether the puzzle is directed."""
    return {"directed": not run.puzzle.undirected, "components": component_rows(run, limit)}


def one_component_row(run: "OpenRun", number: int) -> dict[str, Any]:
    """Return the component of a number; in a directed puzzle the weak one, without distances."""
    if run.puzzle.undirected:
        return component_row(run.diameter(number).record, run.puzzle)
    return component_row(run.weak_components(number + 1)[run.number_of(number)], run.puzzle)


def diameter_row(run: "OpenRun", found: "Diameter") -> dict[str, Any]:
    """Return the exact distances of a component, with the pairs that attain its diameter."""
    pairs = [[run.puzzle.render(key) for key in ints(pair)] for pair in found.pairs]
    row = component_row(found.record, run.puzzle) | {"pair_count": found.record.pair_count}
    row["open"] = [name for name, value in row.items() if value is None]
    central = None if found.central is None else [run.puzzle.render(key) for key in ints(found.central)]
    return row | {"pairs": pairs, "central": central, "eccentricities": found.eccentricities}


def strong_row(run: "OpenRun", found: "StrongComponents", limit: int | None) -> dict[str, Any]:
    """Return the components whose configurations all reach each other."""
    return {
        "configurations": found.configurations,
        "weak_components": found.weak,
        "strong_components": found.strong,
        "single": found.single,
        "condensation_edges": found.between,
        "sources": found.sources,
        "sinks": found.sinks,
        "components": [
            {
                "component": one.component,
                "size": one.size,
                "diameter": one.diameter,
                "from": run.puzzle.render(one.pair[0]),
                "to": run.puzzle.render(one.pair[1]),
                "representative": run.puzzle.render(one.representative),
            }
            for one in found.components[:limit]
        ],
        "histogram": [
            {"size": size, "diameter": diameter, "count": count} for size, diameter, count in found.histogram()
        ],
    }


def hardest_row(run: "OpenRun", found: "Hardest") -> dict[str, Any]:
    """Return the configurations farthest from their nearest goal, and the number at each distance."""
    texts = [run.puzzle.render(key) for key in ints(found.configurations)]
    return {
        "distances": found.distances,
        "metric": found.metric,
        "distance": found.distance,
        "count": found.count,
        "configurations": texts,
        "layers": found.layers,
        "dead": found.dead,
    }
