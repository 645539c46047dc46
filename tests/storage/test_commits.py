"""Commits in a thread of their own: what is staged meanwhile is for the next one, and a failure is not lost."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hakoiri.errors import DiskFullError, PoisonedError
from hakoiri.storage.engine.environment import Environment
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger import ledger
from hakoiri.storage.ledger.ledger import CommitThread, create_run
from hakoiri.storage.names import META
from tests.support.stores import manifest


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return create_run(tmp_path, manifest(), queued=False)


def held_up(monkeypatch: pytest.MonkeyPatch, begin: Callable[[], None]) -> None:
    """Have each write call `begin` first."""
    write = Environment._write

    def late(*arguments: Any) -> None:
        begin()
        write(*arguments)

    monkeypatch.setattr(Environment, "_write", late)


def test_what_is_staged_during_a_commit_is_for_the_next_one(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go, done = threading.Event(), list[str]()

    def wait() -> None:
        done.append(threading.current_thread().name)
        go.wait()

    held_up(monkeypatch, wait)
    with RunStore(directory, writable=True) as store:
        with CommitThread(store) as thread:
            store.stage(META, b"first", b"1")
            thread.begin(lambda: done.append("first"))
            assert not thread.is_worthwhile
            store.stage(META, b"second", b"2")
            assert (store.read(META, b"first"), store.staged) == (None, True)
            go.set()
            thread.begin(lambda: done.append("second"))
            store.stage(META, b"third", b"3")
        assert [store.read(META, name) for name in (b"first", b"second", b"third")] == [b"1", b"2", None]
        assert store.staged
    assert done == ["commit_0", "first", "commit_0", "second"]
    with RunStore(directory) as store:
        assert [store.read(META, name) for name in (b"first", b"second", b"third")] == [b"1", b"2", None]


def test_a_commit_is_worthwhile_if_enough_is_staged(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_LEAST_BYTES", 10)
    with RunStore(directory, writable=True) as store, CommitThread(store) as thread:
        assert not thread.is_worthwhile
        store.stage(META, b"some", b"0123456789")
        assert thread.is_worthwhile


@pytest.mark.parametrize("meets", ["the next commit", "leaving"])
def test_a_commit_that_fails_is_raised_and_poisons(
    directory: Path, meets: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise DiskFullError("no room")

    held_up(monkeypatch, full)
    done = list[str]()
    with RunStore(directory, writable=True) as store:
        with pytest.raises(DiskFullError, match="no room"), CommitThread(store) as thread:
            store.stage(META, b"first", b"1")
            thread.begin(lambda: done.append("first"))
            if meets == "the next commit":
                thread.begin(lambda: done.append("second"))
        assert (done, store.read(META, b"first")) == ([], None)
        with pytest.raises(PoisonedError, match="no room"):
            store.commit(store.state)


def test_another_error_is_not_hidden_by_that_of_the_commit(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise DiskFullError("no room")

    held_up(monkeypatch, full)
    with RunStore(directory, writable=True) as store, pytest.raises(KeyError), CommitThread(store) as thread:
        thread.begin(lambda: None)
        raise KeyError
