"""Components, eccentricities and diameters."""

__all__ = ["building", "census", "diameter", "eccentricity", "job", "strong", "verify"]
