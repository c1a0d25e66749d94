"""From any basis to an orthonormal one, and what had to be left out on the way.

Given functions f_1 … f_M with Gram matrix G, find T with TᵀGT = I: the e_k = Σ_j T_jk f_j are
orthonormal, a sample has the coordinates x̂ = BT, and ‖Σ w_k e_k‖² = ‖w‖².  Any T will do; two of
them differ by an orthogonal matrix, which no regularized learner can see.  Three ways to find one:

- **Cholesky**: G = LLᵀ, T = L⁻ᵀ.  It *is* Gram–Schmidt in exact arithmetic: e_k is a combination
  of the first k functions.  For translates of a kernel at the samples, x̂ = L.
- **Gram–Schmidt**: subtract from a function its projections on the e's found so far, twice ("twice
  is enough": once leaves errors of the size of the condition number), and normalize.
- **Eigenvectors**: G = UDUᵀ, T = UD^(−1/2), so e_k = λ_k^(−1/2) Σ_j u_jk f_j.  (C 2 prints u_kj.)

**Rank.**  Gaussians at nearby points are nearly dependent, and at equal points equal.  The first
two methods therefore *pivot*, always taking the function farthest from the span of those before,
and stop when none is farther than √rtol times its own norm; the third drops eigenvalues below rtol
times the largest.  The result says what was dropped.  Stopping early is the Nyström approximation.

Dropping is harmless when samples enter by inner products (a kernel basis, or the inner-product
reading): what is lost of a sample is no longer than the remainder, √rtol.  When they enter by
values it need not be: a remainder of tiny norm can have large values.  `OrthonormalBasis.visible`
measures that.

Chapter: book/primal/primal_trick

References
----------
Higham (2002), *Accuracy and stability of numerical algorithms*, chapters 10 and 19.
Giraud, Langou & Rozložník (2005), *The loss of orthogonality in the Gram–Schmidt
orthogonalization process*.  Giesen, Laue & Mueller (2012), section 2.
"""

from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from kernelbook.bases.base import Basis

__all__ = ["OrthonormalBasis", "orthonormalize"]


class OrthonormalBasis:
    """The orthonormal functions e_k = Σ_j T_jk f_j over a basis f.

    Attributes
    ----------
    basis : Basis
        The functions f.
    method : str
    rank : int or None
        The number r of orthonormal functions; None where f was orthonormal and nothing was done.
    kept : array of int
        The functions that the e's are made of, in the order of the pivots ("eigen": all of them).
    dropped : array of int
        The functions found to depend on the kept ones ("eigen" drops a subspace, and no particular
        functions: always empty).
    remainder : array
        For each dropped function its squared distance from the span of the e's, over its own
        squared norm; for "eigen", the dropped eigenvalues over the largest.
    """

    def __init__(
        self,
        basis: Basis,
        method: str,
        kept: Any = None,
        core: np.ndarray | None = None,
        dropped: Any = (),
        remainder: Any = (),
        rest: np.ndarray | None = None,
    ) -> None:
        self.basis = basis
        self.method = method
        self.kept = kept
        self.rank = None if core is None else core.shape[1]
        self.dropped = np.asarray(dropped, dtype=np.intp)
        self.remainder = np.asarray(remainder, dtype=np.float64)
        self._core = core
        self._rest = rest

    @property
    def T(self) -> np.ndarray | None:
        """The (M, r) matrix with TᵀGT = I, or None where f was orthonormal."""
        return None if self._core is None else self.coefficients(np.eye(self._core.shape[1]))

    def evaluate(self, X: Any) -> np.ndarray:
        """x̂ = BT, one row a sample."""
        return self.coordinates(self.basis.evaluate(X))

    def coordinates(self, B: np.ndarray) -> np.ndarray:
        """x̂ = BT for samples with evaluations B = basis.evaluate(X)."""
        return B if self._core is None else B[:, self.kept] @ self._core

    def gram(self) -> np.ndarray:
        """The identity."""
        return self.basis.gram() if self.rank is None else np.eye(self.rank)

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """The c = Tw with Σ w_k e_k = Σ c_j f_j; w may have several columns."""
        if self._core is None:
            return w
        c = np.zeros((self.kept.size + self.dropped.size, *np.shape(w)[1:]))
        c[self.kept] = self._core @ w
        return c

    def combine(self, X: Any, w: np.ndarray) -> np.ndarray:
        """Σ w_k e_k at the samples: x̂w."""
        return self.basis.combine(X, self.coefficients(w))

    def visible(self, B: np.ndarray) -> float:
        """How large what was dropped is at the samples with B = basis.evaluate(X), relative to x̂.

        A dropped remainder, normalized like the e's, would have been one more coordinate of x̂.
        This is its largest entry over the root mean square of ‖x̂_i‖: far below one, and the
        learner would hardly have noticed; otherwise it depends on `rtol`, and so on the method.
        """
        if self._rest is None:
            return 0.0
        x = self.coordinates(B)
        typical = np.sqrt(np.mean(np.einsum("ij,ij->i", x, x)))
        weights, along = self._rest
        lost = B @ weights if along is None else B[:, self.dropped] * weights - x @ along
        largest = np.abs(lost).max(initial=0.0)
        return float(largest / typical) if largest > 0 else 0.0

    def __repr__(self):
        if self.rank is None:
            return f"OrthonormalBasis({self.basis!r}, orthonormal as given)"
        lost = f"{self.remainder.size} dropped"
        if self.remainder.size:
            lost += f", remainders up to {self.remainder.max():.1e}"
        return f"OrthonormalBasis({self.basis!r}, {self.method!r}, rank {self.rank}, {lost})"


def orthonormalize(
    basis: Basis, method: str = "cholesky", rtol: float | None = None
) -> OrthonormalBasis:
    """An orthonormal basis of the span of `basis`, in its inner product.

    Parameters
    ----------
    basis : Basis
        Fitted, where it needs fitting.
    method : "cholesky", "gram-schmidt" or "eigen"
        See the text of this module; the learners find the same function with all three.
    rtol : float, optional
        A function whose squared distance from the span of the others is below rtol times its
        squared norm is dropped ("eigen": eigenvalues below rtol times the largest).  By default
        32ε, the size of the rounding errors.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import Gaussian, KernelBasis, orthonormalize
    >>> e = orthonormalize(KernelBasis(Gaussian(1.0), centers=[[0.0], [1.0], [1.0]]))
    >>> e.rank  # the third function is the second again
    2
    >>> bool(np.allclose(e.T.T @ e.basis.gram() @ e.T, np.eye(2)))
    True
    """
    if not isinstance(basis, Basis):
        raise TypeError(f"basis={basis!r} must be a fitted basis; pass KernelBasis(kernel).fit(X).")
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method={method!r} is not known; use one of {sorted(METHODS)}.")
    if basis.orthonormal:
        return OrthonormalBasis(basis, method)
    G = basis.gram()
    rtol = 32 * np.finfo(float).eps if rtol is None else rtol
    if not (isinstance(rtol, Real) and 0 <= rtol < 1):
        raise ValueError(f"rtol must be None or a number in [0, 1), not {rtol!r}.")
    squares = G.diagonal()
    if not np.isfinite(G).all() or (squares < 0).any() or not (squares > 0).any():
        raise ValueError(
            "the Gram matrix of the basis must be finite, with squared norms ≥ 0, not all zero; "
            f"its diagonal goes from {squares.min():.3g} to {squares.max():.3g}."
        )
    # Work with functions of norm one: what counts as dependent must not depend on their units.
    norms = np.where(squares > 0, np.sqrt(squares), 1.0)
    G = G / norms / norms[:, None]
    return METHODS[method](basis, G, norms, rtol)


def _by_cholesky(basis, G, norms, rtol):
    """Pivoted Cholesky: LAPACK takes the largest remaining diagonal entry first."""
    L, pivots, rank, _ = lapack.dpstrf(G, tol=rtol, lower=1)
    order = pivots - 1
    core = linalg.solve_triangular(L[:rank, :rank], np.eye(rank), lower=True, trans="T")
    return _pivoted(basis, "cholesky", G, norms, rtol, order, core, L[rank:, :rank].T)


def _by_gram_schmidt(basis, G, norms, rtol):
    """Gram–Schmidt with pivoting.

    The functions are reordered so that the kept ones come first.  E holds the e's as combinations
    of them, and `along` the inner products ⟨e_k, f_j⟩ with all functions.
    """
    M = len(G)
    original, G, order = G, G.copy(), np.arange(M)
    E, along = np.zeros((M, M)), np.zeros((M, M))
    distance = G.diagonal().copy()
    k = 0
    while k < M:
        p = k + int(np.argmax(distance[k:]))
        if distance[p] <= rtol:
            break
        for swapped in (G, G.T, along.T, distance, order):
            swapped[[k, p]] = swapped[[p, k]]
        v = np.zeros(k + 1)
        v[k] = 1.0
        for _ in range(2):
            v[:k] -= E[:k, :k] @ (along[:k, : k + 1] @ v)
        square = v @ (G[: k + 1, : k + 1] @ v)
        if square <= rtol:  # the running distance was rounding noise; correct it and look again
            distance[k] = max(square, 0.0)
            continue
        E[: k + 1, k] = v / np.sqrt(square)
        along[k] = G[:, : k + 1] @ E[: k + 1, k]
        distance -= along[k] ** 2
        k += 1
    core, rest = E[:k, :k], along[:k, k:]
    return _pivoted(basis, "gram-schmidt", original, norms, rtol, order, core, rest)


def _pivoted(basis, method, G, norms, rtol, order, core, along):
    """`along`: the dropped functions' coordinates ⟨f_j, e_k⟩; what these do not explain is lost."""
    rank = core.shape[1]
    kept, dropped = order[:rank], order[rank:]
    lost = G[np.ix_(dropped, dropped)] - along.T @ along
    if lost.size and (np.abs(lost).max() > 100 * rtol + 1e-8 or (lost.diagonal() < -1e-8).any()):
        raise _indefinite(lost.diagonal().min())
    remainder = np.maximum(lost.diagonal(), 0.0)
    size = np.sqrt(np.maximum(remainder, rtol))
    rest = (1.0 / (norms[dropped] * size), along / size) if dropped.size else None
    core = core / norms[kept, None]
    return OrthonormalBasis(basis, method, kept, core, dropped, remainder, rest)


def _by_eigenvectors(basis, G, norms, rtol):
    values, U = linalg.eigh(G)
    values, U = values[::-1], U[:, ::-1]
    if values[-1] < -max(1e-8, 100 * rtol) * values[0]:
        raise _indefinite(values[-1])
    rank = int(np.sum(values > rtol * values[0]))
    U = U / norms[:, None]
    lost = np.maximum(values[rank:], 0.0)
    rest = (U[:, rank:] / np.sqrt(np.maximum(lost, rtol * values[0])), None) if lost.size else None
    core = U[:, :rank] / np.sqrt(values[:rank])
    return OrthonormalBasis(basis, "eigen", np.arange(len(G)), core, (), lost / values[0], rest)


def _indefinite(value):
    return ValueError(
        "the Gram matrix of the basis is not positive semidefinite (a direction has square "
        f"{value:.3g}): it belongs to no inner product. Check the kernel, or the gram given."
    )


METHODS = {"cholesky": _by_cholesky, "gram-schmidt": _by_gram_schmidt, "eigen": _by_eigenvectors}
