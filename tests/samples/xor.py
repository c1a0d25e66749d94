"""A noisy XOR: the sign of x₁x₂ and some noise, which no linear classifier finds."""

import numpy as np


def xor(m, seed=0, noise=0.3, d=3, *, above=0.0, labels=(0, 1)):
    """X with m rows, and the second label where x₁x₂ + noise is above a level."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, np.where(X[:, 0] * X[:, 1] + noise * rng.normal(size=m) > above, *labels[::-1])
