"""What the path of the SVM in C is checked against: cvxopt, the bare conditions, plain loops."""

import numpy as np

__all__ = ["combine_rows", "first", "kkt_violation", "principal_inverse", "qp"]


def qp(gram, P, y, upper):
    """min ½βᵀΦβ − yᵀβ, Pᵀβ = 0, 0 ≤ y_iβ_i ≤ upper_i by cvxopt; Φ may be conditionally definite."""
    import cvxopt

    n, l = P.shape
    M = np.eye(n) - P @ np.linalg.pinv(P) if l else np.eye(n)
    options = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-13, "feastol": 1e-13}
    constraints = {}
    if l:
        Q = np.linalg.svd(P, full_matrices=False)[0][:, : np.linalg.matrix_rank(P)]
        constraints = {"A": cvxopt.matrix(Q.T.copy()), "b": cvxopt.matrix(np.zeros(Q.shape[1]))}
    G = np.vstack([np.diag(y), -np.diag(y)])
    solution = cvxopt.solvers.qp(
        cvxopt.matrix(M @ gram @ M),
        cvxopt.matrix(-y),
        cvxopt.matrix(G),
        cvxopt.matrix(np.concatenate([upper, np.zeros(n)])),
        options=options,
        **constraints,
    )
    beta = np.array(solution["x"])[:, 0]
    return beta, 0.5 * beta @ gram @ beta - y @ beta


def kkt_violation(gram, P, y, upper, beta, lam):
    """The largest breach of a condition of optimality, straight from the conditions."""
    f = gram @ beta + P @ lam
    alpha, margin = y * beta, y * f
    breach = [np.abs(P.T @ beta).max(initial=0.0), (-alpha).max(), (alpha - upper).max()]
    edge = 1e-9 * upper.max()
    breach.append((1 - margin)[alpha < upper - edge].max(initial=0.0))
    breach.append((margin - 1)[alpha > edge].max(initial=0.0))
    return max(0.0, *breach)


def combine_rows(A, rows, z):
    return A[rows].T @ z


def first(room, closing, flat):
    best, where = np.inf, -1
    for i, (r, c) in enumerate(zip(room, closing, strict=True)):
        if c > flat[i] and max(r, 0.0) / c < best:
            best, where = max(r, 0.0) / c, i
    return best, where


def principal_inverse(gram, P, S):
    """[Φ P; Pᵀ 0] restricted to S, inverted."""
    l = P.shape[1]
    H = np.block([[gram, P], [P.T, np.zeros((l, l))]])
    return np.linalg.inv(H[np.ix_(S, S)])
