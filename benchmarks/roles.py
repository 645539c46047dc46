"""What a run costs each of those who take part: processor seconds and bytes through Redis, per configuration.

    python benchmarks/roles.py tiles -o rows=3 -o columns=4
    python benchmarks/roles.py --workers 2 pancakes -o n=11

runs the puzzle with threads and then through a Redis of its own with so many workers, and prints one JSON object.
Kernels are compiled before. `ns` are nanoseconds of processor time, user and system, per configuration.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import redis

HAKOIRI = Path(sys.executable).parent / "hakoiri"


def seconds(process: psutil.Process) -> float:
    """The processor time of a process and its children, dead ones included, so far."""
    times = process.cpu_times()
    living = sum(seconds(child) for child in process.children())
    return float(times.user + times.system + times.children_user + times.children_system) + living


def run(arguments: list[str], data: str) -> tuple[dict[str, Any], float, float]:
    """What a run reports, and its processor seconds and seconds by the clock."""
    began = time.monotonic()
    command = [str(HAKOIRI), "run", *arguments, "--data", data, "--json"]
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
        out.seek(0)
        report = json.load(out)
    peak = usage.ru_maxrss * 1024 // 1_000_000
    return report | {"peak_mb": peak}, usage.ru_utime + usage.ru_stime, time.monotonic() - began


def with_threads(arguments: list[str]) -> dict[str, Any]:
    """The run by threads of one process."""
    with tempfile.TemporaryDirectory() as data:
        report, cpu, wall = run(arguments, data)
    count = report["configurations"]
    return {"configurations": count, "digest": report["digest"], "wall_s": round(wall, 2),
            "ns": round(cpu / count * 1e9, 1), "peak_mb": report["peak_mb"]}  # fmt: skip


def with_workers(arguments: list[str], workers: int) -> dict[str, Any]:
    """The run through Redis."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as data:
        server = subprocess.Popen(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", data],
            stdout=subprocess.DEVNULL,
        )
        url = f"redis://127.0.0.1:{port}/0"
        team = subprocess.Popen(
            [HAKOIRI, "worker", "-n", str(workers)], env=os.environ | {"HAKOIRI_REDIS": url},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            client = redis.Redis.from_url(url)
            while _living(client) < workers:
                time.sleep(0.1)
            run(["klotski", "--redis", url, "--farm-from", "0"], data)
            roles = {"redis": psutil.Process(server.pid), "workers": psutil.Process(team.pid)}
            before = {name: seconds(process) for name, process in roles.items()}
            stats = client.info("stats")
            client.config_resetstat()
            report, cpu, wall = run([*arguments, "--redis", url], data)
            stats, memory = client.info("stats"), client.info("memory")
            spent = {name: seconds(process) - before[name] for name, process in roles.items()}
        finally:
            team.terminate()
            team.wait()
            server.terminate()
            server.wait()
    count = report["configurations"]
    spent = {"coordinator": cpu} | spent
    return {
        "configurations": count, "digest": report["digest"], "wall_s": round(wall, 2),
        "ns": {name: round(value / count * 1e9, 1) for name, value in spent.items()},
        "ns_together": round(sum(spent.values()) / count * 1e9, 1),
        "bytes_in": round(stats["total_net_input_bytes"] / count, 2),
        "bytes_out": round(stats["total_net_output_bytes"] / count, 2),
        "redis_peak_mb": memory["used_memory_peak"] // 1_000_000, "coordinator_peak_mb": report["peak_mb"],
    }  # fmt: skip


def _living(client: redis.Redis) -> int:
    try:
        return len(client.keys("hakoiri:worker:*"))
    except redis.ConnectionError:
        return 0


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=["threads", "workers"])
    options, arguments = parser.parse_known_args()
    found: dict[str, Any] = {}
    if options.only != "workers":
        found["threads"] = with_threads(arguments)
    if options.only != "threads":
        found["workers"] = with_workers(arguments, options.workers)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
