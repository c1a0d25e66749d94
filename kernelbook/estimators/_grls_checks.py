"""What the G-RLS learners refuse, in words: the argument, its value and the remedy."""

import os
from contextlib import contextmanager, suppress
from numbers import Real
from pathlib import Path

import numpy as np

from kernelbook.numeric.column_space import column_space

__all__ = [
    "check_number",
    "doubts_about_rank",
    "memory",
    "room_for",
    "rounding_of",
    "symmetric_copy",
    "total",
]

_BLOCK = 512
_CGROUPS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"


def check_number(name, value, smallest=0.0):
    """A finite real number ≥ `smallest`, or an error that says so."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}.")
    if not smallest <= value < np.inf:
        raise ValueError(f"{name}={value!r} must be a finite number ≥ {smallest:g}.")


def total(w):
    """Σw, infinite if so be."""
    with np.errstate(over="ignore"):
        return float(np.sum(w))


def symmetric_copy(gram):
    """(G + Gᵀ)/2 in new memory; an error where the two differ by more than rounding."""
    G = np.array(gram, dtype=np.float64, order="C")
    largest = max(G.max(), -G.min())
    for i in range(0, len(G), _BLOCK):
        rows, rest = slice(i, i + _BLOCK), slice(i, None)
        upper, lower = G[rows, rest], G[rest, rows].T
        if np.abs(upper - lower).max() > 1e-6 * largest:
            raise ValueError("the precomputed kernel matrix is not symmetric; it must be, in fit.")
        mean = upper / 2 + lower / 2
        G[rows, rest], G[rest, rows] = mean, mean.T
    return G


def rounding_of(gram):
    """How exact, relatively, the entries of a Gram matrix can be: some come in float32."""
    with np.errstate(over="ignore"):
        for i in range(0, len(gram), _BLOCK):
            rows = gram[i : i + _BLOCK]
            if not np.array_equal(rows.astype(np.float32), rows):
                return 64 * np.finfo(np.float64).eps
    return 4 * float(np.finfo(np.float32).eps)


def doubts_about_rank(features, P):
    """Warnings where rounding, and not the features, has decided which of them count."""
    r, l = features.rank, P.shape[1]
    if r < l and r < column_space(P).rank:
        return [
            f"sample_weight spans so many orders of magnitude that only {r} directions of the "
            f"{l} free features are left on the weighted sample; without weights there are more.  "
            "Use weights of more moderate ratios, or drop the samples whose weight is negligible."
        ]
    if features.rank_is_ambiguous:
        return [
            f"the {l} free features are dependent on the sample only to rounding: their singular "
            f"values fall to {features.values[r - 1]:.0e} of the largest without a gap, {r} were "
            f"kept, and what the other {l - r} could have fitted is left to the kernel.  Scale "
            "the features (Polynomials(scaled=True), StandardScaler), or take fewer of them."
        ]
    return []


def memory():
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
def room_for(m, arrays, remedy):
    """An error, before they are allocated, where `arrays` m×m matrices do not fit in memory."""
    needed, there = 8.0 * m * m * arrays, memory()
    what = "the Gram matrix" if arrays == 1 else f"the Gram matrix and {arrays - 1} more like it"
    text = f"m={m} samples need {needed / 2**30:.1f} GiB for {what}"
    if needed > there:
        raise MemoryError(f"{text}, and there are {there / 2**30:.1f} GiB: {remedy}")
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"{text}, which could not be had: {remedy}") from error
