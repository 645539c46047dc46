"""How far every configuration of a finished run is from its nearest goal: a run of its own, found from the first."""
