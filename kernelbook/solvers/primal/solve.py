"""The linear SVM in orthonormal coordinates with free features: which solver, and when to stop.

    minimize  ½‖w‖² + Σ C_i loss(y_i f_i),    f = X̂w + Pλ,    loss the hinge (1 − z)₊ or its square.

Three solvers, each a file that teaches one idea: `dcd`, `newton`, `pegasos`.  What they have in
common is here and in `kernelbook.solvers.primal.problem`: a monitor that computes the duality gap
and stops them at `tol`.

**A relay.**  Coordinate descent is quick to a digit or two and slow beyond.  Where a Newton step is
affordable its answer is therefore only the start of `finite_newton` (squared hinge) or
`proximal_multipliers` (hinge), which end at rounding error.  Where it is not, they take over if the
sweeps have not reached `tol`, and end there: a Newton matrix is as large as the active face or the
basis, which may be small where the sample is not.
"""

import numpy as np
from scipy import sparse
from tqdm import tqdm

from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.primal.dcd import dual_coordinate_descent
from kernelbook.solvers.primal.newton import finite_newton, squared_hinge
from kernelbook.solvers.primal.pegasos import pegasos
from kernelbook.solvers.primal.problem import STIFF, PrimalProblem, PrimalSolution
from kernelbook.solvers.primal.proximal import proximal_multipliers

__all__ = ["LOSSES", "solve_primal"]

LOSSES = {
    "dcd": ("hinge", "squared_hinge"),
    "newton": ("squared_hinge",),
    "pegasos": ("hinge",),
}
"""The losses that each solver can minimize."""

SWEEPS = 30
"""So many sweeps of coordinate descent over dense rows; what is left then is for Newton."""

SMALL = 1000
"""Up to this m, whether the features separate the sample is found out before anything else."""


@serial_blas  # threads wait for each other in small factorizations
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
    verbose : int
        1 shows a bar with the remaining time, and the gap at the end.

    Returns
    -------
    PrimalSolution
        Whether it is good enough is for the caller to say, by `certificate`.
    """
    problem = PrimalProblem(X, P, y, C, loss == "squared_hinge")
    if y.size <= SMALL and (solution := problem.separated()) is not None:
        return solution
    with _Monitor(problem, tol, verbose) as monitor:
        w, lam, beta, n_iter = _RUN[solver](problem, monitor, max_iter, rng)
    solution = monitor.separated or problem.solution(w, lam, beta, n_iter)
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
        self.undecided = problem.y.size > SMALL
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

    def judge(self, w, lam, beta):
        """The relative gap; asked by `proximal_multipliers`."""
        gap = self.problem.relative_gap(w, lam, beta)
        self._show(gap)
        return gap

    def enough(self, w, lam, beta, f):
        """Whether the gap at a repaired β is at most tol; asked by the solvers."""
        return self.distance(w, lam, beta, f) <= 1.0

    def distance(self, w, lam, beta, f):
        """That gap over the largest one allowed; β repaired is kept, in `feasible`."""
        q = self.problem
        primal = q.primal(w, f)
        least = self.tol * max(primal, 1e-15 * q.u.sum())
        # The repair costs passes over X̂: not before the unrepaired gap looks promising.
        rough = primal - q.dual(beta, w)
        if rough > 1.2 * least and not self.undecided:
            self._show(rough / primal)
            return float(rough / least)
        self.feasible = q.feasible(beta)
        dual = q.dual(self.feasible)
        self._show((primal - dual) / (primal or 1.0))
        if self.undecided:
            # Any feasible β ≠ 0 proves that no λ separates.
            self.undecided = False
            if dual <= 1e-8 * primal:
                self.separated = q.separated()
        return 0.0 if self.separated is not None else float((primal - dual) / least)


def _run_dcd(problem, monitor, max_iter, rng):
    q, tol = problem, monitor.tol
    args = (q.X, q.P, q.y, q.lo, q.hi, q.delta)
    sweeps = max_iter
    if q.affordable:
        # Sweeps beyond a digit or two would be wasted: Newton is about to take over.
        monitor.tol = max(tol, 1e-2)
    if q.affordable or not sparse.issparse(q.X):
        sweeps = min(max_iter, SWEEPS)
    r = dual_coordinate_descent(*args, monitor.distance, sweeps, rng)
    start = r.w, r.lam, r.beta
    if monitor.separated is not None or (r.converged and not q.affordable):
        return r.w, r.lam, monitor.feasible, r.n_iter
    # The aim: rounding errors where a Newton step is cheap, else what was asked for.
    asked = () if q.affordable else (0.5 * tol, max_iter)
    best = _best(q, start, _endings(q, monitor, (r.w, r.lam, q.y * r.beta), *asked))
    if q.affordable or sweeps == max_iter or q.relative_gap(*best) <= tol:
        return *best, r.n_iter
    again = (q.X.T @ best[2], *best[1:])
    r = dual_coordinate_descent(*args, monitor.distance, max_iter - sweeps, rng, again, goal=0.1)
    return *_best(q, best, [(r.w, r.lam, r.beta)]), sweeps + r.n_iter


def _run_newton(problem, monitor, max_iter, rng):
    q = problem
    # A cheap step is repeated until rounding stops it; an expensive one, until tol is reached.
    enough = None if q.affordable else monitor.enough
    r = finite_newton(q.X, q.P, q.y, squared_hinge(q.u), max_iter=max_iter, enough=enough)
    start = r.w, r.lam, q.y * r.alpha
    if not q.affordable or q.u.max() <= STIFF:
        return *start, r.n_iter
    return *_best(q, start, _endings(q, monitor, (None, None, None))), r.n_iter


def _run_pegasos(problem, monitor, max_iter, rng):
    q = problem
    r = pegasos(q.X, q.P, q.y, q.u, monitor.enough, max_iter, rng)
    return r.w, r.lam, r.beta, r.n_iter


_RUN = {"dcd": _run_dcd, "newton": _run_newton, "pegasos": _run_pegasos}


def _endings(q, monitor, start, aim=None, max_iter=None):
    """Better solutions from a start (w, λ, α) that is good to a digit or two: (w, λ, β) of each.

    To rounding error; or to a relative gap of `aim`, in at most `max_iter` steps.
    """
    w, lam, alpha = start
    watched, until = {}, {"judge": monitor.judge}
    if aim is not None:
        watched = {"enough": monitor.enough, "max_iter": max_iter}
        until |= {"enough": aim, "max_newton": max_iter}
    if q.squared:
        r = finite_newton(q.X, q.P, q.y, squared_hinge(q.u), w, lam, **watched)
        yield r.w, r.lam, q.y * r.alpha
    if not q.squared or (aim is None and q.u.max() > STIFF):
        r = proximal_multipliers(q.X, q.P, q.y, q.top, q.delta, w, lam, alpha, **until)
        yield r.w, r.lam, q.y * r.alpha


def _best(q, start, ends):
    """The candidate (w, λ, β) of least gap."""
    candidates = (start, *ends)
    return candidates[int(np.argmin([q.relative_gap(*candidate) for candidate in candidates]))]
