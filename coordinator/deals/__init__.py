"""Studies of many deals, and hunts for hard ones."""

__all__ = ["dealing", "hunt", "hunt_plan", "study", "study_plan", "study_table"]
