"""Type the pages of a newcomer block by block, each page in a shell of its own: type_pages.py [PAGE...]

Every command must succeed, and print the lines that the page shows below it, in their order. Figures of time, names of
runs and dates are left out of both. A service goes on in the background once it says that it is ready. Needs the folder
of a clone, curl, a redis-server and the ports 6379 and 8080; scripts/on-debian has all that in a bare Debian.
"""

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
#: All but that of hosts, which are several machines.
HOW_TO = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs/how-to").glob("*.md") if page.stem != "hosts")
PAGES = ["README.md", "docs/tutorial/index.md", "docs/tutorial/own-puzzle.md", *HOW_TO, "docs/reference/http.md"]
#: Beginnings of lines that are not typed, by their reason.
LEFT_OUT = {
    "the suite of tests": ["scripts/test"],
    "an init system": ["useradd", "install ", "openssl rand -hex 24 | install", "cp examples/systemd", "systemctl"],
    "a file of the reader's": [
        "hakoiri study starts scrambles", "hakoiri study starts levels", "hakoiri study cosets edges",
    ],
    "minutes or hours": [
        "hakoiri hunt gap", "hakoiri verify docs/reports/hardest-gap-7.json", "hakoiri run magic-star -o points=13",
        "hakoiri study deals superpuzz --sizes 4..6 --strategy dfs", "hakoiri study deals gap",
        "hakoiri study deals superpuzz --sizes 4..6 --deals 1000 --seed 1 --strategy dfs",
        "hakoiri study sizes tiles --sizes 4..12", "hakoiri study cosets examples/definitions/corners.gap",
    ],
}  # fmt: skip
#: The last line of a service that has begun.
READY = re.compile(r"coordinator ready|supervised by process|Ready to accept connections")
SERVICES = re.compile(r"(hakoiri (coordinator|worker|serve)|redis-server)\b")
#: Figures of time, names of runs and dates, with the blanks of their columns; rows that have nothing else.
VARYING = re.compile(r"\d[\d.,]* (?:ns|us|ms|s|min|h)\b|\b[0-9a-f]{6}-(?=\w)|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?")
#: An answer of the server about what is still under way; the seconds until it is asked for again, and at most.
LATER, PAUSE, MOST_LATER = re.compile(r'"status":\s*(409|503)\b'), 0.5, 120.0
REFUSED = re.compile(r'"status":\s*[45]\d\d\b')
MARK, ENDED = "typed: ", "ended: "
MOST_SECONDS = 600.0


class Step(NamedTuple):
    """A command and the lines shown below it, or a file to write and its text."""

    command: str = ""
    shown: tuple[str, ...] = ()
    file: str = ""
    text: str = ""


def steps(page: str) -> Iterator[Step]:
    """Yield the steps of a page. A block of Python is a file where the text before it names one, else a program."""
    before = ""
    for number, part in enumerate(re.split(r"^```", page, flags=re.MULTILINE)):
        if number % 2 == 0:
            before = part
            continue
        language, _, block = part.partition("\n")
        lines = block.splitlines()
        if language in ("python", "py"):
            named = re.findall(r"[Ss]ave (?:this|it) as `(\w+\.py)`", before)
            yield Step(file=named[-1] if named else "program.py", text=block)
            if not named:
                yield Step("python program.py")
        elif language == "sh":
            yield from (Step(line) for line in lines if line and not line.startswith("#"))
        elif language in ("", "console") and lines[:1] and lines[0].startswith("$ "):
            for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, *shown = each.splitlines()
                yield Step(command, tuple(shown))
                if left_out(command):
                    # What follows is about it.
                    break


def kept(line: str) -> str:
    """Return a line without what differs from one time to another."""
    return " ".join(VARYING.sub("", line).split())


def missing(shown: tuple[str, ...], printed: str) -> list[str]:
    """Return the lines shown that are not printed, or not after those before them."""
    lines, found = [kept(line) for line in printed.splitlines()], list[str]()
    for line in shown:
        if kept(line) in lines:
            del lines[: 1 + lines.index(kept(line))]
        else:
            found.append(line)
    return found


class Shell:
    """A shell in a folder; `close` ends it with all that it has started."""

    def __init__(self, folder: Path) -> None:
        typed, self._keys = os.pipe()
        self._screen, printed = os.pipe()
        self._process = subprocess.Popen(
            ["bash", "--norc", f"/dev/fd/{typed}"], cwd=folder, pass_fds=[typed], stdin=subprocess.DEVNULL,
            stdout=printed, stderr=printed, start_new_session=True,
        )  # fmt: skip
        for end in (typed, printed):
            os.close(end)

    def type(self, command: str) -> tuple[int, str]:
        """Return the exit code of a command and all that is printed meanwhile; of a service once it is ready."""
        service, line = SERVICES.match(command), command
        if service:
            # One that cannot begin tells its end.
            line = "{ " + re.sub(r"&\s*(#.*)?$", "", command) + f"\nprintf '\\n{ENDED}%s\\n' $?\n}} &"
        os.write(self._keys, f"{line}\nprintf '\\n{MARK}%s\\n' $?\n".encode())
        printed, ends = "", time.monotonic() + MOST_SECONDS
        while not (found := re.search(rf"^{MARK}(\d+)$", printed, re.MULTILINE)) or (
            service and not READY.search(printed)
        ):
            there, _, _ = select.select([self._screen], [], [], max(0.0, ends - time.monotonic()))
            more = os.read(self._screen, 1 << 16) if there else b""
            printed += more.decode(errors="replace")
            if not more or (service and f"\n{ENDED}" in printed):
                raise TimeoutError(f"no end of {command!r}, which printed {printed[-2000:]}")
        return int(found[1]), printed.replace(found[0], "")

    def close(self) -> None:
        """End the shell and all that it has started, and wait for that."""
        ends, number = time.monotonic() + 60, signal.SIGTERM
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
            while True:
                self._process.poll()
                os.killpg(self._process.pid, 0 if time.monotonic() < ends else signal.SIGKILL)
                time.sleep(0.1)


def left_out(command: str) -> bool:
    """Return whether a command is not typed."""
    return any(command.startswith(each) for beginnings in LEFT_OUT.values() for each in beginnings)


def faults(page: str, shell: Shell) -> Iterator[str]:
    """Type a page, and yield what is not as it says; print its figures."""
    text, typed, compared = (ROOT / page).read_text(encoding="utf-8"), 0, 0
    if page != "README.md":
        shell.type(". .venv/bin/activate")
    if "redis://127.0.0.1:6379" in text and "$ redis-server" not in text:
        shell.type("redis-server --save ''")
    for step in steps(text):
        if step.file:
            (ROOT / step.file).write_text(step.text, encoding="utf-8")
        if not step.command or left_out(step.command):
            continue
        code, printed = shell.type(step.command)
        ends = time.monotonic() + MOST_LATER
        while step.command.startswith("curl ") and LATER.search(printed) and time.monotonic() < ends:
            time.sleep(PAUSE)
            code, printed = shell.type(step.command)
        typed, compared = typed + 1, compared + len(step.shown)
        expected = {1} if step.shown and step.shown[0].startswith("hakoiri: ") else {0}
        if code not in expected | ({28} if "--max-time" in step.command else set()):
            yield f"{step.command}: exit code {code}: {printed[-1000:]}"
        elif step.command.startswith("curl ") and REFUSED.search(printed):
            yield f"{step.command}: {printed[-1000:]}"
        yield from (f"{step.command}: not printed: {line}" for line in missing(step.shown, printed))
    print(f"type_pages: {page}: {typed} commands typed, {compared} lines compared", flush=True)


def main() -> None:
    """Type the pages; exit 1 if anything is not as they say."""
    wrong = 0
    for page in sys.argv[1:] or PAGES:
        shell, there = Shell(ROOT), {*ROOT.iterdir(), ROOT / ".venv"}
        try:
            for fault in faults(page, shell):
                wrong += 1
                print(f"type_pages: {page}: {fault}", flush=True)
        except TimeoutError as error:
            wrong += 1
            print(f"type_pages: {page}: {error}", flush=True)
        finally:
            shell.close()
            # The next page begins with the folder of a clone.
            subprocess.run(["rm", "-r", "-f", *({*ROOT.iterdir()} - there)], check=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
