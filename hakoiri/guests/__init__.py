"""Capabilities for one subject each, in a folder each; nothing else imports them, tables name them as text."""
