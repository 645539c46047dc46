"""Output for people: tables, boards, progress, plots, pictures and films."""
