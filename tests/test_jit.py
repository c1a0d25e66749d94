"""The compilation policy: caches that are never stale, threads that cannot abort, lazy imports."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import kernelbook
from kernelbook import _jit


def run(code, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_an_edited_callee_in_another_file_is_never_stale(tmp_path):
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    shutil.copy(_jit.__file__, package / "_jit.py")
    callee = "from pkg._jit import jit\n\n\n@jit\ndef callee(x):\n    return x + {}\n"
    (package / "callee.py").write_text(callee.format(1))
    (package / "caller.py").write_text(
        "from pkg._jit import jit\nfrom pkg.callee import callee\n\n\n"
        "@jit\ndef caller(x):\n    return callee(x)\n"
    )
    program = "from pkg.caller import caller; print(caller(1), len(caller.stats.cache_hits))"

    def answer():
        done = run(program, cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert answer() == ["2", "0"]
    assert answer() == ["2", "1"], "the second process should have used the cache"
    (package / "callee.py").write_text(callee.format(2))
    assert answer() == ["3", "0"]


def test_the_cache_folder_is_ours_alone():
    """Other packages' functions must not be cached in our folder."""
    import numba

    before = numba.config.CACHE_DIR

    @_jit.jit
    def f(x):
        return x

    assert numba.config.CACHE_DIR == before


def test_an_unwritable_cache_means_no_cache_not_an_error(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder should be")
    done = run(
        "from kernelbook._jit import cache_folder, jit\n"
        "@jit\ndef f(x):\n    return x + 1\n"
        "print(cache_folder(), f(1))",
        NUMBA_CACHE_DIR=str(blocked),
    )
    assert done.stdout.split() == ["None", "2"], done.stderr


def test_old_cache_folders_are_removed_and_fresh_ones_kept(tmp_path):
    keep, fresh, old = (tmp_path / name for name in ("keep", "fresh", "old"))
    for folder in (keep, fresh, old):
        folder.mkdir()
    os.utime(old, (0, 0))
    _jit._drop_stale(tmp_path, keep)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fresh", "keep"]


def test_import_loads_and_compiles_nothing():
    done = run(
        "import sys, kernelbook\n"
        "heavy = {'numba', 'scipy', 'sklearn', 'matplotlib', 'numpy'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_every_public_name_imports():
    for name in kernelbook.__all__:
        assert getattr(kernelbook, name) is not None
    assert set(kernelbook.__all__) <= set(dir(kernelbook))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = kernelbook.no_such_name


def test_only_the_policy_file_imports_numba():
    package = Path(kernelbook.__file__).parent
    for path in package.rglob("*.py"):
        if path.name != "_jit.py":
            assert "import numba" not in path.read_text(), path
            assert "from numba" not in path.read_text(), path


def test_what_a_jitted_function_freezes_stands_in_a_hashed_file():
    """Numba bakes named constants into machine code; the cache must notice when they change."""
    import ast
    import pkgutil
    from importlib import import_module

    from numba.core.dispatcher import Dispatcher

    def names(module):
        """Constants of a module: those it assigns, if it is hashed, and those it imports."""
        source = Path(module.__file__).read_text()
        found = set()
        for node in ast.parse(source).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and "_jit" in source:
                found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if isinstance(node, ast.ImportFrom) and node.module.startswith("kernelbook"):
                origin = names(import_module(node.module))
                found |= {alias.name for alias in node.names if alias.name in origin}
        return found

    seen = 0
    for info in pkgutil.walk_packages(kernelbook.__path__, "kernelbook."):
        module = import_module(info.name)
        for function in list(vars(module).values()):
            if isinstance(function, Dispatcher) and function.__module__ == info.name:
                seen += 1
                frozen = {
                    name
                    for name in function.py_func.__code__.co_names
                    if isinstance(function.py_func.__globals__.get(name), int | float | tuple)
                    or isinstance(function.py_func.__globals__.get(name), np.ndarray)
                }
                assert frozen <= names(module), f"{info.name}.{function.__name__}: {frozen}"
    assert seen > 5 or os.environ.get("NUMBA_DISABLE_JIT")


THREADS = """
import os, sys, threading
import numpy as np
from kernelbook._jit import jit
from kernelbook._threads import parallel_for, serial_blas
from threadpoolctl import threadpool_info

@jit
def fill(row, value):
    for j in range(row.size):
        row[j] = value

def blas_threads():
    return [d["num_threads"] for d in threadpool_info() if d["user_api"] == "blas"]

def work():
    out = np.zeros((64, 500))
    def nested(i):
        parallel_for(lambda j: fill(out[8 * i + j], 8.0 * i + j), 8)
    for _ in range(20):
        parallel_for(nested, 8)
    assert (out == np.arange(64)[:, None]).all()

import scipy.linalg
before = blas_threads()
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
assert blas_threads() == before, (blas_threads(), before)
child = os.fork()
if child == 0:
    work()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("done")
"""


def run_to_its_end(text, folder):
    """In a process of its own, which prints "done" last."""
    program = folder / "program.py"
    program.write_text(text)
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.stdout.strip() == "done", done.stderr


def test_threads_that_nest_and_fork_do_not_abort(tmp_path):
    run_to_its_end(THREADS, tmp_path)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be told here")
def test_helpers_stay_away_from_the_core_of_their_caller(monkeypatch):
    """Else both may share one core while another is idle, see `_jit._Pool`."""
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        pytest.skip("there is one core only")
    pool, masks = _jit._Pool(), []
    monkeypatch.setattr(_jit, "_current_core", lambda: here)

    def task(depth=0):
        masks.append(os.sched_getaffinity(0))
        if depth == 0:  # a helper that calls for help changes nothing
            [helper.result() for helper in pool.submit_away(lambda: task(1), 1)]

    for here in (min(cores), max(cores)):
        [helper.result() for helper in pool.submit_away(task, 1)]  # starts threads
        [helper.result() for helper in pool.submit_away(task, 1)]
        assert masks[-2:] == [cores - {here}] * 2
    assert os.sched_getaffinity(0) == cores  # the caller goes where it likes
    monkeypatch.setattr(_jit, "_current_core", None)
    assert [helper.result() for helper in pool.submit_away(lambda: 7, 1)] == [7]
    pool.shutdown()


HANDED_ON = """
import threading
import scipy.linalg
from kernelbook._threads import serial_blas
from threadpoolctl import threadpool_info, threadpool_limits

def blas_threads():
    return {d["num_threads"] for d in threadpool_info() if d["user_api"] == "blas"}

def on_another_thread(call):
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join()

with threadpool_limits(2):
    assert blas_threads() == {2}
    keep = threading.Event()
    entered = threading.Event()
    hold = lambda: (serial_blas.__enter__(), entered.set(), keep.wait())
    first = threading.Thread(target=hold, daemon=True)
    first.start()
    entered.wait()
    assert blas_threads() == {1}, "a thread that is not the first to set a limit is heard"
    serial_blas.__enter__()
    on_another_thread(lambda: serial_blas.__exit__(None, None, None))
    assert blas_threads() == {1}, "somebody is inside"
    on_another_thread(lambda: serial_blas.__exit__(None, None, None))
    assert blas_threads() == {2}, "whoever is the last one out opens the door"
    keep.set()
    first.join()
print("done")
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="BLAS has one thread only")
def test_blas_is_held_to_one_thread_whoever_comes_first_and_goes_last(tmp_path):
    run_to_its_end(HANDED_ON, tmp_path)


def test_parallel_for_raises_what_a_task_raised():
    def task(i):
        if i == 3:
            raise KeyError("three")

    with pytest.raises(KeyError, match="three"):
        _jit.parallel_for(task, 8)


def test_joblib_workers_stay_serial(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert _jit.n_threads() == 1


@pytest.mark.interpreted
def test_named_fast_math_keeps_nan():
    @_jit.jit(fast=True)
    def total(x):
        s = 0.0
        for v in x:
            s += v
        return s

    assert np.isnan(total(np.array([1.0, np.nan, 2.0])))
    assert total(np.array([1.0, np.inf])) == np.inf


@pytest.mark.interpreted
def test_prefetch_asks_and_changes_nothing():
    @_jit.jit
    def total(x, ahead):
        s = 0.0
        for k in range(x.size):
            _jit.prefetch(x, k + ahead)
            s += x[k]
        return s

    x = np.arange(5.0)
    for ahead in (1, -(10**9), 10**12):  # what is not there is not fetched, and no error
        assert total(x, ahead) == 10.0
    assert np.array_equal(x, np.arange(5.0))
    if hasattr(total, "inspect_llvm"):
        assert "llvm.prefetch" in next(iter(total.inspect_llvm().values()))
