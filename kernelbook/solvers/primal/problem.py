"""The primal SVM problem in convenient units, the value of a candidate, and its certificate.

    primal:  minimize  ½‖w‖² + Σ C_i loss(y_i f_i),            f = X̂w + Pλ
    dual:    maximize  yᵀβ − ½‖X̂ᵀβ‖² − ½Σ δ_iβ_i²,            Pᵀβ = 0,  0 ≤ y_iβ_i ≤ u_i

with u = C, δ = 0 for the hinge, and u = ∞, δ_i = 1/2C_i for its square.  Whatever solver found
(w, λ, β): the dual objective at an exactly feasible point near β bounds the optimum from below, and
the difference from the primal objective is the proof of quality.

**Units.**  Dividing the objective by κ, and w by √κ, gives the same problem with C/κ in place of C
and √κ X̂ in place of X̂.  With κ ≈ min(C, 1/mean ‖x̂_i‖²) neither the rows nor β are large, whatever
the units of the data.  κ is a power of four: √κ is then one of two, nothing is rounded on the way
from one unit to the other, and products can be taken with X̂ itself, without a copy of it.  The
features are replaced by an orthonormal basis of their range, times √m.

**The dual point** is the solver's β after the repair of `kernelbook.solvers.svm.certificate`.  Two
refinements matter when C is huge: α is computed from the last digits of the margins then, so X̂ᵀβ
is refitted to w on the free samples; and 10⁻¹⁴ of a margin costs more than a longer w, so
(w, λ) is stretched by that much.

**λ.**  Where the samples with 0 < α < u do not determine λ the rule of
`kernelbook.solvers.svm.multipliers` decides.  If the features alone separate the sample, w = 0 is
the solution (T3).
"""

from copy import copy
from dataclasses import dataclass, replace
from math import log2

import numpy as np
from numpy.linalg import norm
from scipy import linalg, sparse

from kernelbook.certificates import Certificate
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.rows import row_squares
from kernelbook.solvers.primal.terms import hinge, is_quiet, nearly_one, snapped, without_noise
from kernelbook.solvers.svm.certificate import constraint_residual, violation
from kernelbook.solvers.svm.feasibility import make_feasible
from kernelbook.solvers.svm.multipliers import choose_multipliers, hard_margin_multipliers
from kernelbook.solvers.svm.solution import at_bounds

__all__ = ["STIFF", "PrimalProblem", "PrimalSolution"]

AFFORDABLE = 4e9
"""Up to this many operations a Newton step is worth it: m·min(m, M)²."""

STIFF = 1e3
"""Beyond this C, in units of 1/‖x̂‖², α = 2C(1 − yf) has lost too many digits in 1 − yf."""

EPS = np.finfo(float).eps


@dataclass(frozen=True)
class PrimalSolution:
    """w, λ, β (feasible), the rank of P, the iterations of the solver, and the certificate."""

    w: np.ndarray
    coef: np.ndarray
    beta: np.ndarray
    rank: int
    n_iter: int
    certificate: Certificate


class PrimalProblem:
    """The problem that the solvers see.

    Attributes
    ----------
    unit, root : κ and √κ
    X : √κ X̂;  P : an orthonormal basis of the features' range, times √m;  u : C/κ
    lo, hi, delta : the box and the quadratic cost of β in the dual
    affordable : whether Newton steps are cheap here
    span : the range of the features, `column_space(P)`
    """

    def __init__(self, X, P, y, C, squared):
        with np.errstate(over="ignore"):
            size = float(np.mean(row_squares(X)))
        self.span = span = column_space(P)
        # A feature that is zero at a sample must be exactly that: rounding errors hold no λ.
        self.Q = np.where(np.abs(span.Q) < 1e-14, 0.0, span.Q)
        self.P = self.Q * np.sqrt(y.size)
        self.features, self.back, self.rank = P, span.T, span.rank
        self._measure(y, C, squared, _unit(X, C, size))
        self._see(X)

    def widened(self, X, size):
        """The same samples with other columns, of which `size` is the mean ‖x̂_i‖²."""
        other, C = copy(self), self.unit * self.u
        unit = _unit(X, C, size)
        if unit != self.unit:
            other._measure(self.y, C, self.squared, unit)
        other._see(X)
        return other

    def _see(self, X):
        self._given, self._scaled = X, None
        m, M = X.shape
        self.affordable = m * min(m, M) ** 2 <= AFFORDABLE

    def _measure(self, y, C, squared, unit):
        self.unit, self.root = unit, float(np.sqrt(unit))
        self.y, self.u, self.squared = y, C / self.unit, squared
        self.u_max = float(self.u.max())
        self.top = np.full_like(self.u, np.inf) if squared else self.u
        self.lo, self.hi = np.where(y > 0, 0.0, -self.top), np.where(y > 0, self.top, 0.0)
        self.delta = 1.0 / (2.0 * self.u) if squared else np.zeros_like(self.u)

    @property
    def X(self):
        if self._scaled is None:
            self._scaled = self._given * self.root
        return self._scaled

    def values(self, w):
        """X̂w"""
        return self._given @ (self.root * w)

    def sums(self, beta):
        """X̂ᵀβ"""
        return self.root * (self._given.T @ beta)

    # -------------------------------------------------------------------- values and points

    def primal(self, w, f):
        return 0.5 * (w @ w) + self._loss(f)

    def _loss(self, f):
        return hinge(f, self.y, self.u, self.squared)

    def dual(self, beta, w=None):
        """The dual objective; w = X̂ᵀβ may be given."""
        w = self.sums(beta) if w is None else w
        return self.y @ beta - 0.5 * (w @ w) - 0.5 * (self.delta @ (beta * beta))

    def feasible(self, beta):
        """β moved to Pᵀβ = 0; to zero, which always is feasible, where that fails."""
        return make_feasible(self.Q, without_noise(beta, self.u), self.lo, self.hi)

    def dual_point(self, w, beta):
        """A feasible β near the given one; where rounding has spoilt X̂ᵀβ = w, refitted to it."""
        fixed = self.feasible(beta)
        if not self.affordable or sparse.issparse(self._given):
            return fixed
        if self.u_max <= STIFF or norm(self.sums(fixed) - w) <= 1e-12 * norm(w):
            return fixed
        size = np.abs(beta)
        free = np.flatnonzero((size > 0) & (size < self.top))
        held = np.hstack([self.X[free], self.P[free]]).T
        missing = np.concatenate([w - self.sums(beta), -(self.P.T @ beta)])
        refitted = beta.copy()
        refitted[free] += linalg.lstsq(held, missing, check_finite=False)[0]
        return max(fixed, self.feasible(refitted), key=self.dual)

    def relative_gap(self, w, lam, beta):
        """The duality gap of a candidate, over its objective."""
        f = self.values(w) + self.P @ lam
        t = self._stretch(w, f)
        primal = self.primal(t * w, t * f)
        return (primal - self.dual(self.dual_point(w, beta))) / (primal or 1.0)

    def _stretch(self, w, f):
        """A factor that lifts margins which rounding left just below one, if that pays."""
        least = nearly_one(self.y, f)
        if least == 1.0:
            return 1.0
        t = (1.0 + 4 * EPS) / least
        return t if self.primal(t * w, t * f) < self.primal(w, f) else 1.0

    # ------------------------------------------------------------------------- the solution

    def solution(self, w, lam, beta, n_iter) -> PrimalSolution:
        """Choose λ, settle β, and go back to the caller's units."""
        h = self.values(w)
        if not self._quiet(beta, h + self.P @ lam):
            beta, lam = self._settle(w, lam, beta, h)
        coef = self.back @ (np.sqrt(self.y.size) * lam)
        t = self._stretch(w, h + self.features @ coef)
        return self._in_units(t * w, t * coef, beta, t * h, n_iter)

    def _quiet(self, beta, f):
        """Whether nothing is to be settled: as a rule, where the sides have been found exactly."""
        if not self.affordable or self.u_max > STIFF:
            return False
        problem = self.y, self.u, self.delta, self.squared, self.Q, self.lo, self.hi
        if not is_quiet(beta, f, *problem):
            return False
        return self._determined(self.P[~np.logical_or(*self._bounds(beta))])

    def _settle(self, w, lam, beta, h):
        beta = self.dual_point(w, beta)
        settled = self._snap(beta, h + self.P @ lam) if self.affordable else beta
        chosen = self._choose(h, settled, lam)
        if self.affordable and not (settled is beta and chosen is lam):
            settled = self._snap(settled, h + self.P @ chosen)
        return settled, chosen

    def separated(self) -> PrimalSolution | None:
        """The solution w = 0 where the features alone separate the sample (T3), else None."""
        try:
            nu = hard_margin_multipliers(self.Q, self.y, self.u)
        except RuntimeError:  # scipy's nnls gave up: the solvers do without the shortcut
            nu = None
        if nu is None:
            return None
        coef = self.back @ nu
        for _ in range(3):  # no rounding error may leave a margin, and so a loss, below one
            least = np.min(self.y * (self.features @ coef))
            if least >= 1.0:
                break
            coef = coef * ((1.0 + 4 * EPS) / least)
        m, M = self._given.shape
        return self._in_units(np.zeros(M), coef, np.zeros(m), np.zeros(m), 1)

    def _in_units(self, w, coef, beta, h, n_iter):
        f, v = h + self.features @ coef, self.sums(beta)
        # Two conditions, both in units of f: every margin fits its α, and w = X̂ᵀβ.
        margins = violation(beta, self.y - f - self.delta * beta, self.lo, self.hi)
        same = np.array_equal(v, w)
        apart = 0.0 if same else float(np.abs(h - self.values(v)).max(initial=0.0))
        certificate = Certificate(
            primal=self.unit * float(self.primal(w, f)),
            dual=self.unit * float(self.dual(beta, v)),
            constraint=constraint_residual(self.features, beta),
            kkt=max(margins, apart),
        )
        if certificate.gap < 0:  # β is feasible: rounding, and as large as this at least
            certificate = replace(certificate, gap=-certificate.gap)
        w, beta = self.root * w, self.unit * beta
        return PrimalSolution(w, coef, beta, self.rank, n_iter, certificate)

    def _snap(self, beta, f):
        """Send α to the bound that its margin asks for (complementarity), unless that costs."""
        changed, moved = snapped(beta, f, self.y, self.u, self.delta, self.squared)
        if not changed:
            return beta
        moved = self.feasible(moved)
        before, after = self.dual(beta), self.dual(moved)
        return moved if after >= before - 1e-14 * abs(before) else beta

    def _choose(self, h, beta, lam):
        """λ by the rule, where the samples that hold it do not determine it."""
        at_zero, at_top = self._bounds(beta)
        if self._determined(self.P[~(at_zero | at_top)]):
            return lam
        root = np.sqrt(self.y.size)
        # A held sample has y_i f_i = 1 − δ_iα_i; with δ_iβ_i added to h the rule reads as ever.
        sides = (h + self.delta * beta, self.Q, self.y, self.u, at_zero, at_top, root * lam)
        try:
            chosen = choose_multipliers(*sides) / root
        except RuntimeError:  # scipy's nnls gave up
            return lam
        before, after = (self._loss(h + self.P @ v) for v in (lam, chosen))
        return chosen if after <= before + 1e-9 * (before + 1e-6 * self.u.sum()) else lam

    def _bounds(self, beta):
        """Which α_i are 0 and which are u_i, up to rounding; the squared hinge has no upper one."""
        at_zero, at_top = at_bounds(self.y * beta, self.u)
        return at_zero, at_top & (not self.squared)

    def _determined(self, held):
        """Whether these rows of the features leave no freedom to λ."""
        if len(held) < self.rank or self.rank == 0:
            return self.rank == 0
        R = linalg.qr(held, mode="r", check_finite=False)[0][: self.rank]
        size = np.abs(R[0]) if self.rank == 1 else linalg.svdvals(R)
        return bool(size[-1] > 1e-8 * size[0])


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
