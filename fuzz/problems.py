"""Samples, kernels, features and weights of all kinds and sizes, from a generator."""

from dataclasses import dataclass

import numpy as np

from fuzz import oracles
from kernelbook import (
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polyharmonic,
    Polynomials,
    RationalQuadratic,
    ThinPlate,
)


@dataclass
class Problem:
    """A sample with a kernel and features, ours and the oracle's.

    Attributes
    ----------
    X : (m, d) array;  Z : (n, d) array
        The sample, and points near it.
    w : (m,) array
    kernel, features : what a learner takes
    matrix, columns : callable
        The same by formula: matrix(X, Z), columns(X).
    text : str
        The problem in words, for the log.
    """

    X: np.ndarray
    Z: np.ndarray
    w: np.ndarray
    kernel: object
    features: object
    matrix: object
    columns: object
    text: str


def log_uniform(rng, low, high):
    return float(10.0 ** rng.uniform(low, high))


def draw(rng, largest=80, cpd=True, dims=6):
    """A problem; `cpd` allows kernels that are only conditionally positive definite."""
    m, d = int(rng.integers(4, largest)), int(rng.integers(1, dims + 1))
    unit = log_uniform(rng, -3, 3) if rng.random() < 0.5 else 1.0
    X = rng.normal(size=(m, d)) if rng.random() < 0.7 else rng.uniform(size=(m, d))
    if rng.random() < 0.2:
        X = np.round(2 * X) / 2  # ties and duplicates
    if rng.random() < 0.2:
        X[rng.integers(m, size=m // 3)] = X[0]
    X = unit * (X + (log_uniform(rng, 0, 3) if rng.random() < 0.1 else 0.0))
    Z = X[rng.integers(m, size=12)] + 0.3 * unit * rng.normal(size=(12, d))
    w = np.ones(m)
    if rng.random() < 0.4:
        w = rng.choice([0.0, 1.0, 2.0, 0.37, 5.0], size=m)
        w[:2] = 1.0
    kernel, matrix, order = draw_kernel(rng, unit, d, cpd)
    features, columns = draw_features(rng, order, X[w > 0])
    text = f"m={m} d={d} unit={unit:.1e} {kernel!r} features={features!r:.60} weights={w.min():g}.."
    return Problem(X, Z, w, kernel, features, matrix, columns, text)


def draw_kernel(rng, unit, d, cpd):
    """(kernel, its matrix by formula, the order up to which polynomials must be free)."""
    width = unit * log_uniform(rng, -1, 1)
    kind = rng.choice(["gaussian", "laplacian", "matern", "rational", "linear", "cubic", "plate"])
    if kind in ("cubic", "plate") and not cpd:
        kind = "gaussian"
    nu = float(rng.choice([0.5, 1.5, 2.5]))
    return {
        "gaussian": lambda: (Gaussian(width), oracles.gaussian(width), 0),
        "laplacian": lambda: (Laplacian(width), oracles.matern(width, 0.5), 0),
        "matern": lambda: (Matern(width, nu), oracles.matern(width, nu), 0),
        "rational": lambda: (
            RationalQuadratic(width, alpha=2.0),
            oracles.rational_quadratic(width, 2.0),
            0,
        ),
        "linear": lambda: (Linear(), oracles.linear, 0),
        "cubic": lambda: (Polyharmonic(3), oracles.cubic, 2),
        "plate": lambda: (ThinPlate(), oracles.thin_plate, 2),
    }[kind]()


def draw_features(rng, order, X):
    """(features, their columns by formula)."""
    if order or rng.random() < 0.3:
        # Scaled as the learner scales them: the span is the same, and numbers stay small.
        low, high = X.min(axis=0), X.max(axis=0)
        half = np.where(high > low, (high - low) / 2, 1.0)
        return Polynomials(1), lambda A: np.c_[np.ones(len(A)), (A - (low + high) / 2) / half]
    if rng.random() < 0.3:
        return None, lambda A: np.zeros((len(A), 0))
    return "constant", lambda A: np.ones((len(A), 1))
