"""Goal distances of every configuration of a finished run: a run of its own, computed from the first."""
