"""What each method can do, and the one place where a method is chosen.

A method is a row of `METHODS`.  `choose` picks the row for `solver` and the facts of a fit, and
refuses with the argument, its value and the methods that can.  Every refusal is derived from the
row, so that a new method gets its refusals with its row.
"""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import inf
from typing import Any

import numpy as np

from kernelbook.solvers.grls.fourier.grid import design, spectrum
from kernelbook.solvers.grls.fourier.solve import accuracy

__all__ = [
    "DENSE", "METHODS", "Facts", "Method", "alternatives", "choose", "goes_on",
    "handed_over", "memory_advice", "more_work_than_exact",
]  # fmt: skip

EXACT_BELOW = 20_000
"""Samples below which "auto" is exact."""

AUTO_MAX_MODES = 2**18
"""Fourier modes above which "auto" does not choose the Fourier solver."""


USUAL_STEPS = 100
"""Of conjugate gradients in a Fourier basis that is hard to fit."""

SECONDS = 3e9
"""Operations of transforms that take some seconds: below, no solver is worth replacing."""


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes
    ----------
    name : str
    gram : bool
        Works on the m×m Gram matrix, so also on a precomputed one.
    reg_zero : bool
        Interpolates.
    cpd : bool
        Takes kernels that are only conditionally positive definite.
    sums : bool
        Needs only sums over the samples: takes chunks and Dask collections.
    sparse : bool
        Takes sparse rows, where the kernel does.
    std : bool
        Has `return_std` and `coef_cov_`.
    columns : float
        The largest number of columns of X.
    """

    name: str
    gram: bool = False
    reg_zero: bool = False
    cpd: bool = True
    sums: bool = False
    sparse: bool = True
    std: bool = False
    columns: float = inf


_EXACT = {"gram": True, "reg_zero": True, "std": True}

METHODS = {
    row.name: row
    for row in (
        Method("cholesky", cpd=False, **_EXACT),
        Method("nullspace", **_EXACT),
        Method("nystrom", sums=True),
        Method("cg"),
        Method("fourier", cpd=False, sums=True, sparse=False, std=True, columns=3),
    )
}

DENSE = "cholesky", "nullspace"
"""The methods that `loo_path` serves, which needs the spectrum of the Gram matrix."""


@dataclass(frozen=True)
class Facts:
    """What the choice depends on.

    Attributes
    ----------
    kernel : Kernel or None
        None for a precomputed matrix.
    d, m : int
        The columns of X, and the samples; m = 0 where they are not counted yet.
    reg, tol : float
    sparse, collection : bool
        Whether X is sparse; whether it is a Dask collection.
    box : tuple of arrays or None
        The lowest and the highest coordinates of the sample.
    growing : bool
        Whether more rows may come, in a box that was given.
    """

    kernel: Any
    d: int
    reg: float
    tol: float
    m: int = 0
    sparse: bool = False
    collection: bool = False
    box: tuple | None = None
    growing: bool = False

    @property
    def order(self) -> int:
        return 0 if self.kernel is None else self.kernel.cpd_order

    def kernel_accuracy(self) -> float:
        """The relative accuracy of the kernel that `tol` asks for."""
        peak = float(self.kernel.diag(np.zeros((1, self.d)))[0])
        return accuracy(self.tol, self.reg, peak)


def alternatives(capability: str, *more: Any) -> str:
    """The methods with a capability, as text: "solver='a', 'b' or 'c'"."""
    names = [
        repr(row.name) + (f" (up to {row.columns} columns)" if row.columns < inf else "")
        for row in METHODS.values()
        if getattr(row, capability)
    ]
    names += map(repr, more)
    return "solver=" + " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def refuse(method: Method, facts: Facts) -> None:
    """Raise where a method cannot serve."""
    name = f"solver={method.name!r}"
    if facts.kernel is None and not method.gram:
        raise ValueError(
            f"{name} needs the points themselves: it takes neither kernel='precomputed' nor P.  "
            f"Use {alternatives('gram', 'auto')}."
        )
    if facts.collection and not method.sums:
        raise TypeError(
            f"{name} needs arrays in memory; Dask collections are for {alternatives('sums')}."
        )
    if facts.sparse and not method.sparse:
        raise TypeError(f"{name} needs dense rows: pass X.toarray(), or use another solver.")
    if not facts.reg > 0 and not method.reg_zero:
        raise ValueError(
            f"reg={facts.reg!r}: {name} needs reg > 0; interpolation is for "
            f"{alternatives('reg_zero')}."
        )
    if facts.d > method.columns:
        raise ValueError(
            f"{name} is for one to three columns, and X has {facts.d}: the number of Fourier "
            "functions grows like a power of them.  Use solver='nystrom' or 'cg'."
        )
    if method.name == "fourier":
        spectrum(facts.kernel, facts.d)  # NoSpectrum names the kernels that have one
    elif facts.order and not method.cpd:
        raise ValueError(
            f"{name} needs a positive definite kernel, and {facts.kernel!r} is only conditionally "
            f"so (order {facts.order}); use {alternatives('cpd', 'auto')}."
        )


def choose(solver: str, facts: Facts, among: Any = tuple(METHODS)) -> tuple:
    """The method of a fit, and for Fourier the grid, if it had to be designed for the choice.

    Fourier hands over to Cholesky where a rough kernel or many widths ask for so many functions
    that the exact solution of a sample in memory is far less work.
    "auto" is Fourier for collections, and for many samples where it can reach `tol`; otherwise
    exact: by Cholesky, or in the null space of the features where the kernel needs that.
    """
    if solver != "auto":
        if solver not in among:
            raise ValueError(f"solver={solver!r} is not known; choose one of {('auto', *among)}.")
        refuse(METHODS[solver], facts)
        if solver == "fourier" and facts.m and facts.box is not None and not facts.growing:
            low, high = facts.box
            grid = design(facts.kernel, low, high, facts.kernel_accuracy())
            exact = _more_work_than_exact(grid, facts)
            return (METHODS["cholesky"], None) if exact else (METHODS["fourier"], grid)
        return METHODS[solver], None
    if facts.collection and "fourier" in among:
        refuse(METHODS["fourier"], facts)
        return METHODS["fourier"], None
    winner = _winning_grid(facts) if "fourier" in among else None
    if winner is not None:
        return METHODS["fourier"], winner
    row = METHODS["nullspace"] if facts.order else replace(METHODS["cholesky"], name="auto")
    refuse(row, facts)
    return row, None


def more_work_than_exact(box: tuple, facts: Facts) -> bool:
    """Whether Fourier takes seconds, and ten times the work of the exact solution."""
    low, high = box
    grid = design(facts.kernel, low, high, facts.kernel_accuracy())
    return _more_work_than_exact(grid, facts)


def _more_work_than_exact(grid, facts):
    """The same for a grid.

    A step of conjugate gradients is two transforms of 2^d times as many points as frequencies.
    """
    points = np.prod(2.0 * np.array(grid.box))
    fourier = USUAL_STEPS * 10.0 * points * np.log2(points)
    exact = facts.m**3 / 3 + 20.0 * facts.m**2 * facts.d
    return fourier > max(10.0 * exact, SECONDS)


def handed_over(m: int) -> str:
    """What to say then."""
    return (
        f"solver='fourier' would take far more work for this kernel, box, reg and tol than the "
        f"exact solution for m={m} samples: solver='cholesky' was used.  To go on with chunks, "
        "give bounds: then the solver is Fourier's whatever it takes."
    )


def goes_on(m: int) -> str:
    """What to say where the sample may grow, and Fourier must go on."""
    return (
        f"solver='fourier' takes far more work for this kernel, these bounds, reg and tol than the "
        f"exact solution for m={m} samples.  It goes on, since bounds promise more samples; "
        "without bounds, or with solver='cholesky', the fit is exact at once; tighter bounds, a "
        "wider kernel, or a larger tol need less."
    )


def _winning_grid(facts):
    """The grid with which Fourier is the faster method and reaches `tol`, or None."""
    fourier = METHODS["fourier"]
    if facts.m < EXACT_BELOW or facts.box is None or find_spec("finufft") is None:
        return None
    try:
        refuse(fourier, facts)
        eps = facts.kernel_accuracy()
        grid = design(facts.kernel, *facts.box, eps, AUTO_MAX_MODES)
    except (TypeError, ValueError):
        return None
    return grid if grid.error <= 1.01 * eps * grid.peak else None


def memory_advice(facts: Facts) -> str:
    """What to do where the Gram matrix does not fit in memory."""
    if facts.kernel is None:
        return "pass the points and a kernel, with solver='nystrom' or 'cg'."
    if not facts.reg > 0:
        return "interpolation (reg=0) needs it; with reg > 0 there is solver='cg'."
    return (
        "solver='cg' needs none and is exact, to tol; solver='nystrom' is faster, with "
        "n_centers translates only.  (solver='auto' takes 'fourier' from m = "
        f"{EXACT_BELOW:,} on where kernel, columns, reg and tol allow it.)"
    )
