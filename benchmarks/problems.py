"""The problems that several questions share, and what an answer to them is worth."""

from functools import partial

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.harness import Case

__all__ = ["hinge_objective", "noisy_xor", "rings", "svm_case", "svm_cases", "unkind"]

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
    """name → (X, y, width, C, P or None): what tuned problems never are."""
    X, y = noisy_xor(m, 10, seed=seed)
    rng = np.random.default_rng(seed + 1)
    rare = np.where(X[:, 0] + 0.5 * rng.normal(size=m) > 1.9, 1.0, -1.0)
    twins = np.repeat(X[: m // 2], 2, axis=0)
    flipped = np.repeat(y[: m // 2], 2)
    flipped[1::10] *= -1
    scales = X * np.logspace(-2, 1, 10)
    one, width = np.ones((m, 1)), 10**0.5
    line = np.where(X[:, :9] @ rng.normal(size=9) > 0.3, 1.0, -1.0)
    mixed = X[:, :4] @ rng.normal(size=(4, 5))
    return {
        "3 % in one class": (X, rare, width, 1.0, None),
        "twins with flipped labels": (twins, flipped, width, 10.0, None),
        "width 20 times too small": (X, y, width / 20, 1.0, None),
        "width 20 times too large": (X, y, width * 20, 100.0, None),
        "C = 0.01": (X, y, width, 0.01, None),
        "C = 1e4": (X, y, width, 1e4, None),
        "columns of unequal scale": (scales, y, 3.0, 10.0, None),
        # T3, the minimum is zero; and ten columns of rank five
        "features that separate": (X, line, width, 10.0, np.hstack([one, X[:, :9]])),
        "features that depend on each other": (X, y, width, 1.0, np.hstack([one, X[:, :4], mixed])),
    }


def hinge_objective(X, y, width, C, P=None):
    """From (support, β, λ or None) to ½βᵀKβ + C Σ (1 − y f)₊, kernel by scikit-learn, in float64.

    Without P the bias is a number, λ[0].
    """

    def value(answer):
        support, beta, lam = answer
        Z, f = X[support], np.zeros(len(X))
        for i in range(0, len(X) if len(Z) else 0, BLOCK):
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
        name = f"{data.__name__} m={m} d={d} C={C:g}"
        features = None if P is None else P(X)
        yield svm_case(name, X, y, d**0.5, C, features, ours, peer, theirs)


def svm_case(name, X, y, width, C, P, ours, peer, theirs):
    """One of them; P is the feature matrix or, for the constant, None."""
    problem, (m, d) = (X, y, C, width), X.shape
    return Case(
        name,
        partial(ours, *problem),
        {peer: partial(theirs, *problem)},
        hinge_objective(X, y, width, C, P),
        {"m": m, "d": d, "C": C, "width": width} | ({} if P is None else {"l": P.shape[1]}),
    )
