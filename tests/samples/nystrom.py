"""A sample with free features, and what a Nyström solution predicts."""

import numpy as np

__all__ = ["predicted", "sample"]


def sample(m=300, d=2, seed=0, k=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(m, d))
    Y = np.c_[np.sin(3 * X[:, 0]), X.sum(axis=1) ** 2][:, :k] + 0.3 * rng.normal(size=(m, k))
    P = np.c_[np.ones(m), X]
    return X, Y, P, rng.uniform(0.2, 3, size=m), rng.uniform(-1, 1, size=(40, d))


def predicted(kernel, solution, centers, Z):
    return kernel(Z, centers) @ solution.c + np.c_[np.ones(len(Z)), Z] @ solution.lam
