"""Finite Newton: the squared hinge in the primal, with free features.

The problem, in the book's letters (M basis functions, ℓ free features):

    minimize  Φ(w, λ) = ½‖w‖² + Σ c_i (1 − y_i f_i)₊²,       f = X̂w + Pλ .

**One formula for several losses.**  Its dual variable, α_i = 2c_i (1 − y_i f_i)₊, is a clipped
linear function of the margin.  `finite_newton` works for every loss with that property,

    α_i = clip(a_i + s_i (1 − y_i f_i), 0, u_i),             −∂(loss_i)/∂(y_i f_i) = α_i .

The squared hinge is a = 0, s = 2c, u = ∞.  Finite u gives the smoothed hinge whose limit is the
hinge itself, and `kernelbook.solvers.primal.proximal` reaches that limit.

**The step.**  Φ is convex and piecewise quadratic.  On the piece where the rows F have
0 < α < u, with S = diag(s_F), Newton's equations read

    d_w + X̂_Fᵀq = −g_w,    P_Fᵀq = −g_λ,    S⁻¹q = X̂_F d_w + P_F d_λ,

so everything follows from N = S⁻¹ + X̂_F X̂_Fᵀ (a matrix as large as F) or, when there are fewer
basis functions than rows in F, from I + X̂_Fᵀ S X̂_F (as large as the basis), and from the ℓ×ℓ
matrix P_Fᵀ N⁻¹ P_F.  That last matrix is singular when the rows of F do not span the
features: λ is not penalized, so Φ is flat there.  The gradient vanishes along the flat directions
(a row outside F with α = 0 adds nothing to it), the equations stay consistent, and the
pseudo-inverse gives the shortest solution: a λ that the active rows do not determine stays put.
When both F and M are large (sparse text) the step is computed by conjugate gradients.

**Line search.**  Along a line Φ' is piecewise linear and increasing.  Newton's method in one
variable, safeguarded by a bracket, finds its zero exactly: it ends at the first iterate on the
right piece, usually the third or fourth.  With it the method ends after finitely many steps, at the
first full step that keeps F: the piece's minimizer is then the minimizer.

Chapter: book/primal/solvers

References
----------
Keerthi & DeCoste (2005), *A modified finite Newton method for fast solution of large scale
linear SVMs*, JMLR 6.  Chapelle (2007), *Training a support vector machine in the primal*.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack

from kernelbook.numeric.conjugate_gradients import conjugate_gradients
from kernelbook.numeric.jit import jit
from kernelbook.numeric.linalg import norms

__all__ = ["NewtonResult", "PiecewiseLoss", "finite_newton", "line_search", "squared_hinge"]

MAX_DIRECT = 2500
"""Up to this size a Newton matrix is factorized; beyond, conjugate gradients."""

STEP_RTOL = 4e-3
"""The residual of such a step, relative to the gradient; the line search allows for it."""

MAX_STEPS = 500
"""Of conjugate gradients."""

MAX_TRIALS = 200
"""Trial steps of a line search; bisection alone takes about sixty."""


@dataclass
class PiecewiseLoss:
    """α = clip(a + s(1 − z), 0, u), minus the derivative of a piecewise quadratic loss at z."""

    a: np.ndarray
    s: np.ndarray
    u: np.ndarray

    def argument(self, z):
        return self.a + self.s * (1.0 - z)

    def value(self, t):
        """Σ of the losses, up to a constant, for the arguments t of the clip."""
        outside = t - np.clip(t, 0.0, self.u)
        return float(np.sum((t - outside) * (t + outside) / (2.0 * self.s)))


def squared_hinge(c) -> PiecewiseLoss:
    """The loss c(1 − z)₊²."""
    return PiecewiseLoss(np.zeros_like(c), 2.0 * c, np.full_like(c, np.inf))


@dataclass
class NewtonResult:
    """`alpha` is the clipped dual variable at (w, λ); `n_iter` counts Newton steps."""

    w: np.ndarray
    lam: np.ndarray
    alpha: np.ndarray
    n_iter: int
    converged: bool


def finite_newton(
    X, P, y, loss, w=None, lam=None, offset=0.0, *, scale=1.0, tau=0.0, max_iter=200, stop=None,
    gradient_tol=0.0,
) -> NewtonResult:  # fmt: skip
    """Minimize ½‖w‖² + τ/2‖λ − λ₀‖² + Σ loss_i(y_i f_i), f = scale·Xw + Pλ + offset.

    Parameters
    ----------
    X : (m, M) array or CSR matrix
        Its rows, times `scale`, are the x̂_i.
    P : (m, ℓ) array
    y : (m,) array of ±1
    loss : PiecewiseLoss
    w, lam : arrays, optional
        Where to start; `lam` is also λ₀.
    tau : float
        A proximal weight on λ; zero leaves λ free.
    stop : callable (w, λ, β, f) → bool, optional
        Asked after each step whether to stop early.
    gradient_tol : float
        Stop as soon as no entry of the gradient is larger; by default only rounding stops it.
    """
    l = P.shape[1]
    w = np.zeros(X.shape[1]) if w is None else w.copy()
    lam = np.zeros(l) if lam is None else lam.copy()
    start = lam.copy()
    f = X @ (scale * w) + P @ lam + offset
    t = loss.argument(y * f)
    beta = sums = None  # β and X̂ᵀβ
    n_iter, last, same_piece, done = 0, np.inf, False, False
    while n_iter < max_iter and not done:
        n_iter += 1

        # The gradient.  Near the minimizer few β_i change; the last digits are computed afresh.
        new = y * np.clip(t, 0.0, loss.u)
        sums = scale * (X.T @ new) if same_piece else _update_sums(X, scale, beta, new, sums)
        beta = new
        g_w, g_lam = w - sums, tau * (lam - start) - P.T @ beta
        gradient = max(np.abs(g_w).max(initial=0.0), np.abs(g_lam).max(initial=0.0))
        if gradient <= gradient_tol and n_iter > 1:
            n_iter, done = n_iter - 1, True
            break

        # Newton's step on the present piece.
        inside = (t > 0) & (t < loss.u)
        try:
            d_w, d_lam = _direction(X, P, np.flatnonzero(inside), loss.s, g_w, g_lam, tau, scale)
        except linalg.LinAlgError:  # s so large that I + X̂ᵀSX̂ is no longer definite in rounding
            break
        decrease = -(g_w @ d_w + g_lam @ d_lam)
        negligible = same_piece or decrease < 1e-10 * (1.0 + abs(loss.value(t)))
        if gradient >= 0.5 * last and negligible:
            done = True  # only rounding errors are left
            break

        # An exact line search; on the minimizer's piece the full step is the minimizer.
        last, step = gradient, 1.0
        if not same_piece:
            df = X @ (scale * d_w) + P @ d_lam
            dt = -loss.s * (y * df)
            slope = w @ d_w + tau * ((lam - start) @ d_lam)
            curvature = d_w @ d_w + tau * (d_lam @ d_lam)
            step = line_search(slope, curvature, t, dt, loss.s, loss.u)
        w += step * d_w
        lam += step * d_lam

        # Updating f is cheaper than computing it, which is for the last digits.
        afresh = same_piece or stop is not None
        f = X @ (scale * w) + P @ lam + offset if afresh else f + step * df
        t = loss.argument(y * f)
        if stop is not None and stop(w, lam, y * np.clip(t, 0.0, loss.u), f):
            done = True
        # A full step that stays on its piece has found the minimizer; further full steps only
        # remove the rounding errors of this one.
        same = np.array_equal(inside, (t > 0) & (t < loss.u))
        same_piece = same and (same_piece or abs(step - 1.0) < 1e-9)
    return NewtonResult(w, lam, np.clip(t, 0.0, loss.u), n_iter, done)


def _update_sums(X, scale, beta, new, sums):
    """X̂ᵀ(new), from X̂ᵀβ if few entries have changed."""
    if beta is not None and not sparse.issparse(X):
        changed = np.flatnonzero(new != beta)
        if 4 * changed.size <= new.size:
            return sums + (scale * (new[changed] - beta[changed])) @ X[changed]
    return scale * (X.T @ new)


@jit(fast=True)
def line_search(slope, curvature, t, dt, s, u):
    """The zero of φ'(h) = slope + curvature·h + Σ clip(t + h·dt, 0, u)·dt/s over h ≥ 0.

    φ' increases and is linear between the places where an argument of the clip meets 0 or u.
    """
    low, high, h, first = 0.0, np.inf, 0.0, 0.0
    for trial in range(MAX_TRIALS):
        value, rate = slope + curvature * h, curvature
        for i in range(t.size):
            at, weight = t[i] + h * dt[i], dt[i] / s[i]
            alpha = min(max(at, 0.0), u[i])
            value += weight * alpha
            rate += weight * dt[i] if alpha == at else 0.0
        if trial == 0:
            if value >= 0.0:
                return 0.0
            first, h = -value, 1.0  # the zero is usually at the full step, or near it
            continue
        if abs(value) <= 1e-15 * first:
            break
        low, high = (h, high) if value < 0.0 else (low, h)
        h = h - value / rate if rate > 0.0 else np.inf
        if not low < h < high:
            # Newton's iterate left the bracket: bisect it, or double what has no upper end.
            h = 2.0 * low if high == np.inf else 0.5 * (low + high)
            if h in (low, high):
                break
    return h


def _direction(X, P, F, s, g_w, g_lam, tau, scale):
    """Newton's step on the piece with active rows F."""
    if F.size == 0:
        return -g_w, (-g_lam / tau if tau > 0 else np.zeros_like(g_lam))
    root = np.sqrt(s[F])
    X_F, P_F = X[F] if scale == 1.0 else scale * X[F], root[:, None] * P[F]
    n, M = X_F.shape
    if min(n, M) > MAX_DIRECT:
        return _by_conjugate_gradients(X_F, P_F, root, g_w, g_lam, tau)
    if n <= M or (sparse.issparse(X_F) and n <= MAX_DIRECT):
        return _through_rows(X_F, P_F, root, g_w, g_lam, tau)
    return _through_basis(X_F, P_F, root, g_w, g_lam, tau)


def _through_rows(X_F, P_F, root, g_w, g_lam, tau):
    """Eliminate w: a factor of I + √S X̂_F X̂_Fᵀ √S, as large as F."""
    N = X_F @ X_F.T
    N = N.toarray() if sparse.issparse(N) else N
    N *= root[:, None] * root
    N[np.diag_indices_from(N)] += 1.0
    right = np.column_stack([P_F, root * (X_F @ g_w)])
    solved = _definite_solve(N, right)
    NP, Ng = solved[:, :-1], solved[:, -1]
    d_lam = _pseudo_solve(P_F.T @ NP, tau, P_F.T @ Ng - g_lam)
    return -g_w - X_F.T @ (root * (NP @ d_lam - Ng)), d_lam


def _through_basis(X_F, P_F, root, g_w, g_lam, tau):
    """Eliminate λ by an orthogonal projection: a factor as large as the basis.

    With √S P_F = UΣVᵀ, λ's equation fixes the component of √S f in the range of U; what is left
    of √S X̂_F after projecting that range away is an ordinary ridge problem for w.
    """
    n, l = P_F.shape
    stacked = np.vstack([P_F, np.sqrt(tau) * np.eye(l)])  # the proximal term: ℓ more rows
    U, sigma, Vt = linalg.svd(stacked, full_matrices=False, check_finite=False)
    r = int(np.sum(sigma > 1e-13 * sigma[0])) if l and sigma[0] > 0 else 0
    U, sigma, V = U[:, :r], sigma[:r], Vt[:r].T
    if sparse.issparse(X_F):
        X_F = X_F.multiply(root[:, None]).tocsr()
        Z = X_F.T @ U[:n]
        A = (X_F.T @ X_F).toarray() - Z @ Z.T
    else:
        X_F = root[:, None] * X_F
        Z = X_F.T @ U[:n]
        rest, tail = X_F - U[:n] @ Z.T, U[n:] @ Z.T
        A = rest.T @ rest + tail.T @ tail
    A[np.diag_indices_from(A)] += 1.0
    e = -(V.T @ g_lam) / sigma
    d_w = _definite_solve(A, -g_w - Z @ e)
    return d_w, V @ ((e - Z.T @ d_w) / sigma)


def _definite_solve(A, b):
    """A⁻¹b for a positive definite A, which is overwritten; LAPACK without SciPy's formalities."""
    if A.size == 0:
        return b
    _, x, info = lapack.dposv(A.T, b, lower=1, overwrite_a=1)  # Aᵀ is in the order of Fortran
    if info:
        raise linalg.LinAlgError("the Newton matrix is not positive definite, in rounding.")
    return x


def _pseudo_solve(A, tau, b, rtol=1e-13):
    """(A + τI)⁺ b for a symmetric positive semidefinite A of size ℓ."""
    if b.size == 0:
        return b
    if b.size == 1:
        return b / (A[0, 0] + tau) if A[0, 0] + tau > 0 else np.zeros(1)
    values, vectors = linalg.eigh(0.5 * (A + A.T), check_finite=False)
    values = np.where(values > rtol * values[-1], values, 0.0) + tau
    keep = values > 0
    V = vectors[:, keep]
    return V @ ((V.T @ b) / values[keep])


def _by_conjugate_gradients(X_F, P_F, root, g_w, g_lam, tau, rtol=STEP_RTOL):
    """For large sparse problems; preconditioned by the diagonal and the features' block."""
    M = g_w.size
    X_F = X_F.multiply(root[:, None]).tocsr() if sparse.issparse(X_F) else root[:, None] * X_F
    diagonal = 1.0 + np.asarray((X_F.multiply(X_F) if sparse.issparse(X_F) else X_F**2).sum(axis=0))
    block = P_F.T @ P_F

    def times(V):
        w, lam = V[:M, 0], V[M:, 0]  # sparse products with a vector are faster than with a column
        q = X_F @ w + P_F @ lam
        return np.append(w + X_F.T @ q, tau * lam + P_F.T @ q)[:, None]

    def precondition(R):
        return np.append(R[:M, 0] / diagonal, _pseudo_solve(block, tau, R[M:, 0]))[:, None]

    right = -np.append(g_w, g_lam)[:, None]
    step, *_ = conjugate_gradients(times, precondition, right, rtol * norms(right), MAX_STEPS)
    return step[:M, 0], step[M:, 0]
