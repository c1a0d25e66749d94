"""The linear SVM in orthonormal coordinates with free features: which solver, and when to stop.

    minimize  ½‖w‖² + Σ C_i loss(y_i f_i),    f = X̂w + Pλ,    loss the hinge (1 − z)₊ or its square.

Three solvers, each a file that teaches one idea: `dcd`, `newton`, `pegasos`.  What they share is a
monitor, which computes the duality gap and stops them at `tol`, and the exit,
`kernelbook.solvers.primal.finish`.

**A relay.**  Coordinate descent is quick to a digit or two and slow beyond.  Where a Newton step is
cheap its answer is therefore only the start of `finite_newton` (squared hinge) or
`proximal_multipliers` (hinge), which end at rounding error.  Where it is not, they take over if the
sweeps have not reached `tol`, and end there: a Newton matrix is as large as the active face or the
basis, which may be small even if the sample is large.
"""

from typing import Any

import numpy as np
from scipy import sparse
from tqdm import tqdm

from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.primal.dcd import dual_coordinate_descent
from kernelbook.solvers.primal.finish import PrimalSolution, finish, relative_gap, separated
from kernelbook.solvers.primal.newton import finite_newton, squared_hinge
from kernelbook.solvers.primal.pegasos import pegasos
from kernelbook.solvers.primal.problem import MAX_DIRECT_C, PrimalProblem
from kernelbook.solvers.primal.proximal import MultiplierOptions, proximal_multipliers

__all__ = ["LOSSES", "solve_primal"]

LOSSES = {
    "dcd": ("hinge", "squared_hinge"),
    "newton": ("squared_hinge",),
    "pegasos": ("hinge",),
}
"""The losses that each solver can minimize."""

MAX_DENSE_SWEEPS = 30
"""Sweeps of coordinate descent over dense rows; Newton's method does the rest."""

TEST_SEPARATION_UP_TO = 1000
"""Up to this m a linear program decides first whether the features separate the sample."""


@serial_blas  # threads wait for each other in small factorizations
def solve_primal(
    X: Any,
    P: np.ndarray,
    y: np.ndarray,
    C: np.ndarray,
    *,
    loss: str = "hinge",
    solver: str = "dcd",
    tol: float = 1e-4,
    max_iter: int = 1000,
    rng: np.random.Generator | None = None,
    verbose: int = 0,
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
    verbose : int
        1 shows a bar with the remaining time, and the gap at the end.

    Returns
    -------
    PrimalSolution
        Whether it is good enough is for the caller to say, by `certificate`.
    """
    problem = PrimalProblem(X, P, y, C, loss == "squared_hinge")
    if y.size <= TEST_SEPARATION_UP_TO and (solution := separated(problem)) is not None:
        return solution
    with _Monitor(problem, tol, verbose) as monitor:
        w, lam, beta, n_iter = _RUN[solver](problem, monitor, max_iter, rng)
    solution = monitor.separated or finish(problem, w, lam, beta, n_iter)
    if verbose:
        gap = solution.certificate.relative_gap
        print(f"{solver}: {n_iter} iterations, gap {gap:.1e} of the objective")
    return solution


class _Monitor:
    """Watches a solver: the duality gap, and whether the features separate the sample.

    The bar shows what part of the decades from the first gap down to `tol` is done.
    """

    def __init__(self, problem, tol, verbose):
        self.problem, self.tol, self._aim = problem, tol, tol
        form = "{l_bar}{bar}| {elapsed}<{remaining}{postfix}"
        self._bar = tqdm(total=100.0, desc="solve", bar_format=form, disable=not verbose)
        self._first = None
        self.undecided = problem.y.size > TEST_SEPARATION_UP_TO
        self.separated = self.feasible = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._bar.close()

    def _show(self, gap):
        ratio = max(gap / self._aim, 1.0) if np.isfinite(gap) else np.inf
        if self._bar.disable or ratio == np.inf:
            return
        self._first = max(self._first or 0.0, ratio, 1.0 + 1e-9)
        done = 100.0 * (1.0 - np.log(ratio) / np.log(self._first))
        self._bar.set_postfix_str(f"gap {gap:.1e}", refresh=False)
        self._bar.update(max(done - self._bar.n, 0.0))

    def relative_gap(self, w, lam, beta):
        """The gap of a candidate over its objective."""
        gap = relative_gap(self.problem, w, lam, beta)
        self._show(gap)
        return gap

    def stop(self, w, lam, beta, f):
        """Whether the gap at a feasible β is at most `tol`."""
        return self.gap_ratio(w, lam, beta, f) <= 1.0

    def gap_ratio(self, w, lam, beta, f):
        """That gap over the largest one allowed; the feasible β is kept, in `feasible`."""
        q = self.problem
        primal = q.primal(w, f)
        allowed = self.tol * max(primal, 1e-15 * q.u.sum())
        # The repair costs passes over X̂: not before the gap without it is promising.
        rough = primal - q.dual(beta, w)
        if rough > 1.2 * allowed and not self.undecided:
            self._show(rough / primal)
            return float(rough / allowed)
        self.feasible = q.feasible(beta)
        dual = q.dual(self.feasible)
        self._show((primal - dual) / (primal or 1.0))
        if self.undecided:
            # Any feasible β ≠ 0 proves that no λ separates.
            self.undecided = False
            if dual <= 1e-8 * primal:
                self.separated = separated(q)
        return 0.0 if self.separated is not None else float((primal - dual) / allowed)


def _run_dcd(problem, monitor, max_iter, rng):
    q, tol = problem, monitor.tol
    args = (q.X, q.P, q.y, q.lower, q.upper, q.delta)

    # Coordinate descent; sweeps beyond a digit or two are wasted where Newton's method takes over.
    sweeps = max_iter
    if q.newton_is_cheap:
        monitor.tol = max(tol, 1e-2)
    if q.newton_is_cheap or not sparse.issparse(q.X):
        sweeps = min(max_iter, MAX_DENSE_SWEEPS)
    r = dual_coordinate_descent(*args, monitor.gap_ratio, sweeps, rng)
    start = r.w, r.lam, r.beta
    if monitor.separated is not None or (r.converged and not q.newton_is_cheap):
        return r.w, r.lam, monitor.feasible, r.n_iter

    # Newton's method: to rounding where its steps are cheap, otherwise to `tol`.
    limits = () if q.newton_is_cheap else (0.5 * tol, max_iter)
    best = _best(q, start, _refined(q, monitor, (r.w, r.lam, q.y * r.beta), *limits))
    if q.newton_is_cheap or sweeps == max_iter or relative_gap(q, *best) <= tol:
        return *best, r.n_iter

    # The sweeps that are left, from the best point so far.
    again = (q.X.T @ best[2], *best[1:])
    left = max_iter - sweeps
    r = dual_coordinate_descent(*args, monitor.gap_ratio, left, rng, again, margin_tol=0.1)
    return *_best(q, best, [(r.w, r.lam, r.beta)]), sweeps + r.n_iter


def _run_newton(problem, monitor, max_iter, rng):
    q = problem
    # A cheap step is repeated until rounding stops it; an expensive one, until tol is reached.
    stop = None if q.newton_is_cheap else monitor.stop
    r = finite_newton(q.X, q.P, q.y, squared_hinge(q.u), max_iter=max_iter, stop=stop)
    start = r.w, r.lam, q.y * r.alpha
    if not q.newton_is_cheap or q.u_max <= MAX_DIRECT_C:
        return *start, r.n_iter
    return *_best(q, start, _refined(q, monitor, (None, None, None))), r.n_iter


def _run_pegasos(problem, monitor, max_iter, rng):
    q = problem
    r = pegasos(q.X, q.P, q.y, q.u, monitor.stop, max_iter, rng)
    return r.w, r.lam, r.beta, r.n_iter


_RUN = {"dcd": _run_dcd, "newton": _run_newton, "pegasos": _run_pegasos}


def _refined(q, monitor, start, target_gap=None, max_iter=None):
    """Better solutions from a start (w, λ, α) that is good to a digit or two: (w, λ, β) of each.

    To rounding error; or to a relative gap of `target_gap`, in at most `max_iter` steps.
    """
    w, lam, alpha = start
    watched, options = {}, {"relative_gap": monitor.relative_gap}
    if target_gap is not None:
        watched = {"stop": monitor.stop, "max_iter": max_iter}
        options |= {"target_gap": target_gap, "max_newton": max_iter}
    if q.squared:
        r = finite_newton(q.X, q.P, q.y, squared_hinge(q.u), w, lam, **watched)
        yield r.w, r.lam, q.y * r.alpha
    if not q.squared or (target_gap is None and q.u_max > MAX_DIRECT_C):
        problem, options = q.for_multipliers(), MultiplierOptions(**options)
        r = proximal_multipliers(problem, w, lam, alpha, options)
        yield r.w, r.lam, q.y * r.alpha


def _best(q, start, refined):
    """The candidate (w, λ, β) of least gap."""
    candidates = (start, *refined)
    return min(candidates, key=lambda candidate: relative_gap(q, *candidate))
