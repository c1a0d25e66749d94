"""Numba in one place: how the library compiles, caches and uses threads.

Three decisions live here, so that no other file has to think of them.

**The cache is keyed to the sources.**  Numba's `cache=True` looks only at the file of
the function itself: when a jitted function calls one from *another* file and that
one is edited, the old machine code is used in silence.  So compiled code goes to a
folder whose name is a hash of every source file that compiles anything (imports this
one); an edit in any of them starts a new folder, and folders nobody has used for a
month are removed.  Numba also freezes the constants a jitted function names: they must
stand in the function's own file, which a test checks.

**Numba starts no threads.**  Its threading layers abort the whole process when two
Python threads enter them (workqueue) or when a process that used them forks (GNU
OpenMP).  Our kernels are serial and release the GIL instead, and `parallel_for`
spreads them over Python threads, which can be nested, forked and interrupted.

**Fast-math is named.**  `fastmath=True` also assumes that no NaN or infinity ever
occurs, which turns bad data into wrong answers.  `FAST` allows only the rewrites a
numerical analyst would: reassociation, fused multiply-add, and no care for signed
zeros.  The one place where NaN may be ignored is named as well: `larger` and `smaller`,
for the maximum of an array, which a compiler may only take eight by eight if the order
of comparisons does not matter.  With a NaN in the array they give any of its numbers.
"""

import ctypes
import hashlib
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ContextDecorator, contextmanager, suppress
from functools import cache
from pathlib import Path

import numba
import platformdirs
from llvmlite import ir
from numba.extending import intrinsic, overload
from threadpoolctl import ThreadpoolController

__all__ = [
    "FAST",
    "jit",
    "larger",
    "n_threads",
    "parallel_for",
    "prefetch",
    "serial_blas",
    "smaller",
]

FAST = frozenset({"reassoc", "contract", "nsz", "arcp"})
"""Allowed rewrites for reductions; NaN and infinity keep their meaning."""

_MONTH = 30 * 24 * 3600.0


def source_hash(package: Path = Path(__file__).parent) -> str:
    """A hash of every source below `package` that compiles anything: any edit there changes it."""
    h = hashlib.sha256(numba.__version__.encode())
    for path in sorted(package.rglob("*.py")):
        if b"_jit" in (text := path.read_bytes()):
            h.update(path.relative_to(package).as_posix().encode() + b"\0" + text)
    return h.hexdigest()[:16]


@cache
def cache_folder() -> str | None:
    """The folder for this state of the sources, or None where nothing can be written."""
    base = numba.config.CACHE_DIR or platformdirs.user_cache_dir("kernelbook", appauthor=False)
    root = Path(base) / "kernelbook-numba"
    folder = root / source_hash()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        _drop_stale(root, keep=folder)
    except OSError:
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


def _drop_stale(root: Path, keep: Path) -> None:
    for other in root.iterdir():
        if other != keep and time.time() - other.stat().st_mtime > _MONTH:
            shutil.rmtree(other, ignore_errors=True)


@contextmanager
def _our_cache_folder(folder: str):
    """Numba reads its cache folder when a function is decorated; change it only then."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def jit(
    function: Callable | None = None,
    *,
    fast: bool = False,
    brief: bool = False,
    inline: str = "never",
):
    """Compile on first call, keep the result on disk, release the GIL.

    Parameters
    ----------
    function : callable
        A function of arrays and numbers.
    fast : bool
        Allow the rewrites in `FAST`: for reductions over long arrays.
    brief : bool
        Keep the GIL: for what takes some microseconds.  To hand it to another thread, which has to
        wake up, takes longer.
    inline : {"never", "always"}
        Passed to Numba.
    """
    if function is None:
        return lambda f: jit(f, fast=fast, brief=brief, inline=inline)
    options = {
        "nogil": not brief,
        # Division by zero gives inf as NumPy does: the check would keep loops from vectorizing.
        "error_model": "numpy",
        "fastmath": set(FAST) if fast else False,
        "inline": inline,
    }
    folder = cache_folder()
    if folder is None:
        return numba.njit(function, **options)
    with _our_cache_folder(folder):
        return numba.njit(function, cache=True, **options)


def larger(a, b):
    """The larger of two numbers of one type, of which none is NaN: maxima that vectorize."""
    return a if a > b else b


def smaller(a, b):
    """The smaller of two numbers of one type, of which none is NaN: minima that vectorize."""
    return a if a < b else b


def _compile_choice(function: Callable, order: str) -> None:
    """Let jitted code call `function` as one comparison, marked as free of NaN."""
    free = ("nnan", "nsz")

    @intrinsic
    def choose(_, a, b):
        def code(context, builder, signature, args):
            first = builder.fcmp_ordered(order, *args, flags=free)
            return builder.select(first, *args, flags=free)

        return a(a, b), code

    overload(function)(lambda a, b: lambda a, b: choose(a, b))


_compile_choice(larger, ">")
_compile_choice(smaller, "<")


def prefetch(array, k):
    """Ask memory for entry k of an array, as its entries lie there, and do not wait for it.

    Who walks over rows in an order that the processor cannot guess says so a few rows ahead.  It
    changes nothing but the time, so k may be any number: what does not exist is not fetched.
    """


@intrinsic
def _prefetch(_, array, k):
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])

    def code(context, builder, signature, args):
        data = context.make_array(array)(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), byte)
        llvm = numba.core.cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        # To be read (0), into every level of the cache (3), of data (1).
        builder.call(llvm, [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return numba.void(array, k), code


overload(prefetch)(lambda array, k: lambda array, k: _prefetch(array, k))


def n_threads() -> int:
    """How many threads `parallel_for` uses.

    The cores this process may run on, or less when NUMBA_NUM_THREADS or
    OMP_NUM_THREADS says so (joblib sets both to one inside its workers).
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    asked = (os.environ.get(v, "") for v in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"))
    return max(1, min([cores, *(int(v) for v in asked if v.isdigit() and int(v) > 0)]))


class _SerialBLAS(ContextDecorator):
    """Hold BLAS to one thread while at least one caller is inside; also `@serial_blas`.

    The limit belongs to the whole process, so callers on several threads must share it: were each
    to save and restore it alone, the last one out would restore what another had set.  Who comes
    in first and who goes out last need not be the same thread, and threadpoolctl, from 3.8 on,
    lets one thread at a time set limits and ignores the others in silence.  So we take that right
    for as long as it takes to set a limit, and leave it to whoever comes next.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._inside = 0
        self._limit = None

    def __enter__(self):
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                with _control():
                    self._limit = _controller().limit(limits=1, user_api="blas")

    def __exit__(self, *exception):
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                with _control():
                    self._limit.restore_original_limits()


@contextmanager
def _control():
    """Inside, the limits that this thread sets count."""
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


class _Pool(ThreadPoolExecutor):
    """Threads that wait for work, as to start one takes longer than many a task, on other cores.

    A thread that is woken up may be put on the core of whoever wakes it, although another one is
    idle: virtual machines do not always tell which cores share a cache, and then Linux does not
    look for an idle one.  The two take turns there, some milliseconds each, until that is noticed,
    and many a task takes no longer.  So before threads are woken, they are told to stay away from
    the core that the caller runs on.
    """

    def __init__(self):
        self._ids, self._told = [], None
        super().__init__(os.cpu_count() or 1, "kernelbook", self._begin)

    def _begin(self):
        self._ids.append(threading.get_native_id())

    def submit_away(self, task, count):
        """Have `count` threads call `task`, on cores that this thread may use but does not."""
        if _current_core is not None and threading.get_native_id() not in self._ids:
            others = frozenset(os.sched_getaffinity(0) - {_current_core()})
            told = others, len(self._ids)
            if others and told != self._told:
                with suppress(OSError):  # cores may go while we speak of them
                    for thread in self._ids:
                        os.sched_setaffinity(thread, others)
                self._told = told
        return [self.submit(task) for _ in range(count)]


def _find_current_core():
    """The C library's `sched_getcpu`, where there is one and threads can be told where to run."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    return getattr(ctypes.CDLL(None), "sched_getcpu", None)


_current_core = _find_current_core()

_pool = cache(_Pool)

if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def parallel_for(task: Callable[[int], None], count: int | Iterable[int]) -> None:
    """Call `task(i)` for every i, on several threads, with BLAS held to one thread each.

    The tasks must write to disjoint places and spend their time without the GIL (jitted
    code, BLAS, NumPy).  The first exception of a task is raised here.

    The caller works, too, and starts at once; helpers join when they have woken up.  So nobody
    ever waits for a thread that is not at work, however deep calls are nested.
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
    with serial_blas:
        helpers = _pool().submit_away(work, min(n_threads(), len(todo)) - 1)
        try:
            work()
        finally:
            busy = [helper for helper in helpers if not helper.cancel()]
            wait(busy)
    for helper in busy:
        helper.result()
