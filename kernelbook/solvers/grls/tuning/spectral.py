"""The restricted likelihood of one kernel for many τ = γm, from one eigendecomposition.

With the eigenvalues Λ of Q₂ᵀΦQ₂, z the coordinates of Q₂ᵀy, and n = m − rank P,

    −2 log L = n log( Σ z_k²/(Λ_k + τ) / n ) + Σ log(Λ_k + τ) + n(1 + log 2π),

the scale at its best: what `criteria` says, for weights 1.  It works for conditionally positive
definite Φ as it stands.

Reference: Patterson & Thompson, Biometrika 58 (1971).
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

__all__ = ["Choice", "best_of", "log_likelihoods"]

STEPS = np.logspace(-10, 2, 61)
"""Grid of τ, in units of the mean eigenvalue."""


@dataclass(frozen=True)
class Choice:
    """kernel : its key; reg : τ/m; log_likelihood : the best on the grid."""

    kernel: Any
    reg: float
    log_likelihood: float


def log_likelihoods(
    gram: np.ndarray, P: np.ndarray, y: np.ndarray, taus: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """(taus, restricted log L) along a grid of τ, with the best s for each.

    Parameters
    ----------
    gram : (m, m) array
    P : (m, ℓ) array of rank ℓ
    y : (m,) array
    taus : (R,) array of positive numbers, optional
    """
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


def best_of(grams: Iterable[tuple[Hashable, np.ndarray]], P: np.ndarray, y: np.ndarray) -> Choice:
    """The `Choice` of highest restricted likelihood among the pairs (key, Gram matrix)."""
    choices = []
    for key, gram in grams:
        taus, log_l = log_likelihoods(gram, P, y)
        k = int(np.argmax(log_l))
        choices.append(Choice(key, float(taus[k]) / len(y), float(log_l[k])))
    return max(choices, key=lambda c: c.log_likelihood)
