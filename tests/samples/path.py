"""Samples and kernels on which the regularization path is tried."""

import numpy as np
from scipy.spatial.distance import cdist

__all__ = ["KERNELS", "between", "features", "gaussian", "sample"]


def gaussian(X, width=1.5):
    return np.exp(-cdist(X, X, "sqeuclidean") / width**2)


def thin_plate(X):
    r = cdist(X, X)
    return r**2 * np.log(np.where(r > 0, r, 1.0))


KERNELS = {
    "gaussian": gaussian,
    "linear": lambda X: X @ X.T,
    "thin plate": thin_plate,
    "wide": lambda X: gaussian(X, 30.0),
}


def sample(n, seed, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 0.7 + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def features(X, l):
    one = np.ones((len(X), 1))
    return {0: one[:, :0], 1: one, 3: np.hstack([one, X]), 2: np.where(X > 0, 1.0, 0.0)}[l]


def between(C):
    """Breakpoints and points between them."""
    return np.sort(np.concatenate([C[1:], 0.5 * (C[:-1] + C[1:])]))
