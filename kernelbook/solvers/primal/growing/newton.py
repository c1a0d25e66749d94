"""Finite Newton near the margin, compiled: for a hinge problem that is solved again and again.

The iteration is that of `solvers.primal.newton.finite_newton` for the subproblems of the method
of multipliers, whose slopes s_i are all the same,

    minimize  ½‖w‖² + τ/2‖λ − λ₀‖² + Σ loss_i(y_i f_i),    α_i = clip(a_i + s(1 − y_i f_i), 0, u_i),

step by step the same, and ends at the same minimizer.  Three things make a step cheap.

- *The matrix.*  On a piece with samples F the step follows from a factor of X̂_F X̂_Fᵀ + I/s.  The
  inner products are at hand (`solvers.primal.growing.inner_products`): nothing is multiplied anew.
   Only
  where F is larger than the basis the equations for (w, λ) themselves are solved.
- *The gradient.*  X̂ᵀβ changes only by the rows whose β_i changed, in or next to F.  One product
  with X̂ is left in a step, the change of f.
- *The line search.*  φ' is increasing and piecewise linear.  Instead of sorting its breakpoints,
  Newton's method in one variable, kept within a bracket, finds the zero: it ends at the first
  guess on the right piece, mostly the third or fourth.
"""

import numpy as np

from kernelbook.numeric.jit import jit, larger, smaller
from kernelbook.numeric.small_algebra import add, dot, factorize, solve
from kernelbook.solvers.primal.growing.inner_products import decisions, face_matrix
from kernelbook.solvers.primal.newton import NewtonResult

__all__ = ["newton_near", "zero_near"]

TRIALS = 100
"""Guesses of a line search; bisection alone would take sixty."""


def newton_near(near, root, P, y, loss, w, lam, tau, rough=0.0, max_iter=200):
    """As `finite_newton(root * X, P, y, loss, w, lam, tau=tau, rough=rough)`.

    Parameters
    ----------
    near : Near
        Of the rows of X; it may gain members.
    root : float
    P : (n, ℓ) array, C-contiguous
    loss : PiecewiseLoss
        With the same slope s for all samples.
    tau : float, positive
    """
    w, lam = w.copy(), lam.copy()
    converged, n_iter, beta = _descend(
        near, root, P, y, loss.a, loss.s[0], loss.u, w, lam, tau, rough, max_iter
    )
    return NewtonResult(w, lam, y * beta, n_iter, converged)


@jit(fast=True)
def _descend(near, root, P, y, a, s, u, w, lam, tau, rough, max_iter):
    """(whether it converged, steps, β); w and λ are moved."""
    X, n, k, l = near.rows, y.size, w.size, lam.size
    start, t, dt, beta = lam.copy(), np.empty(n), np.empty(n), np.zeros(n)
    v, r = np.zeros(k), np.zeros(l)  # X̂ᵀβ and Pᵀβ
    g_w, g_lam, d_w, d_lam = np.empty(k), np.empty(l), np.empty(k), np.empty(l)
    face, inside = np.empty(n, np.int64), np.zeros(n, np.bool_)
    _arguments(X, root, P, y, a, s, w, lam, t)
    n_iter, last, settled, step = 0, np.inf, False, 0.0
    while n_iter < max_iter:
        n_iter += 1
        if settled:  # for the last digits: from the start, and not by changes
            beta[:], v[:], r[:] = 0.0, 0.0, 0.0
        m, same = _face(X, root, P, y, t, u, beta, v, r, face, inside)
        settled = n_iter > 1 and same and (settled or abs(step - 1.0) < 1e-9)
        gradient = 0.0
        for j in range(k):
            g_w[j] = w[j] - v[j]
            gradient = max(gradient, abs(g_w[j]))
        for p in range(l):
            g_lam[p] = tau * (lam[p] - start[p]) - r[p]
            gradient = max(gradient, abs(g_lam[p]))
        if gradient <= rough and n_iter > 1:
            return True, n_iter - 1, beta
        if not _direction(near, root, P, face[:m], s, g_w, g_lam, tau, d_w, d_lam):
            return False, n_iter, beta
        promise = -dot(g_w, d_w) - dot(g_lam, d_lam)
        if gradient >= 0.5 * last and (settled or promise < 1e-10 * (1.0 + _size(t, u, s))):
            return True, n_iter, beta  # nothing but rounding errors is left
        last, step = gradient, 1.0
        if settled:
            add(1.0, d_w, w)
            add(1.0, d_lam, lam)
            _arguments(X, root, P, y, a, s, w, lam, t)
            continue
        decisions(X, root * d_w, P, d_lam, dt)
        for i in range(n):
            dt[i] *= -s * y[i]
        slope, curvature = dot(w, d_w), dot(d_w, d_w) + tau * dot(d_lam, d_lam)
        for p in range(l):
            slope += tau * (lam[p] - start[p]) * d_lam[p]
        step = zero_near(slope, curvature, t, dt, s, u)
        add(step, d_w, w)
        add(step, d_lam, lam)
        add(step, dt, t)
    _face(X, root, P, y, t, u, beta, v, r, face, inside)
    return False, n_iter, beta


@jit(fast=True)
def _arguments(X, root, P, y, a, s, w, lam, t):
    """t ← a + s(1 − yf)"""
    decisions(X, root * w, P, lam, t)
    for i in range(t.size):
        t[i] = a[i] + s * (1.0 - y[i] * t[i])


@jit(fast=True)
def _face(X, root, P, y, t, u, beta, v, r, face, inside):
    """Bring β, v = X̂ᵀβ and r = Pᵀβ up to date; (how many have 0 < t < u, whether as before)."""
    m, same = 0, True
    for i in range(t.size):
        now = t[i] > 0.0 and t[i] < u[i]
        if now:
            face[m] = i
            m += 1
        if now != inside[i]:
            inside[i], same = now, False
        value = y[i] * min(max(t[i], 0.0), u[i])
        change = value - beta[i]
        if change != 0.0:
            beta[i] = value
            add(root * change, X[i], v)
            add(change, P[i], r)
    return m, same


@jit
def _direction(near, root, P, F, s, g_w, g_lam, tau, d_w, d_lam):
    """Newton's step (d_w, d_λ) on the piece with samples F; False where rounding spoils it."""
    if F.size <= g_w.size:
        return _through_rows(near, root, P, F, s, g_w, g_lam, tau, d_w, d_lam)
    return _through_basis(near, root, P, F, s, g_w, g_lam, tau, d_w, d_lam)


@jit(fast=True)
def _through_rows(near, root, P, F, s, g_w, g_lam, tau, d_w, d_lam):
    """By a factor of X̂_F X̂_Fᵀ + I/s."""
    X, m, l = near.rows, F.size, g_lam.size
    H, q, W, S = np.empty((m, m)), np.empty(m), np.empty((l, m)), np.empty((l, l))
    if not face_matrix(near, F, H):
        return False
    for b in range(m):
        for c in range(b, m):
            H[b, c] *= root * root
        H[b, b] += 1.0 / s
        q[b] = root * dot(X[F[b]], g_w)
        for p in range(l):
            W[p, b] = P[F[b], p]
    if not factorize(H):
        return False
    B = W.copy()
    solve(H, q)
    for p in range(l):
        solve(H, W[p])
    for p in range(l):
        d_lam[p] = dot(B[p], q) - g_lam[p]
        for o in range(l):
            S[p, o] = dot(B[p], W[o])
        S[p, p] += tau
    if not factorize(S):
        return False
    solve(S, d_lam)
    for p in range(l):
        add(-d_lam[p], W[p], q)
    d_w[:] = -g_w
    for b in range(m):
        add(root * q[b], X[F[b]], d_w)
    return True


@jit(fast=True)
def _through_basis(near, root, P, F, s, g_w, g_lam, tau, d_w, d_lam):
    """By a factor of the Hessian in (w, λ)."""
    k, l = g_w.size, g_lam.size
    rows, d = np.empty((F.size, k + l)), np.empty(k + l)
    for b in range(F.size):
        rows[b, :k] = root * near.rows[F[b], :k]
        rows[b, k:] = P[F[b]]
    H = s * np.dot(rows.T, rows)
    for j in range(k + l):
        H[j, j] += 1.0 if j < k else tau
    d[:k], d[k:] = -g_w, -g_lam
    if not factorize(H):
        return False
    solve(H, d)
    d_w[:], d_lam[:] = d[:k], d[k:]
    return True


@jit(fast=True)
def _size(t, u, s):
    """|Σ of the losses|, up to a constant, for the arguments t of the clip."""
    total = 0.0
    for i in range(t.size):
        alpha = min(max(t[i], 0.0), u[i])
        total += alpha * (2.0 * t[i] - alpha)
    return abs(total) / (2.0 * s)


@jit(fast=True)
def zero_near(slope, curvature, t, dt, s, u):
    """The zero of φ'(h) = slope + curvature·h + Σ clip(t + h·dt, 0, u)·dt/s, h ≥ 0.

    curvature must be positive, and s is a number.
    """
    low, high, h, first = 0.0, np.inf, 0.0, 0.0
    for trial in range(TRIALS):
        value, rate = 0.0, 0.0
        for i in range(t.size):
            at, d = t[i] + h * dt[i], dt[i]
            alpha = smaller(larger(at, 0.0), u[i])
            value += d * alpha
            rate += d * d if alpha == at else 0.0
        value, rate = slope + curvature * h + value / s, curvature + rate / s
        if trial == 0:
            if value >= 0.0:
                return 0.0
            first, h = -value, 1.0  # mostly the zero is at, or near, the full step
            continue
        if abs(value) <= 1e-15 * first:
            break
        low, high = (h, high) if value < 0.0 else (low, h)
        h -= value / rate
        if not low < h < high:
            if high == np.inf:  # rounding: the zero is where we are
                return low
            h = 0.5 * (low + high)
            if h in (low, high):
                break
    return h
