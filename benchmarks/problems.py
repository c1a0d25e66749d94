"""The problems that several questions share, and what an answer to them is worth."""

from functools import partial

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.harness import Case

__all__ = ["hinge_objective", "noisy_xor", "rings", "svm_cases", "unkind"]

BLOCK = 1000


def noisy_xor(m, d, noise=0.3, seed=0):
    """The sign of x₁x₂ + noise; the other d − 2 columns mean nothing.  Many support vectors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, np.where(X[:, 0] * X[:, 1] + noise * rng.normal(size=m) > 0, 1.0, -1.0)


def rings(m, d, noise=0.05, seed=0):
    """Shells ‖x‖ in turn positive and negative; a smooth boundary, few support vectors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    r = np.linalg.norm(X, axis=1) + noise * rng.normal(size=m)
    return X, np.where(r > np.median(r), 1.0, -1.0)


def unkind(m, seed=0):
    """name → (X, y, width, C): what tuned problems never are."""
    X, y = noisy_xor(m, 10, seed=seed)
    rng = np.random.default_rng(seed + 1)
    rare = np.where(X[:, 0] + 0.5 * rng.normal(size=m) > 1.9, 1.0, -1.0)
    twins = np.repeat(X[: m // 2], 2, axis=0)
    flipped = np.repeat(y[: m // 2], 2)
    flipped[1::10] *= -1
    scales = X * np.logspace(-2, 1, 10)
    return {
        "3 % in one class": (X, rare, 10**0.5, 1.0),
        "twins with flipped labels": (twins, flipped, 10**0.5, 10.0),
        "width 20 times too small": (X, y, 10**0.5 / 20, 1.0),
        "width 20 times too large": (X, y, 10**0.5 * 20, 100.0),
        "C = 0.01": (X, y, 10**0.5, 0.01),
        "C = 1e4": (X, y, 10**0.5, 1e4),
        "columns of unequal scale": (scales, y, 3.0, 10.0),
    }


def hinge_objective(X, y, width, C, P=None):
    """From (support, β, λ or None) to ½βᵀKβ + C Σ (1 − y f)₊, kernel by scikit-learn, in float64.

    Without P the bias is a number, λ[0].
    """

    def value(answer):
        support, beta, lam = answer
        Z, f = X[support], np.empty(len(X))
        for i in range(0, len(X), BLOCK):
            f[i : i + BLOCK] = rbf_kernel(X[i : i + BLOCK], Z, gamma=width**-2) @ beta
        energy = beta @ f[support]
        f += lam[0] if P is None else P @ lam
        return 0.5 * energy + C * np.maximum(0.0, 1.0 - y * f).sum()

    return value


def svm_cases(sizes, ours, peer, theirs, P=None):
    """A case for each (data, m, d, C); both sides are called with (X, y, C, width).

    Parameters
    ----------
    sizes : list of tuples
    ours, theirs : callables
        Return (support, β, λ).
    peer : str
    P : callable, optional
        The free features X → (m, ℓ); without it the constant.
    """
    for data, m, d, C in sizes:
        X, y = data(m, d)
        problem = X, y, C, d**0.5
        yield Case(
            f"{data.__name__} m={m} d={d} C={C:g}",
            partial(ours, *problem),
            {peer: partial(theirs, *problem)},
            hinge_objective(X, y, d**0.5, C, None if P is None else P(X)),
            {"m": m, "d": d, "C": C} | ({} if P is None else {"l": P(X).shape[1]}),
        )
