"""Solitaires of Gap's kind: cards, deals, moves."""
