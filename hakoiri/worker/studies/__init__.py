"""Members of studies, each searched in memory by one worker: deals, starts, families, boards."""
