"""Limits in time: a busy machine costs no one anything, and computing buys no time to sleep."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernelbook.course.sandbox import Limits
from kernelbook.course.sandbox.clocks import Clocks
from kernelbook.course.sandbox.watch import Watch

LOOP = "while True: pass"
counted = Path("/proc/self/schedstat")
needs_counts = pytest.mark.skipif(
    not counted.exists() or counted.read_text().split()[0] == "0",
    reason="this kernel does not count how long a process queues",
)


@contextmanager
def running(text, n=1, cpus=None):
    pin = None if cpus is None else lambda: os.sched_setaffinity(0, cpus)
    made = [subprocess.Popen([sys.executable, "-c", text], preexec_fn=pin) for _ in range(n)]
    try:
        yield made
    finally:
        for process in made:
            process.kill()
            process.wait()


@needs_counts
def test_queueing_for_a_processor_is_not_waiting():
    one = {min(os.sched_getaffinity(0))}
    with running(LOOP, 4, one) as (process, *_):
        clocks = Clocks(process.pid)
        clocks.look()  # what it computed while the others started
        start, computed, waited = time.monotonic(), clocks.computed, clocks.waited
        while clocks.computed < computed + 0.1:
            time.sleep(0.1)
            clocks.look()
        passed = time.monotonic() - start
    assert passed > 2 * (clocks.computed - computed)  # the machine was busy indeed
    assert clocks.waited - waited < 0.3 * passed


def test_sleeping_is_waiting_also_after_computing():
    text = "import time\nwhile time.process_time() < 0.2: pass\ntime.sleep(1000)"
    with running(text) as (process,):
        clocks = Clocks(process.pid)
        while clocks.waited < 0.5:  # hangs if computing were saved up for later
            time.sleep(0.1)
            clocks.look()
    assert clocks.computed > 0.15


def test_children_count_those_that_have_ended_included():
    text = "import os\nfor _ in range(3):\n    if os.fork() == 0:\n        s = 0\n"
    text += "        while os.times().user < 0.1: s += 1\n        os._exit(0)\n    os.wait()\n"
    with running(text + "import time; time.sleep(1000)") as (process,):
        clocks = Clocks(process.pid)
        while clocks.computed < 0.25:  # hangs if they did not count
            time.sleep(0.05)
            clocks.look()


def watched(computed, waited, stage_waited=0.0, limits=None):
    """What the watch says when its clocks show these times."""
    limits = limits or Limits(seconds=2.0, total=60.0)
    with running("import time; time.sleep(1000)") as (process,):
        watch = Watch(process, None, None, limits, None, ["f"])
        watch.begin("f", limits.waiting)
        watch.waited = waited - stage_waited
        watch.clocks.computed, watch.clocks.waited = computed, waited
        return watch.out_of_time()


def test_each_limit_has_its_sentence():
    assert watched(50.0, 9.0, 9.0) is None
    assert watched(1.0, 11.0, 11.0) == "f waited for more than 10 s"
    assert watched(1.0, 40.0, 9.0) is None  # earlier stages waited, too
    assert watched(50.0, 11.0) == "the time limit of 60 s for all of it ended"
