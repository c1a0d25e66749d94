"""Synthetic data of the papers: the two spirals of C 4.1 and the noisy |5 − x| of B 4."""

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["make_abs", "make_spirals"]


def make_abs(n_samples=100, noise=0.5, interval=(0.0, 10.0), random_state=None):
    """Noisy values of |5 − x| at uniform points of an interval (B, section 4 and figure 1).

    B gives neither the number of points, nor their interval, nor the noise.

    Returns
    -------
    X : (n_samples, 1) array, sorted
    y : (n_samples,) array
    """
    rng = check_random_state(random_state)
    x = np.sort(rng.uniform(*interval, n_samples))
    return x[:, None], np.abs(5 - x) + noise * rng.standard_normal(n_samples)


def make_spirals(
    n_per_class=200,
    turns=2.0,
    radii=(0.005, 1.0),
    law="logarithmic",
    noise=0.1,
    random_state=None,
):
    """Two intertwined spirals whose separation grows with the distance from the centre (C 4.1).

    C says: two spirals with 200 points each, spreading outwards, each point perturbed by Gaussian
    noise whose variance depends on the distance to the centre.  Turns, radii and the law of the
    noise are not given; they are parameters here.  A point at angle θ, uniform in [0, 2π·turns],
    has radius

        r₀ (r₁/r₀)^(θ/2π·turns)      for law="logarithmic",
        r₀ + (r₁ − r₀) θ/2π·turns    for law="archimedean",

    and each coordinate gets noise of standard deviation `noise`·radius.  The second spiral is the
    first turned by π.

    Returns
    -------
    X : (2·n_per_class, 2) array
    y : (2·n_per_class,) array of −1 and +1
    """
    if law not in ("logarithmic", "archimedean"):
        raise ValueError(f"law={law!r} is not known; pass 'logarithmic' or 'archimedean'.")
    low, high = radii
    if not 0 < low < high:
        raise ValueError(f"radii={radii!r} must satisfy 0 < r₀ < r₁.")
    rng = check_random_state(random_state)
    t = rng.uniform(0, 1, 2 * n_per_class)
    y = np.repeat([-1.0, 1.0], n_per_class)
    radius = low * (high / low) ** t if law == "logarithmic" else low + (high - low) * t
    angle = 2 * np.pi * turns * t + np.where(y > 0, np.pi, 0.0)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + noise * radius[:, None] * rng.standard_normal(X.shape), y
