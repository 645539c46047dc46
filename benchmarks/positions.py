"""Many clients at once ask for positions of a finished run: answers in a second, and how long the slowest take.

    .venv/bin/python benchmarks/positions.py --clients 200 --seconds 10 --workers 2

The clients are one process on the same machine, which takes some of its cores; `client_cpu` says how much. Prints one
JSON object.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import psutil
import uvloop

from hakoiri.api import explore
from hakoiri.keys.layout import ints

TOKEN = "a-token-for-the-benchmark"  # noqa: S105


async def client(port: int, paths: list[bytes], until: float, took: list[float]) -> None:
    """Asks one question after another over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f" HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    while (begun := time.perf_counter()) < until:
        writer.write(b"GET " + random.choice(paths) + head)  # noqa: S311
        headers = await reader.readuntil(b"\r\n\r\n")
        if not headers.startswith(b"HTTP/1.1 200"):
            raise AssertionError(headers)
        length = headers.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
        await reader.readexactly(int(length))
        took.append(time.perf_counter() - begun)
    writer.close()


async def ask(port: int, paths: list[bytes], clients: int, seconds: float) -> list[float]:
    """Return the seconds that each answer took."""
    took: list[float] = []
    until = time.perf_counter() + seconds
    await asyncio.gather(*(client(port, paths, until, took) for _ in range(clients)))
    return took


def measure(data: Path, paths: list[bytes], options: argparse.Namespace) -> dict[str, object]:
    """Start a server, ask it, end it."""
    words = ["serve", "--data", str(data), "--port", "0", "--no-drive", "--workers", str(options.workers)]
    with (data / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "hakoiri", *words], stdout=subprocess.PIPE, stderr=log, text=True,
            env={**os.environ, "HAKOIRI_TOKEN": TOKEN},
        )  # fmt: skip
    try:
        address = server.stdout.readline() if server.stdout else ""
        port = int(address.rstrip("/\n").rpartition(":")[2])
        uvloop.run(ask(port, paths, options.clients, 3.0))
        family = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
        before, mine = sum(one.cpu_times().user + one.cpu_times().system for one in family), time.process_time()
        took = sorted(uvloop.run(ask(port, paths, options.clients, options.seconds)))
        spent = sum(one.cpu_times().user + one.cpu_times().system for one in family) - before
        return {
            "clients": options.clients,
            "workers": options.workers,
            "requests_per_second": round(len(took) / options.seconds),
            "p50_ms": round(1000 * took[len(took) // 2], 1),
            "p99_ms": round(1000 * took[len(took) * 99 // 100], 1),
            "server_cpu_us_per_request": round(1e6 * spent / len(took)),
            "client_cpu_us_per_request": round(1e6 * (time.process_time() - mine) / len(took)),
            "load": os.getloadavg()[0],
        }
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--positions", type=int, default=5_000, help="how many different ones are asked for")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        with explore("klotski", data=data) as run:
            keys = [key for depth in range(run.store.state.depth + 1) for key in ints(run.layer(depth))]
            texts = [quote(run.puzzle.render(key), safe="/") for key in random.sample(keys, options.positions)]
            paths = [f"/api/runs/{run.name}/positions/{text}".encode() for text in texts]
        print(json.dumps(measure(data, paths, options)))


if __name__ == "__main__":
    main()
