"""The commands ``coordinator``, ``health`` and ``serve``."""

import ipaddress
import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.driving import no_coordinator, stopping_with
from hakoiri.cli.options import command_line
from hakoiri.coordinator.errors import RunError
from hakoiri.coordinator.runs.catalogue import data_directory
from hakoiri.errors import HakoiriError, PuzzleError, counted
from hakoiri.hints import worded
from hakoiri.logs import log, set_up
from hakoiri.parameters import flag, parameter
from hakoiri.puzzles.user.files import configured_files, loaded_from
from hakoiri.reading import admitted
from hakoiri.render.progress import ProgressLine
from hakoiri.render.streams import unread
from hakoiri.render.tables import print_json, stderr, stdout
from hakoiri.rows.runs import living_rows
from hakoiri.storage.engine.environment import require_writable
from hakoiri.storage.ledger.lock import is_served


@command_line("coordinator --redis redis://127.0.0.1:6379/0 --data runs")
def coordinator(
    redis: str | None = shared.REDIS_URL,
    threads: bool = flag("--threads", "Use threads of this process, without Redis and workers."),
    puzzles: list[str] | None = shared.OWN_FILES,
    data: Path | None = shared.DATA,
    memory: int | None = shared.MEMORY,
    runs: int = parameter("--runs", "N", "Runs driven at a time; they share the memory.", default=1, min=1, max=64),
    burst: bool = flag("--burst", "Exit when no queued run is left."),
    metrics_port: int | None = shared.METRICS_PORT,
    metrics_host: str = shared.METRICS_HOST,
    log_format: str = shared.LOG_FORMAT,
    json: bool = shared.JSON,
) -> None:
    """Drive queued runs, by priority and then the oldest first, each to its end.

    RQ workers on --redis take chunks of layers whose rules are slow, of all layers with 'enqueue --farm always', and of
    other work. Threads of this process expand the other layers, and everything with --threads. Hosts expand the runs
    that they keep.
    """
    from hakoiri.coordinator.runs.service import serve
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control
    from hakoiri.worker.transport.connection import connect, without_password

    if threads and redis:
        raise typer.BadParameter("--threads and --redis cannot be combined")
    url = None if threads else shared.required_redis(redis)
    set_up(log_format)
    where, control = data_directory(data), Control()
    report = lambda run, text, *hints: log(worded(text, hints), run)  # noqa: E731
    require_writable(where)
    named_files(puzzles)
    connection = None if url is None else connect(url)
    resources = Resources(redis=url, memory=memory)
    with stopping_with(control.interrupt), shared.serving_metrics(metrics_port, metrics_host, url, data=str(where)):
        log(f"coordinator ready: runs in {where}, {f'workers at {without_password(url)}' if url else 'by threads'}")
        ends = serve(where, resources, connection, control, _Logged, report, burst, runs)
    log("coordinator stopped")
    if json:
        print_json({"runs": [end._asdict() for end in ends]})


@command_line("health --redis redis://127.0.0.1:6379/0 --data runs")
def health(
    redis: str | None = shared.REDIS_URL,
    data: Path | None = shared.DATA,
    workers: int | None = parameter(
        "--workers", "N", "Require at least N live workers.", "1; none for a coordinator --threads", min=0
    ),
    json: bool = shared.JSON,
) -> None:
    """Check that the service works; exit with code 1 if not.

    Checks that Redis answers, that workers are alive, and that a coordinator serves the data directory if --data or
    HAKOIRI_DATA names it. A coordinator with --threads needs no Redis and no workers. Then the data directory is
    enough, unless you give --redis or --workers.
    """
    # A container of workers has HAKOIRI_REDIS and no data directory.
    named = data is not None or os.environ.get("HAKOIRI_DATA")
    where = data_directory(data) if named or shared.redis_url(redis) is None else None
    if where is not None:
        require_writable(where)
    missing, words, row = _health(where, redis, workers)
    if json:
        with unread(bool(missing)):
            print_json({"ok": not missing} | row)
    if missing:
        raise RunError("; ".join(missing))
    if not json:
        stdout().print(Text(f"ok: {words}"))
        for host in row["hosts"] if len(row["hosts"]) > 1 else []:
            stdout().print(f"{host['host']}: {counted(host['workers'], 'workers')}")
        for host in row["keepers"]:
            stdout().print(f"{host['host']}: {counted(host['threads'], 'threads')}, keeps runs")


def _health(where: Path | None, redis: str | None, workers: int | None) -> tuple[list[str], str, dict[str, Any]]:
    """Return what is missing, the service in words if nothing is, and its figures; `redis` and `workers` as given.

    A coordinator may work without Redis; ``None`` stands for one that was not checked.
    """
    served = None if where is None else is_served(where)
    if where is not None and redis is None and workers is None:
        row: dict[str, Any] = {"coordinator": served, "workers": 0, "hosts": [], "keepers": []}
        if is_served(where, by_threads=True):
            return [], f"a coordinator serves {where} by threads, without Redis", row
        if shared.redis_url(redis) is None:
            with_redis = f"the coordinator of {where} works with Redis: name its server with --redis URL"
            return [with_redis if served else no_coordinator(where)], "", row
    missing, (hosts, keepers) = [], living_rows(shared.required_redis(redis))
    least = (not keepers) if workers is None else workers
    if (living := sum(host["workers"] for host in hosts)) < least:
        alive = f"{counted(living, 'workers')} alive, {least} wanted" if living else "no worker is alive"
        missing.append(f"{alive}: start some with: hakoiri worker -n 4{shared.redis_flag(redis)}")
    if where is not None and not served:
        missing.append(no_coordinator(where, redis))
    taken = ", a coordinator serves" if served else ""
    unknown = "" if served else "; the coordinator was not checked: name its data directory with --data DIR"
    kept = f", {counted(len(keepers), 'hosts')} that keep{'s' if len(keepers) == 1 else ''} runs" if keepers else ""
    words = f"Redis answers{taken}, {counted(living, 'workers')}{kept} alive{unknown}"
    return missing, words, {"coordinator": served, "workers": living, "hosts": hosts, "keepers": keepers}


def named_files(words: list[str] | None) -> list[Path]:
    """Load the puzzle files that the user and the environment name to a service, and log the puzzles.

    Returns the files. Errors are raised here, before the service starts.
    """
    specs = admitted(words or []).values()
    for spec in specs:
        log(f"puzzle {spec.name}, digest {spec.digest[:12]}")
    return list(dict.fromkeys([*configured_files(), *(loaded_from(spec.name, spec.digest) for spec in specs)]))


class _Logged(ProgressLine):
    """An observer that logs notes of a run, and its progress now and then."""

    def __init__(self, run: str) -> None:
        super().__init__(stderr())
        self._run = run

    def _say(self, text: str, style: str = "") -> None:
        log(text, self._run)


_LEAST_TOKEN, _BACKLOG = 16, 2_048


@command_line("serve --data runs --port 8080")
def serve(
    host: str = parameter("--host", "ADDRESS", "Address to listen on.", default="127.0.0.1"),
    port: int = parameter("--port", "N", "Port to listen on; 0 for any free one.", default=8080, min=0, max=65535),
    names: list[str] | None = parameter(
        "--name", "NAME", "Another host name that clients use for this server. Repeatable."
    ),
    token_file: Path | None = parameter(
        "--token-file", "FILE", "File with the token.", "$HAKOIRI_TOKEN, else a new one"
    ),
    no_token: bool = flag("--no-token", "Give every user of this machine access; only on loopback."),
    no_drive: bool = flag("--no-drive", "Only answer requests; a coordinator elsewhere drives queued runs."),
    puzzles: list[str] | None = parameter(
        "--puzzle", "FILE.py:NAME", "Puzzle of yours that clients may use. Repeatable."
    ),
    processes: int = parameter("--workers", "N", "Number of processes that answer requests.", default=1, min=1, max=64),
    redis: str | None = shared.REDIS_URL,
    data: Path | None = shared.DATA,
    memory: int | None = shared.MEMORY,
    log_format: str = shared.LOG_FORMAT,
) -> None:
    """Serve runs on the web, and drive queued runs.

    The page is at /, the HTTP interface is described at /docs.
    """
    try:
        from hakoiri.web.server import serve as serve_web
        from hakoiri.web.settings import Settings
    except ModuleNotFoundError as error:
        raise HakoiriError(f"{error.name} is not installed; give: pip install 'hakoiri[web]'") from error
    set_up(log_format)
    token, given = _token(token_file, no_token)
    if not _is_loopback(host) and (no_token or not given):
        raise PuzzleError(
            f"--host {host} is open to other machines and needs a token; set HAKOIRI_TOKEN or give "
            "--token-file, and leave out --no-token"
        )
    where = data_directory(data)
    require_writable(where)
    with _bound(host, port) as listening:
        port = listening.getsockname()[1]
        settings = Settings(
            where, port, token, ("localhost", socket.gethostname(), host, *(names or [])),
            shared.redis_url(redis), memory, tuple(puzzles or []), processes,
        )  # fmt: skip
        settings.own_puzzles()
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{port}/"
        stdout().print(f"{address}?token={token}" if token and not given else address, soft_wrap=True)
        stderr().print(f"runs in {where}; press Ctrl-C to stop")
        threads = ["--threads"] if settings.redis is None else []
        most = [] if memory is None else ["--memory", f"{memory >> 20}MB"]
        driver = [] if no_drive else ["coordinator", "--data", str(where), *most, *threads]
        with suppress(KeyboardInterrupt), stopping_with(_stop):
            serve_web(settings, listening, driver, log)


def _stop(reason: str) -> NoReturn:
    """End the command: uvicorn has not begun yet, or has ended and sends itself again the signal that ended it."""
    raise KeyboardInterrupt(reason)


def _token(file: Path | None, none: bool) -> tuple[str, bool]:
    """Return the token, and whether the user gave it."""
    if none:
        if file is not None:
            raise PuzzleError("--no-token and --token-file cannot be combined")
        return "", False
    try:
        given = os.environ.get("HAKOIRI_TOKEN", "") if file is None else file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PuzzleError(f"the token in {file} cannot be read: {getattr(error, 'strerror', 'no text')}") from error
    if file is None and not given:
        return secrets.token_urlsafe(24), False
    if len(given) < _LEAST_TOKEN or not given.isascii() or not given.isprintable():
        raise PuzzleError(
            f"the token has fewer than {_LEAST_TOKEN} characters, or some that are not printable ASCII; "
            "make one with: openssl rand -hex 24"
        )
    return given, True


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        # From now on clients wait instead of being refused.
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise HakoiriError(f"{host} port {port}: {error.strerror}; choose another with --host or --port") from error
    return listening
