"""Virtual environments of programs that Hakoiri is compared with."""

import subprocess
import sys
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
