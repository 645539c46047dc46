"""Logs of services, by `logging`: each line has its time, level, host and run; or each is a JSON object with these.

2026-11-21 10:00:00+01:00 info den run 3f9a2c-klotski: started
{"time": "2026-11-21 10:00:00+01:00", "level": "info", "host": "den", "process": 4711, "run": "3f9a2c-klotski",
 "message": "started"}
"""

import json
import logging
import os
import socket
import sys
from datetime import datetime

from hakoiri.errors import visible, visible_lines

#: Child processes of a service find the format in this environment variable.
FORMAT = "HAKOIRI_LOG_FORMAT"
FORMATS = ("text", "json")
LOG = logging.getLogger("hakoiri")


class _LogLines(logging.Formatter):
    def __init__(self, host: str, as_json: bool) -> None:
        super().__init__()
        self._host, self._as_json = host or socket.gethostname(), as_json

    def format(self, record: logging.LogRecord) -> str:
        text, run = record.getMessage(), str(getattr(record, "run", ""))
        if not self._as_json:
            text = visible(text)
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        time = datetime.fromtimestamp(record.created).astimezone().isoformat(" ", "seconds")
        level = record.levelname.lower()
        if not self._as_json:
            # What follows the first line, a traceback, cannot be taken for lines of the log.
            return visible_lines(f"{time} {level} {self._host} {f'run {run}: ' if run else ''}{text}").replace(
                "\n", "\n  "
            )
        fields = {"time": time, "level": level, "host": self._host, "process": record.process, "run": run or None}
        return json.dumps(fields | {"message": text})


def set_up(form: str = "", host: str = "") -> None:
    """Log to stderr, in one of FORMATS, or in that of the process that started this one; `host` names this machine.

    Child processes log in the same format. A log that cannot be written stops no work.
    """
    form = os.environ[FORMAT] = form or os.environ.get(FORMAT) or FORMATS[0]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LogLines(host, form == "json"))
    LOG.handlers, LOG.propagate, logging.raiseExceptions = [handler], False, False
    LOG.setLevel(logging.INFO)


def log(text: str, run: str = "", level: int = logging.INFO) -> None:
    """Log a text about a run, or about the service."""
    LOG.log(level, "%s", text, extra={"run": run})
