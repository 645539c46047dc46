"""Certificates: the layers reached from a deal, or any start of a puzzle, in a JSON file that anybody can verify.

    {"certificate": 1, "puzzle": "gap", "options": {"ranks": "7"}, "deal": rows joined by "/",
     "figures": {"positions": 423672, "moves": 34 or null, "depth": 55},
     "layers": [{"size": 1, "digest": 32 hexadecimal digits}, ...], "digest": 64 hexadecimal digits,
     "definition": the text of a puzzle from a definition, only for these,
     "identity": 64 hexadecimal digits (`storage.ledger.manifest.Manifest.identity`) of the exploration without limits}

The layers are those of a run by layers, the digests those of `storage.layers.blocks`. The figures of a deal come from a
hunt, which searches in memory with other programs; its certificate is made only if both agree. For another puzzle, or
an existing run, the figures are those of the run: ``deal`` is the start, ``positions`` the number of configurations,
``moves`` the depth of the nearest goal. If there are several starts, ``deal`` has them in lines, each with its end. If
mirror images are merged, there is ``"merge_mirrors": true``; sizes are those of classes, and ``"represented"`` of a
layer is the number of configurations that they represent. ``definition`` has that of a puzzle that is not built in.
``identity`` is compared before layer 1 is explored; certificates of earlier versions have none.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hakoiri.coordinator.errors import ContradictionError, RunError, StopRun, UnanswerableError, further
from hakoiri.coordinator.layers.search import SearchFigures
from hakoiri.coordinator.runs.create import make_run, plan_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.coordinator.runs.verify import verify_run
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.errors import PuzzleError
from hakoiri.loading import loaded
from hakoiri.owned import read_named
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.engine.files import naming, write_file
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Count, Digest, LayerRecord, typed
from hakoiri.storage.results import DealFigures

#: Distinguishes the file of a certificate from the name of a run.
SUFFIX = ".json"
_VERSION = 1
#: Fields that are left out where they are empty.
_LATER = ("merge_mirrors", "definition", "identity")
_MOST_BYTES = 4_000_000


class CertificateError(RunError, ValueError):
    """A file is not a valid certificate."""


@dataclass(frozen=True)
class LayerDigest:
    """The number of positions of a layer, their digest, and how many they represent if mirror images are merged."""

    size: Count
    digest: Digest
    represented: Count = 0


@dataclass(frozen=True)
class Certificate:
    """The figures and layers reached from a deal."""

    puzzle: str
    options: Mapping[str, str]
    deal: str
    figures: DealFigures
    layers: list[LayerDigest]
    digest: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    merge_mirrors: bool = False
    definition: str = ""
    identity: Annotated[str, Meta(pattern=r"\A([0-9a-f]{64})?\Z")] = ""

    @property
    def spec(self) -> PuzzleSpec:
        """The puzzle, with the deal as its start, or lines as its starts."""
        spec = PuzzleSpec(self.puzzle, dict(self.options), definition=self.definition)
        if self.deal.endswith("\n"):
            return replace(spec, starts=self.deal.removesuffix("\n"))
        return replace(spec, start=self.deal, merge_mirrors=self.merge_mirrors)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the file: mirrors, a definition and an identity only where there are any."""
        fields = {"certificate": _VERSION} | asdict(self)
        if not self.merge_mirrors:
            fields["layers"] = [{"size": layer.size, "digest": layer.digest} for layer in self.layers]
        return {name: value for name, value in fields.items() if value or name not in _LATER}


def certify(
    spec: PuzzleSpec, figures: DealFigures, resources: Resources, control: Control, observer: Observer
) -> Certificate:
    """Return the certificate of a deal, by a run by layers; `ContradictionError` if the run's figures differ."""
    with _explored(spec, resources, control, observer, lambda _: []) as store:
        found = certificate_of(store)
        if found.figures != figures:
            raise ContradictionError(
                f"{spec.start}: the search in memory found {_describe(figures)}, but the run by layers "
                f"{_describe(found.figures)}; this is a bug of Hakoiri, please report it"
            )
        return found


def certificate_of(store: RunStore, exhausted: bool = True) -> Certificate:
    """Return the certificate of a run by layers; `UnanswerableError` for another kind or an unfinished run.

    Unless `exhausted`, also what would be that of a run with some layers of its space; its identity has the limits.
    """
    spec, kind = PuzzleSpec.from_dict(store.manifest.puzzle), kind_of(store.manifest.kind)
    by_layers = kind.from_start and kind.has_graph and _goes_by_layers(spec)
    if not by_layers or spec.digest:
        what = "explorations of built-in puzzles and definitions"
        raise UnanswerableError(f"run {store.directory.name} cannot have a certificate; only {what} have one")
    whole = SearchFigures.of(store.state).exhausted
    if store.state.status != "complete" or (exhausted and not whole):
        raise UnanswerableError(f"run {store.directory.name} has not found all configurations", further(store))
    records, puzzle = store.layer_records(), spec.build()
    layers = [LayerDigest(each.size, each.digest, each.represented) for each in records]
    start = f"{spec.starts}\n" if spec.starts else spec.start or puzzle.render(puzzle.start)
    limits = {name: value for name, value in store.manifest.plan.items() if not whole and name != "keep"}
    return Certificate(
        spec.name, spec.options, start, _figures(store), layers, store.state.digest, spec.merge_mirrors,
        spec.definition, replace(store.manifest, plan=limits).identity,
    )  # fmt: skip


def write_certificate(certificate: Certificate, path: Path) -> None:
    """Write the file, replacing an older one; `NotWritableError` if that fails."""
    if len(text := certificate_text(certificate)) > _MOST_BYTES:
        raise UnanswerableError(f"the certificate would be larger than {_MOST_BYTES:,} bytes")
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, text)


def certificate_text(certificate: Certificate) -> str:
    """Return what its file has; it depends on nothing but the puzzle and the start."""
    fields = certificate.fields()
    layers = ",\n  ".join(json.dumps(layer) for layer in fields["layers"])
    texts = {name: f"[\n  {layers}\n ]" if name == "layers" else json.dumps(fields[name]) for name in fields}
    text = ",\n".join(f' "{name}": {value}' for name, value in texts.items())
    return f"{{\n{text}\n}}\n"


def read_certificate(path: Path) -> Certificate:
    """Return the certificate in a file, with only its form checked; `CertificateError` names the fault."""
    try:
        raw = read_named(path, _MOST_BYTES + 1)
    except OSError as error:
        raise CertificateError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(raw) > _MOST_BYTES:
        raise CertificateError(f"{path} is not a valid certificate: larger than {_MOST_BYTES:,} bytes")
    try:
        fields = msgspec.json.decode(raw)
        found = typed(fields, Certificate)
        if json.dumps(found.fields(), sort_keys=True) != json.dumps(fields, sort_keys=True):
            raise ValueError(f"not of version {_VERSION}, or with fields that are not known")
        return found
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"{path} is not a valid certificate: {error}") from None


def verify_file(
    path: Path, full: bool, resources: Resources, control: Control, observer: Observer, seed: int | None = None
) -> Report:
    """Verify the certificate in a file, as `verify_certificate` does."""
    certificate = read_certificate(path)
    try:
        return verify_certificate(certificate, full, resources, control, observer, seed)
    except PuzzleError as error:
        raise CertificateError(f"{path} is not a valid certificate: {error}") from error


def verify_certificate(
    certificate: Certificate, full: bool, resources: Resources, control: Control, observer: Observer,
    seed: int | None = None,
) -> Report:  # fmt: skip
    """Report everything wrong with a certificate; `seed` chooses the sample, by default at random.

    The deal is explored again by layers, the run verified (`coordinator.runs.verify`), and the deal searched in memory
    if the puzzle has deals. IMPORTANT: no layer is made after the first that differs, or a few bytes could cause any
    space to be explored. Raises `PuzzleError` if the certificate does not name a start of a puzzle that has layers,
    `StopRun` when `control` stops it.
    """
    if not _goes_by_layers(certificate.spec):
        raise PuzzleError(f"{certificate.puzzle} is a search tree; certificates are for searches by layers")
    puzzle = certificate.spec.build()
    apart = None
    if puzzle.figures_apart and puzzle.several_starts is None:
        apart = loaded(puzzle.figures_apart)(puzzle, certificate.deal)
    layers, report = list[LayerRecord](), Report()
    identity = plan_run(Path(), certificate.spec, "explore", {}, resources).identity
    first, many = certificate.layers[0].size if certificate.layers else 0, list[str]()

    # IMPORTANT: compared while they are listed, or a pattern of a few bytes could list any space.
    def outgrown(count: int) -> str:
        if count > 2 * first:
            many.append(f"layer 0 has more than {first:,} configurations, the size in the certificate")
        return "; ".join(many)

    def unlike(record: LayerRecord) -> list[str]:
        layers.append(record)
        return _differences(certificate, record, identity)

    try:
        with _explored(certificate.spec, resources, control, observer, unlike, outgrown) as store:
            report = verify_run(store, full, resources, control, observer, seed)
            depth = store.state.depth
            if depth + 1 != len(certificate.layers):
                report.fault(f"the certificate has {len(certificate.layers)} layers, expected {depth + 1}")
            if certificate.digest != store.state.digest:
                report.fault(
                    f"the digest of all layers is {store.state.digest}, but {certificate.digest} in the certificate"
                )
            known = _figures(store)
    except StopRun:
        for fault in (faults := _differences(certificate, layers[-1], identity) if layers else many):
            report.fault(fault)
        if not faults:
            raise
        report.count("layers", len(layers))
        observer.note(f"layer {max(0, len(layers) - 1)} differs from the certificate; later layers are not explored")
        return report
    _compare(report, certificate.figures, known, "the run by layers")
    if apart is not None:
        _compare(report, certificate.figures, apart(known.positions + 1), "the search in memory")
    return report


def _goes_by_layers(spec: PuzzleSpec) -> bool:
    return not spec.kind().is_tree


def _differences(certificate: Certificate, record: LayerRecord, identity: str) -> list[str]:
    mine, others = certificate.identity, list[str]()
    if mine not in ("", identity):
        others = [f"the certificate is of another version of the puzzle: its identity is {mine}, and {identity} here"]
    if record.depth >= len(certificate.layers):
        return [*others, f"the certificate has {len(certificate.layers)} layers, and the deal has more"]
    layer = certificate.layers[record.depth]
    pairs = {name: (getattr(record, name), getattr(layer, name)) for name in ("size", "digest", "represented")}
    differing = {what: pair for what, pair in pairs.items() if pair[0] != pair[1]}
    return others + [
        f"layer {record.depth}: its {what} is {found}, but {said} in the certificate"
        for what, (found, said) in differing.items()
    ]


def _compare(report: Report, said: DealFigures, found: DealFigures, finder: str) -> None:
    report.count("figures", 3)
    for name, value in asdict(found).items():
        if asdict(said)[name] != value:
            report.fault(f"{name}: {finder} found {value}, but {asdict(said)[name]} in the certificate")


def _figures(store: RunStore) -> DealFigures:
    found = SearchFigures.of(store.state)
    return DealFigures(found.configurations, found.goal_depth, store.state.depth)


def _describe(figures: DealFigures) -> str:
    return f"{figures.positions:,} positions, {figures.moves} moves and depth {figures.depth}"


@contextmanager
def _explored(
    spec: PuzzleSpec, resources: Resources, control: Control, observer: Observer,
    unlike: Callable[[LayerRecord], list[str]], outgrown: Callable[[int], str] = lambda _: "",
) -> Iterator[RunStore]:  # fmt: skip
    """Yield a finished run by layers in a temporary directory; `StopRun` by `control`, or if a layer is `unlike`."""
    with tempfile.TemporaryDirectory(prefix="hakoiri-certificate-") as data:
        directory = make_run(Path(data), spec, "explore", {}, resources)
        try:
            control.expect(lambda record: "; ".join(unlike(record)), outgrown)
            state = drive(directory, resources, control, observer)
        finally:
            control.expect(lambda _: "")
        if state.status != "complete":
            raise StopRun(state.status, state.reason)
        with RunStore(directory) as store:
            yield store
