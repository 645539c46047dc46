"""The server's state: open runs, long questions, repeated requests."""
