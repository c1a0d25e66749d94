"""(P, y, w) of G-RLS in the units of the iterative solvers, and their certificate back in ours.

With S² = D·m/W, SPT = Q orthonormal (`column_space`) and ỹ = Sy divided by a power of two, the
problem is one with equal weights and orthonormal features.  λ follows from the kernel part g
(the values Σ c_j K(z_j, x_i)) by least squares, exactly: λ = TQᵀ(ỹ − Sg).  What is left,

    e = (I − QQᵀ)(ỹ − Sg),

is all that a solver for c has to look at.  It starts from c = 0; where the features explain y to
rounding it also ends there.
"""

from dataclasses import dataclass

import numpy as np

from kernelbook.certificates import Certificate
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.conjugate_gradients import norms
from kernelbook.solvers.grls.dense import _relative_constraint, power_of_two
from kernelbook.solvers.grls.saddle_factor import project

__all__ = ["IterativeSolution", "ScaledData"]

_EPS = np.finfo(float).eps


@dataclass
class IterativeSolution:
    """What an iterative solver found; a column for each output.

    Attributes
    ----------
    c, lam : arrays
        Coefficients of the translates and of the features.
    energy, y_unit, unit : arrays, float
        yᵀGy = energy·y_unit²/unit, of the kernel or its Nyström approximation.
    features : FeatureRange
    certificates : tuple of Certificate
    n_iter : int
        Products with the matrix of the linear system.
    full_gap : (k,) array or None
        For Nyström, the duality gap of the full problem, where it was computed.
    """

    c: np.ndarray
    lam: np.ndarray
    energy: np.ndarray
    y_unit: np.ndarray
    unit: float
    features: object
    certificates: tuple
    n_iter: int
    full_gap: np.ndarray | None = None


class ScaledData:
    """See the module's text.

    Attributes
    ----------
    root : (m, 1) array
        The diagonal of S.
    weighted : bool
        Whether S is not the identity.
    features : FeatureRange
        Q and T.
    P, target, rest : arrays
        SP, ỹ, and what the features leave of ỹ.
    y_unit, size : (k,) arrays
        ‖rest‖ + 10⁻⁴‖ỹ‖, the unit of `kkt`.
    explained : (k,) array of bool
        Whether the features explain ỹ to rounding.
    """

    def __init__(self, P, Y, weights=None):
        m = len(Y)
        self.root = np.ones((m, 1))
        self.weighted = weights is not None and np.ptp(weights) > 0
        if self.weighted:
            w = np.maximum(weights / weights.max(), 1e-300)
            self.root = np.sqrt(w * (m / w.sum()))[:, None]
        self.features = column_space(P, self.root[:, 0] ** 2 if self.weighted else None)
        self.Q, self.T = self.features.Q, self.features.T
        self.P = self.root * P if self.weighted else P
        self.y_unit = power_of_two(np.abs(Y).max(axis=0))
        self.target = self.root * (Y / self.y_unit)
        self.rest = project(self.Q, self.target)
        self.size = norms(self.rest) + 1e-4 * norms(self.target)
        features_alone = self.target - self.P @ (self.T @ (self.Q.T @ self.target))
        self.explained = norms(features_alone) <= 16 * _EPS * norms(self.target)

    def given(self, g):
        """λ (in units of y) and e at kernel parts g, (m, k), in units of y."""
        left = self.target - self.root * g
        return self.T @ (self.Q.T @ left), project(self.Q, left)

    def certificates(self, loss, penalty, gap, dual, error=np.inf):
        """Of each column, from squares in units of y and without the factor 1/m.

        `dual` is the point c, scaled by S⁻¹, at which the dual objective is below the primal one,
        loss + penalty, by `gap`.  `error` is a bound of the norm of what the fitted values are
        off, where that is known to be less than the root of the gap.
        """
        m = len(self.target)
        kkt = np.minimum(np.sqrt(gap), error) / np.where(self.size > 0, self.size, 1.0)
        with np.errstate(over="ignore"):
            primal = (loss + penalty) / m * self.y_unit * self.y_unit
            gap = gap / m * self.y_unit * self.y_unit
        lower = np.minimum(primal, np.finfo(float).max) - np.where(np.isfinite(primal), gap, 0.0)
        constraint = _relative_constraint(self.P, dual)
        return tuple(
            Certificate(*map(float, row[:4]), gap=float(row[4]))
            for row in zip(primal, lower, constraint, kkt, gap, strict=True)
        )
