"""Choosing kernel and reg by restricted likelihood: T8 made into a rule.

In the Bayesian reading of G-RLS, y = Pλ + g + noise with g a Gaussian process of covariance sΦ, the
noise of variance s·τ with τ = reg·m, and λ unknown without a prior.  Only Q₂ᵀy, Q₂ an orthonormal
basis of ker Pᵀ, does not depend on λ, and it is Gaussian with covariance s(Q₂ᵀΦQ₂ + τI).  With the
eigenvalues Λ of Q₂ᵀΦQ₂, z the coordinates of Q₂ᵀy, n = m − rank P, and s at its best value,

    −2 log L = n log( Σ z_k²/(Λ_k + τ) / n ) + Σ log(Λ_k + τ) + n(1 + log 2π).

This **restricted likelihood** (REML) compares kernels and τ for one and the same P.  Leave-one-out
asks how well a gap between samples is filled; the likelihood asks how the process moves, which is
what a forecast needs.  It works for conditionally positive definite Φ as it stands.

Reference: Patterson & Thompson (1971), *Biometrika* 58.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

__all__ = ["Choice", "best", "log_likelihoods"]

STEPS = np.logspace(-10, 2, 61)
"""Grid of τ, in units of the mean eigenvalue."""


@dataclass(frozen=True)
class Choice:
    """kernel : its key; reg : τ/m; log_likelihood : the best on the grid."""

    kernel: object
    reg: float
    log_likelihood: float


def log_likelihoods(gram, P, y, taus=None):
    """(taus, log L) along a grid of τ, with the best s for each; NaN nowhere."""
    Q2 = linalg.null_space(P.T) if P.shape[1] else np.eye(len(y))
    n = Q2.shape[1]
    values, vectors = linalg.eigh(Q2.T @ gram @ Q2)
    values = np.maximum(values, 0.0)  # what is below is rounding
    if taus is None:
        taus = STEPS * values.mean()
    taus = np.asarray(taus, dtype=float)
    z = vectors.T @ (Q2.T @ y)
    spread = values + taus[:, None]
    s = np.sum(z**2 / spread, axis=1) / n
    return taus, -0.5 * (n * np.log(s) + np.log(spread).sum(axis=1) + n * (1 + np.log(2 * np.pi)))


def best(grams, P, y):
    """The `Choice` of highest restricted likelihood.

    Parameters
    ----------
    grams : iterable of (key, (m, m) array)
    P : (m, ℓ) array, the same for all
    """
    choices = []
    for key, gram in grams:
        taus, log_l = log_likelihoods(gram, P, y)
        k = int(np.argmax(log_l))
        choices.append(Choice(key, float(taus[k]) / len(y), float(log_l[k])))
    return max(choices, key=lambda c: c.log_likelihood)
