"""What is done to one chunk: expand, sort, unique and merge kernels, graph searches, and the RQ worker around them."""

__all__ = [
    "components",
    "connection",
    "errors",
    "graphs",
    "kernels",
    "main",
    "messages",
    "names",
    "partition",
    "payload",
    "presence",
    "rq_worker",
    "supervisor",
    "tasks",
    "warm",
]
