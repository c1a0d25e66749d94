"""The features that a conditionally positive definite kernel needs beside it.

A kernel of order q is definite on coefficients that annihilate the polynomials of degree less
than q; Pᵀc = 0 ensures this if those polynomials are in the span of the features.  `check_order`
tests that on the sample.

The condition is sufficient for every set of features that contains the polynomials, but it is not
necessary.  On the line, with φ = 1 + |x| as the only feature, −|x−z| = B(x, z) − |x| − |z| with the
positive definite B = |x| + |z| − |x−z|, and where Σ c_i (1 + |x_i|) = 0 this gives
cᵀΦc = cᵀBc + 2(Σ c_i)² ≥ 0, without the constant.  Such an exception needs a proof of its own, so
we ask for the polynomials; with a proof, pass the Gram matrix (kernel="precomputed"), which G-RLS
then tests on Pᵀc = 0 itself.
"""

from math import comb

import numpy as np

from kernelbook.features.maps import Polynomials
from kernelbook.kernels import Kernel
from kernelbook.numeric.column_space import column_space

__all__ = ["check_order"]


def check_order(P: np.ndarray, X: np.ndarray, kernel: Kernel) -> None:
    """Raise unless the features contain the polynomials that the kernel's `cpd_order` needs.

    Parameters
    ----------
    P : (m, ℓ) array
        The features at the sample.
    X : (m, d) array
        The sample.
    kernel : Kernel
    """
    if kernel.cpd_order == 0:
        return
    for degree, columns in kernel.required_polynomials():
        _check_polynomials(P, X, kernel, degree, columns)


def _check_polynomials(P, X, kernel, degree, columns):
    seen = "" if columns is None or not degree else f" in the columns {columns}"
    needs = (
        f"{kernel!r} is conditionally positive definite of order {kernel.cpd_order}: it needs "
        + (f"all polynomials of degree ≤ {degree}{seen}" if degree else "the constant")
        + " among the free features"
    )
    if columns is not None:
        X = X[:, list(columns) if isinstance(columns, tuple) else [columns]]
    m, d = X.shape
    count = comb(d + degree, degree)
    if count > 100 * max(m, P.shape[1]):
        raise ValueError(f"{needs}; on points with {d} columns these are {count}.")
    needed = Polynomials(degree).fit(X)
    V = needed.transform(X)
    Q = column_space(P).Q
    missing = np.linalg.norm(V - Q @ (Q.T @ V), axis=0) / np.sqrt(m)
    worst = np.argmax(missing)
    # About the square root of rounding: features may contain them in a poorly scaled basis.
    if missing[worst] > 1e-8:
        remedy = f"Polynomials({degree})" if degree else "'constant'"
        raise ValueError(
            f"{needs}, and {_name(needed, worst, columns)} is not in the span of yours on "
            f"this sample.  Use features={remedy}, or add it to yours.  (Other features may do, "
            "with a proof of their own: pass the Gram matrix, kernel='precomputed'.)"
        )


def _name(needed, worst, columns):
    """A monomial in the numbers of the whole table's columns."""
    names = None
    if columns is not None:
        names = [f"x{c}" for c in (columns if isinstance(columns, tuple) else (columns,))]
    return needed.get_feature_names_out(names)[worst]
