"""One operator of the product changed at a time, by seed, to see whether a test fails."""
