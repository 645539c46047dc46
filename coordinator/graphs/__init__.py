"""Components, eccentricities and diameters."""
