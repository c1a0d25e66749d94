"""The linear SVM in orthonormal coordinates with free features: from arrays to (w, λ) and proof.

    minimize  ½‖w‖² + Σ C_i loss(y_i f_i),    f = X̂w + Pλ,

loss the hinge (1 − z)₊ or its square.  The dual, with one equation for each free feature,

    maximize  yᵀβ − ½‖X̂ᵀβ‖² − ½Σ δ_iβ_i²,    Pᵀβ = 0,   0 ≤ y_iβ_i ≤ hi_i

(hinge: hi = C, δ = 0; squared hinge: hi = ∞, δ_i = 1/2C_i), is what proves how good a solution is:
whatever the solver, its β is moved to an exactly feasible point and the two objectives are
compared.

**Units.**  Dividing the objective by the largest C, and w by its root, gives the same problem with
weights ≤ 1 and X̂ multiplied by √C.  Solvers see that one; nothing of theirs depends on C.  The
features are replaced by an orthonormal basis of their range, times √m.

**A relay.**  Coordinate descent is quick to a few digits and slow beyond.  Where a Newton step is
affordable its answer is therefore only the start of `finite_newton` (squared hinge) or
`hinge_by_multipliers` (hinge), which end at rounding error.

**λ.**  Where the solution leaves λ undetermined the rule of `kernelbook.solvers.svm_multipliers`
decides.  If the features alone separate the sample, w = 0 and nothing has to be solved (T3).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import linalg
from threadpoolctl import ThreadpoolController

from kernelbook.certificates import Certificate
from kernelbook.features import feature_range
from kernelbook.solvers.dcd import dual_coordinate_descent
from kernelbook.solvers.multipliers import hinge_by_multipliers
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
    if q.squared:
        end = finite_newton(q.X, q.P, q.y, squared_hinge(q.u), r.w, r.lam)
    else:
        end = hinge_by_multipliers(q.X, q.P, q.y, q.u, r.w, r.lam, q.y * r.beta)
    if monitor.gap(end.w, end.lam, q.y * end.alpha) <= monitor.gap(r.w, r.lam, r.beta):
        return end.w, end.lam, q.y * end.alpha, r.n_iter
    return r.w, r.lam, r.beta, r.n_iter


def _run_newton(problem, monitor, max_iter, rng):
    q = problem
    args = (q.X, q.P, q.y, squared_hinge(q.u))
    # A cheap step is repeated until rounding stops it; an expensive one, until tol is reached.
    enough = None if q.affordable else monitor.enough
    r = finite_newton(*args, max_iter=max_iter, enough=enough)
    return r.w, r.lam, q.y * r.alpha, r.n_iter


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
        self.unit = float(np.max(C))
        with np.errstate(over="ignore"):
            self.X = X * np.sqrt(self.unit)
            size = row_squares(self.X).max(initial=0.0)
        if not np.isfinite(size * y.size):
            raise ValueError(
                f"C‖x̂‖² overflows: C goes up to {self.unit:.3g} and the entries of x̂ to "
                f"{abs(X).max():.3g}. Scale the columns down (StandardScaler), or lower C."
            )
        self.given = P
        self.y, self.u, self.squared = y, C / self.unit, squared
        self.span = feature_range(P)
        self.P = self.span.Q * np.sqrt(y.size)
        cap = np.full_like(self.u, np.inf) if squared else self.u
        self.lo, self.hi = np.where(y > 0, 0.0, -cap), np.where(y > 0, cap, 0.0)
        self.delta = 1.0 / (2.0 * self.u) if squared else np.zeros_like(self.u)
        m, M = X.shape
        self.affordable = m * min(m, M) ** 2 <= AFFORDABLE

    def primal(self, w, f):
        short = np.maximum(1.0 - self.y * f, 0.0)
        return 0.5 * (w @ w) + self.u @ (short * short if self.squared else short)

    def dual(self, beta, w):
        """The dual objective at β, w = X̂ᵀβ."""
        return self.y @ beta - 0.5 * (w @ w) - 0.5 * (self.delta @ (beta * beta))

    def feasible(self, beta):
        """β moved to Pᵀβ = 0; to zero, which always is feasible, where that fails."""
        return repair(self.span.Q, beta, self.lo, self.hi)

    def solution(self, w, lam, beta, n_iter):
        """Choose λ, make β feasible, and go back to the caller's units."""
        beta = self.feasible(beta)
        h = self.X @ w
        lam = self._choose(h, beta, lam)
        f = h + self.P @ lam
        certificate = Certificate(
            primal=self.unit * float(self.primal(w, f)),
            dual=self.unit * float(self.dual(beta, self.X.T @ beta)),
            constraint=constraint_residual(self.given, beta),
            kkt=violation(beta, self.y - f - self.delta * beta, self.lo, self.hi),
        )
        coef = self.span.T @ (np.sqrt(self.y.size) * lam)
        w, beta = np.sqrt(self.unit) * w, self.unit * beta
        return PrimalSolution(w, coef, beta, self.span.rank, n_iter, certificate)

    def _choose(self, h, beta, lam):
        """λ by the rule, where the samples that hold it do not determine it."""
        alpha = self.y * beta
        tiny = 1e-11 * alpha.max(initial=0.0)
        at_zero = alpha <= np.minimum(tiny, 0.5 * self.u)
        at_top = ~at_zero & (not self.squared) & (self.u - alpha <= 1e-11 * self.u)
        held = self.P[~(at_zero | at_top)]
        if len(held) >= self.span.rank:
            size = linalg.svdvals(linalg.qr(held, mode="r")[0][: self.span.rank])
            if size.size == 0 or size[-1] > 1e-8 * size[0]:
                return lam
        # A held sample has y_i f_i = 1 − δ_iα_i; with δ_iβ_i added to h the rule reads as ever.
        root = np.sqrt(self.y.size)
        shifted, Q = h + self.delta * beta, self.span.Q
        return choose_multipliers(shifted, Q, self.y, self.u, at_zero, at_top, root * lam) / root

    def separated(self):
        """The solution w = 0 where the features alone separate the sample, else None (T3)."""
        nu = separate(self.span.Q, self.y, self.u)
        if nu is None:
            return None
        m, M = self.X.shape
        return self.solution(np.zeros(M), nu / np.sqrt(m), np.zeros(m), 1)


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

    def gap(self, w, lam, beta):
        q = self.problem
        fixed = q.feasible(beta)
        return q.primal(w, q.X @ w + q.P @ lam) - q.dual(fixed, q.X.T @ fixed)
