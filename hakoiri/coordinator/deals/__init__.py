"""Studies of many deals, and hunts for hard ones."""
