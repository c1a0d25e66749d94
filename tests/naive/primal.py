"""Slow, obvious versions of the primal solvers' kernels and formulas.

Everything here follows the definitions with loops or with a general-purpose optimizer; nothing is
shared with the library.
"""

import numpy as np
from scipy import optimize


def objective(X, P, y, C, w, lam, squared=False):
    """½‖w‖² + Σ C_i loss(y_i (x̂_i·w + P_i·λ))."""
    total = 0.5 * sum(v * v for v in w)
    for x, p, s, c in zip(X, P, y, C, strict=True):
        short = max(0.0, 1.0 - s * (float(np.dot(x, w)) + float(np.dot(p, lam))))
        total += c * (short**2 if squared else short)
    return float(total)


def shuffle(order, draws):
    """Draw from what is left, by its place, and put it last; the last of the left fills the gap."""
    left, drawn = list(order), []
    while left:
        place = int(draws[len(left) - 1] * len(left))
        chosen, last = left[place], left.pop()
        if place < len(left):
            left[place] = last
        drawn.insert(0, chosen)
    return drawn


def sweep(X, P, y, lo, hi, delta, step, order, beta, w, lam, rho, upper, lower):
    """One sweep of coordinate descent; returns the coordinates still awake, and the slopes."""
    order, k, up, down = list(order), 0, 0.0, 0.0
    while k < len(order):
        i = order[k]
        slope = X[i] @ w + P[i] @ lam + delta[i] * beta[i] - y[i]
        if (beta[i] <= lo[i] and slope > upper) or (beta[i] >= hi[i] and slope < lower):
            order[k] = order[-1]
            order.pop()
            continue
        k += 1
        pushed_down = beta[i] <= lo[i] and slope >= 0
        pushed_up = beta[i] >= hi[i] and slope <= 0
        if pushed_down or pushed_up:
            continue
        up, down = max(up, -slope), max(down, slope)
        new = min(max(beta[i] - slope / step[i], lo[i]), hi[i])
        w += (new - beta[i]) * X[i]
        lam += rho * (new - beta[i]) * P[i]
        beta[i] = new
    return order, up, down


def pegasos_epoch(X, P, y, u, order, t, center, rho, w, lam, violations):
    """The recursion of the paper, in w and λ themselves; returns them."""
    m = len(y)
    for i in order:
        t += 1
        violated = y[i] * (X[i] @ w + P[i] @ lam) < 1
        w = (1 - 1 / t) * w
        lam = center + (1 - 1 / t) * (lam - center)
        if violated:
            w = w + m * u[i] * y[i] * X[i] / t
            lam = lam + rho * m * u[i] * y[i] * P[i] / t
            violations[i] += 1
    return w, lam


def line_minimum(slope, curvature, t, dt, s, u, far=1e6):
    """The zero of φ'(h) by bracketing, where φ' is increasing."""

    def derivative(h):
        total = slope + curvature * h
        for t_i, dt_i, s_i, u_i in zip(t, dt, s, u, strict=True):
            total += min(max(t_i + h * dt_i, 0.0), u_i) * dt_i / s_i
        return total

    if derivative(0.0) >= 0:
        return 0.0
    return optimize.brentq(derivative, 0.0, far, xtol=1e-14, rtol=1e-14)


def quadratic_program(X, P, y, C, squared=False):
    """(w, λ, β, optimum) of the dual by cvxopt; λ are its multipliers of Pᵀβ = 0."""
    import cvxopt

    options = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-13, "feastol": 1e-13}
    m, l = P.shape
    K = X @ X.T + (np.diag(1 / (2 * C)) if squared else 0.0)
    sides = [-np.diag(y)] if squared else [-np.diag(y), np.diag(y)]
    ends = np.zeros(m) if squared else np.concatenate([np.zeros(m), C])
    problem = [K, -y, np.vstack(sides), ends]
    if l:
        problem += [P.T, np.zeros(l)]
    solution = cvxopt.solvers.qp(
        *(cvxopt.matrix(np.asarray(a, dtype=float)) for a in problem), options=options
    )
    beta = np.array(solution["x"]).ravel()
    lam = np.array(solution["y"]).ravel() if l else np.zeros(0)
    return X.T @ beta, lam, beta, -solution["primal objective"]


def smooth_minimum(X, P, y, C):
    """The squared hinge by a quasi-Newton method, from several starts: (w, λ, objective)."""
    M = X.shape[1]

    def value(z):
        short = np.maximum(0.0, 1 - y * (X @ z[:M] + P @ z[M:]))
        g = -2 * C * short * y
        return 0.5 * z[:M] @ z[:M] + C @ short**2, np.concatenate([z[:M] + X.T @ g, P.T @ g])

    best = optimize.minimize(
        value, np.zeros(M + P.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-10}
    )
    return best.x[:M], best.x[M:], best.fun


def gram_schmidt(G):
    """C 2, Gram–Schmidt as printed: T with columns e_i, in the given order, without pivoting."""
    M = len(G)
    T = np.zeros((M, M))
    for i in range(M):
        e = np.eye(M)[i]
        for j in range(i):
            e = e - (np.eye(M)[i] @ G @ T[:, j]) * T[:, j]
        T[:, i] = e / np.sqrt(e @ G @ e)
    return T


def gaussian_product_by_quadrature(z, s, z2, s2, n=400):
    """∫ f f' for two L₂-normalized Gaussians in one or two dimensions, by the trapezoidal rule."""
    d = len(z)
    half = 12 * max(s, s2)
    axes = [np.linspace(min(a, b) - half, max(a, b) + half, n) for a, b in zip(z, z2, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)

    def f(center, width):
        r2 = np.sum((grid - np.asarray(center)) ** 2, axis=-1)
        return (2 / (np.pi * width**2)) ** (d / 4) * np.exp(-r2 / width**2)

    cell = np.prod([axis[1] - axis[0] for axis in axes])
    return float(np.sum(f(z, s) * f(z2, s2)) * cell)


def clipped_minimum(X, P, y, a, s, u, tau, start):
    """(w, λ) that minimize ½‖w‖² + τ/2‖λ − start‖² + Σ loss, α = clip(a + s(1 − yf), 0, u).

    A fixed point: the sides of all samples are guessed, the smooth problem for them is solved, and
    a step that does not make the gradient smaller is halved.
    """
    k = X.shape[1]
    A, weight = np.hstack([X, P]), np.append(np.ones(k), np.full(P.shape[1], tau))
    centre = np.append(np.zeros(k), start)

    def value_and_gradient(z):
        t = a + s * (1 - y * (A @ z))
        alpha = np.clip(t, 0.0, u)
        value = 0.5 * weight @ (z - centre) ** 2
        value += np.sum(alpha * (2 * t - alpha)) / (2 * s)
        return value, weight * (z - centre) - A.T @ (y * alpha), (t > 0) & (t < u)

    z = centre.copy()
    for _ in range(500):
        value, g, inside = value_and_gradient(z)
        if np.abs(g).max() < 1e-11 * (1 + np.abs(weight * z).max()):
            break
        F = A[inside]
        d = np.linalg.solve(np.diag(weight) + s * F.T @ F, -g)
        h = 1.0
        while h > 1e-12 and value_and_gradient(z + h * d)[0] > value + 1e-4 * h * (g @ d):
            h /= 2
        z = z + h * d
    return z[:k], z[k:]


def active_set_solve(X, P, y, u, alpha, rounds):
    """(w, λ, α) after some rounds of the primal-dual active set method; None where it runs away."""
    side, movers = np.where(alpha >= u, 1, np.where(alpha <= 0, -1, 0)), None
    l = P.shape[1]
    for _ in range(rounds):
        F = side == 0
        alpha = np.where(F, alpha, np.where(side > 0, u, 0.0))
        beta = y * alpha
        rest, n = X[~F].T @ beta[~F], int(F.sum())
        system = np.block([[X[F] @ X[F].T, P[F]], [P[F].T, np.zeros((l, l))]])
        right = np.append(y[F] - X[F] @ rest, -P[~F].T @ beta[~F])
        solved = np.linalg.lstsq(system, right, rcond=1e-13)[0]
        beta[F], lam = solved[:n], solved[n:]
        alpha, w = y * beta, X.T @ beta
        wrong = side * (1 - y * (X @ w + P @ lam)) < 0
        here = np.where(alpha >= u, 1, np.where(alpha <= 0, -1, 0))
        after = np.where(F, here, np.where(wrong, 0, side))
        moved = int(np.sum(after != side))
        if moved == 0:
            return w, lam, alpha
        if moved > (0.5 * n + 5 if movers is None else movers):
            return None
        side, movers = after, moved
    return None


def without_noise(beta, u):
    size = np.abs(beta)
    noise = size <= np.minimum(1e-13 * size.max(initial=0.0), 0.5 * u)
    return np.where(noise, 0.0, beta)


def snapped(beta, f, y, u, delta, squared):
    slack = y * (f + delta * beta) - 1.0
    top = (slack < -1e-9) & (not squared)
    return np.where(slack > 1e-9, 0.0, np.where(top, y * u, beta))


def bounds(beta, y, u, squared):
    alpha = y * beta
    at_zero = alpha <= np.minimum(1e-11 * alpha.max(initial=0.0), 0.5 * u)
    return at_zero, ~at_zero & (not squared) & (u - alpha <= 1e-11 * u)


def violation(beta, v, lo, hi):
    up = max([0.0, *v[beta < hi]])
    return up + max([0.0, *-v[beta > lo]])
