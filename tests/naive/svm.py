"""The SVM-GB dual, slowly: coordinate steps spelled out, and every face of the box tried."""

from itertools import product

import numpy as np


def smo_pairs(K, lo, hi, beta, v, eps, max_steps):
    """Second-order SMO with 1ᵀβ kept, by the formulas of Fan, Chen & Lin."""
    beta, v, m = beta.copy(), v.copy(), beta.size
    for step in range(max_steps + 1):
        up = [k for k in range(m) if beta[k] < hi[k]]
        down = [k for k in range(m) if beta[k] > lo[k]]
        i = max(up, key=lambda k: v[k])
        gap = v[i] - min(v[k] for k in down)
        if gap <= eps or step == max_steps:
            return beta, v, step, max(gap, 0.0)
        eta = {k: max(K[i, i] + K[k, k] - 2 * K[i, k], 1e-12 * max(np.diag(K))) for k in down}
        j = max((k for k in down if v[k] < v[i]), key=lambda k: (v[i] - v[k]) ** 2 / eta[k])
        t = min((v[i] - v[j]) / eta[j], hi[i] - beta[i], beta[j] - lo[j])
        beta[i] += t
        beta[j] -= t
        v -= t * (K[i] - K[j])


def smo_box(K, lo, hi, beta, v, eps, max_steps):
    """Two coordinates at a time without an equation: the best one, and its best partner."""
    beta, v, m = beta.copy(), v.copy(), beta.size
    for step in range(max_steps + 1):
        movable = [
            k for k in range(m) if (v[k] > 0 and beta[k] < hi[k]) or (v[k] < 0 and beta[k] > lo[k])
        ]
        left = sum(
            max([sign * v[k] for k in movable], default=0.0)
            for sign in (1, -1)
            if any(sign * v[k] > 0 for k in movable)
        )
        if left <= eps or step == max_steps:
            return beta, v, step, left
        i = max(movable, key=lambda k: v[k] ** 2 / K[k, k])
        best, j = v[i] ** 2 / K[i, i], None
        for k in range(m):
            A, g = K[np.ix_([i, k], [i, k])], v[[i, k]]
            if k == i or np.linalg.det(A) <= 1e-12 * A[0, 0] * A[1, 1]:
                continue
            unbounded = np.linalg.solve(A, g)
            may = beta[k] < hi[k] if unbounded[1] > 0 else beta[k] > lo[k]
            if may and unbounded[1] != 0 and g @ unbounded > best:
                best, j = g @ unbounded, k
        pair = [i] if j is None else [i, j]
        if j is None:
            move = np.clip(v[i] / K[i, i], lo[i] - beta[i], hi[i] - beta[i])
        else:
            move = rectangle(K[np.ix_(pair, pair)], v[pair], (lo - beta)[pair], (hi - beta)[pair])
        beta[pair] = np.clip(beta[pair] + move, lo[pair], hi[pair])
        v -= K[:, pair] @ np.atleast_1d(move)


def rectangle(A, v, lo, hi):
    """Maximize vᵀx − ½xᵀAx over a rectangle: the best of its interior, edges and corners."""
    candidates = []
    for place in product(("lo", "free", "hi"), repeat=2):
        x = np.array([{"lo": lo[k], "hi": hi[k], "free": 0.0}[place[k]] for k in range(2)])
        free = [k for k in range(2) if place[k] == "free"]
        if free:
            fixed = [k for k in range(2) if k not in free]
            rhs = v[free] - A[np.ix_(free, fixed)] @ x[fixed]
            x[free] = np.linalg.lstsq(A[np.ix_(free, free)], rhs)[0]
        if np.all(x >= lo - 1e-12) and np.all(x <= hi + 1e-12):
            candidates.append(x)
    return max(candidates, key=lambda x: v @ x - 0.5 * x @ A @ x)


def face_step(K, Q, v, residual, lo, hi, beta, eps):
    """Newton's step on the face: all its equations in one dense system, solved again and again.

    Coordinates that leave the box become equations.  Returns the face, where it leads, and μ.
    """
    F = [i for i in range(beta.size) if (beta[i] > lo[i] or v[i] > 0)]
    F = [i for i in F if beta[i] < hi[i] or v[i] < 0]
    held = {}
    for _ in range(12):
        unit = np.array([[float(i == j) for j in held] for i in F]).reshape(len(F), len(held))
        B = np.hstack([Q[F], unit])
        zero = np.zeros((B.shape[1], B.shape[1]))
        system = np.block([[K[np.ix_(F, F)] + eps * np.eye(len(F)), B], [B.T, zero]])
        rhs = np.concatenate([v[F], -residual, [held[j] - beta[j] for j in held]])
        x = np.linalg.lstsq(system, rhs, rcond=1e-13)[0]
        z = beta[F] + x[: len(F)]
        out = {i: np.clip(t, lo[i], hi[i]) for i, t in zip(F, z, strict=True) if i not in held}
        out = {i: t for i, t in out.items() if not np.isclose(t, z[F.index(i)], rtol=0, atol=1e-13)}
        if not out:
            break
        held |= out
    return F, np.clip(z, lo[F], hi[F]), x[len(F) : len(F) + Q.shape[1]]


def certificate_terms(h, f, y, C, beta):
    """The gap's sum, βᵀh, the loss, βᵀ(f − h) and the violation, by their formulas."""
    alpha, margin, v = y * beta, y * f, y - f
    lo, hi = np.minimum(0, y * C), np.maximum(0, y * C)
    gap = [
        (c - a) * max(1 - z, 0) + a * max(z - 1, 0)
        for c, a, z in zip(C, alpha, margin, strict=True)
    ]
    up = max([0.0, *(t for t, b, top in zip(v, beta, hi, strict=True) if b < top)])
    down = max([0.0, *(-t for t, b, bottom in zip(v, beta, lo, strict=True) if b > bottom)])
    loss = sum(c * max(1 - z, 0) for c, z in zip(C, margin, strict=True))
    return sum(gap), beta @ h, loss, beta @ (f - h), up + down


def every_face(K, P, y, C):
    """The dual by exhaustion: solve the equations of each of the 3^m faces, keep the best feasible.

    Returns the optimal value of ½βᵀKβ − yᵀβ and a minimizer.
    """
    m, l = P.shape
    lo, hi = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    best, argmin = 0.0, np.zeros(m)  # β = 0 is feasible
    for place in product((0, 1, 2), repeat=m):
        place = np.array(place)
        free, beta = place == 1, np.where(place == 2, y * C, 0.0)
        n = free.sum()
        if n:
            system = np.block([[K[np.ix_(free, free)], P[free]], [P[free].T, np.zeros((l, l))]])
            rhs = np.concatenate([(y - K @ beta)[free], -P.T @ beta])
            beta[free] = np.linalg.lstsq(system, rhs, rcond=1e-12)[0][:n]
        feasible = np.abs(P.T @ beta).max(initial=0.0) < 1e-9
        if feasible and np.all(beta > lo - 1e-10) and np.all(beta < hi + 1e-10):
            value = 0.5 * beta @ K @ beta - y @ beta
            if value < best:
                best, argmin = value, beta
    return best, argmin


def primal(h, P, y, C, beta, lam):
    """½βᵀKβ + ΣC_i(1 − y_if_i)₊, with h = Kβ."""
    return 0.5 * beta @ h + C @ np.maximum(1 - y * (h + P @ lam), 0)


def votes(F, n_classes):
    """One-vs-one, a sample at a time: votes, and confidences squeezed into (−1/3, 1/3)."""
    scores = np.zeros((len(F), n_classes))
    pairs = [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]
    for i, row in enumerate(F):
        total = np.zeros(n_classes)
        for f, (a, b) in zip(row, pairs, strict=True):
            scores[i, b if f > 0 else a] += 1
            total[b] += f
            total[a] -= f
        scores[i] += total / (3 * (1 + abs(total)))
    return scores


def gaussian_row(Z, A, i):
    """Row i of 2^(−‖z_i − z_j‖²) + a_i·a_j."""
    return np.array(
        [2.0 ** -((z - Z[i]) @ (z - Z[i])) + a @ A[i] for z, a in zip(Z, A, strict=True)]
    )


def gains(row, v, may_fall, diag, i, top, least):
    """What a step from i with each partner gains; zero where the partner may not go down."""
    eta = np.maximum(diag[i] + diag - 2 * row, least)
    return np.where(may_fall, np.maximum(top - v, 0.0), 0.0) ** 2 / eta


def measure(K, Q, y, lo, hi, beta, nu):
    """(the violation and the imbalance per |β|₁, the objective, the face) of a point."""
    v = y - K @ beta - Q @ nu
    up, down = np.max(v[beta < hi], initial=0.0), np.max(-v[beta > lo], initial=0.0)
    error = up + down + np.abs(Q.T @ beta).max(initial=0.0) / np.abs(beta).sum()
    face = [
        i for i in range(y.size)
        if (beta[i] > lo[i] or v[i] > 0) and (beta[i] < hi[i] or v[i] < 0)
    ]  # fmt: skip
    return error, 0.5 * beta @ K @ beta - y @ beta, face
