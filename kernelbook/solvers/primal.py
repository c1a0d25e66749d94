"""The linear SVM in orthonormal coordinates with free features: from arrays to (w, λ) and proof.

    minimize  ½‖w‖² + Σ C_i loss(y_i f_i),    f = X̂w + Pλ,

loss the hinge (1 − z)₊ or its square.  The dual, with one equation for each free feature,

    maximize  yᵀβ − ½‖X̂ᵀβ‖² − ½Σ δ_iβ_i²,    Pᵀβ = 0,   0 ≤ y_iβ_i ≤ hi_i

(hinge: hi = C, δ = 0; squared hinge: hi = ∞, δ_i = 1/2C_i), is what proves how good a solution is:
whatever the solver, its β is moved to an exactly feasible point and the two objectives are
compared.

**Units.**  Dividing the objective by κ, and w by √κ, gives the same problem with C/κ in place of C
and √κ X̂ in place of X̂.  With κ = min(C, 1/mean ‖x̂_i‖²) neither the rows nor β are large, whatever
the units of the data.  The features are replaced by an orthonormal basis of their range, times √m.

**A relay.**  Coordinate descent is quick to a few digits and slow beyond.  Where a Newton step is
affordable its answer is therefore only the start of `finite_newton` (squared hinge) or
`by_multipliers` (hinge), which end at rounding error.

**λ.**  Where the solution leaves λ undetermined the rule of `kernelbook.solvers.svm_multipliers`
decides.  If the features alone separate the sample, w = 0 and nothing has to be solved (T3).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.linalg import norm
from scipy import linalg, sparse
from threadpoolctl import ThreadpoolController

from kernelbook.certificates import Certificate
from kernelbook.features import feature_range
from kernelbook.solvers.dcd import dual_coordinate_descent
from kernelbook.solvers.multipliers import by_multipliers
from kernelbook.solvers.newton import finite_newton, squared_hinge
from kernelbook.solvers.pegasos import pegasos
from kernelbook.solvers.rows import row_squares
from kernelbook.solvers.svm_certificate import constraint_residual, repair, violation
from kernelbook.solvers.svm_multipliers import choose_multipliers, separate

__all__ = ["LOSSES", "PrimalSolution", "solve_primal"]

LOSSES = {
    "dcd": ("hinge", "squared_hinge"),
    "newton": ("squared_hinge",),
    "pegasos": ("hinge",),
}
"""The losses that each solver can minimize."""

AFFORDABLE = 4e9
"""Up to this many operations a Newton step is worth it: m·min(m, M)²."""

STIFF = 1e3
"""Beyond this C, in units of 1/‖x̂‖², α = 2C(1 − yf) has lost too many digits in 1 − yf."""

SMALL = 1000
"""Up to this m, whether the features separate the sample is found out before anything else."""


@dataclass(frozen=True)
class PrimalSolution:
    """w, λ, β (feasible), the rank of P, the iterations of the solver, and the certificate."""

    w: np.ndarray
    coef: np.ndarray
    beta: np.ndarray
    rank: int
    n_iter: int
    certificate: Certificate


def solve_primal(
    X, P, y, C, *, loss="hinge", solver="dcd", tol=1e-4, max_iter=1000, rng=None, verbose=0
) -> PrimalSolution:
    """Solve one binary problem.

    Parameters
    ----------
    X : (m, M) array or CSR array
        The coordinates x̂_i in an orthonormal basis.
    P : (m, ℓ) array;  y : (m,) array of ±1
    C : (m,) array, positive
    loss : {"hinge", "squared_hinge"}
    solver : {"dcd", "newton", "pegasos"}
        See `LOSSES` for what goes together.
    tol : float
        Stop when the duality gap is at most tol times the objective.
    max_iter : int
        Sweeps (dcd), Newton steps, or epochs (pegasos).
    rng : numpy.random.Generator
        For the order in which samples are visited.

    Returns
    -------
    PrimalSolution
        Whether it is good enough is for the caller to say, by `certificate`.
    """
    with _blas().limit(limits=1, user_api="blas"):
        problem = _Problem(X, P, y, C, loss == "squared_hinge")
        if y.size <= SMALL and (solution := problem.separated()) is not None:
            return solution
        monitor = _Monitor(problem, tol, verbose)
        w, lam, beta, n_iter = _RUN[solver](problem, monitor, max_iter, rng)
        if monitor.separated is not None:
            return monitor.separated
        return problem.solution(w, lam, beta, n_iter)


def _run_dcd(problem, monitor, max_iter, rng):
    q = problem
    if q.affordable:
        # Sweeps beyond a digit or two would be wasted: Newton is about to take over.
        monitor, max_iter = _Monitor(q, max(monitor.tol, 1e-2), monitor.verbose), min(max_iter, 30)
    args = (q.X, q.P, q.y, q.lo, q.hi, q.delta)
    r = dual_coordinate_descent(*args, monitor.enough, max_iter, rng)
    if monitor.separated is not None or not q.affordable:
        return r.w, r.lam, r.beta, r.n_iter
    return *_best(q, (r.w, r.lam, r.beta), _endings(q, r.w, r.lam, q.y * r.beta)), r.n_iter


def _best(q, start, endings):
    """The candidate of least gap."""
    best, kept = q.relative_gap(*start), start
    for end in endings:
        candidate = end.w, end.lam, q.y * end.alpha
        gap = q.relative_gap(*candidate)
        if gap < best:
            best, kept = gap, candidate
    return kept


def _endings(q, w, lam, alpha):
    """Solutions to rounding error, from a start that is good to a digit or two."""
    if q.squared:
        yield finite_newton(q.X, q.P, q.y, squared_hinge(q.u), w, lam)
    if not q.squared or q.u.max() > STIFF:
        cap = np.abs(q.hi + q.lo)
        yield by_multipliers(q.X, q.P, q.y, cap, q.delta, w, lam, alpha, judge=q.relative_gap)


def _run_newton(problem, monitor, max_iter, rng):
    q = problem
    args = (q.X, q.P, q.y, squared_hinge(q.u))
    # A cheap step is repeated until rounding stops it; an expensive one, until tol is reached.
    enough = None if q.affordable else monitor.enough
    r = finite_newton(*args, max_iter=max_iter, enough=enough)
    start = r.w, r.lam, q.y * r.alpha
    if not q.affordable or q.u.max() <= STIFF:
        return *start, r.n_iter
    return *_best(q, start, _endings(q, None, None, None)), r.n_iter


def _run_pegasos(problem, monitor, max_iter, rng):
    q = problem
    r = pegasos(q.X, q.P, q.y, q.u, monitor.enough, max_iter, rng)
    return r.w, r.lam, r.beta, r.n_iter


_RUN = {"dcd": _run_dcd, "newton": _run_newton, "pegasos": _run_pegasos}


@cache
def _blas():
    """Small factorizations on several threads wait for one another; here BLAS gets one."""
    return ThreadpoolController()


class _Problem:
    """The problem in the solvers' units, the value of a candidate, and the way back."""

    def __init__(self, X, P, y, C, squared):
        with np.errstate(over="ignore"):
            size = float(np.mean(row_squares(X)))
            largest = float(np.max(C))
            if not np.isfinite(size):
                raise ValueError(
                    f"‖x̂‖² overflows: entries go up to {abs(X).max():.3g}. Scale the columns "
                    "(StandardScaler)."
                )
        # With rows of length one, α is of order one unless the box is smaller still.
        self.unit = min(largest, 1.0 / size) if size > 0 else largest
        self.X = X * np.sqrt(self.unit)
        self.given = P
        self.y, self.u, self.squared = y, C / self.unit, squared
        span = feature_range(P)
        # A feature that is zero at a sample must be exactly that: rounding errors hold no λ.
        self.Q = np.where(np.abs(span.Q) < 1e-14, 0.0, span.Q)
        self.back, self.rank = span.T, span.rank
        self.P = self.Q * np.sqrt(y.size)
        cap = np.full_like(self.u, np.inf) if squared else self.u
        self.lo, self.hi = np.where(y > 0, 0.0, -cap), np.where(y > 0, cap, 0.0)
        self.delta = 1.0 / (2.0 * self.u) if squared else np.zeros_like(self.u)
        m, M = X.shape
        self.affordable = m * min(m, M) ** 2 <= AFFORDABLE

    def primal(self, w, f):
        return 0.5 * (w @ w) + self._loss(f)

    def _loss(self, f):
        short = np.maximum(1.0 - self.y * f, 0.0)
        return self.u @ (short * short if self.squared else short)

    def dual(self, beta, w):
        """The dual objective at β, w = X̂ᵀβ."""
        return self.y @ beta - 0.5 * (w @ w) - 0.5 * (self.delta @ (beta * beta))

    def feasible(self, beta):
        """β moved to Pᵀβ = 0; to zero, which always is feasible, where that fails."""
        size = np.abs(beta)
        noise = size <= np.minimum(1e-13 * size.max(initial=0.0), 0.5 * self.u)
        return repair(self.Q, np.where(noise, 0.0, beta), self.lo, self.hi)

    def relative_gap(self, w, lam, beta):
        """The duality gap of (w, λ) and a repaired β, over the objective."""
        beta, f = self.dual_point(w, beta), self.X @ w + self.P @ lam
        t = self._stretch(w, f)
        primal = self.primal(t * w, t * f)
        return (primal - self.dual(beta, self.X.T @ beta)) / (primal or 1.0)

    def dual_point(self, w, beta):
        """A feasible β near the given one; where rounding has spoilt X̂ᵀβ = w, refitted to it."""
        fixed = self.feasible(beta)
        spoilt = norm(self.X.T @ fixed - w) > 1e-12 * norm(w)
        if not (self.affordable and spoilt):
            return fixed
        size = np.abs(beta)
        free = np.flatnonzero((size > 0) & (size < np.abs(self.hi + self.lo)))
        X_F = self.X[free].toarray() if sparse.issparse(self.X) else self.X[free]
        held = np.hstack([X_F, self.P[free]]).T
        missing = np.concatenate([w - self.X.T @ beta, -(self.P.T @ beta)])
        other = beta.copy()
        other[free] += linalg.lstsq(held, missing, check_finite=False)[0]
        other = self.feasible(other)
        return max(fixed, other, key=lambda b: self.dual(b, self.X.T @ b))

    def solution(self, w, lam, beta, n_iter):
        """Choose λ, make β feasible, and go back to the caller's units."""
        h = self.X @ w
        beta = self._snap(self.dual_point(w, beta), h + self.P @ lam)
        lam = self._choose(h, beta, lam)
        beta = self._snap(beta, h + self.P @ lam)
        coef = self.back @ (np.sqrt(self.y.size) * lam)
        t = self._stretch(w, h + self.given @ coef)
        return self._in_units(t * w, t * coef, beta, t * h, n_iter)

    def _snap(self, beta, f):
        """Send α to the bound that its margin asks for (complementarity), unless that costs."""
        slack = self.y * (f + self.delta * beta) - 1.0
        at_zero, at_top = slack > 1e-9, (slack < -1e-9) & (not self.squared)
        snapped = np.where(at_zero, 0.0, np.where(at_top, self.y * self.u, beta))
        snapped = self.feasible(snapped)
        before, after = (self.dual(b, self.X.T @ b) for b in (beta, snapped))
        return snapped if after >= before - 1e-14 * abs(before) else beta

    def _stretch(self, w, f):
        """A factor that lifts margins which rounding left just below one, if that pays.

        When C is huge, 10⁻¹⁴ of missing margin costs more than a longer w.
        """
        margin = self.y * f
        short = margin[(margin > 1.0 - 1e-9) & (margin < 1.0)]
        if short.size == 0:
            return 1.0
        t = (1.0 + 4 * np.finfo(float).eps) / short.min()
        return t if self.primal(t * w, t * f) < self.primal(w, f) else 1.0

    def _in_units(self, w, coef, beta, h, n_iter):
        f = h + self.given @ coef
        certificate = Certificate(
            primal=self.unit * float(self.primal(w, f)),
            dual=self.unit * float(self.dual(beta, self.X.T @ beta)),
            constraint=constraint_residual(self.given, beta),
            kkt=violation(beta, self.y - f - self.delta * beta, self.lo, self.hi),
        )
        w, beta = np.sqrt(self.unit) * w, self.unit * beta
        return PrimalSolution(w, coef, beta, self.rank, n_iter, certificate)

    def _choose(self, h, beta, lam):
        """λ by the rule, where the samples that hold it do not determine it."""
        alpha = self.y * beta
        at_zero = alpha <= np.minimum(1e-11 * alpha.max(initial=0.0), 0.5 * self.u)
        at_top = ~at_zero & (not self.squared) & (self.u - alpha <= 1e-11 * self.u)
        held = self.P[~(at_zero | at_top)]
        if len(held) >= self.rank:
            size = linalg.svdvals(linalg.qr(held, mode="r")[0][: self.rank])
            if size.size == 0 or size[-1] > 1e-8 * size[0]:
                return lam
        # A held sample has y_i f_i = 1 − δ_iα_i; with δ_iβ_i added to h the rule reads as ever.
        root = np.sqrt(self.y.size)
        shifted = h + self.delta * beta
        chosen = (
            choose_multipliers(shifted, self.Q, self.y, self.u, at_zero, at_top, root * lam) / root
        )
        before, after = (self._loss(h + self.P @ v) for v in (lam, chosen))
        return chosen if after <= before + 1e-9 * (before + 1e-6 * self.u.sum()) else lam

    def separated(self):
        """The solution w = 0 where the features alone separate the sample, else None (T3)."""
        nu = separate(self.Q, self.y, self.u)
        if nu is None:
            return None
        coef = self.back @ nu
        for _ in range(3):  # no rounding error may leave a margin, and so a loss, below one
            least = np.min(self.y * (self.given @ coef))
            if least >= 1.0:
                break
            coef = coef * ((1.0 + 4 * np.finfo(float).eps) / least)
        m, M = self.X.shape
        return self._in_units(np.zeros(M), coef, np.zeros(m), np.zeros(m), 1)


class _Monitor:
    """Watches a solver: the duality gap, and whether the features separate the sample."""

    def __init__(self, problem, tol, verbose):
        self.problem, self.tol, self.verbose = problem, tol, verbose
        self.undecided = problem.y.size > SMALL
        self.separated = None

    def enough(self, w, lam, beta, f):
        """Whether the gap at a repaired β is at most tol; asked by the solvers."""
        q = self.problem
        primal = q.primal(w, f)
        least = self.tol * max(primal, 1e-15 * q.u.sum())
        # The repair costs two passes over X̂: not before the unrepaired gap looks promising.
        if primal - q.dual(beta, w) > 3 * least and not self.undecided:
            return False
        fixed = q.feasible(beta)
        dual = q.dual(fixed, q.X.T @ fixed)
        if self.verbose:
            print(f"primal {q.unit * primal:.10g}, dual {q.unit * dual:.10g}")
        if self.undecided:
            # Any feasible β ≠ 0 proves that no λ separates.
            self.undecided = False
            if dual <= 1e-8 * primal:
                self.separated = q.separated()
        return bool(primal - dual <= least or self.separated is not None)
