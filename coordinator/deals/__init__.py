"""Studies of many deals, and hunts for hard ones."""

__all__ = [
    "certificate",
    "dealing",
    "hunt",
    "hunt_job",
    "hunt_plan",
    "memory",
    "study",
    "study_job",
    "study_plan",
    "study_report",
    "study_table",
]
