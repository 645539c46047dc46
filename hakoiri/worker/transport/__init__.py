"""Transport of chunks to workers and back: Redis, RQ, messages, the heartbeat, and supervision of worker processes."""
