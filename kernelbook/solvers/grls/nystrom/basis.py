"""The functions that kernel translates at n centres span, in an orthonormal basis.

With T such that TᵀK_nnT = I the functions e_k = Σ_j T_jk K(z_j, ·) are orthonormal in the kernel's
Hilbert space, a sample has the coordinates ẑ_i = Tᵀk(x_i), and f = Σ u_k e_k has ‖f‖² = ‖u‖²: the
orthonormalized `KernelBasis` of the primal learners.  With centres at the data f ranges over all
that the representer theorem asks for; with fewer centres this is the **Nyström** approximation.

**Which T.**  Pivoted Cholesky: K_nn = LLᵀ on those centres that are not, to rounding, dependent on
others (duplicates, Gaussians much wider than the distance of their centres), and T = L⁻ᵀ there.
A centre whose function is within √rtol of the others, relative to its norm, is dropped, c_j = 0;
centres that coincide with others are dropped first, at no loss.
Adding some ε to the diagonal instead ("jitter") would silently solve another problem.
Working with ẑ = L⁻¹k instead of k squares no condition number: rows of ẑ are no longer than
√K(x, x), whatever K_nn is like.  But a product with L⁻¹ multiplies rounding errors by about
1/√rtol (no bound, but hardly ever more), so sums over the sample are best taken of ẑ, and not of k.

**Conditionally positive definite kernels** have a norm only where Σ_j c_j φ_p(z_j) = 0.  With the
projection M onto these c, the functions Σ_i M_ij K(z_i, ·) replace the translates;
their Gram matrix MK_nnM is positive semidefinite.

Chapter: book/computing/beyond

References
----------
Williams & Seeger, *Using the Nyström method to speed up kernel machines*, NIPS 13 (2000); Rudi,
Camoriano & Rosasco, *Less is more: Nyström computational regularization*, NIPS 2015; Higham,
*Accuracy and Stability of Numerical Algorithms* (2002).
"""

from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.linalg import blas, lapack

from kernelbook.numeric.blas import solve_rows
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.linalg import power_of_two, project_out
from kernelbook.numeric.threads import one_thread
from kernelbook.solvers.grls.nystrom.normal_equations import congruence, inverse_norm

__all__ = ["CenterBasis"]

DEPENDENCE_RTOL = 32 * np.finfo(float).eps  # the rounding of a Gram matrix


class CenterBasis:
    """Orthonormal functions e_k = Σ_j T_jk K(z_j, ·) and the maps between u, c and k.

    Parameters
    ----------
    kernel : Kernel
    centers : (n, d) rows
    P : (n, ℓ) array, optional
        The features at the centres; needed for conditionally positive definite kernels.
    rtol : float, optional
        By default 32ε, the size of the rounding errors of K_nn.

    Attributes
    ----------
    centers : rows
    n : int
        The number of centres, dependent ones included.
    rank : int
        The number of functions e_k.
    dropped : int
        How many centres, no duplicates, were dropped because they depend on others to √rtol.
    dropped_bound : float
        The largest squared distance, rtol·max K(z, z), of their functions from those that were
        kept; 0 if there are none.  The solvers' certificates count what they could have added.
    points : rows
        The centres whose kernel values `coordinates` takes: those kept, in the order of the pivots
        (for conditionally positive definite kernels, all of them).
    unit : float
        The inner product is that of the kernel divided by this power of two: 1, unless the
        kernel's values are enormous or minute.
    """

    def __init__(self, kernel, centers, P=None, rtol=None):
        gram = kernel(centers)
        self.kernel, self.centers, self.n = kernel, centers, len(gram)
        self._Q = None
        if kernel.cpd_order:
            self._Q = column_space(P).Q
            gram = project_out(self._Q, project_out(self._Q, gram).T)
            gram = (gram + gram.T) / 2
        size = np.abs(gram).max(initial=0.0)
        unit = power_of_two(size)
        self.unit = 1.0 if 1e-100 < size < 1e100 or size == 0 else float(unit)
        rtol = DEPENDENCE_RTOL if rtol is None else max(rtol, DEPENDENCE_RTOL)
        with one_thread(self.n):
            L, pivots = _pivoted_cholesky(gram / unit, kernel, rtol)
        # A function that is zero, as the linear kernel's at the origin, adds nothing either.
        distinct = _unique_mask(centers) & (gram.diagonal() != 0)
        # In exact arithmetic the projected functions have at most n − rank P dimensions.
        self.rank = len(L) if self._Q is None else min(len(L), self.n - self._Q.shape[1])
        L, self._kept = L[: self.rank, : self.rank], pivots[: self.rank]
        most = int(distinct.sum()) - (0 if self._Q is None else self._Q.shape[1])
        self.dropped = max(most - self.rank, 0)
        self.dropped_bound = rtol * size / self.unit if self.dropped else 0.0
        # K_nn = unit·LLᵀ; dividing the kernel by self.unit divides ẑ by its root.
        self._L = np.asfortranarray(L * (np.sqrt(unit) * np.sqrt(self.unit)))
        self._index = self._kept if self._Q is None else np.arange(self.n)
        self.points = centers[self._index]

    def coordinates(self, panel):
        """Rows k(x) = (K(x, z_j))_j over `points` turned into rows ẑ; `panel` may be used up."""
        if self._Q is not None:
            panel -= (panel @ self._Q) @ self._Q.T
            panel = np.ascontiguousarray(panel[:, self._kept])
        if self.rank:
            solve_rows(self._L, panel)
        return panel

    def evaluate(self, X):
        """ẑ for all rows of X at once: an (m, rank) array."""
        return self.coordinates(self.kernel(X, self.points))

    @property
    def advice(self):
        """What to do where a solver on this basis did not reach its tolerance."""
        if not self.dropped:
            return "A larger max_iter, reg, tol or n_centers help."
        return (
            f"{self.dropped} of its {self.n} centres depend on others to rounding and were "
            "dropped, which kkt counts: a larger reg or tol, a narrower kernel, or fewer centres "
            "help."
        )

    @cached_property
    def inverse_norm(self):
        """A bound of ‖L⁻¹‖, by which L⁻¹ may enlarge rounding errors; ∞ where k is projected."""
        if not self.rank or self._Q is not None:
            return np.inf
        with one_thread(self.rank):
            return inverse_norm(self._L)

    def congruence(self, gram):
        """L⁻¹ gram L⁻ᵀ: a sum of kkᵀ turned into the sum of ẑẑᵀ."""
        return congruence(self._L, gram)

    def times(self, U):
        """The coefficients Tu of the translates at `points`, a column for each column of U."""
        if self.rank:
            with one_thread(self.rank):
                U = blas.dtrsm(1.0, self._L, U, lower=1, trans_a=1)
        if self._Q is None:
            return np.ascontiguousarray(U)
        C = np.zeros((self.n, U.shape[1]))
        C[self._kept] = U
        return project_out(self._Q, C)

    def adjoint(self, G):
        """Tᵀg for g over `points`."""
        if self._Q is not None:
            G = project_out(self._Q, G)[self._kept]
        if not self.rank:
            return G
        with one_thread(self.rank):
            return np.ascontiguousarray(blas.dtrsm(1.0, self._L, G, lower=1))

    def scatter(self, C):
        """Coefficients over `points` as coefficients over all centres."""
        out = np.zeros((self.n, *C.shape[1:]))
        out[self._index] = C
        return out


def _unique_mask(centers):
    """One True for each distinct row."""
    first = np.zeros(centers.shape[0], dtype=bool)
    if sparse.issparse(centers):
        rows = sparse.csr_array(centers)
        rows.sum_duplicates()
        spans = [slice(a, b) for a, b in pairwise(rows.indptr)]
        seen = {rows.indices[s].tobytes() + rows.data[s].tobytes(): i for i, s in enumerate(spans)}
        first[list(seen.values())] = True
    else:
        first[np.unique(centers, axis=0, return_index=True)[1]] = True
    return first


def _pivoted_cholesky(gram, kernel, rtol):
    """L and the pivots of the independent rows, in units of their norms; an error if indefinite."""
    squares = gram.diagonal()
    if (squares < -1e-8 * np.abs(gram).max(initial=0.0)).any():
        raise _indefinite(kernel)
    # Functions of norm one: what counts as dependent must not depend on their units.  A function
    # that is tiny beside the others by cancellation (a projected one) is rounding, not a function.
    norms = np.sqrt(np.maximum(squares, 0.0))
    present = norms > np.sqrt(DEPENDENCE_RTOL if kernel.cpd_order else 0.0) * norms.max(initial=0.0)
    norms[~present] = 1.0
    index = np.flatnonzero(present)
    if not index.size:
        return np.zeros((0, 0)), index
    unit = gram[np.ix_(index, index)] / norms[index] / norms[index, None]
    L, pivots, rank, _ = lapack.dpstrf(unit, tol=rtol, lower=1)
    order = pivots - 1
    kept, dropped = order[:rank], order[rank:]
    left = unit[np.ix_(dropped, dropped)] - L[rank:, :rank] @ L[rank:, :rank].T
    if np.abs(left).max(initial=0.0) > 1e-8 + 100 * rtol:
        raise _indefinite(kernel)
    return np.tril(L[:rank, :rank]) * norms[index[kept], None], index[kept]


def _indefinite(kernel):
    where = " where the features vanish" if kernel.cpd_order else ""
    return ValueError(
        f"{kernel!r} is not positive semidefinite{where} at the centres: it is no kernel, or a "
        "conditionally positive definite one whose polynomials are not among the features."
    )
