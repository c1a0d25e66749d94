"""A kernel matrix, features, labels and prices for tests of the SVM solvers."""

import numpy as np
from scipy.spatial.distance import cdist


def gaussian(X, width=1.0):
    return np.exp(-cdist(X, X, "sqeuclidean") / width**2)


def problem(m, l, seed, width=1.5, C=1.0, constant=True, kernel="gaussian"):
    """A noisy XOR with l random features, the first of them the constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=m) > 0, 1.0, -1.0)
    P = rng.normal(size=(m, l))
    if l and constant:
        P[:, 0] = 1.0
    K = gaussian(X, width) if kernel == "gaussian" else X @ X.T
    return K, P, y, np.full(m, float(C))
