"""Set-up of a forked command before it begins: speed, obedience to signals, limits."""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import rq.utils

from hakoiri import memory
from hakoiri.__main__ import main as program
from hakoiri.coordinator.hosts import layers
from hakoiri.coordinator.session.resources import DEFAULT
from hakoiri.coordinator.session.session import Session
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.names import META, ROUND_KEY
from hakoiri.worker import machine
from hakoiri.worker.rq_worker import TaskWorker

#: From Linux's headers: the version of the structures of capget(2), and two capabilities as bits.
_VERSION, _DAC_OVERRIDE, _DAC_READ_SEARCH = 0x20080522, 1 << 1, 1 << 2


def be_the_program() -> None:
    """Be all of ``python -m hakoiri``, by which a user's puzzle gets a process of its own."""
    program()
    sys.exit()


def be_impatient() -> None:
    """Have checkpoints so often that a run of seconds has as many as one of hours; wait for lost hosts for seconds."""
    vars(DEFAULT).update(checkpoint=0.02, range_commit=0.005, table_rest=0.0, away=3.0)


def set_clock(ahead: float) -> None:
    """Be on a host whose clock is so many seconds ahead, for RQ; and look for abandoned jobs all the time."""
    then, stamp = rq.utils.now, rq.utils.current_timestamp
    shifted = {"now": lambda: then() + timedelta(seconds=ahead), "current_timestamp": lambda: stamp() + int(ahead)}
    for module in [module for name, module in sys.modules.items() if name.startswith("rq.")]:
        for name in shifted.keys() & vars(module).keys():
            setattr(module, name, shifted[name])
    setattr(TaskWorker, "should_run_maintenance_tasks", property(lambda _: True))  # noqa: B010


def leave_memory(free: int) -> None:
    """So many bytes are free."""
    for module in (machine, memory):
        vars(module)["available_memory"] = lambda: free


def be_starved() -> None:
    """Be impatient, and have so little memory for a layer that one of some hundred configurations is spilled."""
    be_impatient()
    vars(DEFAULT).update(least_bytes=40_000, merged_at_once=4_096, least_dropped=1_000)


def stand_still(depth: int, what: str) -> None:
    """Be impatient, and stop as SIGSTOP does as soon as something of layer `depth` is durably `what`.

    That is ``expanded`` or ``merged``; so a layer may be short and is met in its midst all the same.
    """
    be_impatient()

    def is_in_its_midst(ledger: Ledger) -> bool:
        if ledger.state.depth >= depth - 1:
            # Else a machine in good mood makes all of the layer before anything of it is due.
            vars(DEFAULT).update(checkpoint=0.0, range_commit=0.0)
        begun = ledger.read_partial(dict[str, Any])
        return bool(begun and (begun["depth"], begun[what]) > (depth, 0))

    _stand_still_when(is_in_its_midst)


def stand_still_beyond(figure: str, *numbers: int) -> None:
    """Stop as SIGSTOP does as soon as more of a figure than the first number, or a ``depth`` beyond it, is committed.

    Then at a later commit that is beyond the second, and so on.
    """

    def is_beyond(number: int, ledger: Ledger) -> bool:
        found = {"depth": ledger.state.depth, **ledger.state.figures}
        return int(found.get(figure) or 0) > number

    _stand_still_when(*(partial(is_beyond, number) for number in numbers))


def stand_still_after_round(depth: int, number: int) -> None:
    """Have hosts make layer `depth` in as many rounds as it has ranges; stop as SIGSTOP does when so many are kept.

    What hosts are compared with stays as it is: `Ledger` is a part of that.
    """
    commit, left = Session.commit, [number]
    # No layer is expanded before the one before it is committed.
    layers.AHEAD_SECONDS = 0.0

    def commit_and_stand_still(session: Session, state: State) -> State:
        committed, store = commit(session, state), session.store
        vars(DEFAULT).update(checkpoint=0.0 if committed.depth == depth - 1 else 60.0)
        kept = store.read(META, ROUND_KEY) and store.read_record(META, ROUND_KEY, "round")
        if left and kept and (kept["depth"], kept["round"]) == (depth, left[0]):
            left.clear()
            os.kill(os.getpid(), signal.SIGSTOP)
        return committed

    Session.commit = commit_and_stand_still  # type: ignore[assignment, method-assign]


def stand_still_after_layer(*depths: int) -> None:
    """Stop as SIGSTOP does when layer `depth` is committed, also where hosts keep it; then after the next of these."""
    stand_still_at_hosts("depth", *depths)


def stand_still_at_hosts(figure: str, *least: int) -> None:
    """Stop as SIGSTOP does when a figure of so much, or a ``depth``, is committed: `Ledger` stays as it is."""
    commit, left = Session.commit, list(least)

    def commit_and_stand_still(session: Session, state: State) -> State:
        committed = commit(session, state)
        if left and int({"depth": committed.depth, **committed.figures}.get(figure) or 0) >= left[0]:
            left.pop(0)
            os.kill(os.getpid(), signal.SIGSTOP)
        return committed

    Session.commit = commit_and_stand_still  # type: ignore[assignment, method-assign]


def _stand_still_when(*stages: Callable[[Ledger], bool]) -> None:
    commit, left = Ledger.commit, list(stages)

    def commit_and_stand_still(ledger: Ledger, *arguments: Any, **named: Any) -> None:
        commit(ledger, *arguments, **named)
        if left and left[0](ledger):
            left.pop(0)
            os.kill(os.getpid(), signal.SIGSTOP)

    Ledger.commit = commit_and_stand_still  # type: ignore[assignment, method-assign]


def limit_files(size: int) -> None:
    """Let no file grow beyond `size` bytes: the write itself fails. No bytecode is kept, for it would be cut off."""
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def limit_addresses(size: int) -> None:
    """Let the process have `size` bytes of addresses and no more."""
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def obey_permissions() -> None:
    """Be somebody whom permissions stop: root without its power to pass them over."""
    if os.getuid():
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    wrong = libc.capget(header, sets)
    # The first word is what takes effect.
    sets[0] &= ~(_DAC_OVERRIDE | _DAC_READ_SEARCH)
    if wrong or libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")
