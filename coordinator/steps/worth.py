"""Whether a layer is worth handing out: its work, as measured so far, against what the jobs and the wire cost."""

from dataclasses import dataclass

#: The processor time that a job takes of all processes together, and the jobs that a worker has in a small layer.
_JOB_SECONDS, _JOBS_EACH = 0.010, 2
#: Fewer configurations say nothing of what one costs.
_ENOUGH = 1_000


@dataclass
class Worth:
    """Seconds per configuration: of one core that makes the next layer of it, and of the wire. 0 while unknown."""

    work: float = 0.0
    wire: float = 0.0

    def made_here(self, configurations: int, seconds: float) -> None:
        """A layer was made here, in so many seconds of processor time."""
        if configurations >= _ENOUGH:
            self.work = seconds / configurations

    def handed_out(self, configurations: int, moved: int, pace: float) -> None:
        """A layer was made by workers, who moved so many bytes over a wire that takes `pace` seconds for each."""
        self.wire = moved * pace / configurations

    def compare(self, configurations: int, workers: int) -> tuple[float, float]:
        """The seconds that the layer after so many configurations takes one core, and those that go to hand it out."""
        return configurations * self.work, workers * _JOBS_EACH * _JOB_SECONDS + configurations * self.wire

    def pays(self, configurations: int, workers: int) -> bool:
        """Whether workers should have it; where nothing is known yet, they should."""
        work, handing_out = self.compare(configurations, workers)
        return not self.work or work >= handing_out
