"""G-RLS straight from the formulas: dense matrices, explicit loops, no scaling, no factor kept."""

from decimal import Decimal, localcontext

import numpy as np


def saddle(Phi, P, y, reg, w=None):
    """c and λ from the whole (m+ℓ)×(m+ℓ) system; P of full column rank."""
    m, l = P.shape
    w = np.ones(m) if w is None else w
    A = Phi + np.sum(w) * reg * np.diag(1 / w)
    K = np.block([[A, P], [P.T, np.zeros((l, l))]])
    right = np.concatenate([y, np.zeros((l, *y.shape[1:]))])
    solution = np.linalg.solve(K, right)
    return solution[:m], solution[m:]


def objective(Phi, P, y, reg, c, lam, w=None):
    """(1/W) Σ w_i (y_i − f_i)² + γ cᵀΦc for one output."""
    w = np.ones(len(y)) if w is None else w
    f = Phi @ c + P @ lam
    return np.sum(w * (y - f) ** 2) / np.sum(w) + reg * c @ Phi @ c


def dual(Phi, y, reg, c, w=None):
    """2γcᵀy − γcᵀ(Φ + WγD⁻¹)c; a lower bound of the minimum when Pᵀc = 0."""
    w = np.ones(len(y)) if w is None else w
    A = Phi + np.sum(w) * reg * np.diag(1 / w)
    return 2 * reg * c @ y - reg * c @ A @ c


def G_matrix(Phi, P, reg, w=None):
    """G with c = Gy, from an orthonormal basis of ker Pᵀ."""
    m = len(Phi)
    w = np.ones(m) if w is None else w
    A = Phi + np.sum(w) * reg * np.diag(1 / w)
    U, s, _ = np.linalg.svd(P, full_matrices=True)
    Q2 = U[:, int(np.sum(s > 1e-10 * s.max(initial=0.0))) :]
    return Q2 @ np.linalg.solve(Q2.T @ A @ Q2, Q2.T)


def variance(Phi, P, reg, k_xx, k, p, w=None):
    """The universal kriging variance of f(x) per unit of scale, for one point x."""
    m, l = P.shape
    w = np.ones(m) if w is None else w
    A = Phi + np.sum(w) * reg * np.diag(1 / w)
    K = np.block([[A, P], [P.T, np.zeros((l, l))]])
    kp = np.concatenate([k, p])
    return k_xx - kp @ np.linalg.solve(K, kp)


def leave_one_out(Phi, P, y, reg):
    """Residuals of m refits without sample i, mγ held."""
    m = len(y)
    out = np.empty_like(y)
    for i in range(m):
        rest = np.delete(np.arange(m), i)
        c, lam = saddle(Phi[np.ix_(rest, rest)], P[rest], y[rest], reg * m / (m - 1))
        out[i] = y[i] - Phi[i, rest] @ c - P[i] @ lam
    return out


def exact_saddle(Phi, P, y, reg, digits=80):
    """c, λ, f on the sample and the minimum in decimal arithmetic: however ill-conditioned."""
    m, l = P.shape
    with localcontext() as context:
        context.prec = digits
        Y = [Decimal(float(v)) for v in y]
        x = _eliminate(_saddle_rows(Phi, P, m * Decimal(float(reg))), [*Y, *[Decimal(0)] * l])
        values = [
            sum((Decimal(float(Phi[i, j])) * x[j] for j in range(m)), Decimal(0))
            + sum((Decimal(float(P[i, p])) * x[m + p] for p in range(l)), Decimal(0))
            for i in range(m)
        ]
        # At the optimum (Φ + mγI)c + Pλ = y and Pᵀc = 0, so the minimum is γ cᵀy.
        minimum = Decimal(float(reg)) * sum((x[i] * Y[i] for i in range(m)), Decimal(0))
        as_float = [np.array([float(v) for v in part]) for part in (x[:m], x[m:], values)]
    return (*as_float, float(minimum))


def exact_variance(Phi, P, reg, k_xx, k, p, digits=80):
    """`variance` in decimal arithmetic."""
    with localcontext() as context:
        context.prec = digits
        kp = [Decimal(float(v)) for v in (*k, *p)]
        x = _eliminate(_saddle_rows(Phi, P, len(Phi) * Decimal(float(reg))), kp)
        return float(Decimal(float(k_xx)) - sum(a * b for a, b in zip(kp, x, strict=True)))


def exact_leave_one_out(Phi, P, y, reg, digits=80):
    """`leave_one_out` in decimal arithmetic."""
    m, out = len(y), np.empty(len(y))
    with localcontext() as context:
        context.prec = digits
        rho = m * Decimal(float(reg))
        for i in range(m):
            rest = np.delete(np.arange(m), i)
            right = [Decimal(float(v)) for v in (*y[rest], *np.zeros(P.shape[1]))]
            x = _eliminate(_saddle_rows(Phi[np.ix_(rest, rest)], P[rest], rho), right)
            terms = zip((*Phi[i, rest], *P[i]), x, strict=True)
            out[i] = float(Decimal(float(y[i])) - sum(Decimal(float(a)) * b for a, b in terms))
    return out


def _saddle_rows(Phi, P, rho):
    """The saddle matrix as rows of decimals."""
    m, l = P.shape
    rows = [[Decimal(float(v)) for v in (*Phi[i], *P[i])] for i in range(m)]
    for i in range(m):
        rows[i][i] += rho
    return rows + [[Decimal(float(v)) for v in (*P[:, p], *np.zeros(l))] for p in range(l)]


def _eliminate(rows, right):
    """The solution of a linear system of decimals, by Gauss with pivots."""
    n = len(rows)
    rows = [[*row, b] for row, b in zip(rows, right, strict=True)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            if factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    x = [Decimal(0)] * n
    for k in reversed(range(n)):
        done = sum((rows[k][j] * x[j] for j in range(k + 1, n)), Decimal(0))
        x[k] = (rows[k][n] - done) / rows[k][k]
    return x
