"""Which λ?  One rule for every solver of the SVM-GB.

The kernel part h = Kβ of an optimal f is unique, the feature part Pλ need not be: all λ with

    y_i f_i ≥ 1 where α_i = 0,     y_i f_i = 1 where 0 < α_i < C_i,     y_i f_i ≤ 1 where α_i = C_i,

f = h + Pλ, are optimal, a polyhedron: usually a single point, but not when
the free support vectors do not determine λ — or when the features separate the sample, there
are no support vectors at all, and λ is all there is.  Predictions depend on the choice, so it is
fixed here, once:

    among all optimal λ, the one with least Σ w_i (Pλ)_i²

and, if several λ have the same Pλ, the one that `kernelbook.numeric.column_space` documents.
The rule does not depend on the basis of the features, on the order of the samples, nor on whether
a sample of weight 2 is written down twice.  If the features separate the sample, Pλ is the
hard-margin machine in the whitened features.

**How.**  In coordinates x with Σ w_i (Pλ)_i² = ‖x‖² this is the point of a polyhedron next to the
origin.  Equations come first (least squares over the free samples: like LIBSVM's average of the
biases they propose); on their null space the rest is Lawson and Hanson's least distance
programming: with u ≥ 0 minimizing ‖Gᵀu‖² + (1 − gᵀu)², the point of least norm with Gz ≥ g is
z = Gᵀu / (1 − gᵀu), and there is none if 1 − gᵀu = 0.

**Tolerance.**  An inexact β has an empty polyhedron, strictly speaking.  The inequalities are
therefore relaxed, all by the same amount: the least that keeps the solver's own multipliers inside.
Where copies of a point ask for f ≥ 1 and f ≤ 1, rounding can also leave a sliver that reaches far
out: its nearest point has a λ of thousands.  So if a relaxation by 10⁻¹¹ halves the distance, that
is the polyhedron meant.

Chapter: book/free/svmgb

References
----------
Lawson & Hanson (1974), *Solving Least Squares Problems*, chapter 23.
"""

import numpy as np
from scipy import linalg
from scipy.optimize import nnls

from kernelbook.numeric.threads import one_thread

__all__ = [
    "NEGLIGIBLE_ROW", "RANK_RTOL", "choose_multipliers", "evenly_spaced", "hard_margin_multipliers",
]  # fmt: skip

SLIVER = 1e-11
"""Inequalities violated by less are violated by rounding only."""

RANK_RTOL = 1e-8
"""Singular values below this, relative to the largest, leave their directions undetermined."""

NEGLIGIBLE_ROW = 1e-13
"""Rows this small beside the largest are rounding errors of features that are zero."""


def choose_multipliers(h, Q, y, w, at_zero, at_C, guess):
    """ν of least Σ w_i (Qν)_i² among the optimal ones, f = h + Qν.

    Parameters
    ----------
    h : (m,) array, the kernel part Kβ
    Q : (m, r) array, orthonormal columns that span the features
    at_zero, at_C : (m,) boolean arrays; the other samples are free
    guess : (r,) array
        The solver's own multipliers: nearly optimal, but not chosen by the rule.
    """
    if Q.shape[1] == 0:
        return guess
    free = ~(at_zero | at_C)
    V, R = _whiten(Q, w)
    negligible = NEGLIGIBLE_ROW * np.linalg.norm(V, axis=1).max()
    x, N = _equations(V[free], (y - h)[free], negligible)
    if N.shape[1]:
        # y_i f_i ≥ 1 reads y_i (V_i Nz) ≥ y_i (y − h − Vx)_i; for α_i = C_i both sides change sign.
        sign = np.where(at_zero, y, -y)[~free]
        G = sign[:, None] * (V[~free] @ N)
        G[np.linalg.norm(G, axis=1) <= negligible] = 0.0
        g = sign * (y - h - V @ x)[~free]
        x = x + N @ _least_distance(G, g, N.T @ (R @ guess - x))
    return linalg.solve_triangular(R, x)


def hard_margin_multipliers(Q, y, w):
    """ν of least Σ w_i (Qν)_i² with y_i (Qν)_i ≥ 1 for all i, or None if there is none (T3).

    Few samples determine the solution, as support vectors do.  So it is solved for a subset;
    samples whose margin this ν leaves below one are added, the worst first, until there are none:
    then the least ν for the subset is the least for all.  A sample that cannot be separated in part
    cannot be separated as a whole.
    """
    m, r = Q.shape
    if r == 0:
        return None
    if r == 1 and (sides := y * Q[:, 0]).min() <= 0 <= sides.max():
        return None
    subset = evenly_spaced(m, r)
    if (
        subset.size < m
        and _first_nearest(y[subset, None] * Q[subset], np.ones(subset.size)) is None
    ):
        return None
    V, R = _whiten(Q, w)
    G = y[:, None] * V
    chosen = np.zeros(m, dtype=bool)
    chosen[subset] = True
    while True:
        x = _first_nearest(G[chosen], np.ones(np.count_nonzero(chosen)))
        if x is None:
            return None
        margin = G @ x
        short = np.flatnonzero((margin < 1 - 1e-9) & ~chosen)
        if short.size == 0:
            break
        chosen[short[np.argsort(margin[short])[: subset.size]]] = True
    least = margin.min()
    return linalg.solve_triangular(R, x / min(1.0, least)) if least >= 1 - 1e-9 else None


def evenly_spaced(m, r):
    """A subset that usually suffices to show that the features do not separate the sample."""
    return np.unique(np.linspace(0, m - 1, min(m, 100 + 20 * r)).astype(np.intp))


def _whiten(Q, w):
    """V and triangular R with Qν = V(Rν) and Σ w_i (Vx)_i² = ‖x‖², up to the unit of w."""
    w = np.maximum(w / w.max(), 1e-12)
    with one_thread(Q.shape[1]):  # two threads of BLAS would mostly wait for each other
        R = linalg.qr(np.sqrt(w)[:, None] * Q, mode="r")[0][: Q.shape[1]]
        return linalg.solve_triangular(R, Q.T, trans="T").T, R


def _equations(A, b, negligible=0.0):
    """The least-norm x that fits Ax = b best, and an orthonormal basis of what A leaves open.

    Singular values up to `negligible` count as zero: features that vanish at all free samples give
    rows of rounding errors, which are large only relative to each other.
    """
    r = A.shape[1]
    if A.shape[0] == 0:
        return np.zeros(r), np.eye(r)
    # Few rows leave directions open that only the full V has; of many, U would be a large square.
    with one_thread(r):
        U, size, Vt = linalg.svd(A, full_matrices=A.shape[0] < r)
    rank = int(np.sum(size > max(RANK_RTOL * size[0], negligible)))
    x = Vt[:rank].T @ ((U[:, :rank].T @ b) / size[:rank])
    return x, Vt[rank:].T


def _least_distance(G, g, start):
    """z of least norm with Gz ≥ g, or with Gz ≥ g − e, e the least slack `start` needs."""
    size = 1.0 + np.abs(g).max(initial=0.0)
    rounding = 1e-15 * size
    z = _first_nearest(G, g - rounding)
    if z is not None and np.all(G @ z >= g - 1e3 * rounding):
        wide = _first_nearest(G, g - SLIVER * size)
        sliver = wide is not None and np.linalg.norm(wide) < 0.5 * np.linalg.norm(z)
        return wide if sliver else z
    slack = np.max(g - G @ start, initial=0.0)
    z = _nearest(G, g - (1 + 1e-6) * slack - rounding, np.linalg.norm(start))
    return start if z is None else z


def _first_nearest(G, g):
    """`_nearest` for unknown ‖z‖: the first solution measures it, the second uses it as unit."""
    size = np.linalg.norm(G, axis=1)
    if np.all(g <= 0):
        return np.zeros(G.shape[1])
    reach = g[size > 0] / size[size > 0]
    z = _nearest(G, g, np.max(reach, initial=0.0), prune=False)
    return None if z is None else _nearest(G, g, np.linalg.norm(z), prune=False)


def _nearest(G, g, length, prune=True):
    """z of least norm with Gz ≥ g, or None; `length` is the unit of z and, to `prune`, a bound."""
    length = length or 1.0
    binding = g > -length * np.linalg.norm(G, axis=1) if prune else np.ones(g.size, dtype=bool)
    if not binding.any():
        return np.zeros(G.shape[1])
    G, g = G[binding], g[binding] / length
    size = np.hypot(np.linalg.norm(G, axis=1), np.abs(g))
    size[size == 0] = 1.0
    G, g = G / size[:, None], g / size
    E = np.vstack([G.T, g])
    try:
        u, _ = nnls(E, np.eye(len(E))[-1], maxiter=30 * E.shape[1])
    except RuntimeError:  # too many steps: rounding makes it cycle
        return None
    rest = 1.0 - g @ u
    if rest <= 1e-13:
        return None
    z = G.T @ u / rest
    # The constraints that hold with equality determine z; solve for it without the division.
    active = u > 0
    exact = linalg.lstsq(G[active], g[active])[0] if active.any() else z
    if np.min(G @ exact - g, initial=0.0) >= min(np.min(G @ z - g, initial=0.0), -1e-12):
        z = exact
    return length * z
