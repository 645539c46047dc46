"""The work log of a run counts all its sessions."""

import msgpack

from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.render.progress import work_log_facts
from hakoiri.rows.runs import work_log_row


def test_sessions_are_counted_together() -> None:
    first = WorkLog()
    assert first.as_dict() == {}
    first.add_layer("small", 7)
    first.add_layer("hosts", 1_000)
    for worker in ("a-1", "a-2", "a-1"):
        first.add_chunk("forest", "a", worker)
    kept = msgpack.unpackb(msgpack.packb(first.as_dict()))
    second = WorkLog()
    second.go_on(kept)
    # A scratch run beside it has none.
    second.go_on({})
    second.add_layer("hosts", 2_000)
    second.add_chunk("forest", "a", "a-3")
    second.add_chunk("solve")
    assert second.as_dict() == {
        "layers": {"small": [1, 7], "hosts": [2, 3_000]},
        "hosts": {"a": {"workers": 2, "chunks": {"forest": 4}}, "": {"workers": 0, "chunks": {"solve": 1}}},
    }
    assert kept == first.as_dict(), "what was committed is not changed any more"
    facts = work_log_facts(work_log_row(second.as_dict()))
    assert facts["expanded"] == "3 layers: 1 here, 2 by hosts"
    assert facts["chunks"].splitlines() == [
        "1 solve by this process, without workers",
        "4 forest by 2 workers of a",
    ]


def test_what_older_versions_counted_is_told_and_goes_on() -> None:
    """Workers made layers then, and left pieces in data Redis."""
    old = {
        "layers": {"workers": [9, 3_521_340], "cheaper": [1, 60_000]},
        "hosts": {"a": {"workers": 2, "data_redis": ["redis://10.0.0.2:1/0"], "chunks": {"gather": 18}}},
        "why_here": "0.02 s of work, and 0.03 s to hand it out",
        "audit": {"chunks": 3, "untrusted": ["b-17"], "first_layers": {"a-12": 40}},
    }
    places = WorkLog()
    places.go_on(old)
    places.add_layer("threads", 5)
    assert places.answered == {"a-12"}
    for stored in (old, places.as_dict()):
        facts = work_log_facts(work_log_row(stored))
        here = 1 if stored is old else 2
        assert facts["expanded"] == f"{here + 9} layers: {here} here, 9 by workers"
        assert facts["chunks"] == "18 gather by 2 workers of a"
        assert facts["audit"] == "3 chunks computed again here; excluded because they were wrong: b-17"


def test_who_expanded_is_counted_by_layer_and_in_all_from_session_to_session() -> None:
    first, second = WorkLog(), WorkLog()
    first.add_expanded("", 100, 0.5)
    first.add_expanded("a-3", 40, 0.25, 10, 20)
    first.add_expanded("a-3", 60, 0.25, 30, 40)
    first.repeated += 2
    second.go_on(first.as_dict())
    assert second.take_layer() == {"": [1, 100, 0.5, 0, 0], "a-3": [2, 100, 0.5, 40, 60]}
    second.add_layer("workers", 70)
    second.add_expanded("b-4", 70, 3.0, 5_000_000, 6)
    assert second.take_layer() == {"b-4": [1, 70, 3.0, 5_000_000, 6]}
    assert second.take_layer() == {}
    facts = work_log_facts(work_log_row(second.as_dict()))
    assert facts["expanded"] == "1 layer: 1 by 2 workers in 3 chunks"
    assert facts["by"].splitlines() == [
        "threads here: 1 chunk of 100 configurations in 0.50 s",
        "a-3: 2 chunks of 100 configurations in 0.50 s, 0.00 MB sent, 0.00 MB received",
        "b-4: 1 chunk of 70 configurations in 3.00 s, 5.00 MB sent, 0.00 MB received",
    ]
    assert facts["sent again"] == "2 chunks"


def test_threads_of_one_process_are_not_told_of() -> None:
    assert work_log_facts(work_log_row(WorkLog().as_dict())) == {}
