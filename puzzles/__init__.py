"""What a configuration is: packed keys, moves, goals, text in and out. Knows nothing of search."""

__all__ = [
    "capabilities",
    "checks",
    "contract",
    "errors",
    "fingerprint",
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
    "twisty",
    "user",
]
