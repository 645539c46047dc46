"""Where the work of a run is done is counted over all its sessions."""

import msgpack

from hakoiri.coordinator.session.places import Places
from hakoiri.render.places import places_facts
from hakoiri.rows.runs import places_row


def test_sessions_are_counted_together() -> None:
    first = Places()
    assert first.as_dict() == {}
    first.add_layer("small", 7)
    first.add_layer("workers", 1_000)
    for worker in ("a-1", "a-2", "a-1"):
        first.add_chunk("gather", "a", worker, "redis://10.0.0.2:1/0")
    first.why_here = "nothing is known"
    kept = msgpack.unpackb(msgpack.packb(first.as_dict()))
    second = Places()
    second.go_on(kept)
    # A scratch run beside it has none.
    second.go_on({})
    second.add_layer("workers", 2_000)
    second.add_chunk("gather", "a", "a-3", "redis://10.0.0.2:2/0")
    second.add_chunk("solve")
    assert second.as_dict() == {
        "layers": {"small": [1, 7], "workers": [2, 3_000]},
        "hosts": {
            "a": {
                "workers": 2, "data_redis": ["redis://10.0.0.2:1/0", "redis://10.0.0.2:2/0"], "chunks": {"gather": 4},
            },
            "": {"workers": 0, "data_redis": [], "chunks": {"solve": 1}},
        },
        "why_here": "nothing is known",
    }  # fmt: skip
    assert kept == first.as_dict(), "what was committed is not changed any more"
    facts = places_facts(places_row(second.as_dict()))
    assert facts["made"].splitlines() == [
        "1 layer of 7 configurations here, too small to be handed out",
        "2 layers of 3,000 configurations by workers",
    ]
    assert facts["chunks"].splitlines() == [
        "1 solve by this process, for want of workers",
        "4 gather by 2 workers of a, pieces in redis://10.0.0.2:1/0 and redis://10.0.0.2:2/0",
    ]


def test_threads_of_one_process_are_not_told_of() -> None:
    assert places_facts(places_row(Places().as_dict())) == {}
