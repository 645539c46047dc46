"""How chunks get to workers and back: Redis, RQ, messages, the heartbeat."""

__all__ = ["connection", "heartbeat", "messages", "names", "payload", "rq_worker", "supervisor"]
