"""Solving, counting and hunting of deals in memory."""
