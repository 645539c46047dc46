"""Idempotent requests: the run made for an ``Idempotency-Key`` is recorded beside the runs, across restarts."""

import fcntl
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from hakoiri.storage.engine.files import write_file
from hakoiri.storage.engine.inside import open_inside
from hakoiri.storage.engine.translation import translated
from hakoiri.storage.ledger.manifest import Manifest
from hakoiri.storage.names import DATA_FILE, REQUESTS_FOLDER

_LOCK = "lock"
#: A key is forgotten after a week.
_KEPT_SECONDS = 7 * 24 * 3600.0


def made_once(
    data: Path, key: str, request: Mapping[str, Any], plan: Callable[[], Manifest], make: Callable[[Manifest], Path]
) -> Path:
    """Return the run of an earlier request with this key, else a new one: `make` of the result of `plan`.

    Its name is durable before it is made, so that a kill in between makes no second one. A key that was used for
    another request is refused.
    """
    asked = sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
    with _locked(data) as folder:
        record = folder / sha256(key.encode()).hexdigest()
        known = json.loads(record.read_text(encoding="utf-8")) if record.exists() else None
        if known is not None and known["request"] != asked:
            text = "this Idempotency-Key came with another request before; take a new one"
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, text)
        if known is not None and (known["made"] or (data / known["run"] / DATA_FILE).exists()):
            return data / str(known["run"])
        manifest = plan()
        if known is not None:
            manifest = replace(manifest, run=known["run"])
        for made in (False, True):
            if made:
                make(manifest)
            write_file(record, json.dumps({"request": asked, "run": manifest.run, "made": made}))
        return data / manifest.run


@contextmanager
def _locked(data: Path) -> Iterator[Path]:
    """Yield the folder of all keys, locked for this process and thread."""
    folder = data / REQUESTS_FOLDER
    with translated(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with open_inside(data, f"{REQUESTS_FOLDER}/{_LOCK}", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            oldest = time.time() - _KEPT_SECONDS
            for record in folder.iterdir():
                if record.is_symlink() or (record.name != _LOCK and record.stat().st_mtime < oldest):
                    record.unlink()
            yield folder
