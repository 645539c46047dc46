"""One process's session with a run: control, budget, commits, and the contracts of executors and kinds of run."""
