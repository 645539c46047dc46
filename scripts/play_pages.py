"""A hook of mkdocs: makes the pages to play of docs/reports/spaces.md, each from the certificate of its row."""

import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from hakoiri import explore
from hakoiri.coordinator.runs.certificate import read_certificate

_DOCS = Path(__file__).resolve().parent.parent / "docs"
_PAGE = _DOCS / "reports" / "spaces.md"
#: The page to play of a row, and the certificate.
_ROW = re.compile(r"\(\.\./(?P<page>play/[^)]*\.html)\).*\((?P<certificate>[^)]*\.json)\)")


@cache
def page_of(file: Path) -> str:
    """Return the page to play of the space of a certificate."""
    certificate = read_certificate(file)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "page.html"
        with explore(
            certificate.puzzle, options=certificate.options, start=certificate.deal, data=Path(folder) / "data"
        ) as run:
            run.export(target)
        return target.read_text(encoding="utf-8")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages."""
    for row in _ROW.finditer(_PAGE.read_text(encoding="utf-8")):
        content = page_of((_PAGE.parent / row["certificate"]).resolve())
        files.append(File.generated(config, row["page"], content=content))
    return files
