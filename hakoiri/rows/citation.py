"""A run in words that others can cite: what was enumerated, by which version, and the command that makes it again."""

import shlex
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from hakoiri.errors import counted, visible

if TYPE_CHECKING:
    from hakoiri.run.opened import OpenRun

#: The most letters of a start that stands in a command as it is; several starts are in a file.
_MOST_SHOWN = 200


def citation(run: "OpenRun") -> str:
    """Return a run as an entry of BibTeX, whose digest another run of the command must have."""
    found, manifest, done = run.summary(), run.store.manifest, run.store.state.progress
    solutions, spec = found.get("solutions"), manifest.puzzle
    facts = [_escaped(counted(done.done, done.unit)) if solutions is None else counted(solutions, "solutions")]
    if found.get("depth") is not None:
        facts.append(f"depth {found['depth']}")
    if found.get("components"):
        facts.append(f"{found['components']:,} components")
    if found["status"] != "complete" or (run.kind.has_graph and not run.exhausted):
        facts.append("not exhausted")
    notes = [f"digest {found['digest']}"] if found.get("digest") else []
    notes.append(f"identity {manifest.identity}")
    for what in ("definition", "starts"):
        if text := spec.get(what):
            notes.append(f"SHA-256 of the {what} {sha256(text.encode()).hexdigest()}")
    if spec.get("digest"):
        notes.append(f"SHA-256 of the puzzle's file {spec['digest']}")
    fields = {
        "title": f"{_escaped(spec['name'])}: {', '.join(facts)}",
        "author": "{The authors of Hakoiri}",
        "year": _escaped(manifest.created[:4]),
        "howpublished": f"Hakoiri {version('hakoiri')}, \\texttt{{{_escaped(_command(run))}}}",
        "note": "; ".join(notes),
    }
    inside = ",\n".join(f"  {name} = {{{text}}}" for name, text in fields.items())
    return f"@misc{{hakoiri-{run.store.directory.name},\n{inside}\n}}"


def _command(run: "OpenRun") -> str:
    """Return the command that makes a search or a census again; for other kinds their name and parameters."""
    manifest, kind = run.store.manifest, run.kind
    spec, plan = manifest.puzzle, dict(manifest.plan)
    options = [word for name, value in sorted(spec["options"].items()) if value for word in ("-o", f"{name}={value}")]
    if not kind.has_graph:
        parameters = sorted({**plan, **run.store.limits()}.items())
        given = [f"{name}={value}" for name, value in parameters if value not in (None, "", False)]
        return shlex.join([manifest.kind, spec["name"], *options, *given])
    words = ["hakoiri", "run", spec["name"], *options]
    if not kind.from_start:
        words.append("--whole")
    elif start := spec.get("starts") or spec["start"]:
        words += ["--from", start if len(start) <= _MOST_SHOWN and "\n" not in start else "FILE"]
    words += ["--merge-mirrors"] * spec["merge_mirrors"]
    for name, value in plan.items():
        flag = f"--{name.replace('_', '-')}"
        words += [flag] if value is True else [flag, str(value)] if value not in (None, False) else []
    return shlex.join(words)


def _escaped(text: str) -> str:
    """Return a text with the characters that mean something to TeX escaped."""
    told: dict[str, Any] = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"
    }  # fmt: skip
    return "".join(told.get(letter, letter) for letter in visible(text))
