"""What a person looks at: tables, boards, progress, plots, pictures and films."""
