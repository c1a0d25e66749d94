"""What one submission may use, and what came out of its sandbox."""

from dataclasses import dataclass, field

__all__ = ["Limits", "Outcome"]


@dataclass(frozen=True)
class Limits:
    """What one submission may use, by the kernel's and the grader's clocks."""

    seconds: float = 10.0  # for one cell or one question
    total: float = 30.0  # for everything, by the clock
    memory: int = 1 << 30  # address space of one process, bytes
    printed: int = 1 << 20
    returned: int = 8 << 20
    lines: int = 20_000  # on the channel for results
    processes: int = 3  # the runner, one question, and bubblewrap's own in a user namespace

    def rlimits(self):
        return {
            "RLIMIT_AS": self.memory,
            "RLIMIT_CPU": int(self.total) + 1,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_NOFILE": 64,
            "RLIMIT_FSIZE": 0,
            "RLIMIT_CORE": 0,
            "RLIMIT_MEMLOCK": 0,
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
