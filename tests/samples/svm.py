"""Kernel matrices, features, labels and prices for tests of the SVM solvers."""

import numpy as np
from scipy.spatial.distance import cdist

from kernelbook import Gaussian
from kernelbook.solvers.svm.pairs.blocks import pair_matrix


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


def kernel_problem(m, l, seed, C=1.0, width=1.5):
    """The same for solvers that compute their own rows: a kernel and its points, no matrix."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=m) > 0, 1.0, -1.0)
    P = np.column_stack([np.ones(m), rng.normal(size=(m, l - 1))])
    return Gaussian(width), X, P, y, np.full(m, float(C))


def box(y, C):
    return np.minimum(0.0, y * C), np.maximum(0.0, y * C)


def cut(K, p, memory=None):
    """K as a `PairMatrix`, its first p samples one class, the others the other; None: uncut."""
    if p is None:
        return pair_matrix(K)
    return pair_matrix(K[:p, :p].copy(), K[:p, p:].copy(), K[p:, p:].copy(), memory)
