"""Exports of a run as files for other programs: tables, graphs, drawings."""
