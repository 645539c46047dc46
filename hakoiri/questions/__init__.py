"""Questions to a run: each is said once, for the command line, HTTP and the reference."""
