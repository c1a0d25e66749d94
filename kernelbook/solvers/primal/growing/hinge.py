"""The hinge loss over a basis that grows: each solve starts from the last solution.

Paper C, section 3.2; the basis itself is in `kernelbook.solvers.primal.growing.factor`.

The old (w, λ, α) with a zero appended to w is feasible in the larger space and nearly optimal: few
samples change sides, and few are near the margin.  First `growing.active_set` tries whether the old
sides, or sides close to them, are the new ones: then the solution is exact.  If not, the method of
multipliers starts there with a large penalty, and after each of its subproblems `active_set_solve`
runs again.  Every step is certified by its duality gap.  If that is not small the solver starts
from zero, and then with coordinate descent; the best is kept.

Two facts for selection rules.  The objective never rises, since w_{k+1} = 0 is allowed; and it
cannot fall by more than ½g², g = Σ β_i x̂_{i,k+1}: the old β is feasible in the new dual, where its
value is less by ½g².

Chapter: book/primal/incremental

References
----------
Giesen, Laue & Mueller (2012), section 3.2.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg

from kernelbook.solvers.primal.finish import PrimalSolution, finish, separated
from kernelbook.solvers.primal.growing.active_set import active_set_solve
from kernelbook.solvers.primal.problem import PrimalProblem
from kernelbook.solvers.primal.proximal import MultiplierOptions, proximal_multipliers
from kernelbook.solvers.primal.solve import solve_primal

__all__ = ["GrowingHinge"]

TARGET_GAP = 1e-11
"""The relative gap that the warm start aims for; a Newton step from there leaves only rounding."""
RESTART_GAP = 1e-9
"""A larger relative gap makes the solver start again."""
WARM_PENALTY = 1e2
"""The first penalty from a warm start."""


class GrowingHinge:
    """One binary problem: ½‖w‖² + Σ C_i (1 − y_i f_i)₊, f = X̂w + Pλ, for more and more columns.

    Parameters
    ----------
    P : (n, ℓ) array;  y : (n,) array of ±1;  C : (n,) array, positive

    Attributes
    ----------
    solution : PrimalSolution
        For the columns that `solve` was last called with.
    n_restarts : int
        How often the warm start failed.
    """

    def __init__(self, P, y, C):
        self.P, self.y, self.C = P, y, C
        self.n_restarts = 0
        q = PrimalProblem(np.zeros((y.size, 1)), P, y, C, False)
        found = _Finished(q)
        r = found.minimize()
        self.solution = found.of(r.w, r.lam, y * r.alpha, r.n_iter)
        self._state = _State(np.zeros(0), r.lam, q.unit * r.alpha, q, 0.0)
        vanishes = self.solution.certificate.primal <= 1e-8 * C.sum()
        self._separated = separated(q) if vanishes else None

    def solve(self, X) -> PrimalSolution:
        """Solve for X̂ = X, from the present solution; keep the result.

        The first columns of X are those of the call before.
        """
        self.solution, self._state = self._solve(X)
        return self.solution

    def objective(self, X):
        """The objective for X̂ = X; the present solution stays."""
        return self._solve(X)[0].certificate.primal

    def _solve(self, X):
        k, old = X.shape[1], self._state
        if self._separated is not None:  # T3: the features separate the sample, in any basis
            s = self._separated
            return PrimalSolution(np.zeros(k), s.coef, s.beta, s.rank, 0, s.certificate), old
        added = X[:, old.w.size :]
        size = old.size + float(np.einsum("ij,ij", added, added)) / self.y.size
        q = old.problem.widened(X, size)
        w = np.append(old.w, np.zeros(k - old.w.size)) / q.root
        finished, best = _Finished(q, partial(_from_sides, q, self.C)), None
        for start in ((w, old.lam, old.alpha / q.unit), ()):
            r = finished.minimize(*start)
            found = finished.of(r.w, r.lam, q.y * r.alpha, r.n_iter)
            if best is None or found.certificate.gap < best[0].certificate.gap:
                best = found, _State(q.root * r.w, r.lam, q.unit * r.alpha, q, size)
            if best[0].certificate.relative_gap <= RESTART_GAP:
                return best
            self.n_restarts += 1
        found = solve_primal(X, self.P, self.y, self.C)
        if found.certificate.gap < best[0].certificate.gap:
            lam = linalg.lstsq(q.P, self.P @ found.coef)[0]
            best = found, _State(found.w, lam, self.y * found.beta, q, size)
        return best


class _State(NamedTuple):
    """Where the next step starts: a solution in the caller's units, and the mean ‖x̂_i‖²."""

    w: np.ndarray
    lam: np.ndarray
    alpha: np.ndarray
    problem: PrimalProblem
    size: float


class _Finished:
    """The method of multipliers, which judges a candidate by the certificate it would get.

    The last certificate is kept: the solution that is returned has usually been certified already.
    """

    def __init__(self, problem, try_exact=None):
        self._problem, self._w, self._solution = problem, None, None
        self._options = MultiplierOptions(self._relative_gap, TARGET_GAP, try_exact=try_exact)

    def minimize(self, *start):
        options = replace(self._options, penalty=WARM_PENALTY) if start else self._options
        return proximal_multipliers(self._problem.for_multipliers(), *start, options=options)

    def of(self, w, lam, beta, n_iter) -> PrimalSolution:
        if w is not self._w:
            self._w, self._solution = w, finish(self._problem, w, lam, beta, n_iter)
        return replace(self._solution, n_iter=n_iter)

    def _relative_gap(self, w, lam, beta):
        return self.of(w, lam, beta, 0).certificate.relative_gap


def _from_sides(q, C, lam, alpha):
    """`active_set_solve` for the problem q; it works in the caller's units."""
    found = active_set_solve(q.given, q.P, q.y, C, lam, q.unit * alpha)
    return None if found is None else (found[0] / q.root, found[1], found[2] / q.unit)
