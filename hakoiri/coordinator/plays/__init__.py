"""Good plays on boards too large to exhaust, for any puzzle whose moves score."""
