"""Hosts whose disks are small: a run that none of them could hold, and a disk that is full."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.commands import Hakoiri
from tests.support.disks import FILLER, small_disk
from tests.support.published import TILES as DISTANCES
from tests.support.servers import RedisServer
from tests.system.test_hosts_that_keep import Hosts

pytestmark = pytest.mark.timeout(300)
#: Of 362,880 configurations; what is free of a disk at first, of which 1 MiB is never touched.
PANCAKES, DISK, LEFT = ("pancakes", "-o", "n=9"), 8 << 20, (1 << 20) + 300_000
#: 239.5 million configurations, 244 MB; the digest is that of runs by threads.
LARGE = ("tiles", "-o", "rows=3", "-o", "columns=4")
DIGEST = "c24b42a1411328d3786524acb5541c0709150ca7cd11efe1f3c8f391a4206e2b"


@pytest.mark.slow
def test_four_hosts_keep_a_run_that_none_of_them_could_hold(
    hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path
) -> None:
    """Each has a disk of 80 MB, of which a third at most is left; the third gets half of it at first. 85 s."""
    with ExitStack() as stack:
        hosts = Hosts(hakoiri, redis_server.url, tmp_path / "hosts", stack)
        hosts.store(0).parent.mkdir()
        for number in range(4):
            stack.enter_context(small_disk("mounted", hosts.store(number), 80_000_000))
            hosts.start(number, "--data-redis", "auto")
        (hosts.store(2) / FILLER).write_bytes(bytes(40_000_000))
        limits = ("--redis", hosts.url, "--hosts", "4", "--memory", "200MB")
        refused = hakoiri.here("run", *LARGE, *limits, check=False)
        assert f"host {hosts.name(2)}: the disk under {hosts.store(2)} is full" in refused.error
        (hosts.store(2) / FILLER).unlink()
        run, env = hakoiri.run_directory().name, {"HAKOIRI_REDIS": hosts.url}
        found = hakoiri.ask("resume", run, "--redis", hosts.url, "--memory", "200MB")
        assert (found["status"], found["digest"]) == ("complete", DIGEST)
        assert len(hakoiri.ask("path", run, "--to", "farthest", env=env)["moves"]) == 53
        distances = hakoiri.ask("diameter", run, env=env)
        assert {name: distances[name] for name in ("diameter", "radius", "pair_count")} == DISTANCES[
            "tiles -o rows=3 -o columns=4"
        ]
        assert hakoiri.ask("verify", run, "--redis", hosts.url)["faults"] == []
