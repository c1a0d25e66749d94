"""The normal equations of the Fourier basis: products by FFT, and a preconditioner.

In the orthonormal basis ψ of the kernel k̃ (`fourier.grid`), f = Σ z_j ψ_j + Pλ, and the problem is
ridge regression with free features,

    p(z, λ) = (1/W) Σ w_i (y_i − f_i)² + γ‖z‖².

Eliminating λ by its normal equations leaves Az = b with

    A = (1/W) ΨᵀMΨ + γI,     b = (1/W) ΨᵀMy,     M = D − DP(PᵀDP)⁺PᵀD,     D = diag w:

the features are projected out exactly, and A ⪰ γI whatever the data.  (W = Σw; D without an index
is diag w, D_j the weight of a frequency.)

**Coordinates.**  One of each pair ±j of frequencies is kept.  v_j = (a_j − ib_j)/√2 for the
functions D_j√2cos and D_j√2sin; (a, b) is a real vector z, and the map is an isometry.

**Products.**  FᴴDF is Toeplitz.  Its product with v is a convolution: transform v to the points of
a grid, multiply by the transform of (t_j), which is real, and transform back.  Both FFTs are
real, of 2^d times as many points as there are frequencies.

**Preconditioner.**  Where D_j² ≪ γ the matrix A is about γI; what takes CG many steps are the few
hundred largest D_j.  Their block of A is formed from the t_j and factored, the others are taken to
be diagonal.  In three dimensions they are thousands, and a block of all would take longer than the
steps it saves: with twice the block, half the steps were counted.

Chapter: book/computing/beyond

References
----------
Hestenes & Stiefel, J. Res. NBS 49 (1952); Saad, *Iterative Methods for Sparse Linear Systems*
(2003); Chan & Jin, *An Introduction to Iterative Toeplitz Solvers* (2007).
"""

import numpy as np
from scipy import fft, linalg

from kernelbook.numeric.conjugate_gradients import restarted
from kernelbook.numeric.linalg import cholesky_shifted
from kernelbook.numeric.threads import n_threads

__all__ = ["NormalOperator", "solve", "to_complex", "to_real"]

BLOCK = 800  # of frequencies in the factored block: 2·800 real unknowns, a tenth of a second
LARGE_BLOCK = 1600  # where it halves the steps, which cost more than its factor
DIAGONAL_RATIO = 1e-2  # D_j² below this part of γ needs no block
_EPS = np.finfo(float).eps


def to_real(u):
    """(a, b) from v = (a − ib)/√2, row by row; the zero frequency comes first and is real."""
    return np.concatenate(
        [u[..., :1].real, np.sqrt(2.0) * u[..., 1:].real, -np.sqrt(2.0) * u[..., 1:].imag], axis=-1
    )


def to_complex(z):
    """v = (a − ib)/√2, the inverse of `to_real`."""
    n = (z.shape[-1] + 1) // 2
    v = np.empty((*z.shape[:-1], n), complex)
    v[..., 0] = z[..., 0]
    v[..., 1:] = (z[..., 1:n] - 1j * z[..., n:]) / np.sqrt(2.0)
    return v


class NormalOperator:
    """A, ready for products with rows of real vectors z, and its preconditioner.

    Parameters
    ----------
    grid : Grid
    statistics : Statistics
    reg : float
        γ > 0.
    Q : (r, N) array
        ΨᵀDP, its columns made orthonormal for PᵀDP and divided by √W: A = ΨᵀDΨ/W − QᵀQ + γI.
    """

    def __init__(self, grid, statistics, reg, Q):
        self.grid, self.reg, self.Q = grid, float(reg), Q
        self._symbol, self._total = statistics.symbol, statistics.total
        self._axes = tuple(range(1, grid.frequencies.shape[1] + 1))
        self._shape = tuple(
            fft.next_fast_len(int(4 * n + 1), real=True) for n in grid.max_frequency
        )
        self._half = (*self._shape[:-1], self._shape[-1] // 2 + 1)
        self._at = np.ravel_multi_index(tuple((grid.frequencies % self._shape).T), self._half)
        flat = grid.frequencies[:, -1] == 0
        flat[0] = False
        self._in_plane = np.flatnonzero(flat)
        mirrored = -grid.frequencies[self._in_plane] % self._shape
        self._mirror = np.ravel_multi_index(tuple(mirrored.T), self._half)
        self._density = self._inverse(self._padded_symbol()[None])[0] / self._total
        self._factor()

    def _padded_symbol(self):
        padded = np.zeros(self._half, complex)
        ranges = [np.arange(-2 * n, 2 * n + 1) for n in self.grid.max_frequency[:-1]]
        ranges.append(np.arange(2 * self.grid.max_frequency[-1] + 1))
        where = [r % n for r, n in zip(ranges, self._shape, strict=True)]
        padded[np.ix_(*where)] = self._symbol
        return padded

    def _inverse(self, half):
        return fft.irfftn(half, self._shape, self._axes, norm="forward", workers=n_threads())

    def __call__(self, Z):
        """AZ for each row of Z."""
        grid = self.grid
        v = to_complex(Z) * grid.sqrt_weights
        padded = np.zeros((len(Z), int(np.prod(self._half))), complex)
        padded[:, self._at] = v
        padded[:, self._mirror] = np.conj(v[:, self._in_plane])
        values = self._inverse(padded.reshape(len(Z), *self._half))
        values *= self._density
        back = fft.rfftn(values, axes=self._axes, norm="forward", workers=n_threads())
        u = back.reshape(len(Z), -1)[:, self._at] * grid.sqrt_weights
        return to_real(u) + self.reg * Z - (Z @ self.Q.T) @ self.Q

    # -------------------------------------------------------------------- the preconditioner

    def _factor(self):
        grid = self.grid
        q = int(np.count_nonzero(grid.sqrt_weights**2 > DIAGONAL_RATIO * self.reg))
        most = LARGE_BLOCK if len(grid.sqrt_weights) > 8 * LARGE_BLOCK else BLOCK
        q = max(1, min(q, most, len(grid.sqrt_weights)))
        n = len(grid.sqrt_weights)
        self._block = np.r_[0:q, n : n + q - 1]
        # γ may be lost in rounding, and a preconditioner may be inexact: shift as much as it takes.
        block, QS = self.dense(q), self.Q[:, self._block]
        block -= QS.T @ QS
        self._cholesky = cholesky_shifted(block, self.reg, _EPS * np.trace(block))
        squared = np.r_[grid.sqrt_weights**2, grid.sqrt_weights[1:] ** 2]
        self._diagonal = squared + self.reg

    def dense(self, q):
        """The block of ΨᵀDΨ/W that belongs to the first q frequencies, from the t_j."""
        grid = self.grid
        K, shape = grid.frequencies[:q], np.array(self._symbol.shape)
        strides = np.r_[np.cumprod(shape[:0:-1])[::-1], 1]
        origin = int(np.dot(2 * grid.max_frequency[:-1], strides[:-1]))
        position, last = K @ strides, K[:, -1]

        def t(sign):
            at = position[:, None] + sign * position
            below = last[:, None] + sign * last < 0  # the half that is not stored
            entries = self._symbol.ravel()[origin + np.where(below, -at, at)]
            return np.where(below, np.conj(entries), entries) / self._total

        minus, plus = t(-1), t(+1)
        D = grid.sqrt_weights[:q].copy()
        D[0] /= np.sqrt(2.0)
        scale = D[:, None] * D
        cos_cos = scale * (minus.real + plus.real)
        sin_sin = (scale * (minus.real - plus.real))[1:, 1:]
        cos_sin = (scale * (minus.imag - plus.imag))[:, 1:]
        return np.block([[cos_cos, cos_sin], [cos_sin.T, sin_sin]])

    def precondition(self, R):
        """An approximation of A⁻¹R for each row of R."""
        out = R / self._diagonal
        inside = R[:, self._block]
        out[:, self._block] = linalg.cho_solve(self._cholesky, inside.T, check_finite=False).T
        return out


def solve(A, B, tolerance, max_iter, tick=None):
    """Rows Z with ‖B − AZ‖ ≤ tolerance, as far as `max_iter` and rounding allow; the residuals, and
    the number of products.

    Parameters
    ----------
    A : NormalOperator
    B : (k, N) array
    tolerance : (k,) array
        Of the residual norm of each row.
    max_iter : int
    tick : callable, optional
        tick(norms of the residuals) after every step.
    """
    options = {} if tick is None else {"tick": tick}
    (Z, R), steps, _ = restarted(
        lambda V: A(V.T).T,
        lambda V: A.precondition(V.T).T,
        lambda V: (V, B.T - A(V.T).T),
        (np.zeros_like(B.T), B.T),
        *(tolerance, max_iter),
        **options,
    )
    return Z.T, R.T, steps
