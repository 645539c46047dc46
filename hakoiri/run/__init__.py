"""An open run and its answers."""
