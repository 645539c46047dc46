"""Commands for single deals and for studies of many."""
