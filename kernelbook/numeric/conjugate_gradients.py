"""Preconditioned conjugate gradients, for several right-hand sides at once.

To solve AX = B with A symmetric positive definite, known only as a map V ↦ AV.  With x₀ = 0 the
k-th iterate minimizes (x − x*)ᵀA(x − x*) over the Krylov space span{C⁻¹b, …, (C⁻¹A)^{k−1}C⁻¹b} of
the preconditioner C ≈ A, symmetric and positive definite too, so that

    ‖x_k − x*‖_A  ≤  2 ((√κ − 1)/(√κ + 1))^k ‖x*‖_A,       κ = λ_max/λ_min of C⁻¹A:

at most about ½√κ steps a factor e.  Clusters of eigenvalues count as one; a few outliers cost a
step each.

The columns of B have nothing to do with each other but that they share the products AV: each has
its own step lengths, and rests once it is good enough.

The residual is updated, not computed: after many steps it flatters.  Callers therefore compute it
anew when this function returns, and call again with what is left.

References
----------
Hestenes & Stiefel, *Methods of conjugate gradients for solving linear systems* (1952); Saad,
*Iterative Methods for Sparse Linear Systems* (2nd ed. 2003).
"""

from collections.abc import Callable

import numpy as np

__all__ = ["conjugate_gradients", "norms"]


def norms(A: np.ndarray) -> np.ndarray:
    """The Euclidean norms of the columns."""
    return np.sqrt(np.einsum("ij,ij->j", A, A))


def conjugate_gradients(
    apply: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    B: np.ndarray,
    enough: np.ndarray,
    steps: int,
    tick: Callable[[np.ndarray], object] = lambda residual: None,
) -> tuple[np.ndarray, int, np.ndarray]:
    """X with AX ≈ B, the number of products AV that it took, and what was found on the way.

    The last is True for columns in which a direction v had vᵀAv < 0 beyond rounding: A is not
    positive definite.  Such a column, and one whose curvature vanishes, rests where it is.

    Parameters
    ----------
    apply : callable
        V ↦ AV.
    precondition : callable
        R ↦ an approximation of A⁻¹R, symmetric positive definite.
    B : (n, k) array
    enough : (k,) array
        A column rests when the norm of its residual is not larger.
    steps : int
        At most so many products.
    tick : callable, optional
        tick(norms of the residuals) after each step.
    """
    X, R = np.zeros_like(B), B.copy()
    Z = precondition(R)
    D, rz = Z.copy(), np.einsum("ij,ij->j", R, Z)
    active = (norms(R) > enough) & (rz > 0)
    negative = np.zeros(B.shape[1], dtype=bool)
    for step in range(steps):
        if not active.any():
            return X, step, negative
        AD = apply(D)
        curvature = np.einsum("ij,ij->j", D, AD)
        negative |= active & (curvature < -1e-8 * norms(D) * norms(AD))
        active &= curvature > 0
        length = np.where(active, rz / np.where(active, curvature, 1.0), 0.0)
        X += length * D
        R -= length * AD
        tick(norms(R))
        Z = precondition(R)
        before, rz = rz, np.einsum("ij,ij->j", R, Z)
        active &= (norms(R) > enough) & (rz > 0)
        D = Z + np.where(active, rz / np.where(active, before, 1.0), 0.0) * D
    return X, steps, negative
