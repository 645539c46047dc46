"""One process's time with a run: control, budget, commits, the contracts of executors and of kinds of run."""
