"""The conditional kernel by the double sums of A (9), and the two learning problems from scratch.

The solvers below know nothing of dual variables, anchors or representer theorems: they minimize

    (1/m) Σ V(y_i, f_i) + reg · |f|²,      f = Rw + Fλ on all given points,  |f|² = ‖w‖²,

over w and λ, the loss being counted on the first len(y) points only.  The other points are there
to see what the solution does off the sample.
"""

import numpy as np
from scipy import linalg, special
from sklearn.neighbors import NearestNeighbors


def conditional(kernel, features, anchors, x, z):
    """H(x, z) for two points, as A (9) prints it; `features` maps a point to a vector."""
    M = np.array([features(a) for a in anchors]).reshape(len(anchors), len(anchors)).T
    at_x, at_z = np.linalg.solve(M, features(x)), np.linalg.solve(M, features(z))
    total = kernel(x, z)
    for p, a in enumerate(anchors):
        total -= at_x[p] * kernel(a, z) + at_z[p] * kernel(x, a)
        for q, b in enumerate(anchors):
            total += at_x[p] * at_z[q] * kernel(a, b)
    return total


def reproducing(kernel, features, anchors, x, z):
    """K(x, z) for two points, A (8)."""
    M = np.array([features(a) for a in anchors]).reshape(len(anchors), len(anchors)).T
    at_x, at_z = np.linalg.solve(M, features(x)), np.linalg.solve(M, features(z))
    return conditional(kernel, features, anchors, x, z) + at_x @ at_z


def root(gram):
    """R with RRᵀ = gram, for a positive semidefinite matrix that may be singular."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    assert values[0] > -1e-9 * max(values[-1], 1.0), f"not positive semidefinite: {values[0]}"
    kept = values > 1e-13 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def constrained(gram, P):
    """Kernel functions Σc_iΦ(x_i, ·), Pᵀc = 0: their values B on the points, and G, |f|² = uᵀGu."""
    Q2 = linalg.null_space(P.T)
    return gram @ Q2, Q2.T @ gram @ Q2


def root_of_constrained(gram, P):
    """R as above for the space that no anchors define: values Rw, seminorm ‖w‖."""
    B, G = constrained(gram, P)
    values, vectors = np.linalg.eigh((G + G.T) / 2)
    kept = values > 1e-13 * values[-1]
    return B @ (vectors[:, kept] / np.sqrt(values[kept]))


def squared_loss(R, F, y, reg):
    """min (1/m)‖y − f‖² + reg‖w‖² by least squares; f on all points, objective, |f|², w, λ."""
    m, (n, k) = len(y), R.shape
    A = np.block([[R[:m], F[:m]], [np.sqrt(m * reg) * np.eye(k), np.zeros((k, F.shape[1]))]])
    z = np.linalg.lstsq(A, np.concatenate([y, np.zeros(k)]), rcond=None)[0]
    w, lam = z[:k], z[k:]
    f = R @ w + F @ lam
    assert len(f) == n
    return f, np.mean((y - f[:m]) ** 2) + reg * w @ w, w @ w, w, lam


def hinge_loss(R, F, y, reg):
    """min (1/m) Σ(1 − y_if_i)₊ + reg‖w‖² by an interior-point method on (w, λ, ξ) themselves."""
    from cvxopt import matrix, solvers

    m, k, l = len(y), R.shape[1], F.shape[1]
    Q = linalg.block_diag(2 * reg * np.eye(k), np.zeros((l + m, l + m)))
    q = np.concatenate([np.zeros(k + l), np.full(m, 1 / m)])
    G = np.block(
        [
            [-y[:, None] * R[:m], -y[:, None] * F[:m], -np.eye(m)],
            [np.zeros((m, k + l)), -np.eye(m)],
        ]
    )
    h = np.concatenate([-np.ones(m), np.zeros(m)])
    options = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-13, "feastol": 1e-13}
    result = solvers.qp(*map(matrix, (Q, q, G, h)), options={**options, "maxiters": 200})
    z = np.array(result["x"]).ravel()
    w, lam = z[:k], z[k : k + l]
    f = R @ w + F @ lam
    return f, hinge_objective(f[:m], y, reg, w @ w), w @ w, w, lam


def hinge_objective(f, y, reg, seminorm2):
    """A (3) from the values of f on the sample and |f|²."""
    return np.mean(np.maximum(1 - y * f, 0)) + reg * seminorm2


def box_program(Q, q, A, upper):
    """min ½αᵀQα + qᵀα, Aα = 0, 0 ≤ α ≤ upper."""
    from cvxopt import matrix, solvers

    m = len(q)
    G, h = np.vstack([-np.eye(m), np.eye(m)]), np.concatenate([np.zeros(m), upper])
    # The scale of the problem is that of `upper`; solve it in units of its own.
    scale = upper.max()
    options = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-13, "feastol": 1e-13}
    result = solvers.qp(
        *map(matrix, (Q * scale, q, G, h / scale, A, np.zeros(len(A)))),
        options={**options, "maxiters": 200},
    )
    return np.clip(np.array(result["x"]).ravel() * scale, 0.0, upper)


# ---------------------------------------------------------------------------- small examples


def gaussian(X, Z, width=1.0):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(-1) / width**2)


def thin_plate(X, Z):
    r = np.sqrt(((X[:, None] - Z[None]) ** 2).sum(-1))
    return special.xlogy(r**2, np.where(r > 0, r, 1.0))


def monomials(X, degree):
    return np.column_stack([X[:, 0] ** k for k in range(degree + 1)])


def curve(seed=0, m=40, noise=0.3, width=1.5, degree=2):
    """B's own example: noisy |5 − x| with 1, x, x² and a Gaussian kernel."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (m, 1))
    y = np.abs(5 - X[:, 0]) + noise * rng.normal(size=m)
    return X, y, gaussian(X, X, width), monomials(X, degree)


def two_classes(seed=0, m=40, l=3, flip=0.1):
    """Points of the plane, a curved boundary and some wrong labels; features 1, x, y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.7, 1.0, -1.0)
    y[rng.random(m) < flip] *= -1
    P = np.column_stack([np.ones(m), X, X**2])[:, :l]
    return X, y, gaussian(X, X, 1.0), P


def neighbour_features(X, labels, classes):
    """A 5: φ_p(x) = 1 iff one of the three nearest training samples of x is of class p."""
    near = NearestNeighbors(n_neighbors=3).fit(X).kneighbors(X, return_distance=False)
    return (labels[near][:, :, None] == np.arange(classes)).any(axis=1).astype(float)
