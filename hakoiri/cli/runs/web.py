"""The command ``serve``: the service on the web."""

import ipaddress
import os
import secrets
import socket
from pathlib import Path
from typing import Annotated

from hakoiri.cli.commands import command_line, flag, option
from hakoiri.cli.driving import stopping_with
from hakoiri.cli.options import DataOption, MemoryOption, RedisOption, redis_url
from hakoiri.puzzles.errors import HakoiriError, PuzzleError
from hakoiri.render.tables import stderr, stdout

_LEAST_TOKEN, _BACKLOG = 16, 2_048


@command_line("serve --data runs --port 8080")
def serve(
    host: Annotated[str, option("--host", "ADDRESS", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("--port", "N", "Port to listen on; 0 for any free one.", min=0, max=65535)] = 8080,
    names: Annotated[
        list[str] | None, option("--name", "NAME", "Another host name that clients use for this server. Repeatable.")
    ] = None,
    token_file: Annotated[
        Path | None, option("--token-file", "FILE", "File with the token.", usual="$HAKOIRI_TOKEN, else a new one")
    ] = None,
    no_token: Annotated[bool, flag("--no-token", "Give every user of this machine access; only on loopback.")] = False,
    no_drive: Annotated[
        bool, flag("--no-drive", "Only answer requests; a coordinator elsewhere drives queued runs.")
    ] = False,
    puzzles: Annotated[
        list[str] | None,
        option("--puzzle", "FILE.py:NAME", "Puzzle of yours that clients may use. Repeatable."),
    ] = None,
    processes: Annotated[int, option("--workers", "N", "Number of processes that answer requests.", min=1, max=64)] = 1,
    redis: RedisOption = None,
    data: DataOption = None,
    memory: MemoryOption = None,
) -> None:
    """Serve runs on the web, and drive queued runs.

    The page is at /, the HTTP interface is described at /docs.
    """
    try:
        from hakoiri.web.server import serve as serve_web
        from hakoiri.web.settings import Settings
    except ModuleNotFoundError as error:
        raise HakoiriError(f"{error.name} is not installed; give: pip install 'hakoiri[web]'") from error
    from hakoiri.coordinator.runs.catalogue import data_directory
    from hakoiri.storage.engine.disk import require_writable

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
            where, port, token, ("localhost", socket.gethostname(), host, *(names or [])), redis_url(redis), memory,
            tuple(puzzles or []), processes,
        )  # fmt: skip
        settings.own_puzzles()
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{port}/"
        stdout().print(f"{address}?token={token}" if token and not given else address, soft_wrap=True)
        stderr().print(f"runs in {where}; press Ctrl-C to stop")
        threads = ["--threads"] if settings.redis is None else []
        most = [] if memory is None else ["--memory", f"{memory >> 20}MB"]
        driver = [] if no_drive else ["coordinator", "--data", str(where), *most, *threads]
        # uvicorn sends itself again the signal that ended it.
        with stopping_with(lambda _: None):
            serve_web(settings, listening, driver, lambda text: stderr().print(text))


def _token(file: Path | None, none: bool) -> tuple[str, bool]:
    """Return the token, and whether the user gave it."""
    if none:
        if file is not None:
            raise PuzzleError("--no-token and --token-file cannot be combined")
        return "", False
    given = os.environ.get("HAKOIRI_TOKEN", "") if file is None else _content(file)
    if file is None and not given:
        return secrets.token_urlsafe(24), False
    if len(given) < _LEAST_TOKEN or not given.isascii() or not given.isprintable():
        raise PuzzleError(
            f"the token has fewer than {_LEAST_TOKEN} characters, or some that are not printable ASCII; "
            "make one with: openssl rand -hex 24"
        )
    return given, True


def _content(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PuzzleError(f"the token in {file} cannot be read: {getattr(error, 'strerror', 'no text')}") from error


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
