"""Pegasos with free features: stochastic subgradients, and what they can prove.

Pegasos minimizes ½‖w‖² + Σ u_i (1 − y_i x̂_i·w)₊ = mean over i of ½‖w‖² + m u_i (1 − y_i x̂_i·w)₊
by drawing samples one at a time and stepping against the subgradient of that sample's term, with
step 1/t because the objective is 1-strongly convex:

    w_t = (1 − 1/t) w_{t−1} + (1/t) m u_i y_i x̂_i   if y_i x̂_i·w_{t−1} < 1,

and without the second term otherwise.

Unrolled, w_t = (m/t) Σ u_i y_i x̂_i over the violations so far.  So only that sum is kept.  And
w_t = X̂ᵀβ with y_iβ_i = u_i · m · (violations of i)/t: if the samples are drawn epoch by epoch,
each once, then after n epochs 0 ≤ y_iβ_i = u_i (violations of i)/n ≤ u_i.  Its iterates
lie in the *dual* box (it is a conditional-gradient method there), and a certificate only takes the
repair of Pᵀβ = 0.

**Free features.**  In λ the objective is not strongly convex, and the step 1/t has no meaning.
As in `kernelbook.solvers.primal.dcd` the augmented Lagrangian helps: with the proximal term
‖λ − λ⁰‖²/2ρ the problem is strongly convex in (w, λ) jointly,

    λ_t = λ⁰ + ρ (m/t) Σ u_i y_i P_i    over the same violations,

and when a stage is over, λ⁰ ← λ.  Each stage is twice as long as the one before: its error,
O(1/√epochs) in (w, λ), is then summable, which is what the proximal point method needs to converge
when its subproblems are solved inexactly.  In the end λ is solved for exactly, given w: a
convex problem in as many unknowns as there are features.

Expect few digits: the gap falls like 1/epochs.

Chapter: book/primal/solvers

References
----------
Shalev-Shwartz, Singer, Srebro & Cotter (2011), *Pegasos: primal estimated sub-gradient solver for
SVM*.  Bach (2015), *Duality between subgradient and conditional gradient methods*.
Rockafellar (1976), *Monotone operators and the proximal point algorithm*.
"""

from dataclasses import dataclass

import numpy as np

from kernelbook.numeric.jit import jit
from kernelbook.numeric.rows import add_row, as_rows, dot_row, row_squares
from kernelbook.solvers.primal.proximal import MultiplierProblem, proximal_multipliers

__all__ = ["PegasosResult", "pegasos"]

FIRST_STAGE = 8
"""Epochs of the first stage."""


@dataclass
class PegasosResult:
    """w = X̂ᵀβ exactly, β in the box; Pᵀβ = 0 only approximately.  `n_iter` counts epochs."""

    w: np.ndarray
    lam: np.ndarray
    beta: np.ndarray
    n_iter: int
    converged: bool


def pegasos(X, P, y, u, stop, max_iter=1000, rng=None) -> PegasosResult:
    """Minimize ½‖w‖² + Σ u_i (1 − y_i (x̂_i·w + P_iλ))₊.

    Parameters
    ----------
    X : (m, M) array or CSR matrix;  P : (m, ℓ) array;  y : (m,) array of ±1
    u : (m,) array, positive
    stop : callable (w, λ, β, f) → bool
        Asked after each stage, with f = X̂w + Pλ, whether to stop.
    max_iter : int
        Epochs of all stages together.
    rng : numpy.random.Generator
        Draws the order of each epoch.
    """
    m, l = P.shape
    rng = np.random.default_rng(0) if rng is None else rng
    rows, empty = as_rows(X), np.empty((m, 0))
    rho = _penalty(row_squares(X), P)
    center, total, length = np.zeros(l), 0, FIRST_STAGE
    while True:
        length = min(length, max_iter - total)
        v, g, violations = np.zeros(X.shape[1]), np.zeros(l), np.zeros(m)
        for n in range(length):
            order = rng.permutation(m)
            epoch(rows, P, y, u, order, n * m, center, rho, v, g, violations)
        total, w, beta = total + length, v / length, y * u * violations / length
        center = center + rho * g / length
        h = X @ w
        features_only = MultiplierProblem(empty, P, y, u, 0.0 * u, h)
        lam = proximal_multipliers(features_only, lam=center).lam
        good = stop(w, lam, beta, h + P @ lam)
        if good or total >= max_iter:
            return PegasosResult(w, lam, beta, total, good)
        length *= 2


def _penalty(squares, P):
    """ρ that makes √ρ P_i about as long as x̂_i, as in coordinate descent."""
    features = np.mean(np.einsum("ij,ij->i", P, P))
    return max(np.mean(squares), 1.0 / len(P)) / features if features > 0 else 1.0


@jit(fast=True)
def epoch(rows, P, y, u, order, t, center, rho, v, g, violations):
    """One step for each sample in `order`, t steps having been made; changes v, g, violations.

    v and g are Σ u_i y_i x̂_i and Σ u_i y_i P_i over all violations, so that w = (m/t) v.
    """
    m = y.size
    for i in order:
        p_i = P[i]
        scale = m / t if t > 0 else 0.0
        value = scale * dot_row(rows, i, v)
        for p in range(g.size):
            value += p_i[p] * (center[p] + rho * scale * g[p])
        t += 1
        if y[i] * value < 1.0:
            change = u[i] * y[i]
            add_row(rows, i, change, v)
            for p in range(g.size):
                g[p] += change * p_i[p]
            violations[i] += 1.0
