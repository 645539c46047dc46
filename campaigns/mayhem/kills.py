"""Kills at random moments: of every process that takes part, over every kind of run."""

import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from campaigns.mayhem.scene import MOST_SECONDS, Disturbed, Scene
from campaigns.mayhem.trials import TWICE, Measure
from campaigns.mayhem.works import the_run
from hakoiri.storage.ledger.lock import holder_of
from hakoiri.storage.names import HOLDER_FILE
from tests.support.commands import Running, wait_until
from tests.support.web import ADDRESS

_MOST_BLOWS = 3
#: What a driver says that is one too many.
_TOLD = ("is held by process", "was taken over by another process")


def again_and_again(scene: Scene, start: Callable[[], Running], kill: Callable[[Running], object]) -> None:
    """Kill the driver at random moments of its work; the next one goes on."""
    for _ in range(scene.chance.randint(1, _MOST_BLOWS)):
        began = time.time()
        running = start()
        if not scene.let_work(running, scene.seconds):
            scene.outcome.figures["late"] += 1
            return
        scene.struck(began, partial(kill, running))


def foreground(scene: Scene) -> None:
    """The process that a user started."""
    again_and_again(scene, scene.drive, Running.kill)
    scene.finish(scene.drive())


def coordinator(scene: Scene) -> None:
    """The coordinator of a queued run, by threads, or with workers that live on."""
    scene.queue()
    again_and_again(scene, scene.coordinate, Running.kill)
    scene.finish(scene.coordinate())


def _with_workers(way: Callable[[Scene], None]) -> Callable[[Scene], None]:
    """The same way with two workers."""

    def farmed(scene: Scene) -> None:
        scene.farm()
        way(scene)

    return farmed


def web_server(scene: Scene) -> None:
    """The server on the web, which drives queued runs in a process of its own: that one leaves, too."""
    scene.queue()
    again_and_again(scene, lambda: scene.start("serve", *ADDRESS), scene.leave_alone)
    scene.finish(scene.coordinate())


def everything(scene: Scene) -> None:
    """The run, its workers and the one Redis, at one moment; only the disk is left."""
    scene.farm(keeps=True)

    def kill() -> None:
        running.kill()
        for host in scene.hosts:
            host.end()
        scene.one_redis.kill()

    began, running = time.time(), scene.drive()
    if scene.let_work(running, scene.seconds):
        scene.struck(began, kill)
        scene.redis = None
        scene.finish(scene.drive())
    else:
        scene.outcome.figures["late"] += 1


def _blow_by_blow(blow: Callable[[Scene], object], **farm: Any) -> Callable[[Scene], None]:
    """Deal blows at random moments of a run by workers, which goes on by itself."""

    def way(scene: Scene) -> None:
        scene.farm(**farm)
        running = scene.drive()
        for _ in range(scene.chance.randint(1, _MOST_BLOWS)):
            if not scene.let_work(running, scene.seconds):
                scene.outcome.figures["late"] += 1
                break
            scene.survived(partial(blow, scene), lambda: running)
        scene.finish_at_last(running)

    return way


def stopped_driver(scene: Scene) -> None:
    """Stop the driver; a second one is refused; then the first continues."""
    running = scene.drive()
    if at_work := _stands_still(scene, running) and scene.standing().state.status == "running":
        second = scene.hakoiri.here("resume", the_run(scene.work, scene.hakoiri.data).name, check=False)
        if second.code != 75 or "is held by process" not in second.error:
            scene.outcome.faults.append(f"two drivers: {second}")
    running.send(signal.SIGCONT)
    scene.outcome.figures["blows" if at_work else "late"] += 1
    scene.finish(running)


def _stands_still(scene: Scene, driver: Running) -> bool:
    """SIGSTOP to a driver at a random moment; whether it holds its run then."""
    wait_until(lambda: _is_held(scene) or driver.process.poll() is not None, what="the run to be held")
    # What it takes in all is mostly its start.
    at_work = scene.let_work(driver, scene.seconds / 4)
    driver.send(signal.SIGSTOP)
    return at_work and _is_held(scene)


def two_holders(scene: Scene, start: Callable[[], Running]) -> None:
    """The driver stands still and its lock is removed, so that a second one holds the run, too; then it goes on."""
    began, first = time.time(), start()
    if not _stands_still(scene, first):
        scene.outcome.figures["late"] += 1
        first.send(signal.SIGCONT)
        scene.finish(first)
        return
    scene.struck(began, (the_run(scene.work, scene.hakoiri.data) / HOLDER_FILE).unlink)
    second = start()
    scene.let_work(second, 2 * scene.seconds)
    first.send(signal.SIGCONT)
    for each in (first, second):
        ended = each.finish(MOST_SECONDS)
        if ended.code and not (ended.code == 1 and any(words in ended.error for words in _TOLD)):
            scene.outcome.faults.append(f"two holders: {ended}")


def _is_held(scene: Scene) -> bool:
    return scene.made() and holder_of(the_run(scene.work, scene.hakoiri.data)) is not None


def two_drivers(scene: Scene) -> None:
    """Commands that make the run, and go on with it."""
    two_holders(scene, scene.drive)
    scene.finish(scene.drive())


def two_services(scene: Scene) -> None:
    """Coordinators of a queued run; where there are workers, each gives them what is to be done."""
    scene.queue()
    two_holders(scene, scene.coordinate)
    scene.finish(scene.coordinate())


def two_coordinators(scene: Scene) -> None:
    """Two serve one data directory; the one that drives is stopped, and killed while the other waits."""
    scene.queue()
    both = [scene.coordinate() for _ in range(2)]
    if scene.let_work(both[0], scene.seconds):
        scene.chance.shuffle(both)
        both[0].send(signal.SIGSTOP)
        scene.let_work(both[1], scene.seconds)
        scene.struck(time.time(), both[0].kill)
    for each in both:
        each.finish(MOST_SECONDS)
    scene.finish(scene.coordinate())


class Kills(Disturbed):
    """A trial is a run of one kind, and one to three blows to one of those who take part."""

    name, usual, short = "kills", 864, (36, 15, 16)
    headings = ("who is killed", "run")
    crossed = "blows"
    by_workers: ClassVar = (
        "coordinator with workers", "worker", "supervisor with its worker", "one Redis, data kept",
        "one Redis, data lost", "everything at once", "worker stopped", "two with workers hold it", "supervisor",
        "supervisor and worker stopped", "one Redis stopped",
    )  # fmt: skip
    ways: ClassVar = {
        "foreground run": foreground,
        "coordinator": coordinator,
        "web server": web_server,
        "coordinator with workers": _with_workers(coordinator),
        "worker": _blow_by_blow(partial(Scene.kill_one, data_redis=False)),
        "supervisor with its worker": _blow_by_blow(Scene.replace_host, hosts=2, workers=1),
        "driver stopped": stopped_driver,
        "one Redis, data kept": _blow_by_blow(partial(Scene.restart_redis, wipe=False), keeps=True),
        "one Redis, data lost": _blow_by_blow(partial(Scene.restart_redis, wipe=True)),
        "driver stopped, its lock removed": two_drivers,
        "two coordinators": two_coordinators,
        "everything at once": everything,
        "worker stopped": _blow_by_blow(Scene.pause_worker),
        "two coordinators hold it": two_services,
        "two with workers hold it": _with_workers(two_services),
        "supervisor": _blow_by_blow(Scene.replace_supervisor),
        "supervisor and worker stopped": _blow_by_blow(Scene.pause_host, hosts=2, workers=1),
        "one Redis stopped": _blow_by_blow(Scene.pause_redis),
    }
    measures: ClassVar = {
        "blows": Measure("kills"),
        "late": Measure("after its end"),
        **TWICE,
        "lost": Measure("seconds of work lost", most=True),
        "stood": Measure("seconds until it went on", most=True),
    }
    text = """\
Each trial is a run of some kind that takes a second. One to three kills at random moments hit a process that takes
part: SIGKILL, or SIGSTOP for longer than others wait, and SIGCONT. If the driver dies, another continues the run. The
*supervisor* is the process that starts workers: if it alone is killed, its children must end by themselves. Trials with
workers are runs of which they do chunks. If *two hold it*, or a lock is removed, the first driver stands still while
the second one drives the run, and then continues: it must write nothing.

Afterwards the run must be complete. Its digest and all of its layers, rows and components must be those of an
undisturbed run. Every layer, row and chunk that was durable at a kill must be untouched (else it was *made twice*), and
`hakoiri verify` must agree. *Seconds of work lost* are those from the last commit to the kill. *Seconds until it went
on* are those to the next commit if the driver lives: a worker is missed after five seconds of silence."""
