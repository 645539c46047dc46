"""The layer loop, runs and their life, components, diameters, paths, the Python interface and the command line."""

__all__ = [
    "api",
    "budget",
    "census",
    "cli",
    "control",
    "drive",
    "eccentricity",
    "errors",
    "executor",
    "explore",
    "export",
    "farm",
    "graphing",
    "paths",
    "repair",
    "runs",
    "service",
    "summary",
    "threads",
    "verify",
]
