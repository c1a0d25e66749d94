"""How long the processes of a sandbox computed, and how long they waited.

A busy machine lets a process queue for a processor.  That is neither its computing nor its waiting,
and Linux knows it: the state R of a task is "runs or is ready to", and `/proc/PID/schedstat` has
the nanoseconds it was ready before it ran.  So the time in which no process of the sandbox computed
or queued is waiting, whatever else the machine does.

Time is cut into short pieces and each is judged alone: no process can queue first and sleep later
on what it has saved.

What a short-lived process computed since the last look is lost if nobody waits for it, which its
parent can arrange.  So processes are counted, too, by the numbers that their namespace gave them.
"""

import contextlib
import os
import time
from pathlib import Path

__all__ = ["TICK", "Clocks"]

TICK = 0.25  # seconds between two looks


class Clocks:
    """The two clocks of a process and its descendants; `look` brings them up to date."""

    def __init__(self, pid):
        self.pid, self.computed, self.waited, self.started = pid, 0.0, 0.0, 0
        self.last, self.used, self.queued = time.monotonic(), 0.0, {}

    def look(self):
        now = time.monotonic()
        used, queued, ready, number = measure(self.pid)
        self.started = max(self.started, number)
        computed = max(0.0, used - self.used)
        if not ready:  # a queue is counted when it ends, and this one has not
            delayed = sum(max(0.0, q - self.queued.get(task, 0.0)) for task, q in queued.items())
            self.waited += max(0.0, now - self.last - computed - delayed)
        self.computed += computed
        self.last, self.used, self.queued = now, used, queued


def measure(pid) -> tuple[float, dict[str, float], bool, int]:
    """Of a process tree: CPU seconds, those that have ended included; seconds each task queued;
    whether one runs or is ready to; the largest number of a process in its own namespace."""
    ticks, queued, ready, number, waiting = 0, {}, False, 0, [pid]
    while waiting:
        place = Path("/proc", str(waiting.pop()))
        with contextlib.suppress(OSError):  # it ended meanwhile
            ticks += sum(map(int, _stat(place)[11:15]))  # utime, stime, cutime, cstime
            number = max(number, _own_number(place))
            for task in place.glob("task/*"):
                waiting += (task / "children").read_text().split()
                queued[task.name] = _queued(task)
                ready = ready or _stat(task)[0] == "R"
    return ticks / os.sysconf("SC_CLK_TCK"), queued, ready, number


def _own_number(place):
    """A process's number in a namespace below ours, where numbers are given out in turn; else 0."""
    for line in (place / "status").read_text(errors="replace").splitlines():
        if line.startswith("NSpid:"):
            numbers = line.split()[1:]
            return int(numbers[-1]) if len(numbers) > 1 else 0
    return 0


def _stat(place):
    """The fields behind the name, which may hold anything."""
    return (place / "stat").read_text(errors="replace").rpartition(")")[2].split()


def _queued(task):
    try:
        return int((task / "schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):  # a kernel that does not count
        return 0.0
