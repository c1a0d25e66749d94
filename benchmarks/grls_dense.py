"""Regression with six free features: SciPy's interpolator, KernelRidge, and the bare factorization.

`RBFInterpolator(degree=2)` solves the very same system, `KernelRidge` one without features; "Gram +
Cholesky" is what nobody can do without: the kernel matrix by SciPy, its factor by LAPACK.
"""

import numpy as np
from scipy import linalg
from scipy.interpolate import RBFInterpolator
from scipy.spatial.distance import cdist
from sklearn.kernel_ridge import KernelRidge

from benchmarks.harness import Case, Target
from kernelbook import Gaussian, GRLSRegressor, Polynomials

QUESTION = "GRLSRegressor, six free features, beside RBFInterpolator and KernelRidge"
TARGETS = {
    "RBFInterpolator": Target(median=1.5),
    "KernelRidge": Target(median=1.0),
    "Gram + Cholesky": Target(median=1 / 1.3),
}

REG = 1e-3
WIDTH = 0.5


def cases(quick):
    for m in (1000,) if quick else (2000, 4000):
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, size=(m, 2))
        y = np.abs(X).sum(axis=1) + np.sin(5 * X[:, 0]) + 0.1 * rng.normal(size=m)
        peers = {"RBFInterpolator": scipys, "KernelRidge": ridge, "Gram + Cholesky": bare}
        yield Case(
            f"m={m} d=2",
            lambda X=X, y=y: ours(X, y),
            {name: lambda X=X, y=y, fit=fit: fit(X, y) for name, fit in peers.items()},
            facts={"m": m, "d": 2, "l": 6},
        )


def ours(X, y):
    return GRLSRegressor(Gaussian(WIDTH), Polynomials(2), REG).fit(X, y)


def scipys(X, y):
    return RBFInterpolator(
        X, y, kernel="gaussian", epsilon=1 / WIDTH, degree=2, smoothing=REG * len(X)
    )


def ridge(X, y):
    return KernelRidge(alpha=REG * len(X), kernel="rbf", gamma=WIDTH**-2).fit(X, y)


def bare(X, y):
    K = np.exp(-cdist(X, X, "sqeuclidean") / WIDTH**2)
    K[np.diag_indices_from(K)] += REG * len(X)
    factor = linalg.cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)
    return linalg.cho_solve(factor, y, check_finite=False)
