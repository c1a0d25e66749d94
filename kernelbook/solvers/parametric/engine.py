"""`ParametricQP`: a solution that is followed, moved to another problem, and kept accurate."""

from copy import copy
from dataclasses import dataclass

import numpy as np

from kernelbook._jit import jit
from kernelbook.solvers.parametric.inverse import PivotedInverse

__all__ = ["Affine", "ParametricQP", "PathError", "Problem"]

FLAT = 1e-14
"""A rate below this fraction of the sizes that make it up counts as zero: it is rounding."""
RANK = 1e-9
"""P has columns of length √n; what is new in a row of P counts as nothing below this."""
NULL = 1e-11
"""A sample depends on the elbow if crossing its whole box changes f by less than this."""
REFRESH = 50
"""M⁻¹, f and the carried sums are computed afresh after so many updates of M⁻¹."""
STILL = 10
"""So many pivots a sample without progress mean that the path is lost."""


class PathError(RuntimeError):
    """The path cannot be continued: rounding has defeated the pivoting rule."""


@dataclass
class Affine:
    """The vector at + t·rate."""

    at: np.ndarray
    rate: np.ndarray

    @classmethod
    def constant(cls, value):
        value = np.asarray(value, dtype=np.float64)
        return cls(value, np.zeros_like(value))

    def __call__(self, t):
        return self.at + t * self.rate


@dataclass
class Problem:
    """a, low, up (one entry a sample) and q (one entry a feature), all affine in t.

    `unit` is the scale of a, by which its perturbation is measured.
    """

    a: Affine
    low: Affine
    up: Affine
    q: Affine
    unit: float = 1.0

    def perturbed(self, noise):
        """The same with the box larger, and a moved, by random amounts in the eleventh digit."""
        a = Affine(self.a.at + self.unit * noise[0], self.a.rate.copy())
        width = Affine(self.up.at - self.low.at, self.up.rate - self.low.rate)
        low = Affine(self.low.at - noise[1] * width.at, self.low.rate - noise[1] * width.rate)
        up = Affine(self.up.at + noise[2] * width.at, self.up.rate + noise[2] * width.rate)
        return Problem(a, low, up, Affine(self.q.at.copy(), self.q.rate.copy()), self.unit)


class ParametricQP:
    """A solution of (QP) at t.

    Parameters
    ----------
    gram : DenseGram or FactorGram
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
        self.t = float(t)
        self.exact_problem, self.problem = problem, problem.perturbed(self.noise)
        self.beta *= scale
        self.lam *= scale
        self.refresh()

    def settle(self, problem):
        """Solve a problem that does not depend on t, from wherever the present state is.

        Move β to the bounds and into the box; shift a and q so that the result is optimal;
        then take the shift back, along a path.
        """
        self.exact_problem, self.problem = problem, problem.perturbed(self.noise)
        self.t, p = 0.0, self.problem
        self._refactor()
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
        self._refactor()
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
        moved = np.flatnonzero(self.beta)
        return self.gram.evaluate(self.gram.embed(moved, self.beta[moved])) + self.P @ self.lam

    def _refactor(self):
        try:
            self.M.refactor()
        except np.linalg.LinAlgError as error:
            raise PathError("the equations of the elbow have become singular.") from error

    def _carry(self):
        """The embedding of the rates of the samples at bounds."""
        rates = self._rates()
        moving = np.flatnonzero(rates)
        self._carried = self.gram.embed(moving, rates[moving])

    def _rates(self):
        p = self.problem
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
        still = 0
        while True:
            if self.M.n_updates >= REFRESH:
                self.refresh()
            if still > STILL * (self.n + 10):
                raise PathError(f"no progress at t = {self.t:.6g}: too many events coincide.")
            broken = self._direction()
            if broken is not None:
                self._jump(*broken)
                still += 1
                continue
            step, sample, side = self._next_event()
            if self.t + step >= t_end:
                step, sample = t_end - self.t, None
            still = 0 if step > 0 else still + 1
            if step < np.inf:
                self.beta += step * self.dbeta
                self.lam += step * self.dlam
                self.f += step * self.df
            self.t = t_end if sample is None else self.t + step
            yield sample, side
            if sample is None:
                return
            self.n_pivots += 1
            if side:
                self._leave(sample, side)
            else:
                self._enter(sample)

    def followed(self):
        """(β, λ, f) of the perturbed problem on the present segment, as functions of t."""
        pairs = ((self.beta, self.dbeta), (self.lam, self.dlam), (self.f, self.df))
        return tuple(Affine(value - self.t * rate, rate.copy()) for value, rate in pairs)

    def solve(self, beta, lam, v, a, q):
        """Fill in β on the elbow and λ on S, in place, so that f = a there and Pᵀβ = q; return f.

        β, λ and the embedding v hold the rest: what is at bounds and what is pinned.
        M⁻¹ carries the errors of its updates, so the solution is refined until the equations hold.
        """
        M, P = self.M, self.P
        e, E = M.is_sample, M.samples
        r, f = np.empty(M.S.size), None
        size = np.abs(a).max()
        for repeat in range(4):
            h = f[E] if repeat else self.gram.at(v, E) + P[E] @ lam
            r[e] = a[E] - h
            r[~e] = (q - beta @ P)[M.features]
            if repeat == 0:
                size += np.abs(h).max(initial=0.0)
            elif np.abs(r).max(initial=0.0) <= FLAT * size:
                break
            z = M.inverse @ r
            beta[E] += z[e]
            lam[M.features] += z[~e]
            v = v + self.gram.embed(E, z[e])
            f = self.gram.evaluate(v) + P @ lam
        return f

    def _direction(self):
        """Set dβ, dλ and df; return (p, sign) of a pinned equation that they would break, or None.

        Also note the sizes that rounding acts on: a rate below FLAT times that is zero.
        """
        p, M = self.problem, self.M
        self.dbeta, self.dlam = self._rates(), np.zeros(self.l)
        base = self.gram.evaluate(self._carried)
        size = np.abs(p.a.rate).max() + np.abs(base).max()
        terms = np.abs(p.q.rate) + np.abs(self.dbeta) @ np.abs(self.P)
        sizes = np.where(M.is_sample, size, terms.max(initial=0.0))
        self._size_beta = (np.abs(M.inverse) @ sizes)[M.is_sample] + size / self.gram.scale
        self.df = self.solve(self.dbeta, self.dlam, self._carried, p.a.rate, p.q.rate)
        E, A = M.samples, M.features
        moves = np.abs(self.dbeta[E])
        if np.all(moves <= FLAT * self._size_beta):
            # It seems that β rests.  If λ alone satisfies the equations, it does.
            r = (p.a.rate - base)[E]
            dlam = np.linalg.lstsq(self.P[np.ix_(E, A)], r)[0]
            if np.abs(r - self.P[np.ix_(E, A)] @ dlam).max(initial=0.0) <= 10 * FLAT * size:
                self.dbeta[E], self.dlam[A] = 0.0, dlam
                self.df = base + self.P @ self.dlam
        self._size_f = (
            size + self.gram.scale * moves.sum() + self._largest * np.abs(self.dlam).sum()
        )
        if M.pinned.any():
            broken = self.dbeta @ self.P - p.q.rate
            terms += np.abs(self.dbeta[E]) @ np.abs(self.P[E])
            broken[~M.pinned | (np.abs(broken) <= 100 * FLAT * terms)] = 0.0
            worst = int(np.argmax(np.abs(broken)))
            if broken[worst]:
                return worst, np.sign(broken[worst])
        return None

    def _next_event(self):
        """(step, sample, side): the first sample to reach the margin (side 0) or a bound (±1)."""
        p, t, E = self.problem, self.t, self.elbow
        room = self.side * (p.a(t) - self.f)
        closing = self.side * (self.df - p.a.rate)
        step, sample = first(room, closing, np.full(self.n, FLAT * self._size_f))
        side = 0
        for s, bound in ((1, p.up), (-1, p.low)):
            room = s * (bound.at[E] + t * bound.rate[E] - self.beta[E])
            closing = s * (self.dbeta[E] - bound.rate[E])
            to_bound, k = first(room, closing, FLAT * self._size_beta)
            if to_bound < step:
                step, sample, side = to_bound, int(E[k]), s
        return step, sample, side

    # -- pivots ----------------------------------------------------------------------------------

    def _place(self, i, side):
        """Put sample i at a bound (±1) or into the elbow (0), in the carried sum too."""
        p = self.problem
        change = 0.0
        for place, sign in ((self.side[i], -1.0), (side, 1.0)):
            if place:
                change += sign * (p.up if place > 0 else p.low).rate[i]
        if change:
            self._carried = self._carried + change * self.gram.one(i)
        self.side[i] = side

    def _leave(self, i, side):
        """The sample goes; and with the last one to determine a λ_p, so does p."""
        self._place(i, side)
        M = self.M
        row = M.inverse[np.flatnonzero(M.S == i)[0]]
        if row[M.S == i][0] * self.gram.scale > RANK or M.features.size == 0:
            M.delete(i)
        else:
            M.delete(i, M.n + M.features[np.argmax(np.abs(row[~M.is_sample]))])

    def _enter(self, j):
        """The sample comes, with a pinned feature if it can; by exchange if it depends on E."""
        M, exchanged = self.M, False
        while True:
            h = M.column(j)
            v = M.inverse @ h
            if M.pinned.any():
                new = np.where(M.pinned, self.P[j] - v[M.is_sample] @ self.P[M.samples], 0.0)
                p = int(np.argmax(np.abs(new)))
                if abs(new[p]) > RANK:
                    self._place(j, 0)
                    M.insert(j, M.n + p)
                    break
            pivot = M.entry(j, j) - h @ v
            blur = self.gram.noise * (1.0 + np.abs(v[M.is_sample]).sum()) ** 2
            if pivot > blur and pivot * self._width(j) > NULL * self.problem.unit:
                self._place(j, 0)
                M.insert(j)
                break
            exchanged = True
            blocked, side = self._exchange(j, v)
            if blocked is None:
                self._place(j, -self.side[j])
                break
            self._leave(blocked, side)
        if exchanged:
            self._absorb()

    def _width(self, j):
        up, low, t = self.problem.up, self.problem.low, self.t
        return up.at[j] - low.at[j] + t * (up.rate[j] - low.rate[j])

    def _exchange(self, j, v):
        """Move β along the null vector of H on S and j, until something hits a bound.

        Returns the sample of the elbow that does, and its side; or (None, 0) if j crosses its box.
        """
        self.n_exchanges += 1
        M, t, E = self.M, self.t, self.elbow
        up, low = self.problem.up(t), self.problem.low(t)
        inward = -float(self.side[j])
        d = -inward * v[M.is_sample]
        room = np.where(d > 0, up[E] - self.beta[E], self.beta[E] - low[E])
        step, k = first(room, np.abs(d), np.full(E.size, 1e3 * FLAT))
        across = up[j] - self.beta[j] if inward > 0 else self.beta[j] - low[j]
        blocked = step < across
        step = min(step, across)
        self.beta[j] += step * inward
        self.beta[E] += step * d
        self.lam[M.features] -= step * inward * v[~M.is_sample]
        return (int(E[k]), 1 if d[k] > 0 else -1) if blocked else (None, 0)

    def _jump(self, p, sign):
        """Move λ_p at constant t and β until some f_j reaches a_j; then j and p enter."""
        self.n_jumps += 1
        M = self.M
        z = -sign * (M.inverse @ M.column(M.n + p))
        dlam = np.zeros(self.l)
        dlam[p], dlam[M.features] = sign, z[~M.is_sample]
        df = self.gram.evaluate(self.gram.embed(M.samples, z[M.is_sample])) + self.P @ dlam
        room = self.side * (self.problem.a(self.t) - self.f)
        step, j = first(room, self.side * df, np.full(self.n, 1e3 * FLAT))
        if j < 0:
            raise PathError(f"Pᵀβ = q has no solution in the box beyond t = {self.t:.6g}.")
        self.lam += step * dlam
        self.f += step * df
        self._place(j, 0)
        M.insert(j, M.n + p)


@jit
def first(room, closing, flat):
    """The smallest room/closing over the entries that close, and where; (inf, −1) if none does."""
    step, k = np.inf, -1
    for i in range(room.size):
        if closing[i] > flat[i] and max(room[i], 0.0) < step * closing[i]:
            step, k = max(room[i], 0.0) / closing[i], i
    return step, k
