"""The hinge loss over a basis that grows: solved again from where the last solution stood.

Paper C, section 3.2; the basis itself is in `kernelbook.solvers.primal.growing.factor`.

The old (w, λ, α) with a zero appended to w is feasible in the larger space and nearly optimal: few
samples change sides, and few are near the margin.  First `solvers.primal.growing.active_set` is
asked
whether the old sides, or sides close to them, are the new ones: then the solution is exact.  If
not, the method of multipliers starts there with a large penalty, and after each of its subproblems
`active_set_solve` runs again.  Both work with inner products of samples near the margin, which are
kept from one step to the next (`growing.inner_products`).  Every step is proved by its duality
gap.  If that is not small the solver starts again without the memory, and then with coordinate
descent; the best is kept.

Two facts for selection rules.  The objective never rises, since w_{k+1} = 0 is allowed; and it
cannot fall by more than ½g², g = Σ β_i x̂_{i,k+1}: the old β is feasible in the new dual, where its
value is less by ½g².

References
----------
Giesen, Laue & Mueller (2012), section 3.2.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg

from kernelbook.solvers.primal.growing.active_set import active_set_solve
from kernelbook.solvers.primal.growing.factor import GrowingFactor
from kernelbook.solvers.primal.growing.inner_products import Near, grown, near_margin
from kernelbook.solvers.primal.growing.newton import newton_near
from kernelbook.solvers.primal.problem import PrimalProblem, PrimalSolution
from kernelbook.solvers.primal.proximal import proximal_multipliers
from kernelbook.solvers.primal.solve import solve_primal

__all__ = ["GrowingFactor", "GrowingHinge"]

EXACT = 1e-11
"""The relative gap that the warm start aims for; a Newton step from there leaves only rounding."""
GOOD = 1e-9
"""A larger relative gap makes the solver start again."""
BOLD = 1e2
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
        How often the warm start did not do.
    """

    def __init__(self, P, y, C):
        self.P, self.y, self.C = P, y, C
        self.n_restarts = 0
        self._separated = None
        nothing = np.zeros((y.size, 0))
        q = PrimalProblem(np.zeros((y.size, 1)), P, y, C, False)
        cold = proximal_multipliers(q.X, q.P, y, q.top, q.delta, judge=q.relative_gap)
        self.solution = q.solution(cold.w, cold.lam, y * cold.alpha, cold.n_iter)
        self._state = _State(
            np.zeros(0), cold.lam, q.unit * cold.alpha, q, near_margin(nothing), 0.0
        )
        if self.solution.certificate.primal <= 1e-8 * C.sum():
            self._separated = q.separated()

    def solve(self, X) -> PrimalSolution:
        """Solve for X̂ = X, from the present solution; keep the result.

        The first columns of X are those of the call before.
        """
        self.solution, self._state = self._solve(X)
        return self.solution

    def objective(self, X):
        """The objective for X̂ = X, keeping nothing."""
        return self._solve(X)[0].certificate.primal

    def _solve(self, X):
        k, old = X.shape[1], self._state
        if self._separated is not None:  # T3: the features do it alone, whatever the basis
            s = self._separated
            return PrimalSolution(np.zeros(k), s.coef, s.beta, s.rank, 0, s.certificate), old
        added = X[:, old.w.size :]
        size = old.size + float(np.einsum("ij,ij", added, added)) / self.y.size
        q = old.problem.widened(X, size)
        near = grown(old.near, X, self.P.shape[1])
        start = {
            "w": np.append(old.w, np.zeros(k - old.w.size)) / q.root,
            "lam": old.lam,
            "alpha": old.alpha / q.unit,
            "sigma": BOLD,
            "newton": partial(newton_near, near, q.root, q.P, q.y),
        }
        proof = _Proof(q)
        ends = {"judge": proof, "enough": EXACT, "finish": partial(_finish, q, near, X, self.C)}
        best = None
        for warm in (True, False):
            # The warm start takes its products with X itself, the cold one with a scaled copy.
            X_hat, options = (None, start) if warm else (q.X, {})
            r = proximal_multipliers(X_hat, q.P, q.y, q.top, q.delta, **options, **ends)
            found = proof.of(r.w, r.lam, q.y * r.alpha, r.n_iter)
            if best is None or found.certificate.gap < best[0].certificate.gap:
                best = found, _State(q.root * r.w, r.lam, q.unit * r.alpha, q, near, size)
            if best[0].certificate.relative_gap <= GOOD:
                return best
            self.n_restarts += 1
        found = solve_primal(X, self.P, self.y, self.C)
        if found.certificate.gap < best[0].certificate.gap:
            lam = linalg.lstsq(q.P, self.P @ found.coef)[0]
            best = found, _State(found.w, lam, self.y * found.beta, q, near, size)
        return best


class _State(NamedTuple):
    """Where the next step starts: a solution, inner products that are known, the mean ‖x̂_i‖²."""

    w: np.ndarray
    lam: np.ndarray
    alpha: np.ndarray
    problem: PrimalProblem
    near: Near
    size: float


class _Proof:
    """Judges a candidate by the certificate that it would get; the last one is at hand."""

    def __init__(self, problem):
        self._problem, self._w, self._found = problem, None, None

    def __call__(self, w, lam, beta):
        return self.of(w, lam, beta, 0).certificate.relative_gap

    def of(self, w, lam, beta, n_iter) -> PrimalSolution:
        if w is not self._w:
            self._w, self._found = w, self._problem.solution(w, lam, beta, n_iter)
        return replace(self._found, n_iter=n_iter)


def _finish(q, near, X, C, lam, alpha):
    """`active_set_solve`, in the caller's units, which it does not mind."""
    found = active_set_solve(X, q.P, q.y, C, lam, q.unit * alpha, near)
    return None if found is None else (found[0] / q.root, found[1], found[2] / q.unit)
