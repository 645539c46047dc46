"""Good plays of boards too large to exhaust, for any puzzle whose moves score."""
