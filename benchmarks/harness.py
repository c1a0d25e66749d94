"""How we measure: the same problem, the same cores, the same process, side by side.

A *question* is a module of this package with

    QUESTION = "one line that says what is compared"
    TARGETS  = {"peer": Target(median=5.0, worst=2.5)}
    def cases(quick):  yield Case(...)            # the smallest sizes only if quick
    def summary(rows): return ["a line", ...]     # optional: what a table does not show

and a *case* is one problem: what we do, what each peer does, and what the answer is worth.  For
each case `measure`

1. calls every side once, untimed: compilation, page faults and lazy imports are not the question;
2. calls every side in a child process of its own and reads how far its memory rose at its highest
   (`peak_memory`): the peak beyond what data, code and libraries take.  Children of the others are
   forked before step 1, because a library that has started threads may hang in a child.  Whoever is
   quick is then called once more, untimed: after a fork the first to write to a page pays for it;
3. calls the sides in turn, ours, theirs, ours, …, so that a slow minute of the machine hits all,
   and keeps medians, the fastest and the slowest call, in seconds of clock and processors (those of
   child processes included);
4. computes the objective of every answer by `Case.objective`, which knows nothing of how it was
   found.  A faster side with a worse objective has not won, and its row says so.

BLAS, OpenMP and our own threads are all held to the same number, whether their libraries are loaded
already or on the way.  Peers that use one thread only do so by their own choice; the column of
processor seconds tells.

`slope` fits the exponent of a cost that grows like a power, and `profiled` says where the time
of a call goes: what a row that misses its target owes its reader.
"""

import cProfile
import ctypes
import gc
import importlib
import json
import math
import os
import platform
import pstats
import select
import signal
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from statistics import median

from threadpoolctl import threadpool_limits

from kernelbook.numeric.threads import n_threads

__all__ = [
    "Case",
    "Row",
    "Target",
    "cores",
    "measure",
    "peak_memory",
    "profiled",
    "provenance",
    "slope",
    "threads",
]

REPETITIONS = {True: 3, False: 7}
"""At most so many calls of each side, quick or not; fewer if they take long."""

SECONDS = {True: 0.15, False: 4.0}
"""What the repetitions of one side may take, quick or not; one timed call is made anyway."""

SLOW = {True: 0.3, False: 5.0}
"""A peer whose first call takes so many seconds has been timed by it: no start-up matters there.

Not so for us: the first call may have compiled something.
"""

SAME = 1e-4
"""An objective that is larger by this fraction is a worse one.

Two solvers that stop at the same violation, 10⁻³, differ by about this much either way.
"""

REST = 0.05
"""Seconds of rest before a timed call: threads of BLAS run in circles for about half as long, once
they have nothing to do, and would take a core from the side whose turn is next.
"""

VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What libraries read, when they are loaded, to know how many threads they may start."""

QUICK = 0.5
"""A first call of fewer seconds is so short that page faults after a fork would be seen in it."""

PATIENCE = 600.0
"""Seconds that a child may take to show its peak."""


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
    peak : callable, optional
        From an answer to its megabytes, where `peak_memory` would look at the wrong process; the
        last answer counts, as the first call may have compiled something.
    """

    name: str
    ours: Callable
    peers: dict = field(default_factory=dict)
    objective: Callable | None = None
    facts: dict = field(default_factory=dict)
    peak: Callable | None = None


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
    excess: float  # (our objective − theirs) / |theirs|; NaN where there is none
    repetitions: int  # timed calls of ours
    threads: int  # of BLAS, OpenMP and kernelbook, the same for all sides
    facts: str

    @property
    def as_good(self):
        """Whether our objective is the same or better; true where there is none."""
        return not self.excess > SAME


# ------------------------------------------------------------------------------------- time


def cores():
    """How many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def threads(count):
    """Hold BLAS, OpenMP and kernelbook's own threads to `count`.

    Limits reach the libraries that are loaded; one that a question or its first call loads later
    reads the environment, as do processes that are started.
    """
    if not 1 <= count <= cores():
        raise ValueError(
            f"threads={count!r} must be between 1 and {cores()}, the cores this process may use: "
            "more would compare how the sides share a core."
        )
    before = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(dict.fromkeys(VARIABLES, str(count)))
    try:
        with threadpool_limits(count):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def timed(call):
    """(answer, seconds of the clock, seconds of the processors), after a short rest."""
    time.sleep(REST)
    clock, cpu = time.perf_counter(), _processors()
    answer = call()
    return answer, time.perf_counter() - clock, _processors() - cpu


def _processors():
    """Seconds of processor time that this process and the children it has waited for have used."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def measure(question, case, *, quick=False):
    """The rows of a case, one for each peer; with none, one row of ours alone."""
    sides = {"": case.ours, **case.peers}
    peak = {} if case.peak else {name: peak_memory(call) for name, call in case.peers.items()}
    answers, first, spent = {}, {}, {}
    for name, call in sides.items():
        answers[name], first[name], spent[name] = timed(call)
    value = {name: case.objective(a) if case.objective else None for name, a in answers.items()}
    peak |= {name: case.peak(a) for name, a in answers.items()} if case.peak else {}
    answers.clear()
    if not case.peak:
        peak[""] = peak_memory(case.ours)
    for name, call in sides.items():
        if first[name] < QUICK:
            call()

    slow = {name for name, t in first.items() if name and t > SLOW[quick]}
    clock = {name: [first[name]] if name in slow else [] for name in sides}
    cpu = {name: [spent[name]] if name in slow else [] for name in sides}
    for _ in range(REPETITIONS[quick]):
        for name, call in sides.items():
            # The first call says nothing of the others: it may have compiled something.
            past = clock[name]
            if name in slow or (past and sum(past) + past[-1] > SECONDS[quick]):
                continue
            answer, seconds, processors = timed(call)
            if case.peak:
                peak[name] = case.peak(answer)
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
            excess = _excess(value[""], value[peer])
        ours, facts = column(""), json.dumps(case.facts)
        ratio, counts = theirs[0] / ours[0], (len(clock[""]), n_threads())
        rows.append(Row(question, case.name, peer, ratio, *ours, *theirs, excess, *counts, facts))
    return rows


def _excess(ours, theirs):
    """(ours − theirs) / |theirs|; an objective that is no number is worse than any other."""
    if math.isnan(ours):
        return math.inf
    if math.isnan(theirs):
        return -math.inf
    if ours == theirs:  # both may be infinite
        return 0.0
    return (ours - theirs) / max(abs(theirs), 1e-300)


def slope(sizes, costs):
    """(a, e): the exponent a of cost ≈ b·size^a by least squares on logarithms, and its error.

    The standard error supposes that the logarithms scatter about a line; it is infinite for two
    points, which always lie on one.
    """
    x, y = [math.log(s) for s in sizes], [math.log(c) for c in costs]
    n = len(x)
    if n < 2 or n != len(y) or max(x) == min(x):
        raise ValueError(f"a slope needs two different sizes and a cost for each; got {n} sizes.")
    mean_x, mean_y = sum(x) / n, sum(y) / n
    spread = sum((a - mean_x) ** 2 for a in x)
    exponent = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
    if n == 2:
        return exponent, math.inf
    left = sum((b - mean_y - exponent * (a - mean_x)) ** 2 for a, b in zip(x, y, strict=True))
    return exponent, math.sqrt(left / (n - 2) / spread)


def profiled(call, lines=6):
    """[(share of the time, function), …]: where a call spends its time itself, largest first.

    What other threads do is not seen, only that they are waited for: call it on one thread.
    """
    profile = cProfile.Profile()
    profile.runcall(call)
    rows = pstats.Stats(profile).stats.items()
    total = sum(row[2] for _, row in rows) or 1.0
    largest = sorted(rows, key=lambda item: -item[1][2])[:lines]
    return [(row[2] / total, _called(*where)) for where, row in largest]


def _called(path, number, function):
    """A function as the profile names it, without the machine's folders."""
    return function if path == "~" else f"{os.path.basename(path)}:{number} {function}"


# ----------------------------------------------------------------------------------- memory


def peak_memory(call, patience=PATIENCE):
    """How many megabytes of memory `call` adds at its highest; NaN where the system cannot tell.

    A forked child starts with our data in memory and, once it has given back what we freed, without
    our garbage, which `call` could otherwise use unseen.  Linux counts the pages that it really
    holds, and forgets their highest number when asked to.  What is quick is called twice, and the
    second call counts: what the first one loads and keeps is no cost of the method.  A child that
    takes longer than `patience` seconds is ended, and gives no number.
    """
    if not (hasattr(os, "fork") and os.path.exists("/proc/self/clear_refs")):
        return float("nan")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of the parent may run here but `call`: leave by _exit
        status = 1
        try:
            rise, seconds = _rise(call)
            if seconds < 1.0:
                rise, _ = _rise(call)
            os.write(write, str(rise).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        if not select.select([pipe], [], [], patience)[0]:
            os.kill(child, signal.SIGKILL)
        answer = pipe.read()
    os.waitpid(child, 0)
    return int(answer) / 1024 if answer else float("nan")


def _rise(call):
    """(kilobytes by which `call` raises the memory of this process, seconds)"""
    gc.collect()
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")
    before, start = _status("VmHWM"), time.perf_counter()
    call()
    return _status("VmHWM") - before, time.perf_counter() - start


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
        "cores": cores(),
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
