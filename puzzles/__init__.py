"""What a configuration is: packed keys, moves, goals, text in and out. Knows nothing of search."""

__all__ = [
    "contract",
    "errors",
    "hanoi",
    "jit",
    "keys",
    "nakuron",
    "options",
    "peg_solitaire",
    "permutation",
    "quotient",
    "registry",
    "sliding_blocks",
    "solitaires",
    "stars",
    "tree",
    "twisty",
    "user",
]
