"""Regression with six free features: SciPy's interpolator, KernelRidge, and the bare factorization.

`RBFInterpolator(degree=2)` solves the very same system, `KernelRidge` one without features; "Gram +
Cholesky" is what nobody can do without: the kernel matrix by SciPy, its factor by LAPACK.  The
objective is that of each side's own problem; features that go unpunished can only lower it.

Cases without a peer measure how the cost grows with the number ℓ of features.
"""

import json

import numpy as np
from scipy import linalg
from scipy.interpolate import RBFInterpolator
from scipy.spatial.distance import cdist
from sklearn.kernel_ridge import KernelRidge

from benchmarks.harness import Case, Target, slope
from kernelbook import Gaussian, GRLSRegressor, Polynomials

QUESTION = "GRLSRegressor, six free features, beside RBFInterpolator and KernelRidge"
TARGETS = {
    "RBFInterpolator": Target(median=1.5),
    "KernelRidge": Target(median=1.0),
    "Gram + Cholesky": Target(median=1 / 1.3),
}

REG = 1e-3
WIDTH = 0.5


DEGREES = [0, 2, 5], [10]  # ℓ = 1, 6, 21 and, in full, 66 in the plane


def cases(quick):
    peers = {"RBFInterpolator": scipys, "KernelRidge": ridge, "Gram + Cholesky": bare}
    for m in (1000,) if quick else (2000, 4000):
        X, y = data(m)
        yield Case(
            f"m={m} d=2",
            lambda X=X, y=y: ours(X, y),
            {name: lambda X=X, y=y, fit=fit: fit(X, y) for name, fit in peers.items()},
            lambda answer, X=X, y=y: objective(answer, X, y),
            facts={"m": m, "d": 2, "l": 6},
        )
    m = 1000 if quick else 2000
    X, y = data(m)
    for degree in DEGREES[0] + ([] if quick else DEGREES[1]):
        l = (degree + 1) * (degree + 2) // 2
        yield Case(
            f"m={m} d=2 l={l}",
            lambda degree=degree: ours(X, y, degree),
            facts={"m": m, "d": 2, "l": l, "growth": "l"},
        )


def data(m):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(m, 2))
    return X, np.abs(X).sum(axis=1) + np.sin(5 * X[:, 0]) + 0.1 * rng.normal(size=m)


def ours(X, y, degree=2):
    return GRLSRegressor(Gaussian(WIDTH), Polynomials(degree), REG).fit(X, y)


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


def objective(answer, X, y):
    """Mean squared error + γcᵀΦc: at a solution mγc = y − f, and cᵀΦc = cᵀf where Pᵀc = 0."""
    if isinstance(answer, np.ndarray):
        f = y - REG * len(y) * answer
    else:
        f = answer(X) if callable(answer) else answer.predict(X)
    c = (y - f) / (REG * len(y))
    return np.mean((y - f) ** 2) + REG * c @ f


def summary(rows):
    """How the cost grows with ℓ."""
    facts = [json.loads(row.facts) for row in rows]
    points = [
        (fact["l"], row.seconds)
        for fact, row in zip(facts, rows, strict=True)
        if fact.get("growth") == "l"
    ]
    if len(points) > 1:
        exponent, error = slope(*zip(*points, strict=True))
        yield f"→ seconds grow like l^{exponent:.2f} (± {error:.2f}) at m={facts[-1]['m']}"
