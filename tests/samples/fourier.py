"""A sample in two columns far from the origin, and the Fourier learners that are tried on it."""

import numpy as np

from kernelbook import Gaussian, GRLSClassifier, GRLSRegressor, Polynomials

RNG = np.random.default_rng(0)
M = 600
X = RNG.uniform(size=(M, 2)) * [2.0, 0.5] + [10.0, -3.0]
Y = np.sin(4 * X[:, 0]) + 3 * X[:, 1] + 50 + 0.1 * RNG.normal(size=M)
W = RNG.uniform(0.5, 2.0, size=M)
LABELS = np.array(["a", "b", "c"])[np.digitize(np.sin(4 * X[:, 0]), [-0.4, 0.4])]
Z = X[:80] + RNG.normal(size=(80, 2)) * RNG.choice([0.1, 1.0, 30.0], (80, 1))
BOUNDS = [(9.5, 12.5), (-3.0, -2.0)]
ARGUMENTS = {"kernel": Gaussian(0.4), "features": Polynomials(2), "reg": 1e-3}


def regressor(**changes):
    return GRLSRegressor(**ARGUMENTS | {"solver": "fourier", "tol": 1e-7} | changes)


def classifier(**changes):
    return GRLSClassifier(**ARGUMENTS | {"solver": "fourier", "tol": 1e-7} | changes)


def close(a, b, tol=1e-6):
    """Equal at Z, where polynomials that are equal on the sample have grown apart."""
    growth = 1 + np.sum(((Z - X.mean(axis=0)) / [1.0, 0.25]) ** 2, axis=1)
    error = np.abs(a - b).reshape(len(Z), -1).max(axis=1)
    assert (error / growth).max() < tol


def chunks(*arrays, cuts=(100, 101, 400)):
    return list(zip(*(np.split(a, cuts) for a in arrays), strict=True))
