"""Many plain events in a row, compiled.

On a path with fixed bounds and Φ = X̂X̂ᵀ almost all events are plain: a sample enters or leaves the
elbow, M⁻¹ is bordered or unbordered, and nothing is pinned, dependent or flat.  `sprint` deals with
those alone, and hands over to the engine whatever is not plain.  What it does is what the engine
does for one event, in the same order.
"""

import numpy as np

from kernelbook._jit import jit
from kernelbook.solvers.parametric.inverse import border, exchange, unborder

__all__ = ["END", "HANDED", "STALE", "UNUSUAL", "sprint"]

END, HANDED, STALE, UNUSUAL = 0, 1, 2, 3
"""t_end is reached; an event is left to the engine; M⁻¹ must be refreshed; β seems to rest."""


@jit(fast=True)
def sprint(X, XT, k, P, PT, a, da, dq, low, up, side, beta, lam, f, S, W, s, t, t_end, limits):
    """Follow the path; X̂ is X[:, :k].  Changes side, β, λ, f, S and W.

    Returns (t, size of S, events, code, sample, side); `limits` holds (updates of M⁻¹ allowed,
    FLAT, RANK, NULL, scale of Φ, noise of Φ, unit of a).
    """
    n, l = f.size, lam.size
    most, FLAT, RANK, NULL, scale, noise, unit = limits
    size_a = 0.0
    for i in range(n):
        size_a = max(size_a, abs(da[i]))
    size_q = 0.0
    for p in range(l):
        size_q = max(size_q, abs(dq[p]))
    df, v, dlam = np.empty(n), np.empty(k), np.empty(l)
    r, z, dz, h = np.empty(S.size), np.empty(S.size), np.empty(S.size), np.empty(S.size)
    events = 0
    while True:
        if events >= most or s + 2 > S.size:
            return t, s, events, STALE, -1, 0

        # The direction: M z = (da, dq), refined until the equations hold.
        for b in range(s):
            z[b] = 0.0
            r[b] = da[S[b]] if S[b] < n else dq[S[b] - n]
        for _ in range(4):
            for b in range(s):
                row, value = W[b], 0.0
                for c in range(s):
                    value += row[c] * r[c]
                z[b] += value
            for c in range(k):
                v[c] = 0.0
            for b in range(s):
                i = S[b]
                if i < n:
                    row, value = X[i], z[b]
                    for c in range(k):
                        v[c] += value * row[c]
                else:
                    dlam[i - n] = z[b]
            for i in range(n):
                df[i] = 0.0
            for c in range(k):
                column, value = XT[c], v[c]
                for i in range(n):
                    df[i] += value * column[i]
            for p in range(l):
                column, value = PT[p], dlam[p]
                for i in range(n):
                    df[i] += value * column[i]
            worst = 0.0
            for b in range(s):
                i = S[b]
                if i < n:
                    r[b] = da[i] - df[i]
                else:
                    value = dq[i - n]
                    for c in range(s):
                        if S[c] < n:
                            value -= P[S[c], i - n] * z[c]
                    r[b] = value
                worst = max(worst, abs(r[b]))
            if worst <= 1e-13 * (size_a + size_q):
                break

        # The next event.
        size_f, moves = size_a, False
        for b in range(s):
            size_f += (scale if S[b] < n else 1.0) * abs(z[b])
        step, sample, place = np.inf, -1, 0
        for i in range(n):
            closing = side[i] * (df[i] - da[i])
            if closing > FLAT * size_f:
                room = max(side[i] * (a[i] + t * da[i] - f[i]), 0.0)
                if room < step * closing:
                    step, sample, place = room / closing, i, 0
        for b in range(s):
            i = S[b]
            if i < n:
                row, size = W[b], size_a / scale
                for c in range(s):
                    size += abs(row[c]) * (size_a if S[c] < n else size_q)
                if abs(z[b]) > FLAT * size:
                    moves = True
                    ahead = 1 if z[b] > 0 else -1
                    room = max(ahead * ((up[i] if ahead > 0 else low[i]) - beta[i]), 0.0)
                    if room < step * abs(z[b]):
                        step, sample, place = room / abs(z[b]), i, ahead
        if s > l and not moves:
            return t, s, events, UNUSUAL, -1, 0
        done = t + step >= t_end
        if done:
            step = t_end - t
        for i in range(n):
            f[i] += step * df[i]
        for b in range(s):
            if S[b] < n:
                beta[S[b]] += step * z[b]
            else:
                lam[S[b] - n] += step * z[b]
        if done:
            return t_end, s, events, END, -1, 0
        t += step

        # The pivot.
        if place != 0:
            b = 0
            while S[b] != sample:
                b += 1
            if W[b, b] * scale <= RANK:
                return t, s, events, HANDED, sample, place
            side[sample] = place
            exchange(S, W, s, b, s - 1)
            s -= 1
            unborder(W, s, 1.0 / W[s : s + 1, s : s + 1])
        else:
            spread = 1.0
            pivot = 0.0
            row = X[sample]
            for c in range(k):
                pivot += row[c] * row[c]
            for b in range(s):
                value = 0.0
                if S[b] < n:
                    other = X[S[b]]
                    for c in range(k):
                        value += row[c] * other[c]
                else:
                    value = P[sample, S[b] - n]
                h[b] = value
            for b in range(s):
                row, value = W[b], 0.0
                for c in range(s):
                    value += row[c] * h[c]
                dz[b] = value
                pivot -= h[b] * value
                if S[b] < n:
                    spread += abs(value)
            width = up[sample] - low[sample]
            if not (pivot > noise * spread * spread and pivot * width > NULL * unit):
                return t, s, events, HANDED, sample, 0
            side[sample] = 0
            border(W, s, dz[:s].reshape(1, s), np.full((1, 1), 1.0 / pivot))
            S[s] = sample
            s += 1
        events += 1
