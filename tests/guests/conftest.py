"""The fixtures of the tests of guests: those of the other tests."""

from tests.coordinator.conftest import hosts
from tests.system.conftest import farm, finished, hakoiri, redis_server, workers

__all__ = ["farm", "finished", "hakoiri", "hosts", "redis_server", "workers"]
