"""How chunks get to workers and back: Redis, RQ, messages, the heartbeat; and who keeps worker processes alive."""
