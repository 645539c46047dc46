"""Certificates of runs: what a start leads to, in a file that is verified without the run."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hakoiri import Run, census, explore
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.certificate import (
    CertificateError,
    LayerDigest,
    certificate_of,
    read_certificate,
    verify_file,
    write_certificate,
)
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import Hint
from hakoiri.render.files import export_run
from hakoiri.storage.ledger.manifest import Progress
from tests.support.forged import bounded
from tests.support.refusals import refused

_RUNS: list[tuple[str, dict[str, Any]]] = [
    ("pancakes", {"options": {"n": "6"}}),
    ("hanoi", {"options": {"pegs": "4", "discs": "4"}}),
    ("sliding", {"start": "12/34/5.", "options": {"distinct": "all", "goal": "54/32/1."}}),
    ("gap", {"start": "24 12 11 34/21 22 43 14/33 32 23 31/44 42 13 41", "options": {"ranks": "4"}}),
]


@pytest.mark.ci_slow
def test_a_pattern_of_a_few_bytes_lists_no_space(tmp_path: Path) -> None:
    figures = {"positions": 1, "moves": 0, "depth": 0}
    forged = {
        "certificate": 1, "puzzle": "pancakes", "options": {"n": "12"}, "deal": " ".join("*" * 12) + "\n",
        "figures": figures, "layers": [{"size": 1, "digest": "0" * 32}], "digest": "0" * 64,
    }  # fmt: skip
    (file := tmp_path / "c.json").write_text(json.dumps(forged))
    before = time.process_time()
    report = verified(file)
    assert report.faults == ["layer 0 has more than 1 configurations, the size in the certificate"]
    # Of 479,001,600.
    assert time.process_time() - before < 10


def test_starts_that_match_a_pattern_twice_are_counted_once(tmp_path: Path) -> None:
    options = {"rows": "2", "columns": "2"}
    with explore("tiles", options, starts=["1*/**", "1./23", ".1/23"], data=tmp_path / "a") as run:
        write_certificate(certificate_of(run.store), file := tmp_path / "c.json")
    assert verified(file).faults == []


def verified(file: Path) -> Report:
    return verify_file(file, True, Resources(), Control(), SilentObserver())


@pytest.mark.parametrize(("puzzle", "given"), _RUNS, ids=[name for name, _ in _RUNS])
def test_a_certificate_of_a_run_is_derived_again_without_it(puzzle: str, given: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    with explore(puzzle, data=tmp_path / "data", **given) as run:
        assert export_run(run, file) == sum(run.layer_sizes)
        sizes, goal = run.layer_sizes, run.summary()["goal_depth"]
    found = read_certificate(file)
    assert [layer.size for layer in found.layers] == sizes
    assert (found.figures.depth, found.figures.moves) == (len(sizes) - 1, goal)
    assert verified(file).ok
    assert verify_file(file, False, Resources(), Control(), SilentObserver(), seed=7).seed == 7
    last = found.layers[-1]
    write_certificate(replace(found, layers=[*found.layers[:-1], replace(last, size=last.size + 1)]), file)
    assert verified(file).faults == [
        f"layer {len(sizes) - 1}: its size is {last.size}, but {last.size + 1} in the certificate"
    ]


class Counting(SilentObserver):
    """Counts what is explored."""

    def __init__(self) -> None:
        self.most, self.notes = 0, list[str]()

    def progress(self, progress: Progress) -> None:
        self.most = max(self.most, progress.done)

    def note(self, text: str, *hints: Hint) -> None:
        self.notes.append(text)


@pytest.mark.parametrize("cut", [1, 2, 6], ids=["one layer", "two layers", "six layers"])
def test_nothing_is_explored_after_the_first_layer_that_differs(cut: int, tmp_path: Path) -> None:
    """A small file has no large space explored, whether it says too little or something else."""
    file, small = tmp_path / "certificate.json", tmp_path / "small.json"
    with explore("tiles", data=tmp_path / "data") as run:
        export_run(run, file)
        reached = sum(run.layer_sizes[: cut + 1])
    honest = read_certificate(file)
    layers = honest.layers[:cut]
    for lying in (layers, [*layers, LayerDigest(9, "0" * 32), *honest.layers[cut + 1 :]]):
        write_certificate(replace(honest, layers=lying), small)
        counting = Counting()
        report = verify_file(small, True, Resources(), Control(), counting)
        assert (report.ok, report.checked) == (False, {"layers": cut + 1})
        assert counting.most == reached
        assert f"layer {cut} differs from the certificate; later layers are not explored" in counting.notes
        fault = f"layer {cut}: its size is" if len(lying) > cut else f"the certificate has {cut} layers"
        assert report.faults[0].startswith(fault)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda data: census("tiles", {"rows": "2", "columns": "2"}, data=data), "cannot have a certificate"),
        (lambda data: explore("tiles", start="123/456/.78", until_goal=True, data=data), "has not found all"),
    ],
    ids=["whole", "until a goal"],
)
def test_other_runs_have_none(made: Callable[[Path], Run], why: str, tmp_path: Path) -> None:
    with made(tmp_path / "data") as run, pytest.raises(UnanswerableError, match=why):
        export_run(run, tmp_path / "certificate.json")
    assert not (tmp_path / "certificate.json").exists()


def test_a_certificate_of_a_tree_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    with explore("pancakes", {"n": "4"}, data=tmp_path / "data") as run:
        export_run(run, file)
    write_certificate(replace(read_certificate(file), puzzle="magic-star", options={"points": "6"}), file)
    with refused(CertificateError, f"{file} is not a valid certificate: magic-star is a search tree"):
        verified(file)


def test_the_size_of_a_layer_is_a_number_of_63_bits(tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    with explore("pancakes", {"n": "4"}, data=tmp_path / "data") as run:
        export_run(run, file)
    honest = read_certificate(file)
    for size in (0, 2**63 - 1):
        write_certificate(replace(honest, layers=[LayerDigest(size, "0" * 32)]), file)
        assert read_certificate(file).layers[0].size == size
    wrong: list[Any] = [-1, 2**63, True, 1.0, "1", None]
    for size in wrong:
        write_certificate(replace(honest, layers=[LayerDigest(size, "0" * 32)]), file)
        with pytest.raises(CertificateError, match=r"at `\$.layers\[0\].size`"):
            read_certificate(file)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "cannot be read: it is not a regular file"),
        (lambda file: file.symlink_to("/dev/zero"), "cannot be read: it is not a regular file"),
        (lambda file: file.touch() or os.truncate(file, 200 << 30), "larger than 4,000,000 bytes"),
    ],
)  # fmt: skip
def test_a_file_without_an_end_is_not_read(make: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    make(tmp_path / "a.json")
    with bounded(said), pytest.raises(CertificateError, match=said):
        read_certificate(tmp_path / "a.json")
