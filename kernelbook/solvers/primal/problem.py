"""The primal SVM problem in convenient units, and its two objectives.

    primal:  minimize  ½‖w‖² + Σ C_i loss(y_i f_i),            f = X̂w + Pλ
    dual:    maximize  yᵀβ − ½‖X̂ᵀβ‖² − ½Σ δ_iβ_i²,            Pᵀβ = 0,  0 ≤ y_iβ_i ≤ u_i

with u = C, δ = 0 for the hinge, and u = ∞, δ_i = 1/2C_i for its square.

**Units.**  Dividing the objective by κ, and w by √κ, gives the same problem with C/κ in place of C
and √κ X̂ in place of X̂.  With κ ≈ min(C, 1/mean ‖x̂_i‖²) neither the rows nor β are large, whatever
the units of the data.  κ is a power of four: √κ is then one of two, changing units rounds nothing,
and products can be taken with X̂ itself, without a copy of it.  The features are replaced by an
orthonormal basis of their range, times √m.
"""

from copy import copy
from math import log2

import numpy as np

from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.rows import row_squares
from kernelbook.solvers.primal.passes import hinge, without_noise
from kernelbook.solvers.primal.proximal import MultiplierProblem
from kernelbook.solvers.svm.feasibility import make_feasible

__all__ = ["MAX_DIRECT_C", "PrimalProblem"]

MAX_NEWTON_FLOPS = 4e9
"""Up to this many operations a Newton step counts as cheap: m·min(m, M)²."""

MAX_DIRECT_C = 1e3
"""Beyond this C, in units of 1/‖x̂‖², α = 2C(1 − yf) has lost too many digits in 1 − yf."""


class PrimalProblem:
    """The problem that the solvers see.

    Attributes
    ----------
    unit, root : κ and √κ
    X : √κ X̂;  P : an orthonormal basis of the features' range, times √m;  u : C/κ
    lower, upper, delta : the box and the quadratic cost of β in the dual
    alpha_upper : the upper bound of α
    newton_is_cheap : whether a Newton step takes few operations
    Q, back, rank : that basis with QᵀQ = I, the way back to the given features, and its size
    """

    def __init__(self, X, P, y, C, squared):
        with np.errstate(over="ignore"):
            size = float(np.mean(row_squares(X)))
        span = column_space(P)
        # A feature that is zero at a sample must be exactly that: rounding errors determine no λ.
        self.Q = np.where(np.abs(span.Q) < 1e-14, 0.0, span.Q)
        self.P = self.Q * np.sqrt(y.size)
        self.features, self.back, self.rank = P, span.T, span.rank
        self._set_unit(y, C, squared, _unit(X, C, size))
        self._set_rows(X)

    def widened(self, X, size):
        """The same samples with other columns, of which `size` is the mean ‖x̂_i‖²."""
        other, C = copy(self), self.unit * self.u
        unit = _unit(X, C, size)
        if unit != self.unit:
            other._set_unit(self.y, C, self.squared, unit)
        other._set_rows(X)
        return other

    def _set_rows(self, X):
        self.given, self._scaled = X, None
        m, M = X.shape
        self.newton_is_cheap = m * min(m, M) ** 2 <= MAX_NEWTON_FLOPS

    def _set_unit(self, y, C, squared, unit):
        self.unit, self.root = unit, float(np.sqrt(unit))
        self.y, self.u, self.squared = y, C / self.unit, squared
        self.u_max = float(self.u.max())
        self.alpha_upper = np.full_like(self.u, np.inf) if squared else self.u
        self.lower = np.where(y > 0, 0.0, -self.alpha_upper)
        self.upper = np.where(y > 0, self.alpha_upper, 0.0)
        self.delta = 1.0 / (2.0 * self.u) if squared else np.zeros_like(self.u)

    @property
    def X(self):
        if self._scaled is None:
            self._scaled = self.given * self.root
        return self._scaled

    def for_multipliers(self) -> MultiplierProblem:
        return MultiplierProblem(
            self.given, self.P, self.y, self.alpha_upper, self.delta, scale=self.root
        )

    def values(self, w):
        """X̂w"""
        return self.given @ (self.root * w)

    def sums(self, beta):
        """X̂ᵀβ"""
        return self.root * (self.given.T @ beta)

    def loss(self, f):
        return hinge(f, self.y, self.u, self.squared)

    def primal(self, w, f):
        return 0.5 * (w @ w) + self.loss(f)

    def dual(self, beta, w=None):
        """The dual objective; w = X̂ᵀβ may be given."""
        w = self.sums(beta) if w is None else w
        return self.y @ beta - 0.5 * (w @ w) - 0.5 * (self.delta @ (beta * beta))

    def feasible(self, beta):
        """β moved to Pᵀβ = 0; to zero, which always is feasible, where that fails."""
        return make_feasible(self.Q, without_noise(beta, self.u), self.lower, self.upper)


def _unit(X, C, size):
    """κ, a power of four; `size` is the mean ‖x̂_i‖²."""
    if not np.isfinite(size):
        raise ValueError(
            f"‖x̂‖² overflows: the entries of x̂ go up to {abs(X).max():.3g}. Scale the columns "
            "(StandardScaler)."
        )
    largest = float(np.max(C))
    unit = min(largest, 1.0 / size) if size > 0 else largest
    return 4.0 ** round(0.5 * log2(unit))
