"""The parts of the page that need no browser, by node's own tests."""

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_scripts_without_a_browser() -> None:
    tested = subprocess.run(
        ["node", "--test", Path(__file__).with_name("page.test.mjs")], capture_output=True, text=True, check=False
    )
    assert tested.returncode == 0, tested.stdout
