"""Which parameters are free, between which bounds, and where a search starts.

All on the log scale.  A width is measured by the extent D of the columns that its kernel sees (of
one column, where it belongs to one): bounds 10⁻⁴D and 10³D, starts between D/50 and 2D.  A width of
constant columns has no effect, and is held.  A periodic kernel's width is measured by the diameter
2 of the unit circle, from a hundredth of it on, and its period stays within a factor of two of the
given one.  Weights, offsets and exponents have six decades to either side.  γ is measured by the
mean eigenvalue μ of the kernel matrix where Pᵀc = 0: ρ = mγ stays between 10⁻¹⁰μ, where rounding
begins, and 10⁸μ, where only the features are left.

**Weights that say nothing.**  The scale s is always at its best, so s·(aΦ + ρI) is the same model
for every a if ρ goes along.  Where some weight multiplies the whole kernel, or every term of a sum
has its own, one of them is held: weights are relative, and their common factor is `scale_`.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.stats import qmc

from kernelbook.kernels import Kernel, Periodic, Product, Scaled, Sum

__all__ = ["Box", "box_of", "redundant_weights"]

WIDTH_BOUNDS, WIDTH_STARTS = (1e-4, 1e3), (0.02, 2.0)
PERIOD_BOUNDS = (0.5, 2.0)
REG_BOUNDS, REG_STARTS = (1e-10, 1e8), (1e-3, 3.0)
OTHER_BOUNDS, OTHER_STARTS = (1e-6, 1e6), (0.1, 10.0)


@dataclass
class Box:
    """The free parameters; all arrays are logarithms.

    Attributes
    ----------
    names : list of str
        Those of the kernel that are free, then "reg" if it is.
    start, low, high : (p,) arrays
    start_low, start_high : (p,) arrays
        Where other starts are.
    """

    names: list
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    start_low: np.ndarray
    start_high: np.ndarray
    messages: list

    def starts(self, count):
        """The given start, and count − 1 more that fill the region evenly (Halton's points)."""
        if not self.names:
            return self.start[None]
        points = qmc.Halton(len(self.names), scramble=False).random(count)[1:]
        others = self.start_low + points * (self.start_high - self.start_low)
        return np.clip(np.vstack([self.start, others]), self.low, self.high)


def box_of(kernel, X, reg, level, tuning):
    """The `Box` of a kernel (None: a given matrix) on the rows X.

    Parameters
    ----------
    reg : float
        Where to start from; 0 stands for a tenth of `level`.
    level : callable
        level(kernel) is the reg at which ρ is the mean eigenvalue of the kernel matrix where
        Pᵀc = 0; asked for in the middle of the region of starts.
    tuning : Tuning
    """
    known = {} if kernel is None else kernel.tunable()
    names = [*known, "reg"]
    fixed = {name for short in tuning.fixed for name in _matching(short, names, "fixed")}
    given = {
        name: tuple(map(float, pair))
        for short, pair in tuning.bounds.items()
        for name in _matching(short, names, "bounds")
    }
    held = set() if kernel is None else set(redundant_weights(kernel, fixed))
    rows, messages = {}, []
    for name in known:
        if name in fixed or (name in held and name not in given):
            continue
        row = _row_of(kernel, name, known[name], X)
        if row is not None:
            rows[name] = _within(row, given.get(name))
        else:
            messages.append(
                f"{name} has no effect on this sample, whose columns it belongs to are constant: "
                f"it stays {known[name]:g}."
            )
    if "reg" not in fixed:
        middle = {name: float(np.sqrt(row[3]) * np.sqrt(row[4])) for name, row in rows.items()}
        unit = level(kernel.tuned(middle) if middle else kernel)
        unit = unit if unit > 0 else 1.0
        row = _row(reg if reg > 0 else 0.1 * unit, unit, REG_BOUNDS, REG_STARTS)
        rows["reg"] = _within(row, given.get("reg"))
    logs = np.log(np.array(list(rows.values())).reshape(-1, 5).T)
    return Box(list(rows), *logs, messages=messages)


def _within(row, bounds):
    """Start, bounds and region of starts, with the bounds that were given."""
    if bounds is not None:
        low, high = bounds
        starts = np.clip(row[3:], low, high)
        row = np.array([row[0], low, high, *(starts if starts[0] < starts[1] else bounds)])
    row[0] = np.clip(row[0], row[1], row[2])
    return row


def redundant_weights(kernel: Kernel, fixed: Collection[str] = ()) -> list[str]:
    """The names of weights that change nothing that the scale and ρ could not undo, where the
    parameters in `fixed` stay as they are.
    """
    common, held = _weights(kernel)
    return held if {"reg", *common} & set(fixed) else held + common[:1]


def _weights(kernel):
    """(weights whose common factor multiplies the kernel, or []; weights that are redundant)."""
    if isinstance(kernel, Scaled):
        inner, held = _weights(kernel.kernel)
        held = [f"kernel__{name}" for name in held + inner[:1]]
        return (["factor"] if kernel.factor > 0 else []), held
    if isinstance(kernel, Sum | Product):
        (left, left_held), (right, right_held) = map(_weights, (kernel.left, kernel.right))
        left, left_held = ([f"left__{name}" for name in part] for part in (left, left_held))
        right, right_held = ([f"right__{name}" for name in part] for part in (right, right_held))
        held = left_held + right_held
        if isinstance(kernel, Sum):
            return (left + right if left and right else []), held
        if left and right:
            held += right[:1]
        return left or right, held
    return [], []


def _matching(short, names, argument):
    """The names that end in `short`, as "width" does for left__width and width[1]."""
    found = [
        name
        for name in names
        if short in (name, name.partition("[")[0])
        or name.endswith(f"__{short}")
        or name.partition("[")[0].endswith(f"__{short}")
    ]
    if not found:
        raise ValueError(f"{argument} has {short!r}, which is no parameter; use some of {names}.")
    return found


def _row(value, unit, bounds, starts):
    row = np.array([value, *(unit * b for b in bounds), *(unit * b for b in starts)])
    return np.clip(row, 1e-300, 1e300)


def _row_of(kernel, name, value, X):
    """Start, bounds and region of starts of a kernel's parameter; None where it has no effect."""
    owner, last = _owner(kernel, name)
    plain, _, index = last.partition("[")
    if plain == "width" and not isinstance(owner, Periodic):
        extent = _extent(X, owner.columns, int(index[:-1]) if index else None)
        return _row(value, extent, WIDTH_BOUNDS, WIDTH_STARTS) if extent > 0 else None
    if plain == "width":  # of a chord of the circle with radius 1
        return _row(value, 2.0, (1e-2, WIDTH_BOUNDS[1]), (0.1, 2.0))
    if plain == "period":
        return _row(value, value, PERIOD_BOUNDS, (0.9, 1.1))
    return _row(value, value, OTHER_BOUNDS, OTHER_STARTS)


def _owner(kernel, name):
    *path, last = name.split("__")
    for step in path:
        kernel = getattr(kernel, step)
    return kernel, last


def _extent(X, columns, index):
    """The diameter of the box of the rows in some columns, or in one of them."""
    if sparse.issparse(X):
        ranges = (X.max(axis=0) - X.min(axis=0)).toarray().ravel()
    else:
        ranges = np.ptp(X, axis=0)
    if columns is not None:
        ranges = ranges[np.atleast_1d(np.asarray(columns))]
    if index is not None:
        return float(ranges[index])
    largest = float(ranges.max(initial=0.0))
    return largest and largest * float(np.linalg.norm(ranges / largest))
