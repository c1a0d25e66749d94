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

References
----------
Hestenes & Stiefel, J. Res. NBS 49 (1952); Saad, *Iterative Methods for Sparse Linear Systems*
(2003); Chan & Jin, *An Introduction to Iterative Toeplitz Solvers* (2007).
"""

import numpy as np
from scipy import fft, linalg

from kernelbook.numeric.threads import n_threads

__all__ = ["Normal", "conjugate_gradients", "to_complex", "to_real"]

_PAIRS = 800  # of frequencies in the factored block: 2·800 real unknowns, a tenth of a second
_LARGER = 1600  # where a step costs more than a product with this block's factor, it halves them
_SMALL = 1e-2  # D_j² below this part of γ needs no block
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


class Normal:
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
        self._axes = tuple(range(1, grid.K.shape[1] + 1))
        self._shape = tuple(fft.next_fast_len(int(4 * n + 1), real=True) for n in grid.J)
        self._half = (*self._shape[:-1], self._shape[-1] // 2 + 1)
        self._at = np.ravel_multi_index(tuple((grid.K % self._shape).T), self._half)
        flat = grid.K[:, -1] == 0
        flat[0] = False
        self._in_plane = np.flatnonzero(flat)
        mirrored = -grid.K[self._in_plane] % self._shape
        self._mirror = np.ravel_multi_index(tuple(mirrored.T), self._half)
        self._density = self._inverse(self._padded_symbol()[None])[0] / self._total
        self._factor()

    def _padded_symbol(self):
        padded = np.zeros(self._half, complex)
        ranges = [np.arange(-2 * n, 2 * n + 1) for n in self.grid.J[:-1]]
        ranges.append(np.arange(2 * self.grid.J[-1] + 1))
        where = [r % n for r, n in zip(ranges, self._shape, strict=True)]
        padded[np.ix_(*where)] = self._symbol
        return padded

    def _inverse(self, half):
        return fft.irfftn(half, self._shape, self._axes, norm="forward", workers=n_threads())

    def __call__(self, Z):
        """AZ for each row of Z."""
        grid = self.grid
        v = to_complex(Z) * grid.D
        padded = np.zeros((len(Z), int(np.prod(self._half))), complex)
        padded[:, self._at] = v
        padded[:, self._mirror] = np.conj(v[:, self._in_plane])
        values = self._inverse(padded.reshape(len(Z), *self._half))
        values *= self._density
        back = fft.rfftn(values, axes=self._axes, norm="forward", workers=n_threads())
        u = back.reshape(len(Z), -1)[:, self._at] * grid.D
        return to_real(u) + self.reg * Z - (Z @ self.Q.T) @ self.Q

    # -------------------------------------------------------------------- the preconditioner

    def _factor(self):
        grid = self.grid
        q = int(np.count_nonzero(grid.D**2 > _SMALL * self.reg))
        most = _LARGER if len(grid.D) > 8 * _LARGER else _PAIRS
        q = max(1, min(q, most, len(grid.D)))
        n = len(grid.D)
        self._block = np.r_[0:q, n : n + q - 1]
        block = self.dense(q)
        block.flat[:: len(block) + 1] += self.reg
        QS = self.Q[:, self._block]
        block -= QS.T @ QS
        jitter = 0.0
        while True:
            try:
                self._cholesky = linalg.cho_factor(block, lower=True, check_finite=False)
                break
            except linalg.LinAlgError:  # γ is lost in rounding; a preconditioner may be inexact
                more = max(10 * jitter, 8 * _EPS * np.trace(block))
                block.flat[:: len(block) + 1] += more - jitter
                jitter = more
        squared = np.r_[grid.D**2, grid.D[1:] ** 2]
        self._diagonal = squared + self.reg

    def dense(self, q):
        """The block of ΨᵀDΨ/W that belongs to the first q frequencies, from the t_j."""
        grid = self.grid
        K, shape = grid.K[:q], np.array(self._symbol.shape)
        strides = np.r_[np.cumprod(shape[:0:-1])[::-1], 1]
        origin = int(np.dot(2 * grid.J[:-1], strides[:-1]))
        position, last = K @ strides, K[:, -1]

        def t(sign):
            at = position[:, None] + sign * position
            below = last[:, None] + sign * last < 0  # the half that is not stored
            entries = self._symbol.ravel()[origin + np.where(below, -at, at)]
            return np.where(below, np.conj(entries), entries) / self._total

        minus, plus = t(-1), t(+1)
        D = grid.D[:q].copy()
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


def conjugate_gradients(A, B, enough, steps, progress=None):
    """Rows Z with ‖B − AZ‖ ≤ enough, as far as `steps` and rounding allow; Z and the residuals.

    Parameters
    ----------
    A : Normal
    B : (k, N) array
    enough : (k,) array
        What residual norm will do, for each row.
    steps : int
    progress : callable, optional
        Called with the largest ratio ‖r‖/enough after every step.
    """
    Z, R = np.zeros_like(B), B.copy()
    for _ in range(3):  # once, and again where the recurrence has drifted from the true residual
        before = _norms(R)
        if (before <= enough).all():
            break
        step, steps = _run(A, R, enough, steps, progress)
        Z += step
        R = B - A(Z)
        if steps <= 0 or (_norms(R) > 0.5 * before).any():
            break
    return Z, R


def _run(A, R, enough, steps, progress):
    X, R = np.zeros_like(R), R.copy()
    S = A.precondition(R)
    direction, rs = S.copy(), _dots(R, S)
    floor = _EPS * _norms(R)
    while steps > 0:
        active = _norms(R) > np.maximum(enough, floor)
        if not active.any():
            break
        product = A(direction)
        curvature = _dots(direction, product)
        alpha = np.where(active, rs / np.where(curvature > 0, curvature, np.inf), 0.0)
        X += alpha[:, None] * direction
        R -= alpha[:, None] * product
        S = A.precondition(R)
        rs, old = _dots(R, S), rs
        direction = S + (rs / np.where(old > 0, old, np.inf))[:, None] * direction
        steps -= 1
        if progress is not None:
            progress(float(np.max(_norms(R) / np.where(enough > 0, enough, 1e-300))))
    return X, steps


def _dots(A, B):
    return np.einsum("ij,ij->i", A, B)


def _norms(A):
    return np.sqrt(_dots(A, A))
