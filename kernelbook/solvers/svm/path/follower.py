"""`ParametricQP`: follow a solution, move it to another problem, keep it accurate.

Chapter: book/primal/path
"""

from copy import copy

import numpy as np

from kernelbook.solvers.svm.path.inverse import PivotedInverse
from kernelbook.solvers.svm.path.pivots import RATE_RTOL, Pivots, first, first_at_margin
from kernelbook.solvers.svm.path.problem import Affine, PathError

__all__ = ["ParametricQP"]

REFRESH_AFTER = 50
"""M⁻¹, f and the carried sums are computed afresh after so many updates of M⁻¹."""
REFACTOR_RESIDUAL = 1e-9
"""Equations that fail by more than this, relative, after refining: M⁻¹ is no longer M's inverse."""
MAX_STALLED_EVENTS = 10
"""So many pivots a sample without progress mean that the path is lost."""


class ParametricQP(Pivots):
    """A solution of (QP) at t.

    Parameters
    ----------
    gram : DenseGram
    P : (n, ℓ) array
        Features of full column rank, scaled to PᵀP = nI.
    problem : Problem
        At t its solution must be: every sample at the bound named by `side`, λ = 0.
    t : float
    side : (n,) array
        The places: +1 for samples at `up`, −1 at `low`; the elbow, 0, is empty at first.
    perturbation : float
        The relative size of the perturbation that breaks ties.
    seed : int
        Which perturbation.

    Attributes
    ----------
    beta, lam, f : arrays
        The solution of the perturbed problem at t.
    n_pivots, n_exchanges, n_jumps : int
        How often samples changed places, β moved inside the elbow, λ jumped.
    """

    def __init__(self, gram, P, problem, t, side, perturbation=1e-11, seed=0):
        self.gram, self.P = gram, P
        self.n, self.l = P.shape
        self.M = PivotedInverse(gram, P)
        self.side = np.array(side, dtype=np.int8)
        self._rng = rng = np.random.default_rng(seed)
        self.perturbation = perturbation
        self.noise = perturbation * rng.uniform(1.0, 2.0, (3, self.n))
        self.noise[0] *= rng.choice([-1.0, 1.0], self.n)
        self.beta, self.lam, self.f = np.zeros(self.n), np.zeros(self.l), np.zeros(self.n)
        self.n_pivots = self.n_exchanges = self.n_jumps = 0
        self._largest = np.abs(P).max(initial=0.0)
        self._PT = np.ascontiguousarray(P.T)
        self.restate(problem, t)

    @property
    def elbow(self):
        return self.M.samples

    def copy(self):
        """An independent follower of the same path; gram and P are shared."""
        other = copy(self)
        for name in ("side", "noise", "beta", "lam", "f"):
            setattr(other, name, getattr(self, name).copy())
        other.M = self.M.copy()
        other.restate(self.exact_problem, self.t)
        return other

    # -- the problem -----------------------------------------------------------------------------

    def restate(self, problem, t, scale=1.0):
        """Go on with another problem whose solution at t is the present one times `scale`."""
        self.beta *= scale
        self.lam *= scale
        self._load(problem, t)
        self.refresh()

    def _load(self, problem, t):
        self.t = float(t)
        self.exact_problem, self.problem = problem, problem.perturbed(self.noise)

    def resolve(self, problem):
        """Solve a problem that does not depend on t, from wherever the present state is.

        Move β to the bounds and into the box; shift a and q so that the result is optimal;
        then take the shift back, along a path.
        """
        self._load(problem, 0.0)
        p = self.problem
        self.M.refactor()
        self._move_to_bounds()
        np.clip(self.beta, p.low.at, p.up.at, out=self.beta)
        self.f = self._values()
        excess = self._excess()
        # Samples at a bound are shifted off the margin, by different amounts: no ties.
        bounded = self.side != 0
        excess[bounded] *= self._rng.uniform(1.0, 2.0, np.count_nonzero(bounded))
        p.a = Affine(p.a.at + excess, -excess)
        q = self.P.T @ self.beta
        p.q = Affine(q, problem.q.at - q)
        self._carry()
        for _ in self.follow(1.0):
            pass
        self.restate(problem, 1.0)

    def refresh(self):
        """Compute afresh what is otherwise updated: M⁻¹, the carried sums, f.

        What rounding has done to f is absorbed by the perturbation of a, so the present state
        stays the solution of the perturbed problem.  The other way, to recompute β from a,
        would multiply rounding errors by the condition of M.
        """
        self.M.refactor()
        self._carry()
        self._move_to_bounds()
        E = self.elbow
        if E.size and self.l:
            missing = self.problem.q(self.t) - self.P.T @ self.beta
            self.beta[E] += np.linalg.lstsq(self.P[E].T, missing)[0]
        self._absorb()

    def _absorb(self):
        self.f = self._values()
        excess = self._excess()
        late = (self.side != 0) & (excess != 0)
        excess[late] += self.perturbation * self.problem.unit * self.side[late]
        self.problem.a.at += excess
        self.noise[0] += excess / self.problem.unit

    def _excess(self):
        """By how much f − a breaks the conditions of optimality."""
        excess = self.f - self.problem.a(self.t)
        excess[(self.side != 0) & (self.side * excess <= 0)] = 0.0
        return excess

    def _values(self):
        return self.gram.times(self.beta) + self.lam @ self._PT

    def _carry(self):
        """Φ times the rates of the samples at bounds; and some sizes."""
        p = self.problem
        self._bounds_move = bool(p.up.rate.any() or p.low.rate.any())
        self._carried = np.zeros(self.n)
        if self._bounds_move:
            self._carried = self.gram.times(self._rates())
        self._size_a = np.abs(p.a.rate).max()

    def _rates(self):
        p = self.problem
        if not self._bounds_move:
            return np.zeros(self.n)
        rates = np.where(self.side > 0, p.up.rate, p.low.rate)
        rates[self.elbow] = 0.0
        return rates

    def _move_to_bounds(self):
        for side, bound in ((1, self.problem.up), (-1, self.problem.low)):
            there = self.side == side
            self.beta[there] = bound(self.t)[there]

    # -- following -------------------------------------------------------------------------------

    def follow(self, t_end):
        """Move t up to t_end, segment by segment.

        A generator: it yields the event (sample, side) that ends a segment when t is there and
        the places are still those of the segment.  `side` is ±1 for a sample that reaches a
        bound, 0 for one that reaches the margin; sample is None at the end.  Beyond the last
        event a path can be followed to t_end = inf.
        """
        self._stalled = 0
        while True:
            sample, side = self._segment(t_end)
            yield sample, side
            if sample is None:
                return
            self._pivot(sample, side)

    def _segment(self, t_end):
        """Go to the end of the present segment; returns the event there, (None, 0) at t_end."""
        if self.M.n_updates >= REFRESH_AFTER:
            self.refresh()
        before = self.t
        while (broken := self._direction()) is not None:
            self._jump(*broken)
            self._count_stalled(before, 1)
        step, sample, side = self._next_event()
        if self.t + step >= t_end:
            step, sample, side = t_end - self.t, None, 0
        if step < np.inf:
            self.beta += step * self.dbeta
            self.lam += step * self.dlam
            self.f += step * self.df
        self.t = t_end if sample is None else self.t + step
        self._count_stalled(before, 1)
        return sample, side

    def _count_stalled(self, before, pivots):
        """So many more pivots since t was `before`; by rounding, t can creep."""
        self._stalled = 0 if self.t - before > RATE_RTOL * abs(before) else self._stalled + pivots
        if self._stalled > MAX_STALLED_EVENTS * (self.n + 10):
            raise PathError(f"no progress at t = {self.t:.6g}: too many events coincide.")

    def _pivot(self, sample, side):
        self.n_pivots += 1
        if side:
            self._leave(sample, side)
        else:
            self._enter(sample)

    def followed(self):
        """(β, λ, f) of the perturbed problem on the present segment, as functions of t."""
        pairs = ((self.beta, self.dbeta), (self.lam, self.dlam), (self.f, self.df))
        return tuple(Affine(value - self.t * rate, rate.copy()) for value, rate in pairs)

    def solve(self, beta, lam, v, a, q, size=1.0):
        """Fill in β on the elbow and λ on S, in place, so that f = a there and Pᵀβ = q; return f.

        β, λ and v = Φβ hold the rest: what is at bounds and what is pinned.
        M⁻¹ carries the errors of its updates, so the solution is refined until the equations hold
        up to rounding; `size` is that of a.  A pivot near zero can leave more errors than refining
        mends: then M is inverted afresh.
        """
        start = beta.copy(), lam.copy()
        f, error = self._refined(beta, lam, v, a, q, size)
        if error > REFACTOR_RESIDUAL and self.M.n_updates:
            self.M.refactor()
            beta[:], lam[:] = start
            f, _ = self._refined(beta, lam, v, a, q, size)
        return f

    def _refined(self, beta, lam, v, a, q, size):
        """As `solve`, with M⁻¹ as it is; f, and by how much the equations fail, relative."""
        M, e, E, A = self.M, self.M.is_sample, self.M.samples, self.M.features
        r, f = np.empty(M.S.size), None
        for repeat in range(5):
            h = v[E] + self.P[E] @ lam if f is None else f[E]
            r[e] = a[E] - h
            if A.size:
                r[~e] = (q - self._PT @ beta)[A]
            if repeat == 0:
                size = max(size + np.abs(h).max(initial=0.0), np.abs(r).max(initial=0.0))
            error = np.abs(r).max(initial=0.0) / size if size > 0 else 0.0
            if repeat and (error <= RATE_RTOL or repeat == 4):
                break
            z = M.inverse @ r
            beta[E] += z[e]
            lam[A] += z[~e]
            v = v + self.gram.combine(E, z[e])
            f = v + lam @ self._PT if self.l else v
        return f, error

    def _direction(self):
        """Set dβ, dλ and df; return (p, sign) of a pinned equation that they would break, or None.

        Also note the sizes that rounding acts on: a rate below RATE_RTOL times that is zero.
        """
        p, M = self.problem, self.M
        self.dbeta, self.dlam = self._rates(), np.zeros(self.l)
        size, terms, base = self._size_a, np.abs(p.q.rate), 0.0
        if self._bounds_move:
            base = self._carried
            size = size + np.abs(base).max()
            terms = terms + np.abs(self.dbeta) @ np.abs(self.P)
        sizes = np.where(M.is_sample, size, terms.max(initial=0.0))
        self._size_beta = (np.abs(M.inverse) @ sizes)[M.is_sample] + size / self.gram.scale
        self.df = self.solve(self.dbeta, self.dlam, self._carried, p.a.rate, p.q.rate, self._size_a)
        E, A = M.samples, M.features
        moves = np.abs(self.dbeta[E])
        if np.all(moves <= RATE_RTOL * self._size_beta):
            # β seems constant.  It is, if λ alone satisfies the equations.
            r = (p.a.rate - base)[E]
            dlam = np.linalg.lstsq(self.P[np.ix_(E, A)], r)[0]
            if np.abs(r - self.P[np.ix_(E, A)] @ dlam).max(initial=0.0) <= 10 * RATE_RTOL * size:
                self.dbeta[E], self.dlam[A] = 0.0, dlam
                self.df = base + self.dlam @ self._PT
        self._size_f = (
            size + self.gram.scale * moves.sum() + self._largest * np.abs(self.dlam).sum()
        )
        if M.pinned.any():
            broken = self.dbeta @ self.P - p.q.rate
            terms = terms + np.abs(self.dbeta[E]) @ np.abs(self.P[E])
            broken[~M.pinned | (np.abs(broken) <= 100 * RATE_RTOL * terms)] = 0.0
            worst = int(np.argmax(np.abs(broken)))
            if broken[worst]:
                return worst, np.sign(broken[worst])
        return None

    def _next_event(self):
        """(step, sample, side): the first sample to reach the margin (side 0) or a bound (±1)."""
        p, t, E = self.problem, self.t, self.elbow
        flat = RATE_RTOL * self._size_f
        step, sample = first_at_margin(self.side, p.a.at, p.a.rate, t, self.f, self.df, flat)
        side = 0
        for s, bound in ((1, p.up), (-1, p.low)):
            room = s * (bound.at[E] + t * bound.rate[E] - self.beta[E])
            closing = s * (self.dbeta[E] - bound.rate[E])
            to_bound, k = first(room, closing, RATE_RTOL * self._size_beta)
            if to_bound < step:
                step, sample, side = to_bound, int(E[k]), s
        return step, sample, side
