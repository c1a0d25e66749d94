"""One engine for piecewise-affine paths: a quadratic program whose data move along a line.

The support vector machine with free features is the quadratic program

    min ½βᵀΦβ − aᵀβ     subject to  Pᵀβ = q,  low ≤ β ≤ up,                           (QP)

with Φ positive semidefinite on ker Pᵀ.  Let a, q, low and up be affine functions of a parameter t.
Then an optimal (β, λ) is a piecewise affine function of t, and it can be followed exactly:

- C moves: the regularization path of Hastie et al., here with ℓ free features (`svm_path`);
- a ramp on `a` switches a new basis function on, a ramp on `up` a new sample (`incremental`);
- a ramp on q leads from a problem with an obvious solution to the one wanted (the start).

**Optimality.**  With f = Φβ + Pλ every sample is in one of three places:

    β_i = up_i and f_i ≤ a_i,      low_i ≤ β_i ≤ up_i and f_i = a_i,      β_i = low_i and f_i ≥ a_i.

The samples in the middle form the *elbow* E.  Between two events nobody changes place, so the
unknowns solve a linear system M z = r(t) with an affine right side.  Write the optimality system
as H = [Φ P; Pᵀ 0] over samples and features; then M = H_SS, where S holds the elbow and those
features p whose λ_p the elbow determines.  A λ_p that it does not determine (no sample in the
elbow, say) is *pinned* at its value: any value in a whole interval is optimal.

**Events.**  A sample of the elbow reaches a bound and leaves S, or f_j reaches a_j and j enters S.
Each is a principal pivot of H: M⁻¹ grows or shrinks by a block of one or two rows.  Three cases
need more than that.

1. *j brings a pinned λ_p to life* (its row of P is new to the elbow): j and p enter together.
   When the last sample that determines λ_p leaves, both leave.
2. *H_SS would become singular*: j depends on the elbow (duplicates, linear kernels).  Then
   β can move inside the elbow and j without changing f.  Move j off its bound until something
   else hits a bound, and let that leave instead: β is not unique here, and jumps; f does not.
3. *A pinned equation Pᵀβ = q would break* as t moves on.  Then λ must jump: move λ_p alone, at
   constant t and β, until f_j reaches a_j for some j; j and p enter together.

2 and 3 are duals of each other, and with them M stays invertible without any assumption on
rank P_E or on Φ_EE.

**Ties.**  If several events coincide, pivoting can cycle.  So what is followed is a problem with a,
low and up perturbed at random in the tenth digit, in which no two events coincide; and what
is reported (`exact`) solves the unperturbed equations for the places that it finds.

References
----------
M. J. Best, *An algorithm for the solution of the parametric quadratic programming problem*, 1996.
T. Hastie, S. Rosset, R. Tibshirani, J. Zhu, *The entire regularization path for the support
vector machine*, JMLR 5, 2004.
G. Cauwenberghs, T. Poggio, *Incremental and decremental support vector machine learning*, 2000.
H. J. Ferreau, H. G. Bock, M. Diehl, *An online active set strategy to overcome the limitations of
explicit MPC*, 2008.
"""

from dataclasses import dataclass

import numpy as np

from kernelbook.solvers.pivoting import PivotedInverse

__all__ = ["Affine", "ParametricQP", "PathError", "Problem", "Solution"]

PERTURBATION = 1e-10
FLAT = 1e-14
"""A rate below this fraction of the sum of its terms' sizes counts as zero: it is rounding."""
RANK = 1e-9
"""P has columns of length √n; what is new in a row of P counts as nothing below this."""
REFRESH = 50
"""M⁻¹ and f are computed afresh after so many pivots."""


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

    def __add__(self, other):
        return Affine(self.at + other.at, self.rate + other.rate)

    def times(self, factor):
        return Affine(factor * self.at, factor * self.rate)


@dataclass
class Problem:
    """a, low, up (one entry a sample) and q (one entry a feature), all affine in t.

    `unit` is the scale of a, by which its perturbation is measured.
    """

    a: Affine
    low: Affine
    up: Affine
    q: Affine
    unit: float

    def perturbed(self, noise):
        """The same with a box larger, and a moved, by random amounts in the tenth digit."""
        width = self.up + self.low.times(-1.0)
        return Problem(
            self.a + Affine.constant(self.unit * noise[0]),
            self.low + width.times(-noise[1]),
            self.up + width.times(noise[2]),
            self.q,
            self.unit,
        )


@dataclass
class Solution:
    """β, λ and f of the unperturbed problem on the present segment, as functions of t."""

    beta: Affine
    lam: Affine
    f: Affine

    def swapped(self):
        """C·solution(1/C), as a function of C."""
        return Solution(*(Affine(v.rate, v.at) for v in (self.beta, self.lam, self.f)))


class ParametricQP:
    """A solution of (QP) at t, and the means to follow it.

    Parameters
    ----------
    gram : DenseGram or FactorGram
    P : (n, ℓ) array
        Features of full column rank, scaled to PᵀP = nI.
    problem : Problem
        At t its solution must be: every sample at the bound named by `side`, λ = 0.
    t : float
    side : (n,) array
        +1 for samples at `up`, −1 at `low`; 0, in the elbow, comes later.
    """

    def __init__(self, gram, P, problem, t, side, seed=0):
        self.gram, self.P = gram, P
        self.n, self.l = P.shape
        self.M = PivotedInverse(gram, P)
        self.side = np.array(side, dtype=np.int8)
        signs = np.random.default_rng(seed).uniform(1.0, 2.0, (3, self.n))
        signs[0] *= np.random.default_rng(seed + 1).choice([-1.0, 1.0], self.n)
        self._noise = PERTURBATION * signs
        self.beta, self.lam = np.zeros(self.n), np.zeros(self.l)
        self.n_pivots = self.n_exchanges = self.n_jumps = 0
        self.restate(problem, t)

    def restate(self, problem, t, scale=1.0):
        """Go on with another problem whose solution at t is the present one times `scale`."""
        self.t = float(t)
        self.exact_problem = problem
        self.problem = problem.perturbed(self._noise)
        self.beta *= scale
        self.lam *= scale
        self.refresh()

    @property
    def elbow(self):
        return self.M.samples

    def refresh(self):
        """Compute afresh what is otherwise updated: M⁻¹, the carried sums, f."""
        self.M.refactor()
        p, t, E = self.problem, self.t, self.elbow
        bounded = np.flatnonzero(self.side)
        self._carried = np.array(
            [
                self.gram.embed(bounded, self._at_bounds(v)[bounded])
                for v in ("rate", "exact at", "exact rate")
            ]
        )
        beta = np.where(self.side > 0, p.up(t), p.low(t))
        beta[E] = self.beta[E]
        if E.size and self.l:
            beta[E] += np.linalg.lstsq(self.P[E].T, p.q(t) - self.P.T @ beta)[0]
        self.beta = beta
        self._absorb()

    def _absorb(self):
        """Compute f, and let the perturbation of a absorb what rounding has done to it.

        So the present state stays the solution of the perturbed problem.  The other way, to
        recompute β from a, would multiply the rounding errors by the condition of M.
        """
        moved = np.flatnonzero(self.beta)
        self.f = self.gram.evaluate(self.gram.embed(moved, self.beta[moved])) + self.P @ self.lam
        excess = self.f - self.problem.a(self.t)
        out = self.side != 0
        late = out & (self.side * excess > 0)
        excess[out & ~late] = 0.0
        excess[late] += (self.side * np.abs(self._noise[0]))[late] * self.problem.unit
        self.problem.a.at += excess
        self._noise[0] += excess / self.problem.unit

    def _complete(self, beta, lam, v, a, q):
        """Fill in β on the elbow and λ, in place, so that f = a there and Pᵀβ = q; return f.

        β, λ and the embedding v hold the rest: what is at bounds and pinned.
        """
        f = self.gram.evaluate(v) + self.P @ lam
        E, A = self.elbow, self.M.features
        enough = 1e-14 * (np.abs(a).max() + np.abs(f).max() + np.abs(q).max(initial=0.0))
        for _ in range(4):  # iterative refinement: the inverse is not exact
            r = np.concatenate([a - f, q - self.P.T @ beta])[self.M.S]
            if np.abs(r).max(initial=0.0) <= enough:
                break
            E, z_E, A, z_A = self.M.split(self.M.solve(r))
            beta[E] += z_E
            lam[A] += z_A
            v = v + self.gram.embed(E, z_E)
            f = self.gram.evaluate(v) + self.P @ lam
        return f

    def _at_bounds(self, what):
        p = self.problem if what == "rate" else self.exact_problem
        part = "at" if what.endswith("at") else "rate"
        return np.where(self.side > 0, getattr(p.up, part), getattr(p.low, part))

    def exact(self):
        """The unperturbed solution for the present places."""
        at, rate = self._exact_part("at"), self._exact_part("rate")
        return Solution(*(Affine(*pair) for pair in zip(at, rate, strict=True)))

    def followed(self):
        """The perturbed solution on the segment that ends here: valid however ill-conditioned M."""
        z = zip((self.beta, self.lam, self.f), self._rates, strict=True)
        return Solution(*(Affine(v - self.t * rate, rate) for v, rate in z))

    def _exact_part(self, part):
        p = self.exact_problem
        beta, lam = self._at_bounds("exact " + part), np.zeros(self.l)
        beta[self.elbow] = 0.0
        if part == "at":
            pinned = self.M.other_features
            lam[pinned] = self.lam[pinned]
        v = self._carried[1 if part == "at" else 2]
        return beta, lam, self._complete(beta, lam, v, getattr(p.a, part), getattr(p.q, part))

    # -- following ---------------------------------------------------------------------------

    def follow(self, t_end):
        """Move t up to t_end, segment by segment.

        A generator: it yields the event (sample, side) that ends a segment when t is there and
        the places are still those of the segment, so that `exact` describes it.  `side` is
        ±1 for a sample that reaches a bound, 0 for one that reaches the margin; sample is None
        at the end.  Beyond the last event a path can be followed to t_end = inf.
        """
        still = 0
        while True:
            if self.M.n_updates >= REFRESH:
                self.refresh()
            if still > 10 * (self.n + self.l + 10):
                raise PathError(f"{still} pivots without progress at t = {self.t:.6g}.")
            dbeta, dlam, df, broken = self._direction()
            if broken is not None:
                self._jump(*broken)
                still += 1
                continue
            step, j, side = self._next_event(dbeta, dlam, df)
            if self.t + step >= t_end:
                step, j = t_end - self.t, None
            still = 0 if step > 0 else still + 1
            if np.isfinite(step):
                self.beta += step * dbeta
                self.lam += step * dlam
                self.f += step * df
            self.t = self.t + step if j is not None else t_end
            self._rates = dbeta, dlam, df
            yield j, side
            if j is None:
                return
            self.n_pivots += 1
            if side:
                self._leave(j, side)
            else:
                self._enter(j)

    def _direction(self):
        """(dβ, dλ, df)/dt, and (p, sign) of a pinned equation that it would break, or None."""
        p, M, v = self.problem, self.M, self._carried[0]
        dbeta, dlam = self._at_bounds("rate"), np.zeros(self.l)
        E, A = M.samples, M.features
        dbeta[E] = 0.0
        # What rounding alone could make of a zero: these sizes times the machine's precision.
        base = self.gram.evaluate(v)
        self._size_f = np.abs(p.a.rate).max() + np.abs(base).max()
        size = np.abs(p.q.rate).max(initial=0.0) + (np.abs(self.P).T @ np.abs(dbeta)).max(initial=0.0)
        size = np.abs(M.inverse) @ np.where(M.S < self.n, self._size_f, size)
        self._size_beta = size[M.S < self.n] + self._size_f / self.gram.scale
        df = self._complete(dbeta, dlam, v, p.a.rate, p.q.rate)
        if np.all(np.abs(dbeta[E]) <= FLAT * self._size_beta):
            dbeta[E] = 0.0
            dlam[A] = np.linalg.lstsq(self.P[np.ix_(E, A)], (p.a.rate - base)[E])[0]
            df = base + self.P @ dlam
        pinned = self.M.other_features
        if pinned.size:
            broken = self.P[:, pinned].T @ dbeta - p.q.rate[pinned]
            size = np.abs(self.P[:, pinned]).T @ np.abs(dbeta) + np.abs(p.q.rate[pinned])
            broken[np.abs(broken) <= 1e-12 * size] = 0.0
            if broken.any():
                worst = np.argmax(np.abs(broken))
                return None, None, None, (pinned[worst], np.sign(broken[worst]))
        return dbeta, dlam, df, None

    def _next_event(self, dbeta, dlam, df):
        """(step, sample, side): the first sample to reach the margin (side 0) or a bound (±1)."""
        p, t, E = self.problem, self.t, self.elbow
        size_f = self._size_f + self.gram.scale * np.abs(dbeta[E]).sum() + np.abs(self.P).max(initial=0.0) * np.abs(dlam).sum()
        step, j = _first(
            np.where(self.side, self.side * (p.a(t) - self.f), 0.0),
            np.where(self.side, self.side * (df - p.a.rate), 0.0),
            size_f,
        )
        side = 0
        for s, bound in ((1, p.up), (-1, p.low)):
            room = s * (bound(t)[E] - self.beta[E])
            to_bound, k = _first(room, s * (dbeta[E] - bound.rate[E]), self._size_beta)
            if to_bound < step:
                step, j, side = to_bound, int(E[k]), s
        return step, j, side

    # -- the pivots ----------------------------------------------------------------------------

    def _place(self, i, side):
        """Put sample i at a bound (±1) or into the elbow (0), in the carried sums too."""
        for new, sign in ((self.side[i], -1.0), (side, 1.0)):
            if new == 0:
                continue
            for k, what in enumerate(("rate", "exact at", "exact rate")):
                p = self.problem if what == "rate" else self.exact_problem
                bound = p.up if new > 0 else p.low
                value = sign * getattr(bound, "at" if what.endswith("at") else "rate")[i]
                if value:
                    self._carried[k] += self.gram.embed([i], np.array([value]))
        self.side[i] = side

    def _leave(self, i, side):
        self._place(i, side)
        M = self.M
        k = int(np.flatnonzero(M.S == i)[0])
        features = np.flatnonzero(M.S >= M.n)
        if M.inverse[k, k] * self.gram.scale > RANK or features.size == 0:
            M.delete([i])
        else:
            M.delete([i, M.S[features[np.argmax(np.abs(M.inverse[k, features]))]]])

    def _enter(self, j):
        M = self.M
        h = M.H(M.S, [j])[:, 0]
        v = M.solve(h)
        pinned = M.other_features
        if pinned.size:
            new = self.P[j, pinned] - M.H(M.S, M.n + pinned).T @ v
            if np.abs(new).max() > RANK:
                self._place(j, 0)
                M.insert([j, M.n + pinned[np.argmax(np.abs(new))]])
                return
        pivot = M.H([j], [j])[0, 0] - h @ v
        width = self.problem.up(self.t)[j] - self.problem.low(self.t)[j]
        blur = self.gram.noise * (1.0 + np.abs(v[M.S < self.n]).sum()) ** 2
        if pivot > blur and pivot * width > 1e-11 * self.problem.unit:
            self._place(j, 0)
            M.insert([j])
        else:
            self._exchange(j, v)

    def _exchange(self, j, v):
        """Case 2: move β along the null vector of H on S and j, until something hits a bound."""
        self.n_exchanges += 1
        p, t = self.problem, self.t
        inward = -float(self.side[j])
        E, v_E, A, v_A = self.M.split(v)
        d = -inward * v_E
        room = np.where(d > 0, p.up(t)[E] - self.beta[E], self.beta[E] - p.low(t)[E])
        step, k = _first(room, np.abs(d), 1e3)
        across = self.beta[j] - p.low(t)[j] if inward < 0 else p.up(t)[j] - self.beta[j]
        blocked = step < across
        step = min(step, across)
        self.beta[E] += step * d
        self.beta[j] += step * inward
        self.lam[A] -= inward * step * v_A
        if blocked:
            self._leave(int(E[k]), 1 if d[k] > 0 else -1)
            self._enter(j)
            self._absorb()
        else:
            self._place(j, -self.side[j])

    def _jump(self, p, sign):
        """Case 3: λ_p moves at constant t and β until some f_j reaches a_j."""
        self.n_jumps += 1
        M = self.M
        z = -sign * M.solve(M.H(M.S, [M.n + p])[:, 0])
        E, z_E, A, z_A = M.split(z)
        df = sign * self.P[:, p] + self.P[:, A] @ z_A
        df += self.gram.evaluate(self.gram.embed(E, z_E))
        gap = np.where(self.side, self.side * (self.problem.a(self.t) - self.f), 0.0)
        step, j = _first(gap, self.side * df, 1e3)
        if not np.isfinite(step):
            raise PathError(f"Pᵀβ = q has no solution in the box beyond t = {self.t:.6g}.")
        self.lam[p] += sign * step
        self.lam[A] += step * z_A
        self.f += step * df
        self._place(j, 0)
        M.insert([j, M.n + p])


def _first(room, closing, scale):
    """The smallest room/closing over entries that close; (inf, None) if none does."""
    moving = np.flatnonzero(closing > FLAT * scale)
    if moving.size == 0:
        return np.inf, None
    steps = np.maximum(room[moving], 0.0) / closing[moving]
    k = int(np.argmin(steps))
    return float(steps[k]), int(moving[k])
