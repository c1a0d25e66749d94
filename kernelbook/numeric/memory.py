"""Is there room for an m×m matrix?  Asked before it is allocated."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

__all__ = ["available", "room_for"]

_CGROUPS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"


def available() -> float:
    """The bytes that this process may have: of the machine, its container and its limits."""
    found = [np.inf]
    with suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in _CGROUPS:
        with suppress(OSError, ValueError):  # "max" is no number
            found.append(int(Path(name).read_text()))
    with suppress(ImportError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            found.append(limit)
    return min(found)


@contextmanager
def room_for(m: int, arrays: int, remedy: str) -> Iterator[None]:
    """An error, before they are allocated, where `arrays` m×m matrices do not fit in memory."""
    needed, there = 8.0 * m * m * arrays, available()
    what = "the Gram matrix" if arrays == 1 else f"the Gram matrix and {arrays - 1} more like it"
    text = f"m={m} samples need {needed / 2**30:.1f} GiB for {what}"
    if needed > there:
        raise MemoryError(f"{text}, and there are {there / 2**30:.1f} GiB: {remedy}")
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"{text}, which could not be had: {remedy}") from error
