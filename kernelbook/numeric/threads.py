"""Threads in one place: how many, where they run, and what BLAS may do meanwhile.

`parallel_for` spreads compiled code, which releases Python's lock, over Python threads: loops can
be nested, forked and interrupted.  Three things made short loops slow; all are handled here.

**Threads wait for work** in one pool: starting a thread takes longer than many tasks.

**The caller has a core of its own**, where the system supports affinities.  A thread that wakes up
may be put on the core of the thread that woke it, although another core is idle.  The two take
turns there, some milliseconds each, until Linux notices, and many loops take no longer than that.
Threads wake each other not only when a loop begins: a thread that waits for Python's lock sleeps
until its holder releases it.  So while a loop lasts the caller stays on its present core, and the
helpers share the others.  Afterwards the caller may run on all the cores it could use before.  (Two
callers at once may be pinned to the same core, and the helpers follow the latest: that costs time,
and nothing else.)

**BLAS has one thread** (`serial_blas`): its own would run beside ours.  `one_thread` does the same
for the algebra of n×n matrices between the loops, which BLAS would divide among threads that spend
more time waiting for each other than computing, and a hundred times more on a machine with other
work to do.
"""

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import (
    AbstractContextManager,
    ContextDecorator,
    contextmanager,
    nullcontext,
    suppress,
)
from functools import cache
from queue import SimpleQueue
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["n_threads", "one_thread", "parallel_for", "parallel_sum", "serial_blas"]


# -------------------------------------------------------------------------------------- BLAS


class _SerialBLAS(ContextDecorator):
    """Hold BLAS to one thread while at least one caller is inside; also `@serial_blas`.

    The limit belongs to the whole process, so callers on several threads must share it: if each
    saved and restored it alone, the last to leave would restore what another had set.  The first
    thread to enter and the last to leave may differ, and threadpoolctl, from 3.8 on, lets one
    thread at a time set limits and silently ignores the others.  So we take control of the limits
    only while we set them, and release it to the next thread.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._inside = 0
        self._limit = None

    def __enter__(self):
        with self._lock:
            self._inside += 1
            try:
                if self._inside == 1:
                    with _control():
                        self._limit = _controller().limit(limits=1, user_api="blas")
            except BaseException:  # Ctrl-C: this caller has not entered
                self._inside -= 1
                raise

    def __exit__(self, *exception):
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                try:
                    self._restore()
                except BaseException:  # Ctrl-C: again, which does no harm
                    self._restore()
                    raise

    def _restore(self):
        with _control():
            self._limit.restore_original_limits()

    def forked(self):
        """A child process has one thread: a lock that another thread of the parent held is free."""
        self._lock = threading.Lock()


@contextmanager
def _control():
    """Inside, the limits that this thread sets take effect."""
    owners = [c for c in _controller().lib_controllers if hasattr(c, "clear_controlling_thread")]
    for owner in owners:
        owner.clear_controlling_thread(force=True)
    try:
        yield
    finally:
        for owner in owners:
            owner.clear_controlling_thread(force=True)


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  NumPy and SciPy each bring a BLAS; both must be found

    return ThreadpoolController()


serial_blas = _SerialBLAS()

SERIAL_BLAS_SIZE = 1500  # a Cholesky factor of that size takes a twentieth of a second


def one_thread(n: int) -> AbstractContextManager[Any]:
    """A context for the algebra of n×n matrices: BLAS on one thread, unless they are large."""
    return serial_blas if n <= SERIAL_BLAS_SIZE else nullcontext()


# ------------------------------------------------------------------------------------- cores


def _find_current_core():
    """The C library's `sched_getcpu`, where there is one and threads can be told where to run."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    return getattr(ctypes.CDLL(None), "sched_getcpu", None)


_current_core = _find_current_core()

_this = threading.local()
"""For a caller pinned to one core: `cores`, those it may use.  For a helper: `helps`."""


def _cores() -> frozenset[int]:
    """The cores that this thread may run on when it is not pinned to one of them."""
    if hasattr(_this, "cores"):
        return _this.cores
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _send(thread: int, cores: frozenset[int]) -> None:
    with suppress(OSError):  # a core may have been taken away meanwhile
        os.sched_setaffinity(thread, cores)


@contextmanager
def _pinned_to_core():
    """Inside, the caller stays on its core; yields the others that it could use, for helpers.

    In a nested loop no thread moves, and None is yielded.
    """
    cores = _cores()
    if _current_core is None or len(cores) < 2 or vars(_this):
        yield None
        return
    here = _current_core()
    try:  # from here on: Ctrl-C may come at any time
        _this.cores = cores
        _send(0, frozenset({here}))
        yield cores - {here}
    finally:
        try:
            _release()
        except BaseException:
            _release()
            raise


def _release():
    """Let this thread run on all its cores again."""
    if hasattr(_this, "cores"):
        _send(0, _this.cores)
        del _this.cores


def n_threads() -> int:
    """How many threads `parallel_for` uses.

    The cores this process may run on, or less when NUMBA_NUM_THREADS or
    OMP_NUM_THREADS says so (joblib sets both to one inside its workers).
    """
    asked = (os.environ.get(v, "") for v in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"))
    return max(1, min([len(_cores()), *(int(v) for v in asked if v.isdigit() and int(v) > 0)]))


# ------------------------------------------------------------------------------------- loops


class _Task:
    """One helper's share of a loop: a thread runs it, or it is called off.

    Its locks and the queue are implemented in C: the executors of the standard library keep their
    counts in Python, where Ctrl-C at the wrong moment leaves a lock held and all threads waiting.
    """

    def __init__(self, work):
        self._work, self._claim, self._running = work, threading.Lock(), threading.Lock()
        self._running.acquire()
        self.error = None

    def run(self):
        if self.call_off():  # then no other thread will run it
            try:
                self._work()
            except BaseException as error:
                self.error = error
            finally:
                self._running.release()

    def call_off(self):
        """True if no thread had begun; then none will."""
        return self._claim.acquire(blocking=False)

    def wait(self):
        """Until the thread that has begun is done."""
        self._running.acquire()


class _Pool:
    """Threads that wait for work, on the cores assigned to them."""

    def __init__(self):
        self._ids, self._cores, self._moving = [], None, threading.Lock()
        self._jobs, self._started, self._busy = SimpleQueue(), 0, set()

    def _serve(self):
        _this.helps, me = True, threading.get_native_id()
        with self._moving:
            self._ids.append(me)
            if self._cores:  # else the cores of the thread that started us: perhaps only one
                _send(0, self._cores)
        while True:
            job = self._jobs.get()
            self._busy.add(me)
            job.run()
            self._busy.discard(me)
            del job  # or what it refers to would stay in memory until the next job

    def submit(self, job):
        """Have a thread run the job, sooner or later."""
        self._jobs.put(job)
        wanted = len(self._busy) + self._jobs.qsize()
        if self._started < min(wanted, os.cpu_count() or 1):
            self._started += 1
            threading.Thread(target=self._serve, name="kernelbook", daemon=True).start()

    def move(self, cores):
        """Send all threads, present and future, to these cores, unless they are there already."""
        with self._moving:
            if cores != self._cores:
                self._cores = cores
                for thread in self._ids:
                    _send(thread, cores)


_pool = cache(_Pool)

if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads, and is not held
    for _forget in (_pool.cache_clear, _release, serial_blas.forked):
        os.register_at_fork(after_in_child=_forget)


def parallel_for(task: Callable[[int], None], count: int | Iterable[int]) -> None:
    """Call `task(i)` for every i, on several threads, with BLAS held to one thread each.

    The tasks must write to disjoint memory and spend their time without the GIL (jitted code,
    BLAS, NumPy).  The first exception of a task is raised here.

    The caller works, too, and starts at once; helpers join when they have woken up.  So no thread
    ever waits for one that has not begun, however deeply calls are nested.
    """
    todo = deque(range(count) if isinstance(count, int) else count)

    def work():
        try:
            while True:
                try:
                    i = todo.popleft()
                except IndexError:
                    return
                task(i)
        except BaseException:
            todo.clear()
            raise

    if len(todo) <= 1:
        work()
        return
    helping = min(n_threads(), len(todo)) - 1
    with serial_blas, _pinned_to_core() if helping else nullcontext() as others:
        if others:
            _pool().move(others)
        helpers = [_Task(work) for _ in range(helping)]
        try:
            for helper in helpers:
                _pool().submit(helper)
            work()
        finally:
            busy = [helper for helper in helpers if not helper.call_off()]
            for helper in busy:
                helper.wait()
    for helper in busy:
        if helper.error is not None:
            raise helper.error


def parallel_sum(
    add: Callable[[Any, Any], None],
    items: Sequence[Any],
    start: Callable[[], Any],
    *,
    parallel: bool = True,
    per_round: int | None = None,
    tick: Callable[[Sequence[Any]], None] = lambda items: None,
) -> Any:
    """What `add(total, item)` adds up over all items, each thread to a total of its own.

    Which thread takes which items is fixed in advance, and the totals are added in a fixed order:
    the sum depends on the number of threads in its last digits only, and is the same in
    every run.

    Parameters
    ----------
    add : callable
        Adds an item to a total, in place.
    items : sequence
    start : callable
        Makes a total of zero: an array, or a tuple of arrays.
    parallel : bool
        False keeps the work on this thread.
    per_round : int, optional
        How many items to work on (about) before `tick` is called.
    tick : callable, optional
        tick(items) after each round, with the items of that round.
    """
    totals = [start() for _ in range(n_threads() if parallel else 1)]
    count = len(totals)
    step = count * max(1, (len(items) if per_round is None else per_round) // count)
    for first in range(0, len(items), step):
        now = items[first : first + step]

        def strip(t, now=now):
            for item in now[t::count]:
                add(totals[t], item)

        parallel_for(strip, count)
        tick(now)
    if isinstance(totals[0], tuple):
        return tuple(sum(parts[1:], parts[0]) for parts in zip(*totals, strict=True))
    return sum(totals[1:], totals[0])
