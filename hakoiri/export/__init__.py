"""A run as files for other programs: tables, graphs, drawings."""
