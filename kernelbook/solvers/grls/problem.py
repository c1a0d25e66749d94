"""(P, y, w) of G-RLS in the units of the solvers.

**Weights.**  With S² = D·m/W and SPT = Q orthonormal (`numeric.column_space`) the problem has equal
weights and orthonormal features.  Only the ratios of the weights enter.

**Units.**  ỹ = Sy divided by a power of two, so that no square of y overflows; the same for the
kernel matrix in `ScaledGram`.

**Features by least squares.**  λ follows from the kernel part g (the values Σ c_j K(z_j, x_i))
exactly: λ = TQᵀ(ỹ − Sg).  What is left,

    e = (I − QQᵀ)(ỹ − Sg),

is all that a solver for c has to look at.  It starts from c = 0; where the features explain y to
rounding it also ends there.
"""

import numpy as np

from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.linalg import norms, power_of_two, project_out

__all__ = ["Scaled", "ScaledGram", "Target", "relative_constraint"]

_EPS = np.finfo(float).eps
_ROW_BLOCK = 256  # rows of P at a time: a copy of them is small beside P


class Scaled:
    """(P, w) with identity noise and orthonormal features.

    Attributes
    ----------
    sqrt_weights : (m, 1) array
        The diagonal of S.
    weighted : bool
        Whether S is not the identity.
    features : ColumnSpace
    P, Q, T : arrays
        SP, and Q = SPT with orthonormal columns.
    rank : int
        The rank of P on the sample.
    """

    def __init__(self, P, weights=None):
        m = len(P)
        self.sqrt_weights = np.ones((m, 1))
        self.weighted = weights is not None and np.ptp(weights) > 0
        if self.weighted:
            w = np.maximum(weights / weights.max(), 1e-300)
            self.sqrt_weights = np.sqrt(w * (m / w.sum()))[:, None]
        self.features = column_space(P, self.sqrt_weights[:, 0] ** 2 if self.weighted else None)
        self.Q, self.T = self.features.Q, self.features.T
        self.rank = self.Q.shape[1]
        self.P = self.sqrt_weights * P if self.weighted else P


class Target:
    """The columns of Y in the units of a scaled problem.

    Attributes
    ----------
    y_unit : (k,) array
        Powers of two.
    values, residual_target : (m, k) arrays
        ỹ = SY/y_unit, and what the features leave of it.
    y_scale : (k,) array
        ‖residual_target‖ + 10⁻⁴‖ỹ‖, the unit of `kkt`.
    explained : (k,) array of bool
        Whether the features explain ỹ to rounding.
    lam, residual : arrays
        λ and the residual of the features alone, in units of y.
    """

    def __init__(self, problem, Y):
        self.problem = problem
        self.y_unit = power_of_two(np.abs(Y).max(axis=0))
        self.values = problem.sqrt_weights * (Y / self.y_unit)
        self.residual_target = project_out(problem.Q, self.values)
        self.y_scale = norms(self.residual_target) + 1e-4 * norms(self.values)
        self.lam = problem.T @ (problem.Q.T @ self.values)
        self.residual = self.values - problem.P @ self.lam
        self.rounding = 16 * _EPS * norms(self.values)
        self.explained = norms(self.residual) <= self.rounding

    def fit_features(self, g):
        """λ (in units of y) and e at kernel parts g, (m, k), in units of y."""
        left = self.values - self.problem.sqrt_weights * g
        return self.problem.T @ (self.problem.Q.T @ left), project_out(self.problem.Q, left)


class ScaledGram:
    """SΦS/unit, in the memory of the array `gram`.

    Attributes
    ----------
    matrix : (m, m) array
    unit : float
        A power of two: 1 unless Φ or ρ is enormous or minute.  A Φ below the smallest number of
        full precision, 2·10⁻³⁰⁸, is zero.
    norm : float
        The Frobenius norm of `matrix`.
    """

    def __init__(self, gram, problem, rho=0.0):
        if problem.weighted:
            gram *= problem.sqrt_weights
            gram *= problem.sqrt_weights.T
        self.matrix, self.unit, self.norm = gram, 1.0, _frobenius(gram)
        if not (1e-100 < self.norm < 1e100 and (rho == 0 or 1e-100 < rho < 1e100)):
            self.unit = self._choose_unit(rho)
            gram /= self.unit
            self.norm = _frobenius(gram)

    def _choose_unit(self, rho):
        largest = max(self.matrix.max(), -self.matrix.min())
        if not np.isfinite(largest):
            raise ValueError(
                "the kernel matrix of the sample has entries that are NaN or infinite: rescale X, "
                "or choose a kernel whose values stay finite on it."
            )
        if largest < np.finfo(float).tiny:  # subnormal numbers, which have lost their digits
            self.matrix[...] = 0.0
            largest = 0.0
        return power_of_two(max(largest, rho))


def _frobenius(A):
    entries = A.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sqrt(np.dot(entries, entries)))


def relative_constraint(P, U):
    """The largest |Σ_i P_ip c_i| / Σ_i |P_ip c_i| for each column."""
    size = np.maximum(P.max(axis=0, initial=0.0), -P.min(axis=0, initial=0.0))
    sums = sizes = 0.0
    for i in range(0, len(P), _ROW_BLOCK):
        part = P[i : i + _ROW_BLOCK] / np.where(size > 0, size, 1.0)
        rest = U[i : i + _ROW_BLOCK]
        sums, sizes = sums + part.T @ rest, sizes + np.abs(part).T @ np.abs(rest)
    sums = np.abs(sums)
    return np.max(sums / np.where(sizes > 0, sizes, 1.0), axis=0, initial=0.0)
