"""What a run has found, as one plain mapping: the JSON of `run`, and the source of its table."""

from typing import Any

from puzzles.registry import PuzzleSpec
from storage.ledger.ledger import Ledger
from storage.ledger.manifest import Depth, LayerRecord, Manifest, State


def summarise(store: Ledger) -> dict[str, Any]:
    """Everything that a user asks first. What a mode does not have is ``None``."""
    manifest, state = store.manifest, store.state
    records = store.layer_records()
    layered = manifest.mode == "explore"
    size, depth = (None, None) if not layered else largest_window([record.size for record in records])
    tree = tree_figures(state) if manifest.mode == "tree" else {}
    return (
        identity(manifest)
        | tree
        | {
            "status": state.status,
            "reason": state.reason,
            "exhausted": state.exhausted,
            "configurations": state.configurations,
            "depth": depth_of(state, manifest.mode),
            "goal_depth": state.goal_depth,
            "goals": sum(record.goals for record in records),
            "layers": [record.size for record in records],
            "largest_window": size,
            "largest_window_at": depth,
            "edges": state.edges,
            "components": state.components,
            "digest": state.digest,
            "sessions": state.session,
            "stored_bytes": sum(record.stored_bytes for record in records),
            "seconds": round(state.seconds, 3),
        }
    )


def identity(manifest: Manifest) -> dict[str, Any]:
    """What the run was begun with."""
    spec = PuzzleSpec.from_dict(manifest.puzzle)
    return {
        "run": manifest.run,
        "puzzle": spec.name,
        "parameters": dict(spec.options),
        "mode": manifest.mode,
        "start": spec.start if manifest.mode == "explore" else None,
        "merge_mirrors": spec.merge_mirrors,
        "until_goal": manifest.until_goal,
        "created": manifest.created,
    }


def tree_figures(state: State) -> dict[str, Any]:
    """What a tree has besides: how many solutions, how far it is, and how long it will take yet."""
    return {
        "solutions": state.configurations,
        "orbits": state.orbits,
        "classes": state.classes,
        "nodes": state.nodes,
        "chunks": state.chunks,
        "chunks_done": state.chunks_done,
        "processor_seconds": round(state.processor, 4),
        "seconds_left": None if state.left is None else [round(bound, 1) for bound in state.left],
    }


def standing(state: State, mode: str) -> dict[str, Any]:
    """How far a run is, for lists; `depth` is ``None`` before the first layer, and of a whole space."""
    return (tree_figures(state) if mode == "tree" else {}) | {
        "configurations": state.configurations,
        "depth": depth_of(state, mode),
        "goal_depth": state.goal_depth,
        "seconds": round(state.seconds, 3),
    }


def depth_of(state: State, mode: str) -> Depth | None:
    """The depth of the last layer, where there are layers by distance."""
    return state.depth if mode == "explore" and state.depth >= 0 else None


def largest_window(sizes: list[int]) -> tuple[int | None, Depth | None]:
    """The largest |U(N-1)| + |U(N)| + |U(N+1)| and its (least) N; what a search holds in memory at most."""
    if not sizes:
        return None, None
    windows = [sum(sizes[max(0, depth - 1) : depth + 2]) for depth in range(len(sizes))]
    return max(windows), windows.index(max(windows))


def layer_row(record: LayerRecord) -> dict[str, Any]:
    """One layer for `layers`."""
    return {
        "depth": record.depth,
        "size": record.size,
        "digest": record.digest,
        "goals": record.goals,
        "stored_bytes": record.stored_bytes,
        "session": record.session,
    }
