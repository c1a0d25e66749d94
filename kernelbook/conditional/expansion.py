"""Functions of the space H_K, given by their coefficients.

Finite sums f = Σ a_p φ'_p + Σ c_i H(z_i, ·) are dense in H_K, contain what the representer theorem
allows as a solution, and have inner products in closed form:

    ⟨f, g⟩ = Σ a_p b_p + Σ c_i d_j H(z_i, w_j).

Chapter: book/free/construction
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["Expansion"]


@dataclass(frozen=True, eq=False)
class Expansion:
    """f = Σ a_p φ'_p + Σ c_i H(z_i, ·): a function that can be evaluated, added and measured.

    `ConditionalKernel.function`, `.representer` and `.solution` make them.
    """

    space: Any
    a: np.ndarray
    c: np.ndarray
    Z: np.ndarray

    __array_ufunc__ = None  # np.float64(2) * f is f's business, not NumPy's

    def __call__(self, X: Any) -> np.ndarray:
        return self.space.cardinal(X) @ self.a + self.space.H.matvec(X, self.Z, self.c)

    def __add__(self, other):
        self._require_same_space(other)
        c = np.concatenate([self.c, other.c])
        return Expansion(self.space, self.a + other.a, c, _stack(self.Z, other.Z))

    def __mul__(self, number):
        return Expansion(self.space, number * self.a, number * self.c, self.Z)

    __rmul__ = __mul__

    def __neg__(self):
        return -1.0 * self

    def __sub__(self, other):
        return self + (-other)

    def inner(self, other: "Expansion") -> float:
        """⟨f, g⟩ in H_K."""
        self._require_same_space(other)
        return float(self.a @ other.a) + self._semi_inner(other)

    def _semi_inner(self, other):
        return float(self.c @ self.space.H.matvec(self.Z, other.Z, other.c))

    @property
    def norm(self) -> float:
        """‖f‖_K, which depends on the anchors."""
        return float(np.hypot(np.linalg.norm(self.a), self.seminorm))

    @property
    def seminorm(self) -> float:
        """|f| = ‖P₁f‖, which does not."""
        return float(np.sqrt(max(self._semi_inner(self), 0.0)))

    @property
    def free(self) -> "Expansion":
        """P₀f, the part in the span of the features."""
        return Expansion(self.space, self.a, self.c[:0], self.Z[:0])

    @property
    def penalized(self) -> "Expansion":
        """P₁f, the part that is orthogonal to the features."""
        return Expansion(self.space, np.zeros_like(self.a), self.c, self.Z)

    def plain(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """λ, c and points with f = Σ λ_p φ_p + Σ c_i Φ(x_i, ·), Pᵀc = 0: no anchors in it.

        `other_space.solution(*f.plain())` is the same function in the space of other anchors.
        """
        space, mu = self.space, self.space.functionals_
        E = space.cardinal(self.Z)
        moments = E.T @ self.c
        lam = mu.A @ (self.a - space._moments(self.Z).T @ self.c + space._B @ moments)
        if not mu.abstract:
            return lam, np.concatenate([self.c, -mu.W.T @ moments]), _stack(self.Z, mu.points)
        if np.any(np.abs(moments) > 1e-6 * (np.abs(E).T @ np.abs(self.c))):
            raise ValueError(
                "this function has a value of its own at the virtual points: no sum of kernels at "
                "real points with Pᵀc = 0 is equal to it there."
            )
        return lam, self.c, self.Z

    def _require_same_space(self, other):
        if not isinstance(other, Expansion) or other.space is not self.space:
            raise ValueError(
                "both functions must belong to the same ConditionalKernel; carry one over by "
                "space.solution(*f.plain())."
            )


def _stack(Z, W):
    if sparse.issparse(Z) or sparse.issparse(W):
        return sparse.vstack([Z, W], format="csr")
    return np.vstack([Z, W])
