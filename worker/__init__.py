"""What is done to one chunk: expand, sort, unique and merge kernels, graph searches, and the RQ worker around them."""

__all__ = [
    "connection",
    "errors",
    "graphs",
    "kernels",
    "main",
    "messages",
    "names",
    "payload",
    "rq_worker",
    "supervisor",
    "tasks",
    "warm",
]
