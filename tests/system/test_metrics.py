"""Metrics and logs of real processes, scraped under a run by hosts; dashboard and alerts name only such metrics."""

import json
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from hakoiri.coordinator.runs.catalogue import STATUSES
from tests.support.commands import ROOT, Hakoiri, Running, wait_until
from tests.support.servers import RedisServer
from tests.support.web import ADDRESS, ENVIRONMENT, Server

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
MONITORING = ROOT / "examples" / "monitoring"
#: 20,160 configurations, in many layers that hosts make.
TILES = ("tiles", "-o", "rows=2", "-o", "columns=4")


def at_port(service: Running) -> str:
    """The address that a service says its metrics have."""
    service.wait_for("metrics at http")
    found = re.search(r"metrics at (http://127\.0\.0\.1:\d+/metrics)", service.stderr)
    assert found is not None
    return found[1]


def scraped(address: str) -> Samples:
    """All samples of a scrape, by name and labels."""
    with urlopen(address, timeout=30) as answer:  # noqa: S310  (an address of this machine)
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def sums(samples: Samples, name: str, **labels: str) -> float:
    """The sum of the samples of a name with these labels, of which there must be some."""
    found = [value for (each, its), value in samples.items() if each == name and labels.items() <= dict(its).items()]
    assert found, f"no {name} with {labels} in {sorted(name for name, _ in samples)}"
    return sum(found)


@pytest.fixture
def services(hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path) -> Iterator[dict[str, Running]]:
    """A coordinator, two workers, and two hosts, each with metrics and a log as JSON."""
    env = {"HAKOIRI_REDIS": redis_server.url}
    more = ("--metrics-port", "0", "--log-format", "json")
    yield {
        "coordinator": hakoiri.start("coordinator", *more, env=env),
        "worker": hakoiri.start("worker", "-n", "2", *more, env=env),
        "host-0": hakoiri.start("worker", "--store", str(tmp_path / "a"), *more, env=env),
        "host-1": hakoiri.start("worker", "--store", str(tmp_path / "b"), "-n", "2", *more, env=env),
    }


@pytest.mark.ci_slow
def test_each_service_is_scraped_under_a_run_by_hosts(
    hakoiri: Hakoiri, redis_server: RedisServer, services: dict[str, Running], tmp_path: Path
) -> None:
    where = {name: at_port(service) for name, service in services.items()}
    wait_until(lambda: sums(scraped(where["coordinator"]), "hakoiri_hosts") == 2, what="the hosts")

    def workers() -> float:
        return sum(value for (name, _), value in scraped(where["coordinator"]).items() if name == "hakoiri_workers")

    wait_until(lambda: workers() == 2, what="the workers")
    env = {"HAKOIRI_REDIS": redis_server.url}
    run = hakoiri.json("enqueue", *TILES, "--hosts", "all", "--farm", "1", env=env)["run"]

    known = set[str]()

    def complete() -> bool:
        under_way = scraped(where["coordinator"])
        known.update(name for name, _ in under_way)
        return sums(under_way, "hakoiri_runs", status="complete") == 1

    wait_until(complete, what="the end of the run")
    found = {name: scraped(address) for name, address in where.items()}
    work = hakoiri.ask("status", run)
    assert work["work_log"]["kept"] is not None
    coordinator = found["coordinator"]
    assert {dict(its)["status"] for name, its in coordinator if name == "hakoiri_runs"} == {*STATUSES}
    assert sums(coordinator, "hakoiri_run_layer", run=run) == work["depth"]
    assert sums(coordinator, "hakoiri_coordinator") == 1
    assert sums(coordinator, "hakoiri_workers") == 2
    assert sums(coordinator, "hakoiri_host_threads") == 3
    by = work["work_log"]["expanders"]
    for name, field in (("configurations", "configurations"), ("chunks", "chunks"), ("sent_bytes", "sent")):
        assert sums(coordinator, f"hakoiri_{name}_total", run=run) == sum(row[field] for row in by)
    kept = work["work_log"]["kept"]["hosts"]
    assert sums(coordinator, "hakoiri_kept_configurations_total") == sum(row["configurations"] for row in kept) > 20_000
    assert sums(coordinator, "hakoiri_waited_seconds_total") == pytest.approx(sum(row["waited"] for row in kept))
    assert sums(coordinator, "hakoiri_chunks_repeated_total", run=run) == 0
    for host, store in (("host-0", "a"), ("host-1", "b")):
        name = (tmp_path / store / "host").read_text(encoding="utf-8").strip()
        # A host has committed the empty layer, too.
        assert sums(found[host], "hakoiri_part_layer", run=run) == work["depth"] + 1
        assert sums(found[host], "hakoiri_part_bytes", run=run) > 0
        requests = partial(sums, name="hakoiri_worker_chunks_total", worker=name)
        wait_until(lambda: requests(scraped(where[host])) > 0, what="requests to it")  # noqa: B023
        assert sums(found[host], "hakoiri_disk_free_bytes", directory=str(tmp_path / store)) > 0
    wait_until(lambda: len([1 for name, _ in scraped(where["worker"]) if name == "hakoiri_worker_chunks_total"]) == 2)
    known.update(name for samples in [*found.values(), scraped(where["worker"])] for name, _ in samples)
    require_same_names({name for name in known if name.startswith("hakoiri_")})
    with closing(Server(hakoiri.start("serve", "--no-drive", *ADDRESS, env=env | ENVIRONMENT)).client) as client:
        web = client.get("/metrics").text
    assert f'hakoiri_run_layer{{run="{run}"}} {work["depth"]:.1f}' in web
    assert "hakoiri_hosts 2.0" in web

    for service in services.values():
        service.send(signal.SIGTERM)
    for name, service in services.items():
        log = [json.loads(line) for line in service.finish().stderr.splitlines()]
        assert all({*line} == {"time", "level", "host", "process", "run", "message"} for line in log)
        assert log[-1]["message"].endswith("stopped"), log
        of_run = [line["message"] for line in log if line["run"] == run]
        assert (of_run[:1] == ["started"] and "complete" in of_run[-1]) if name == "coordinator" else not of_run


#: Metrics for which the dashboard has no panel.
UNSHOWN = {"hakoiri_host_idle", "hakoiri_worker_busy_seconds_total", "hakoiri_run_done"}


def require_same_names(known: set[str]) -> None:
    """Dashboard and alerts name metrics that were scraped, and the dashboard names all others than `UNSHOWN`."""
    board = json.loads((MONITORING / "grafana.json").read_text(encoding="utf-8"))
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text(encoding="utf-8"))
    shown = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    alerts = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    assert len(shown) > 10 and len(alerts) > 5
    named, asked = (set(re.findall(r"hakoiri_\w+", " ".join(texts))) for texts in (shown, shown + alerts))
    assert asked - known == set()
    assert known - named == UNSHOWN


@pytest.mark.ci_slow
def test_a_scrape_ends_with_its_service(hakoiri: Hakoiri) -> None:
    coordinator = hakoiri.start("coordinator", "--threads", "--metrics-port", "0")
    address = at_port(coordinator)
    coordinator.wait_for("coordinator ready")
    assert sums(scraped(address), "hakoiri_disk_free_bytes") > 0
    taken = re.search(r":(\d+)/", address)
    assert taken is not None
    second = hakoiri("coordinator", "--threads", "--metrics-port", taken[1], check=False)
    assert (second.code, f"127.0.0.1 port {taken[1]}: Address already in use" in second.error) == (1, True)
    (child,) = coordinator.children()
    coordinator.process.kill()
    wait_until(lambda: not child.is_running() or child.status() == "zombie", what="the end of its metrics")
