"""Workers and hosts that answer wrongly and say that their code is the run's: counted, audited, left out."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hakoiri.api import open_run
from hakoiri.coordinator.errors import UntrustedError
from hakoiri.coordinator.executors.remote import remote_executor
from hakoiri.coordinator.session.resources import DEFAULT
from hakoiri.coordinator.session.session import Control
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.tasks import TASKS
from hakoiri.worker.transport.connection import connect
from hakoiri.worker.transport.payload import Arrays
from tests.support.commands import Hakoiri
from tests.support.process_setup import stand_still_after_layer
from tests.support.runs import Notes
from tests.support.servers import RedisServer, other_worker
from tests.system.conftest import StartWorkers

#: A worker, or host, that hides one configuration of the pancakes, whoever leads to it.
LIAR = """
import numpy as np
from hakoiri.puzzles.contract import Expansion
from hakoiri.puzzles.permutation.pancakes import Pancakes
from hakoiri.worker import doing

doing.differing_parts = lambda mine, asked: []
honest = Pancakes.expand

def expand(self, keys):
    successors, counts = honest(self, keys)
    told = successors != {hidden}
    owners = np.repeat(np.arange(len(keys)), counts)[told]
    return Expansion(successors[told], np.bincount(owners, minlength=len(keys)).astype(counts.dtype))

Pancakes.expand = expand
"""
#: A host that drops one configuration where it merges a range; what it expands is right.
DROPPING = """
from hakoiri.worker.layers import ranges
from hakoiri.worker import doing

doing.differing_parts = lambda mine, asked: []
honest = ranges._new_keys

def merged(*given, **named):
    for keys in honest(*given, **named):
        yield keys[keys != {hidden}]

ranges._new_keys = merged
"""
#: A worker that leaves one configuration out of what a chunk leads to; the flow that it sums is right.
OMITTING = """
from hakoiri.worker import tasks
from hakoiri.worker.layers import ranges
from hakoiri.worker import doing

doing.differing_parts = lambda mine, asked: []
code_keys, set_within = ranges.code_keys, ranges.set_within
ranges.code_keys = lambda depth, keys: code_keys(depth, keys[keys != {hidden}])
ranges.set_within = lambda words, keys, base: set_within(words, keys[keys != {hidden}], base)
"""
#: A worker whose first three answers are right.
LATER_A_LIAR = """
import numpy as np
from hakoiri.worker import tasks
from hakoiri.worker import doing

doing.differing_parts = lambda mine, asked: []
answered = []

def lying(work):
    def answer(*given):
        made = work(*given)
        answered.append(len(made))
        return made if len(answered) < 4 else [np.array(array[:-1]) for array in made]
    return answer

for task in tasks.TASKS.values():
    task.work = lying(task.work)
"""
#: A worker that finds a key that is not a configuration, in each chunk.
INVENTING = """
import numpy as np
from hakoiri.worker import tasks
from hakoiri.worker.layers import ranges
from hakoiri.worker import doing

doing.differing_parts = lambda mine, asked: []
honest, code_keys = tasks.TASKS["neighbours"].work, ranges.code_keys

def neighbours(*given):
    keys, counts = honest(*given)
    return [np.where(np.arange(len(keys)), keys, keys.dtype.type({wrong})), counts]

tasks.TASKS["neighbours"].work = neighbours
ranges.code_keys = lambda depth, keys: code_keys(depth, np.append(keys[keys < {wrong}], keys.dtype.type({wrong})))
"""
PANCAKES = ("pancakes", "-o", "n=8")
HOSTED, FARMED = ("--farm", "1", "--hosts", "all"), ("--farm", "always")
#: Nothing is measured, so it is over soon.
CENSUS = (*PANCAKES, "--whole", "--diameters", "below=2", "--farm", "0", "--chunk", "2000")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The digest of a census of all pancakes, and one of them that is six moves from the start."""
    with closing(Hakoiri(tmp_path_factory.mktemp("honest"))) as here:
        found = here("run", *CENSUS, "--json").json
        here("run", *PANCAKES)
        with open_run("last", data=here.data) as run:
            yield found["digest"], int(run.layer(6)[100])


# Hosts


@pytest.mark.ci_slow
@pytest.mark.parametrize(("lie", "more"), [(DROPPING, HOSTED), (OMITTING, FARMED)], ids=["a host", "a worker"])
def test_a_configuration_that_was_dropped_is_missed_where_moves_can_be_taken_back(
    lie: str, more: tuple[str, ...], hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path
) -> None:
    """Nobody knows how many a board of sliding blocks reaches; but what leads to one is not led to from it."""
    board = ("sliding", "--from", "AABB/C..D/EEFF")
    found = hakoiri("run", *board, "--json").json
    with open_run("last", data=hakoiri.data) as run:
        dropped = int(run.layer(6)[5])
    with other_worker(redis_server, lie.format(hidden=dropped), tmp_path / "host" if more == HOSTED else None):
        ended = hakoiri("run", *board, "--redis", redis_server.url, *more, "--json", check=False)
    assert (found["configurations"], ended.code) == (90, 1)
    assert "some moves of this run are not reversed by another; a worker or a host omitted some" in ended.stderr
    assert hakoiri("status", "last", "--json").json["status"] == "failed"


# Workers


TOO_FEW = "this run found 40,319 configurations, expected 40,320 from any start of pancakes"


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("lie", "making", "said"),
    [
        (LIAR, (*PANCAKES, *FARMED), TOO_FEW), (OMITTING, (*PANCAKES, *FARMED), TOO_FEW),
        (LIAR, (*PANCAKES, *HOSTED), TOO_FEW),
        (LIAR, CENSUS, "pancakes: the same configuration had other moves before"),
    ],
    ids=["expanding", "coding", "a host", "moves"],
)  # fmt: skip
def test_a_configuration_that_is_left_out_is_missed(
    lie: str, making: tuple[str, ...], said: str, hakoiri: Hakoiri, redis_server: RedisServer, honest: tuple[str, int],
    tmp_path: Path,
) -> None:  # fmt: skip
    """The run does not say that it is complete; without an audit it does not know who left it out."""
    store = tmp_path / "host" if making[-len(HOSTED) :] == HOSTED else None
    with other_worker(redis_server, lie.format(hidden=honest[1]), store):
        ended = hakoiri("run", *making, "--redis", redis_server.url, "--json", check=False)
    assert ended.code == 1
    assert said in ended.stderr
    assert hakoiri("status", "last", "--json").json["status"] == "failed"


@pytest.mark.ci_slow
@pytest.mark.parametrize("directed", [False, True])
def test_an_audited_worker_that_lies_about_a_frontier_is_left_out(
    directed: bool, hakoiri: Hakoiri, redis_server: RedisServer, honest: tuple[str, int]
) -> None:
    """The layers that follow from its answers are made again."""
    puzzle = ("superpuzz", "-o", "columns=4") if directed else PANCAKES
    hakoiri("run", *puzzle)
    with open_run("last", data=hakoiri.data) as run:
        hidden, digest = int(run.layer(6)[1]), run.summary()["digest"]
    with other_worker(redis_server, OMITTING.format(hidden=hidden)) as liar:
        farmed = ("--redis", redis_server.url, "--farm", "always", "--audit", "100%", "--json")
        ended = hakoiri("run", *puzzle, *farmed)
    assert ended.json["digest"] == digest
    assert hakoiri("status", "last", "--json").json["work_log"]["audit"]["untrusted"] == [liar]


@pytest.mark.ci_slow
def test_what_a_liar_answered_in_a_session_without_audit_is_made_again(
    hakoiri: Hakoiri, redis_server: RedisServer
) -> None:
    """Nothing else would tell: of directed moves no layer knows its size."""
    puzzle = ("superpuzz", "-o", "columns=4")
    digest = hakoiri("run", *puzzle, "--json").json["digest"]
    farmed = ("--redis", redis_server.url, "--farm", "always", "--chunk", "1000000")
    lie = OMITTING.replace("keys != {hidden}", "keys % 7 != 5")
    with other_worker(redis_server, lie) as liar:
        running = hakoiri.start("run", *puzzle, *farmed, before=partial(stand_still_after_layer, 8))
        running.stands_still()
        running.kill()
        ended = hakoiri("resume", "last", *farmed, "--audit", "100%", "--json")
    assert (
        f"worker {liar} gave wrong answers, and the run has used some of its answers; the run restarts" in ended.stderr
    )
    assert ended.json["digest"] == digest


@pytest.mark.ci_slow
def test_a_key_that_a_worker_invents_in_a_frontier_ends_the_run_in_one_line(
    hakoiri: Hakoiri, redis_server: RedisServer
) -> None:
    with other_worker(redis_server, INVENTING.format(wrong=2**32 - 1)):
        ended = hakoiri("run", *PANCAKES, "--redis", redis_server.url, "--farm", "always", check=False)
    run = hakoiri("status", "last", "--json").json["run"]
    assert ended.code == 1
    assert f"run {run}: layer 1 would have 0xffffffff, which is not a configuration of pancakes" in ended.error
    assert f"hakoiri resume {run} --repair" in ended.error
    assert hakoiri("resume", run, "--repair", "--json").json["configurations"] == 40_320


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    "making",
    [
        pytest.param(("magic-star", "-o", "points=8", "--farm", "1", "--chunk", "5"), marks=pytest.mark.slow),
        ("sliding", "--from", "AABB/C..D/EEFF", "--whole", "--farm", "1", "--chunk", "100"),
    ],
    ids=["tree", "whole"],
)
def test_other_kinds_of_run_begin_again_without_a_worker_that_was_wrong(
    making: tuple[str, ...], hakoiri: Hakoiri, redis_server: RedisServer
) -> None:
    """And finds what it finds without workers."""
    hakoiri("run", *making)
    alone = hakoiri("status", "last", "--json").json
    run = hakoiri("enqueue", *making, "--json").json["run"]
    with other_worker(redis_server, LATER_A_LIAR) as liar:
        ended = hakoiri("resume", run, "--redis", redis_server.url, "--audit", "100%")
    said = f"worker {liar} gave wrong answers, and the run has used some of its answers; the run restarts"
    assert said in ended.stderr
    found = hakoiri("status", run, "--json").json
    assert (found["status"], found["digest"]) == ("complete", alone["digest"])
    assert found["work_log"]["audit"]["untrusted"] == [liar]
    assert hakoiri("verify", run, "--json").json["ok"] is True


@pytest.mark.ci_slow
def test_a_wrong_result_is_replaced_by_the_one_made_here(redis_server: RedisServer) -> None:
    """This holds if no other result of that worker counts yet; otherwise the run reports it."""
    spec = PuzzleSpec("pancakes", {"n": "8"})
    puzzle, notes = spec.build(), Notes()
    keys, (hidden,) = np.arange(900, dtype=puzzle.layout.dtype), puzzle.keys([5])

    def results(chunks: list[Arrays]) -> list[list[np.ndarray]]:
        executor = remote_executor(
            redis_server.url, connect(redis_server.url), puzzle, spec, Control(), notes, 1 << 28, DEFAULT, 1.0
        )
        with closing(executor):
            return [result for _, result in sorted(executor.map("neighbours", chunks), key=lambda each: each[0])]

    wrong, right = [keys[:300]], [keys[20_000:20_300]]
    wrong_first: list[Arrays] = [wrong, [keys[300:600]], [keys[600:]]]
    with other_worker(redis_server, LIAR.format(hidden=int(hidden))) as liar:
        found = results(wrong_first)
        for chunk, result in zip(wrong_first, found, strict=True):
            expected = TASKS["neighbours"].work(puzzle, chunk, ())
            assert all(np.array_equal(*pair) for pair in zip(expected, result, strict=True))
        assert any(f"worker {liar} is excluded" in text for text in notes.texts)
        with pytest.raises(UntrustedError, match="has used some of its answers"):
            results([right, wrong])


def test_a_worker_whose_results_hold_keys_of_nothing_is_left_out(redis_server: RedisServer) -> None:
    """Also by a run that audits none: kernels must not get them."""
    spec, notes = PuzzleSpec("pancakes", {"n": "8"}), Notes()
    puzzle = spec.build()
    chunk = [np.arange(300, dtype=puzzle.layout.dtype)]
    with other_worker(redis_server, INVENTING.format(wrong=2**32 - 1)) as liar:
        executor = remote_executor(redis_server.url, connect(redis_server.url), puzzle, spec, Control(), notes, 1 << 28)
        with closing(executor):
            ((_, found),) = executor.map("neighbours", [chunk])
    assert all(np.array_equal(*pair) for pair in zip(found, TASKS["neighbours"].work(puzzle, chunk, ()), strict=True))
    assert any(f"worker {liar} is excluded" in text for text in notes.texts)


@pytest.mark.ci_slow
def test_an_audited_worker_that_hides_a_configuration_is_left_out(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, honest: tuple[str, int]
) -> None:
    """Others do its chunks."""
    # Or the coordinator does them alone before there is an honest one.
    redis_server.pretend_worker()
    with other_worker(redis_server, LIAR.format(hidden=honest[1])) as liar:
        running = hakoiri.start("run", *CENSUS, "--redis", redis_server.url, "--audit", "100%", "--json")
        running.wait_for(f"worker {liar} is excluded from this run: its result of chunk ")
        with workers(redis_server.url, 1):
            ended = running.finish()
    assert (ended.code, ended.json["digest"], ended.json["configurations"]) == (0, honest[0], 40_320)
    audit = hakoiri("status", "last", "--json").json["work_log"]["audit"]
    assert audit["untrusted"] == [liar]
    assert audit["chunks"] > 10
    assert f"excluded because they were wrong: {liar}" in hakoiri("status", "last").stdout
