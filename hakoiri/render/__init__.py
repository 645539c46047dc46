"""What a person looks at: tables, boards, progress, plots."""

__all__ = ["boards", "plots", "progress", "study_plot", "tables"]
