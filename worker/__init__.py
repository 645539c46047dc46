"""What is done to one chunk: expand, sort, unique and merge kernels, graph searches, and the RQ worker around them."""

__all__ = [
    "built_in",
    "deals",
    "errors",
    "graphs",
    "layers",
    "main",
    "nakuron",
    "plays",
    "solitaires",
    "tasks",
    "transport",
    "warm",
]
