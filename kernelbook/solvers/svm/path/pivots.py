"""The pivots of `ParametricQP`: samples change places, with three special cases.

Chapter: book/primal/path
"""

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.solvers.svm.path.problem import PathError

__all__ = ["Pivots", "first", "first_at_margin"]

RATE_RTOL = 1e-14
"""A rate below this fraction of the sizes that make it up counts as zero: it is rounding."""
FEATURE_RTOL = 1e-9
"""P has columns of length √n; what is new in a row of P counts as nothing below this."""
PIVOT_RTOL = 1e-11
"""A sample depends on the elbow if crossing its whole box changes f by less than this."""


class Pivots:
    """The part of `ParametricQP` that moves samples between the elbow and the bounds."""

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
        """Take sample i out of the elbow, and p with the last sample that determines λ_p."""
        self._place(i, side)
        M = self.M
        row = M.inverse[np.flatnonzero(M.S == i)[0]]
        # As many samples as features: then one less cannot determine all their λ.  The diagonal of
        # M⁻¹ is zero there, and between near copies its rounding error is far above FEATURE_RTOL.
        enough = M.samples.size > M.features.size
        if M.features.size == 0 or (enough and row[M.S == i][0] * self.gram.scale > FEATURE_RTOL):
            M.delete(i)
        else:
            M.delete(i, M.n + M.features[np.argmax(np.abs(row[~M.is_sample]))])

    def _enter(self, j):
        """Add j to the elbow, with a pinned feature if possible; exchange if it depends on E."""
        M, exchanged = self.M, False
        while True:
            h = M.column(j)
            v = M.inverse @ h
            if M.pinned.any():
                new = np.where(M.pinned, self.P[j] - v[M.is_sample] @ self.P[M.samples], 0.0)
                p = int(np.argmax(np.abs(new)))
                if abs(new[p]) > FEATURE_RTOL:
                    self._place(j, 0)
                    M.insert(j, M.n + p)
                    break
            pivot = M.entry(j, j) - h @ v
            rounding = self.gram.noise * (1.0 + np.abs(v[M.is_sample]).sum()) ** 2
            if pivot > rounding and pivot * self._width(j) > PIVOT_RTOL * self.problem.unit:
                self._place(j, 0)
                M.insert_one(j, v, pivot)
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
        step, k = first(room, np.abs(d), np.full(E.size, 1e3 * RATE_RTOL))
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
        df = self.gram.combine(M.samples, z[M.is_sample]) + self.P @ dlam
        a, still = self.problem.a(self.t), np.zeros(self.n)
        step, j = first_at_margin(self.side, a, still, 0.0, self.f, df, 1e3 * RATE_RTOL)
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


@jit
def first_at_margin(side, a, da, t, f, df, flat):
    """The same for samples at bounds and their distance from the margin, side·(a + t·da − f)."""
    step, k = np.inf, -1
    for i in range(side.size):
        closing = side[i] * (df[i] - da[i])
        if closing > flat:
            room = max(side[i] * (a[i] + t * da[i] - f[i]), 0.0)
            if room < step * closing:
                step, k = room / closing, i
    return step, k
