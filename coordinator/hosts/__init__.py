"""Runs over hosts that keep ranges: asked over Redis, dealt out, their layers made there and brought home."""
