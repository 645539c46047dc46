"""The short form of a campaign, as a user starts it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from campaigns.tables.entries import answer_of


def in_short(campaign: str, data: Path) -> dict[str, Any]:
    """Run the short commands of a campaign and return its results."""
    command = [sys.executable, "-m", f"campaigns.{campaign}", "--short", "--data", str(data), "--json"]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return dict(answer_of(ended.stdout))
