"""Choosing the regularization: exact leave-one-out for 50 values, beside a 5-fold search."""

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from benchmarks.harness import Case, Target
from kernelbook import Gaussian, GRLSRegressorCV

QUESTION = "GRLSRegressorCV, exact LOO for 50 values of reg, beside GridSearchCV(KernelRidge)"
TARGETS = {"GridSearchCV": Target(median=30.0)}

WIDTH = 2.0


def cases(quick):
    m = 500 if quick else 2000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=m)
    regs = np.logspace(-9, 0, 50)

    def ours():
        return GRLSRegressorCV(Gaussian(WIDTH), regs=regs).fit(X, y)

    def search():
        ridge = KernelRidge(kernel="rbf", gamma=WIDTH**-2)
        return GridSearchCV(ridge, {"alpha": regs * m}, cv=5).fit(X, y)

    yield Case(f"m={m} d=5, 50 values", ours, {"GridSearchCV": search}, facts={"m": m, "d": 5})
