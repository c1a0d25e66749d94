"""Linear algebra for systems of some dozens of equations, as loops for compiled code to call.

Solvers for small problems, and for many similar ones, solve thousands of systems of fifty equations
between loops that are compiled anyway.  Up to a few hundred equations these plain loops
are no slower than a call of LAPACK.
"""

import numpy as np

from kernelbook.numeric.jit import jit

__all__ = ["add", "dot", "factorize", "least_norm_solve", "solve"]


@jit(fast=True)
def dot(x: np.ndarray, y: np.ndarray) -> float:
    """Σ x_k y_k over the entries of y; x may be longer."""
    total = 0.0
    for k in range(y.size):
        total += x[k] * y[k]
    return total


@jit(fast=True)
def add(c: float, x: np.ndarray, y: np.ndarray) -> None:
    """y ← y + cx over the entries of y; x may be longer."""
    for k in range(y.size):
        y[k] += c * x[k]


@jit(fast=True)
def factorize(A: np.ndarray) -> bool:
    """A = UᵀU, U in the upper triangle; False where A is not positive definite.

    Two rows of U at a time are subtracted from those below: half the memory traffic.
    """
    n = len(A)
    for k in range(n):
        row, odd = A[k, k:], k % 2 == 1
        if odd:  # the previous row has not been subtracted from this one yet
            add(-A[k - 1, k], A[k - 1, k:], row)
        if not row[0] > 0.0:
            return False
        row /= np.sqrt(row[0])
        if odd:
            for i in range(k + 1, n):
                x, y, out = A[k - 1, i:], A[k, i:], A[i, i:]
                c, d = x[0], y[0]
                for j in range(out.size):
                    out[j] -= c * x[j] + d * y[j]
    return True


@jit(fast=True)
def solve(U: np.ndarray, x: np.ndarray) -> None:
    """x ← (UᵀU)⁻¹x"""
    n = x.size
    for i in range(n):
        x[i] /= U[i, i]
        add(-x[i], U[i, i + 1 :], x[i + 1 :])
    for j in range(n):
        i = n - 1 - j
        x[i] = (x[i] - dot(U[i, i + 1 :], x[i + 1 :])) / U[i, i]


@jit
def least_norm_solve(S: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Solve Sx = rhs for positive semidefinite S; least norm where S is singular."""
    U, x = S.copy(), rhs.copy()
    if rhs.size == 0:
        return x
    if factorize(U):
        pivots = np.diag(U)
        if pivots.min() > 1e-6 * pivots.max():
            solve(U, x)
            return x
    size, V = np.linalg.eigh(S)
    x[:] = 0.0
    for k in range(size.size):
        if size[k] > 1e-13 * size[-1]:
            x += V[:, k] * (np.sum(V[:, k] * rhs) / size[k])
    return x
