"""Pages with commands and what they print: compared, or written anew with HAKOIRI_WRITE_DOCS=1."""

import os
import re
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path

#: A block of Python, or a command with the lines below it.
_STEP = re.compile(
    r"```python\n(?P<file>.*?)```|^\$ (?P<command>[^\n]*)\n(?P<shown>(?:(?!\$ |```)[^\n]*\n)*)",
    re.MULTILINE | re.DOTALL,
)
#: Lines that differ from one time to another; written outputs leave them out.
_VARYING = re.compile(r"(run|created|computing|rate|at each distance|now ask)\b")


def compare_outputs(page: Path, do: Callable[[re.Match[str]], str | None]) -> int:
    """Return the number of steps of a page that print the lines shown; `AssertionError` if others do not.

    `do` does a step, and returns its output, or ``None`` for a step that is not compared. A page may show a part of the
    lines. If one is not printed, all others are replaced, too.
    """
    compared = 0

    def renewed(step: re.Match[str]) -> str:
        nonlocal compared
        if (output := do(step)) is None:
            return step[0]
        compared += 1
        printed = [line.rstrip() for line in output.splitlines()]
        whole = "".join(f"  {line}\n" for line in printed)
        if all(f"  {line}\n" in whole for line in step["shown"].splitlines()):
            return step[0]
        return "\n".join([f"$ {step['command']}", *(line for line in printed if not _VARYING.match(line)), ""])

    text = page.read_text(encoding="utf-8")
    found = _STEP.sub(renewed, text)
    if os.environ.get("HAKOIRI_WRITE_DOCS") == "1":
        page.write_text(found, encoding="utf-8")
    else:
        assert found == text, "\n".join(unified_diff(text.splitlines(), found.splitlines(), lineterm=""))
    return compared
