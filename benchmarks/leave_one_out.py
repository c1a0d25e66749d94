"""Choosing the regularization: exact leave-one-out for 50 values, beside a 5-fold search.

The search makes 250 Gram matrices and Cholesky factorizations of four fifths of the sample, which
is the work of 128 whole ones; we make one eigendecomposition, which is that of a dozen or so, and
from a thousand samples on hardly anything else.  The last line says how far the search is above the
eigendecomposition alone: no way that needs the eigenvectors can win more.
"""

import numpy as np
from scipy.linalg import lapack
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from benchmarks.harness import Case, Target
from kernelbook import Gaussian, GRLSRegressorCV

QUESTION = "GRLSRegressorCV, exact LOO for 50 values of reg, beside GridSearchCV(KernelRidge)"
TARGETS = {"GridSearchCV": Target(median=30.0)}

WIDTH = 2.0


def cases(quick):
    m = 250 if quick else 2000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=m)
    regs = np.logspace(-9, 0, 50)

    def ours():
        return GRLSRegressorCV(Gaussian(WIDTH), regs=regs).fit(X, y)

    def search():
        ridge = KernelRidge(kernel="rbf", gamma=WIDTH**-2)
        return GridSearchCV(ridge, {"alpha": regs * m}, cv=5).fit(X, y)

    K = np.asfortranarray(Gaussian(WIDTH)(X))
    peers = {"GridSearchCV": search, "dsyevd alone": lambda: lapack.dsyevd(K, lower=1)}
    yield Case(f"m={m} d=5, 50 values", ours, peers, facts={"m": m, "d": 5})


def summary(rows):
    """The eigendecomposition, which LAPACK does, is the floor."""
    seconds = {row.peer: row.peer_seconds for row in rows}
    floor = seconds["dsyevd alone"]
    yield (
        f"→ {rows[0].seconds / floor:.1f} times the eigendecomposition alone; "
        f"GridSearchCV is {seconds['GridSearchCV'] / floor:.0f} times above that"
    )
