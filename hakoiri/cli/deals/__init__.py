"""Commands for deals and scored boards: solve, study, hunt, optimise."""

__all__ = ["dealing", "optimising", "solving"]
