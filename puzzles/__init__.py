"""What a configuration is: packed keys, moves, goals, text in and out. Knows nothing of search."""
