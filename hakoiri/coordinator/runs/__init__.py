"""The life of runs: creation, lookup, driving, service, verification, repair, deletion."""
