"""Virtual environments of programs that Hakoiri is compared with, and the pages with what was measured."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def python_with(versions: Sequence[str], folder: Path) -> Path:
    """Return a Python that has these versions of packages. Make its environment in `folder` unless it is there."""
    python, stamp = folder / "bin" / "python", folder / "versions"
    if not stamp.exists() or stamp.read_text(encoding="utf-8").split() != [*versions]:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *versions], check=True)
        stamp.write_text("\n".join(versions), encoding="utf-8")
    return python


def write_measured(page: Path, table: str, versions: Sequence[str]) -> None:
    """Put a table between the marks of a page, after the machine, the date and the versions of the packages."""
    model = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    machine = f"{model.split(':')[1].strip()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    text = page.read_text(encoding="utf-8")
    begin, end = text.index("<!-- measured -->"), text.index("<!-- end -->")
    above = f"<!-- measured -->\n{machine}; {time.strftime('%Y-%m-%d')}; {', '.join(versions)}.\n\n"
    page.write_text(text[:begin] + above + table + "\n" + text[end:], encoding="utf-8")
