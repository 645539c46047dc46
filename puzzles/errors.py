"""Every error that Hakoiri raises on purpose, the part that any folder may use.

HakoiriError
├── PuzzleError (ValueError)          a wrong puzzle name or option, or a puzzle that breaks its contract
│   └── ConfigurationError            a text or key that is no configuration: says which row or piece
├── StorageError                      storage.errors: locks, damage, full disk, versions
├── WorkerError                       worker.errors: Redis, tasks that failed
└── RunError                          coordinator.errors: unknown or ambiguous runs, questions a run cannot answer

A message is one line: what was expected, what was found, and the next step. Only the command line exits.
"""


class HakoiriError(Exception):
    """The base of every error that is not a defect of the program."""


class PuzzleError(HakoiriError, ValueError):
    """A puzzle was named, configured or written wrongly."""


class ConfigurationError(PuzzleError):
    """A text or a key is not a configuration of the puzzle."""


class PuzzleWarning(UserWarning):
    """What a user asked for can mean several things: which of them was taken, and how to say the other."""
