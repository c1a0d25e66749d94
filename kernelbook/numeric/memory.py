"""Is there room for large arrays?  Asked before they are allocated.

A process that takes more memory than there is does not get an error on Linux: it is killed, or the
machine stands still.  So a solver that will allocate arrays of m×m or m×n numbers says first how
many bytes they are, for what, and what else would do: `room_for`.

What is free is the least of

- what the kernel of the system calls available (`MemAvailable`, which counts caches it can drop);
- what the memory limits of the process's control groups leave, its own and those above it
  (a container, a job of a batch system), v1 and v2;
- what a limit on the address space (`ulimit -v`) leaves.

Where none of them can be read, the physical memory.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import numpy as np

__all__ = ["available", "room_for", "room_for_gram"]

ALWAYS_THERE = 2**25
"""So many bytes are taken without asking: to ask takes a tenth of a millisecond."""

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def available() -> float:
    """The bytes that this process can still have."""
    left = [_of_the_machine(), _of_the_groups(), _of_the_address_space()]
    if left[0] == np.inf:
        with suppress(AttributeError, OSError, ValueError):
            left[0] = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(min(left), 0.0)


@contextmanager
def room_for(needed: float, what: str, remedy: str | Callable[[], str]) -> Iterator[None]:
    """A `MemoryError` that says both and the remedy, before `needed` bytes are allocated inside.

    Parameters
    ----------
    needed : float
    what : str
        Whose arrays, and which: "m=60 samples need {} for the Gram matrix".
    remedy : str or callable
        A sentence, or what makes one: which solver, learner or parameter needs less.
    """

    def advice():
        return remedy if isinstance(remedy, str) else remedy()

    text = what.format(f"{needed / 2**30:.1f} GiB")
    if needed > ALWAYS_THERE and needed > (free := available()):
        raise MemoryError(f"{text}, and {free / 2**30:.1f} GiB are free: {advice()}")
    try:
        yield
    except MemoryError as error:
        if not error.args or str(error).startswith("Unable to allocate"):  # NumPy's, or Python's
            raise MemoryError(f"{text}, which could not be had: {advice()}") from error
        raise


def room_for_gram(
    m: int, matrices: int, remedy: str | Callable[[], str]
) -> AbstractContextManager[None]:
    """`room_for` the Gram matrix of m samples, and more of its size."""
    what = (
        "the Gram matrix" if matrices == 1 else f"the Gram matrix and {matrices - 1} more like it"
    )
    return room_for(8.0 * m * m * matrices, f"m={m} samples need {{}} for {what}", remedy)


def _of_the_machine():
    for line in _lines(PROC / "meminfo"):
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return 1024.0 * int(rest.split()[0])
    return np.inf


def _of_the_groups():
    """What the limits of all groups leave that this process is in."""
    left = [np.inf]
    for line in _lines(PROC / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, names = CGROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root = CGROUPS / "memory"
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        # In a container the path may be that of the host, which is not mounted there: then the
        # root is the container's own group.
        here = root / path.lstrip("/")
        for folder in (here, *here.parents):
            left.append(_of_a_group(folder, *names))
            if folder == root:
                break
    return min(left)


def _of_a_group(folder, limit, usage, reclaimable):
    """Limit − usage, files that can be dropped not counted; ∞ without a limit."""
    try:
        most, used = int((folder / limit).read_text()), int((folder / usage).read_text())
    except (OSError, ValueError):  # "max" is no number
        return np.inf
    for line in _lines(folder / "memory.stat"):
        name, _, number = line.partition(" ")
        if name == reclaimable:
            used -= int(number)
    return float(most - used)


def _of_the_address_space():
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            pages = int((PROC / "self" / "statm").read_text().split()[0])
            return float(most - pages * resource.getpagesize())
    return np.inf


def _lines(path):
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
