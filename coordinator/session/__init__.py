"""One process's time with a run: control, budget, commits, the executor's contract."""

__all__ = ["budget", "control", "executor", "job", "report", "resources", "session", "tuning", "verifier"]
