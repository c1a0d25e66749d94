"""How we measure: the same problem, the same cores, the same process, side by side.

A *question* is a module of this package with

    QUESTION = "one line that says what is compared"
    TARGETS  = {"peer": Target(median=5.0, worst=2.5)}
    def cases(quick):  yield Case(...)            # the smallest sizes only if quick
    def summary(rows): return ["a line", ...]     # optional: what a table does not show

and a *case* is one problem: what we do, what each peer does, and what the answer is worth.  For
each case `measure`

1. calls every side once in a child process of its own and reads how far its memory rose at its
   highest (`peak_memory`): the peak beyond what the data take;
2. calls every side once, untimed: compilation, page faults and lazy imports are not the question;
3. calls the sides in turn, ours, theirs, ours, …, so that a slow minute of the machine hits all,
   and keeps medians, the fastest and the slowest call, in seconds of clock and processors;
4. computes the objective of every answer by `Case.objective`, which knows nothing of how it was
   found.  A faster side with a worse objective has not won, and its row says so.

BLAS, OpenMP and our own threads are all held to the same number.  Peers that use one thread only
do so by their own choice; the column of processor seconds tells.
"""

import ctypes
import gc
import importlib
import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from statistics import median

from threadpoolctl import threadpool_limits

__all__ = ["Case", "Row", "Target", "measure", "peak_memory", "provenance", "threads"]

REPETITIONS = 7
"""At most so many calls of each side, fewer if they take long."""

SECONDS = {True: 0.5, False: 4.0}
"""What the repetitions of one side may take, quick or not; one timed call is made anyway."""

SLOW = 5.0
"""A peer whose first call takes so many seconds has been timed by it: no start-up matters there.

Not so for us: the first call may have compiled something.
"""

SAME = 1e-4
"""An objective that is larger by this fraction is a worse one.

Two solvers that stop at the same violation, 10⁻³, differ by about this much either way.
"""


@dataclass(frozen=True)
class Target:
    """Their time over ours, at least: in the median of the cases, and in every one."""

    median: float
    worst: float | None = None


@dataclass(frozen=True)
class Case:
    """One problem; `ours` and the peers are called without arguments and return their answers.

    Parameters
    ----------
    name : str
    ours : callable
    peers : dict, name → callable
    objective : callable, optional
        From an answer to a number; smaller is better.
    facts : dict
        m, d, C, …: columns of the table to draw with.
    """

    name: str
    ours: Callable
    peers: dict = field(default_factory=dict)
    objective: Callable | None = None
    facts: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One case beside one peer."""

    question: str
    case: str
    peer: str
    ratio: float  # their median over ours: above one, we are faster
    seconds: float
    seconds_min: float
    seconds_max: float
    cpu_seconds: float
    peak_mb: float
    peer_seconds: float
    peer_seconds_min: float
    peer_seconds_max: float
    peer_cpu_seconds: float
    peer_peak_mb: float
    excess: float  # (our objective − theirs) / |theirs|
    repetitions: int
    facts: str

    @property
    def as_good(self):
        """Whether our objective is the same or better; true where there is none."""
        return not self.excess > SAME


# ------------------------------------------------------------------------------------- time


@contextmanager
def threads(count):
    """Hold BLAS, OpenMP and kernelbook's own threads to `count`."""
    before = os.environ.get("NUMBA_NUM_THREADS")
    os.environ["NUMBA_NUM_THREADS"] = str(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        if before is None:
            del os.environ["NUMBA_NUM_THREADS"]
        else:
            os.environ["NUMBA_NUM_THREADS"] = before


def timed(call):
    """(answer, seconds of the clock, seconds of the processors)"""
    clock, cpu = time.perf_counter(), time.process_time()
    answer = call()
    return answer, time.perf_counter() - clock, time.process_time() - cpu


def measure(question, case, *, quick=False):
    """The rows of a case, one for each peer; with none, one row of ours alone."""
    sides = {"": case.ours, **case.peers}
    peak = {name: peak_memory(call) for name, call in sides.items()}
    answers, first, spent = {}, {}, {}
    for name, call in sides.items():
        answers[name], first[name], spent[name] = timed(call)
    value = {name: case.objective(a) if case.objective else None for name, a in answers.items()}
    answers.clear()

    slow = {name for name, t in first.items() if name and t > SLOW}
    clock = {name: [first[name]] if name in slow else [] for name in sides}
    cpu = {name: [spent[name]] if name in slow else [] for name in sides}
    wanted = {
        name: 0 if name in slow else max(1, min(REPETITIONS, int(SECONDS[quick] / max(t, 1e-9))))
        for name, t in first.items()
    }
    for turn in range(REPETITIONS):
        for name, call in sides.items():
            if turn < wanted[name]:
                _, seconds, processors = timed(call)
                clock[name].append(seconds)
                cpu[name].append(processors)

    def column(name):
        times = clock[name]
        return median(times), min(times), max(times), median(cpu[name]), peak[name]

    nothing = (float("nan"),) * 5
    rows = []
    for peer in case.peers or ("",):
        theirs = column(peer) if peer else nothing
        excess = float("nan")
        if peer and case.objective:
            excess = (value[""] - value[peer]) / max(abs(value[peer]), 1e-300)
        ours, facts = column(""), json.dumps(case.facts)
        ratio, calls = theirs[0] / ours[0], len(clock[""])
        rows.append(Row(question, case.name, peer, ratio, *ours, *theirs, excess, calls, facts))
    return rows


# ----------------------------------------------------------------------------------- memory


def peak_memory(call):
    """How many megabytes of memory `call` adds at its highest; NaN where the system cannot tell.

    A forked child starts with our data in memory and, once it has given back what we freed, without
    our garbage, which `call` could otherwise use unseen.  Linux counts the pages that it really
    holds, and forgets their highest number when asked to.
    """
    if not (hasattr(os, "fork") and os.path.exists("/proc/self/clear_refs")):
        return float("nan")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of the parent may run here but `call`: leave by _exit
        status = 1
        try:
            gc.collect()
            if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
                libc.malloc_trim(0)
            with open("/proc/self/clear_refs", "w") as refs:
                refs.write("5")
            before = _status("VmHWM")
            call()
            os.write(write, str(_status("VmHWM") - before).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return int(answer) / 1024 if answer else float("nan")


def _status(name):
    """A line of /proc/self/status, in kilobytes."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name + ":"))


# ------------------------------------------------------------------------------- provenance


PEERS = ("numpy", "scipy", "scikit-learn", "numba", "cvxopt", "clarabel", "osqp", "piqp")


def provenance(count, quick):
    """What must be known to compare these numbers with others."""
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "threads": count,
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PEERS},
    }


def _processor():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model n"))
    except (OSError, StopIteration):
        return platform.processor()


def _version(name):
    try:
        return version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
