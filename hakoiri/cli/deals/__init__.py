"""Commands for deals and scored boards: solve, study, hunt, optimise."""
