"""Answers that owe nothing to the library: kernels by formula, quadratic programs by Clarabel."""

import numpy as np
from scipy import sparse

LD = np.longdouble


def squares(X, Z):
    X, Z = np.asarray(X, LD), np.asarray(Z, LD)
    return ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)


def gaussian(width):
    return lambda X, Z: np.exp(-squares(X, Z) / LD(width) ** 2)


def matern(width, nu):
    polynomial = {0.5: (1,), 1.5: (1, 1), 2.5: (1, 1, LD(1) / 3)}[nu]

    def matrix(X, Z):
        r = np.sqrt(LD(2 * nu) * squares(X, Z)) / LD(width)
        return sum(c * r**k for k, c in enumerate(polynomial)) * np.exp(-r)

    return matrix


def rational_quadratic(width, alpha):
    return lambda X, Z: (1 + squares(X, Z) / (LD(alpha) * LD(width) ** 2)) ** LD(-alpha)


def linear(X, Z):
    return np.asarray(X, LD) @ np.asarray(Z, LD).T


def cubic(X, Z):
    return squares(X, Z) ** LD(1.5)


def thin_plate(X, Z):
    s = squares(X, Z)
    return np.where(s > 0, s * np.log(np.where(s > 0, s, 1)) / 2, LD(0))


def least_squares(K, P, Y, reg, w):
    """(c, λ) of the saddle system, in double precision with two steps of extended refinement."""
    m, l = P.shape
    D = reg * w.sum() / w
    A = np.block([[K + np.diag(D), P], [P.T, np.zeros((l, l))]]).astype(LD)
    b = np.concatenate([Y, np.zeros((l, Y.shape[1]))]).astype(LD)
    z = np.zeros_like(b)
    for _ in range(4):
        step = np.linalg.lstsq(A.astype(float), (b - A @ z).astype(float), rcond=1e-15)[0]
        z = z + step
    return z[:m], z[m:], float(np.abs(b - A @ z).max())


def hinge_optimum(K, P, y, box, squared=False):
    """The minimum of ½βᵀKβ + Σ box·loss, by Clarabel on the dual; NaN if it does not say."""
    import clarabel

    m, l = P.shape
    K = np.asarray(K, float)
    if l:  # definite where it counts
        Q, _ = np.linalg.qr(np.asarray(P, float))
        K = K - Q @ (Q.T @ K)
        K = K - (K @ Q) @ Q.T
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    r = root.shape[1]
    # min ½‖u‖² + ½Σβ²/(2·box)·[squared] − yᵀβ,  u = rootᵀβ, Pᵀβ = 0, 0 ≤ yβ (≤ box).
    diagonal = np.concatenate([1.0 / (2.0 * box) if squared else np.zeros(m), np.ones(r)])
    A = [np.hstack([root.T, -np.eye(r)]), np.hstack([np.asarray(P, float).T, np.zeros((l, r))])]
    A += [np.hstack([-np.diag(y), np.zeros((m, r))])]
    b = [np.zeros(r + l), np.zeros(m)]
    if not squared:
        A += [np.hstack([np.diag(y), np.zeros((m, r))])]
        b += [box]
    cones = [clarabel.ZeroConeT(r + l), clarabel.NonnegativeConeT(sum(map(len, b[1:])))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(diagonal)), np.concatenate([-y, np.zeros(r)]),
        sparse.csc_matrix(np.vstack(A)), np.concatenate(b), cones, settings,
    )  # fmt: skip
    solution = solver.solve()
    if "Solved" not in str(solution.status) or "Almost" in str(solution.status):
        return np.nan
    return -float(solution.obj_val)
