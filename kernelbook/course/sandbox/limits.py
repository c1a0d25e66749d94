"""What one submission may use, and what came out of its sandbox."""

import math
from dataclasses import dataclass, field

__all__ = ["GRACE", "PATIENCE", "SLOWEST", "Limits", "Outcome"]

GRACE = 10.0  # seconds beyond a limit that the code inside keeps itself if it is honest
PATIENCE = 5.0  # how many times longer than it may compute a step may wait
SLOWEST = 50.0  # seconds by the clock for a second of computing, where queueing cannot be seen


@dataclass(frozen=True)
class Limits:
    """What one submission may use, by the kernel's and the grader's clocks.

    Computing is limited in CPU time, waiting in time during which no process computed or queued for
    a processor (`clocks`).  Both are the same on an idle and on a busy machine.
    """

    seconds: float = 10.0  # of CPU time, for one cell or one question
    computing: float = 40.0  # of CPU time, for one process: all cells run in the same one
    total: float = 180.0  # for everything, computing and waiting together
    memory: int = 1 << 30  # address space of one process, bytes
    printed: int = 1 << 20
    returned: int = 8 << 20
    lines: int = 20_000  # on the channel for results
    processes: int = 3  # the runner, one question, and bubblewrap's own in a user namespace
    started: int = 500  # processes and threads, one after another

    @property
    def waiting(self):
        """Without computing, for one cell or one question."""
        return PATIENCE * self.seconds

    @property
    def starting(self):
        """Without computing, for the start and all cells."""
        return 2 * self.waiting + GRACE

    def rlimits(self):
        return {
            "RLIMIT_AS": self.memory,
            "RLIMIT_CPU": math.ceil(self.computing),
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_NOFILE": 64,
            "RLIMIT_FSIZE": 0,
            "RLIMIT_CORE": 0,
            "RLIMIT_MEMLOCK": 0,
            "RLIMIT_SIGPENDING": 256,  # timers, too
            "RLIMIT_RTPRIO": 0,
        }


@dataclass
class Outcome:
    """What came out of a sandbox.

    What came `before` the hidden inputs went in cannot contain them, whatever the code does; only
    that part is ever shown to a student.
    """

    before: list = field(default_factory=list)  # raw lines, not to be trusted
    after: list = field(default_factory=list)
    printed: str = ""  # before
    trouble: str | None = None  # why it was ended, when it did not end by itself
