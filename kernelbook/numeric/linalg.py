"""Small linear algebra that several solvers need: columns, units, refinement, and Cholesky
factors that survive rounding.  Sizes are in the columns: every function treats the columns of a
matrix separately.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg

__all__ = [
    "State",
    "cholesky_shifted",
    "norms",
    "power_of_two",
    "project_out",
    "refine",
    "rounding_of",
    "squared_norms",
    "symmetric_copy",
]

_ROW_BLOCK = 512

State = tuple[np.ndarray, ...]


def squared_norms(A: np.ndarray) -> np.ndarray:
    """The squared Euclidean norms of the columns."""
    return np.einsum("ij,ij->j", A, A)


def norms(A: np.ndarray) -> np.ndarray:
    """The Euclidean norms of the columns."""
    return np.sqrt(squared_norms(A))


def power_of_two(x: float | np.ndarray) -> np.ndarray:
    """The power of two just below each positive x; 1 for zero.  Dividing by it rounds nothing."""
    exponent = np.frexp(np.where(np.asarray(x) > 0, x, 1.0))[1] - 1
    return np.ldexp(1.0, exponent)


def project_out(Q: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """(I − QQᵀ)Y, applied twice: QᵀY is then zero to rounding even where most of Y is removed."""
    if Q.shape[0] == Q.shape[1]:
        return np.zeros_like(Y)
    for _ in range(2):
        Y = Y - Q @ (Q.T @ Y)
    return Y


def cholesky_shifted(A: np.ndarray, shift: float, rounding: float) -> tuple[np.ndarray, bool]:
    """SciPy's Cholesky factor of A + shift·I, with a larger shift where rounding made that
    indefinite; `rounding` is the size of the errors in A.
    """
    for extra in (0.0, 10 * rounding, 1e3 * rounding, 1e6 * rounding):
        shifted = A.copy()
        shifted[np.diag_indices(len(A))] += shift + extra
        try:
            return linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            continue
    raise ValueError("the normal equations overflow or are not positive definite: scale X or y.")


def symmetric_copy(gram: np.ndarray) -> np.ndarray:
    """(G + Gᵀ)/2 in new memory; an error where the two differ by more than rounding."""
    G = np.array(gram, dtype=np.float64, order="C")
    largest = max(G.max(), -G.min())
    for i in range(0, len(G), _ROW_BLOCK):
        rows, rest = slice(i, i + _ROW_BLOCK), slice(i, None)
        upper, lower = G[rows, rest], G[rest, rows].T
        if np.abs(upper - lower).max() > 1e-6 * largest:
            raise ValueError("the precomputed kernel matrix is not symmetric; it must be, in fit.")
        mean = upper / 2 + lower / 2
        G[rows, rest], G[rest, rows] = mean, mean.T
    return G


def rounding_of(gram: np.ndarray) -> float:
    """The relative accuracy that entries of a matrix can have: some come in single precision."""
    with np.errstate(over="ignore"):
        for i in range(0, len(gram), _ROW_BLOCK):
            rows = gram[i : i + _ROW_BLOCK]
            if not np.array_equal(rows.astype(np.float32), rows):
                return 64 * np.finfo(np.float64).eps
    return 4 * float(np.finfo(np.float32).eps)


def refine(
    improve: Callable[[State, np.ndarray], State | None],
    state: State,
    tolerance: np.ndarray,
    rounds: int,
    rate: float = 0.5,
) -> State:
    """Improve a solution while its residual is too large and still shrinks.

    `state` is a tuple of arrays with a column for each right-hand side, its last the residual.
    Each round replaces the columns whose residual became smaller.  A column is finished when its
    residual is within `tolerance`, or did not shrink by the factor `rate`.

    Parameters
    ----------
    improve : callable
        improve(state, active) → a new state, or None to stop; `active` marks unfinished columns.
    state : tuple of arrays
    tolerance : (k,) array
    rounds : int
    rate : float
    """
    before = norms(state[-1])
    active = before > tolerance
    for _ in range(rounds):
        trial = improve(state, active) if active.any() else None
        if trial is None:
            break
        after = norms(trial[-1])
        better = after < before
        state = tuple(np.where(better, new, old) for new, old in zip(trial, state, strict=True))
        active &= (after < rate * before) & (after > tolerance)
        before = np.where(better, after, before)
    return state
