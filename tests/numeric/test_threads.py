"""Threads: loops that nest, fork and fail; BLAS held to one thread meanwhile."""

import os
import subprocess
import sys

import numpy as np
import pytest

from kernelbook.numeric import threads
from kernelbook.numeric.threads import n_threads, parallel_for, parallel_sum

THREADS = """
import os, sys, threading
import numpy as np
from kernelbook.numeric.jit import jit
from kernelbook.numeric.threads import parallel_for, serial_blas
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


several_cores = pytest.mark.skipif(
    threads._current_core is None or n_threads() < 2, reason="there are no cores to choose from"
)


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


FORKED = """
import os, threading
from kernelbook.numeric.threads import _pool, _this, n_threads, parallel_for

def here():
    return os.sched_getaffinity(0)

def loop():
    both, masks = threading.Barrier(2, timeout=30), []
    def task(_):
        both.wait()
        masks.append(here())
    parallel_for(task, 2)
    one, other = masks
    assert one | other == cores and not one & other, masks
    assert here() == cores and not vars(_this)

cores, threads = here(), n_threads()
loop()
parent = _pool()
for _ in range(3):
    child = os.fork()
    if child == 0:
        assert here() == cores and n_threads() == threads and not vars(_this)
        loop()
        loop()
        assert _pool() is not parent
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    loop()
assert _pool() is parent
print("done")
"""


@several_cores
def test_a_fork_after_a_loop_has_threads_and_cores_of_its_own(tmp_path):
    run_to_its_end(FORKED, tmp_path)


INTERRUPTED = """
import os, sys
from kernelbook.numeric import threads
from kernelbook.numeric.threads import parallel_for, serial_blas

def state():
    return os.sched_getaffinity(0), dict(vars(threads._this))

def loop():
    done = []
    parallel_for(done.append, 6)
    assert sorted(done) == list(range(6))

traced = ("numeric/threads.py", "contextlib.py")

def interrupt(n):
    # Ctrl-C is heard where a function begins: here at the n-th of this file and of contextlib.
    seen = 0
    def trace(frame, event, argument):
        nonlocal seen
        if event == "call" and frame.f_code.co_filename.endswith(traced):
            seen += 1
            if seen == n:
                sys.settrace(None)
                raise KeyboardInterrupt
    sys.settrace(trace)
    try:
        loop()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False

loop()
loop()
before, n = state(), 1
while interrupt(n):
    assert state() == before, (n, state(), before)
    assert not serial_blas._lock.locked(), n
    loop()
    n += 1
assert n > 20, n
print("done")
"""


@several_cores
def test_an_interrupt_at_any_call_leaves_nobody_held_and_nobody_waiting(tmp_path):
    run_to_its_end(INTERRUPTED, tmp_path)


HANDED_ON = """
import threading
import scipy.linalg
from kernelbook.numeric.threads import serial_blas
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
        parallel_for(task, 8)


def test_joblib_workers_stay_serial(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert n_threads() == 1


@pytest.mark.parametrize("count", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("per_round", [None, 1, 3, 1000])
def test_a_parallel_sum_is_the_sum_and_says_how_far_it_has_come(count, per_round):
    seen = []

    def add(total, item):
        total[0][...] += item
        total[1][...] += item**2

    ones, squares = parallel_sum(
        add,
        range(count),
        lambda: (np.zeros(1), np.zeros(2)),
        per_round=per_round,
        tick=seen.extend,
    )
    assert ones[0] == sum(range(count))
    assert np.all(squares == sum(i**2 for i in range(count)))
    assert seen == list(range(count))


def test_a_parallel_sum_is_the_same_each_time():
    numbers = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.arange(1000) ** 0.3

    def total():
        def add(total, i):
            total += numbers[i]

        return parallel_sum(add, range(1000), lambda: np.zeros(1), per_round=10)[0]

    assert len({total() for _ in range(20)}) == 1
    alone = parallel_sum(
        lambda total, i: np.add(total, numbers[i], out=total),
        range(1000),
        lambda: np.zeros(1),
        parallel=False,
    )
    assert alone[0] == np.add.accumulate(numbers)[-1]
