"""Preconditioned conjugate gradients, for several columns at once.

To solve AX = B with A symmetric positive definite, known only as a map V ↦ AV.  With x₀ = 0 the
k-th iterate minimizes (x − x*)ᵀA(x − x*) over the Krylov space span{C⁻¹b, …, (C⁻¹A)^{k−1}C⁻¹b} of
the preconditioner C ≈ A, symmetric and positive definite too, so that

    ‖x_k − x*‖_A  ≤  2 ((√κ − 1)/(√κ + 1))^k ‖x*‖_A,       κ = λ_max/λ_min of C⁻¹A:

at most about ½√κ steps a factor e.  Clusters of eigenvalues count as one; a few outliers cost a
step each.

The columns of B share only the products AV: each has its own step lengths, and stops once its
residual is small enough.

**The residual drifts.**  Conjugate gradients update the residual instead of computing it, and after
many steps the updated one is too small.  `restarted` computes the true residual and solves for
what is left, by `linalg.refine`, which is that loop for any approximate solver.

References
----------
Hestenes & Stiefel, *Methods of conjugate gradients for solving linear systems* (1952); Saad,
*Iterative Methods for Sparse Linear Systems* (2nd ed. 2003); Higham, *Accuracy and Stability of
Numerical Algorithms* (2002), chapter 12.
"""

from collections.abc import Callable

import numpy as np

from kernelbook.numeric.linalg import State, norms, refine

__all__ = ["conjugate_gradients", "restarted"]

MAX_RESTARTS = 6
CG_SHARE = 0.5  # of the tolerance, so that the true residual, recomputed, is within it too


Map = Callable[[np.ndarray], np.ndarray]


def _silent(residual: np.ndarray) -> None:
    """The default `tick`."""


def conjugate_gradients(
    apply: Map,
    precondition: Map,
    B: np.ndarray,
    tolerance: np.ndarray,
    max_iter: int,
    tick: Callable[[np.ndarray], object] = _silent,
) -> tuple[np.ndarray, int, np.ndarray]:
    """X with AX ≈ B, the number of products AV that it took, and which columns met vᵀAv < 0.

    The last is True for columns in which a direction v had vᵀAv < 0 beyond rounding: A is not
    positive definite.  Such a column, and one whose curvature vanishes, stays where it is.

    Parameters
    ----------
    apply : callable
        V ↦ AV.
    precondition : callable
        R ↦ an approximation of A⁻¹R, symmetric positive definite.
    B : (n, k) array
    tolerance : (k,) array
        A column stops when the norm of its residual is not larger.
    max_iter : int
        The largest number of products.
    tick : callable, optional
        tick(norms of the residuals) after each step.
    """
    X, R = np.zeros_like(B), np.array(B)  # in the order of B in memory
    Z = precondition(R)
    D, rz = np.array(Z), np.einsum("ij,ij->j", R, Z)
    active = (norms(R) > tolerance) & (rz > 0)
    negative = np.zeros(B.shape[1], dtype=bool)
    for step in range(max_iter):
        if not active.any():
            return X, step, negative
        # The step along D that minimizes the quadratic, for the columns that still move.
        AD = apply(D)
        curvature = np.einsum("ij,ij->j", D, AD)
        negative |= active & (curvature < -1e-8 * norms(D) * norms(AD))
        active &= curvature > 0
        length = np.where(active, rz / np.where(active, curvature, 1.0), 0.0)
        X += length * D
        R -= length * AD
        tick(norms(R))
        # The next direction, conjugate to all before.
        Z = precondition(R)
        before, rz = rz, np.einsum("ij,ij->j", R, Z)
        active &= (norms(R) > tolerance) & (rz > 0)
        D = Z + np.where(active, rz / np.where(active, before, 1.0), 0.0) * D
    return X, max_iter, negative


def restarted(
    apply: Map,
    precondition: Map,
    evaluate: Callable[[np.ndarray], State],
    state: State,
    tolerance: np.ndarray,
    max_iter: int,
    tick: Callable[[np.ndarray], object] = _silent,
) -> tuple[State, int, np.ndarray]:
    """Conjugate gradients, restarted from the true residual; the state, the products, and which
    columns met negative curvature.

    `state` is (X, …, residual) as `evaluate(X)` returns it; the other arguments are those of
    `conjugate_gradients`.
    """
    steps, negative = 0, np.zeros(state[-1].shape[1], dtype=bool)

    def improve(state, active):
        nonlocal steps, negative
        if steps >= max_iter or negative.any():
            return None
        residual = state[-1] * active
        aim = np.maximum(CG_SHARE * tolerance, 1e-9 * norms(residual))
        dX, used, found = conjugate_gradients(
            apply, precondition, residual, aim, max_iter - steps, tick
        )
        steps, negative = steps + used, found
        return evaluate(state[0] + dX)

    state = refine(improve, state, tolerance, MAX_RESTARTS)
    return state, steps, negative
