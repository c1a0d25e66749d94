"""Two ways to factor the saddle system of G-RLS, each inside one m×m array.

Given Φ (m×m, symmetric), Q (m×r, orthonormal columns) and ρ ≥ 0, both classes below solve

    (Φ + ρI) u + Qν = y,      Qᵀu = 0                                                   (1)

for any number of right-hand sides.  The matrix of (1) is indefinite, but only mildly so, and one
Cholesky factorization is enough:

**Schur complement** (Φ + ρI ≻ 0).  With Φ + ρI = LLᵀ and L⁻¹Q = Q_z R_z (a thin QR),

    ν = R_z⁻¹ Q_zᵀ L⁻¹y,      u = L⁻ᵀ (I − Q_z Q_zᵀ) L⁻¹y.

R_zᵀR_z = Qᵀ(Φ + ρI)⁻¹Q is the Schur complement; taking its factor from a QR instead of forming it
does not square its condition number.

**Null space** (Φ + ρI ≻ 0 only on ker Qᵀ, as for conditionally positive definite kernels).  Let
M = I − QQᵀ be the projection onto ker Qᵀ.  There (1) reads (MΦM + ρI)u = My, and

    MΦM + ρI + τQQᵀ  =  Φ + ρI − Q V̂ᵀ − V̂ Qᵀ,      V̂ = ΦQ − ½Q(QᵀΦQ + τI),

maps ker Qᵀ and range Q each to itself and is positive definite for τ > 0: its Cholesky factor
solves the equation, and ν = Qᵀ(y − Φu) is what the first equation leaves.  This is the null-space
method with the projection in place of a basis of the null space: a symmetric update of rank 2r
replaces the rotation of the whole matrix.  MΦM is the kernel "centred" by the features, for
Q = 1/√m literally so: the conditional kernel whose functionals are least squares on the sample.

**One array for two matrices.**  Both factor in the lower triangle and leave Φ in the strict
upper one (its diagonal is m numbers, kept aside).  So Φu, which true residuals need, costs no
second m×m array, and a failed factorization can be undone.

Chapter: book/free/grls

References
----------
Benzi, Golub & Liesen, *Numerical solution of saddle point problems*, Acta Numerica 14 (2005),
sections 5 and 6; Wahba, *Spline Models for Observational Data* (1990).
"""

import numpy as np
from scipy.linalg import LinAlgError, blas, qr

from kernelbook.numeric.blas import SERIAL_RHS, cholesky, invert_factored, solve_triangular
from kernelbook.numeric.linalg import project_out, squared_norms

__all__ = [
    "NotPositiveDefinite",
    "NullSpaceFactor",
    "PackedSymmetric",
    "SchurFactor",
    "factored",
    "is_psd_on_null_space",
]

_ROW_BLOCK = 256


class NotPositiveDefinite(ArithmeticError):
    """The matrix to be factored has, to rounding, an eigenvalue ≤ 0."""


class PackedSymmetric:
    """A symmetric Φ strictly above the diagonal of an array, room for L on and below it.

    The array is taken over, not copied; it must be C-contiguous (its transpose, what LAPACK
    sees, is then Fortran-contiguous).  A matrix with pivots below `rounding_level`, the rounding of
    its entries, counts as not positive definite: such pivots are chance.
    """

    def __init__(self, gram, rounding_level=0.0):
        if not (gram.flags.c_contiguous and gram.flags.writeable and gram.dtype == np.float64):
            raise TypeError("gram must be a writeable C-contiguous float64 array.")
        self.square, self.rounding_level = gram.T, rounding_level
        self.diagonal = gram.diagonal().copy()
        self._intact = True

    def times(self, U):
        """ΦU, from the upper triangle alone."""
        kept = self.square.diagonal().copy()
        np.fill_diagonal(self.square, self.diagonal)
        if U.shape[1] == 1:
            product = blas.dsymv(1.0, self.square, U[:, 0])[:, None]
        else:
            product = blas.dsymm(1.0, self.square, U)
        np.fill_diagonal(self.square, kept)
        return product

    def restore(self):
        """Φ in both triangles again, whatever a factorization has left in the lower one."""
        if not self._intact:
            A, m = self.square, len(self.square)
            for i in range(0, m, _ROW_BLOCK):
                rows = slice(i, i + _ROW_BLOCK)
                corner = np.triu(A[rows, rows], 1)
                A[rows, rows] = corner + corner.T
                A[i + _ROW_BLOCK :, rows] = A[rows, i + _ROW_BLOCK :].T
            np.fill_diagonal(A, self.diagonal)
            self._intact = True

    def lower_norm(self):
        """The Frobenius norm of what is in the lower triangle."""
        A = self.square
        strips = (np.tril(A[i:, i : i + _ROW_BLOCK], -1) for i in range(0, len(A), _ROW_BLOCK))
        below = sum(np.linalg.norm(strip) ** 2 for strip in strips)
        return float(np.sqrt(2 * below + np.linalg.norm(A.diagonal()) ** 2))

    def downdate(self, Q, V):
        """Subtract QVᵀ + VQᵀ from the lower triangle."""
        self._intact = False
        if Q.shape[1]:
            self._same(blas.dsyr2k(-1.0, Q, V, beta=1.0, c=self.square, lower=1, overwrite_c=1))

    def factor(self, shift):
        """Cholesky of (lower triangle + shift·I), in place."""
        self._intact = False
        m = len(self.square)
        self.square[range(m), range(m)] += shift
        try:
            cholesky(self.square)
        except LinAlgError:
            raise NotPositiveDefinite from None
        pivots = self.square.diagonal()
        if not (np.isfinite(pivots).all() and pivots.min() > np.sqrt(self.rounding_level)):
            raise NotPositiveDefinite

    def _same(self, array):
        assert array.ctypes.data == self.square.ctypes.data, "BLAS copied what it must overwrite"

    def log_determinant(self):
        """log |LLᵀ|."""
        return 2.0 * float(np.log(self.square.diagonal()).sum())

    def invert(self):
        """(LLᵀ)⁻¹ in the place of L; Φ stays where it is."""
        invert_factored(self.square)

    def forward(self, Y):
        """L⁻¹Y."""
        return self._solved(Y, trans=False)

    def backward(self, Y):
        """L⁻ᵀY."""
        return self._solved(Y, trans=True)

    def _solved(self, Y, trans):
        if 0 < Y.shape[1] <= SERIAL_RHS:  # there is nothing to divide among threads
            return blas.dtrsm(1.0, self.square, Y, lower=1, trans_a=trans)
        return solve_triangular(self.square, Y, trans)


class SchurFactor:
    """System (1) for Φ + ρI ≻ 0, by Cholesky and the Schur complement of the features.

    Parameters
    ----------
    store : PackedSymmetric
    Q : (m, r) array with orthonormal columns
    rho : float
    jitter : float
        Added to the diagonal of what is factored, but not to the system: `solve` is then only
        approximate and meant to be iterated.
    """

    name = "cholesky"

    def __init__(self, store, Q, rho, jitter=0.0):
        self.store, self.Q, self.jitter = store, Q, jitter
        store.restore()
        store.factor(rho + jitter)
        z = store.forward(Q)  # in Fortran order: its factor takes its place
        self._Qz, self._Rz = qr(z, mode="economic", overwrite_a=True, check_finite=False)

    def solve(self, Y):
        """u and ν of (1)."""
        y = self.store.forward(Y)
        along = self._Qz.T @ y
        U = self.store.backward(y - self._Qz @ along)
        return project_out(self.Q, U), _triangular(self._Rz, along)

    def log_determinants(self):
        """log |Φ + ρI|, and the same on ker Qᵀ: |Q₂ᵀAQ₂| = |A|·|QᵀA⁻¹Q|."""
        whole = self.store.log_determinant()
        return whole, whole + 2.0 * float(np.log(np.abs(self._Rz.diagonal())).sum())

    def invert(self):
        """Z with G = B − ZZᵀ, where B = (Φ + ρI)⁻¹ takes the place of the factor."""
        Z = self.store.backward(self._Qz)
        self.store.invert()
        return Z

    def feature_covariance(self):
        """The inverse of the Schur complement: the covariance of ν for y ~ N(Qν, Φ + ρI)."""
        R_inverse = _triangular(self._Rz, np.eye(len(self._Rz)))
        return R_inverse @ R_inverse.T

    def variance(self, k_xx, k, q):
        """Posterior variance of f(x), flat prior on ν, and the weights a with f(x) = aᵀy.

        A column of k and of q, and of a, for each x.
        """
        z = self.store.forward(k)
        rest = _triangular(self._Rz, q, trans=1) - self._Qz.T @ z
        v = k_xx - squared_norms(z) + squared_norms(rest)
        return v, self.store.backward(z + self._Qz @ rest)

    def covariance(self, K_xx, k, q):
        """The same between several x, from their prior covariance: an (n, n) array."""
        z = self.store.forward(k)
        rest = _triangular(self._Rz, q, trans=1) - self._Qz.T @ z
        return K_xx - z.T @ z + rest.T @ rest

    def diagonal(self):
        """The diagonal of G, which maps y to u."""
        return _by_columns(lambda I: project_out(self._Qz, self.store.forward(I)), len(self.Q))


class NullSpaceFactor:
    """System (1) for Φ + ρI ≻ 0 on ker Qᵀ, by Cholesky of the projected matrix.

    Parameters as for `SchurFactor`.
    """

    name = "nullspace"

    def __init__(self, store, Q, rho, jitter=0.0):
        self.store, self.Q, self.rho, self.jitter = store, Q, rho, jitter
        self._V, self._N, tau = _project_kernel(store, Q)
        store.factor(rho + jitter)
        self._along = tau + rho + jitter  # what the factored matrix is on range Q

    def _apply(self, Y):
        """M (MΦM + ρI)⁻¹ M Y."""
        y = self.store.forward(project_out(self.Q, Y))
        return project_out(self.Q, self.store.backward(y))

    def solve(self, Y):
        """u and ν of (1)."""
        U = self._apply(Y)
        return U, self.Q.T @ Y - self._V.T @ U

    def log_determinants(self):
        """None, since |Φ + ρI| depends on the representative of Φ; and log |Q₂ᵀ(Φ + ρI)Q₂|."""
        outside = self.Q.shape[1] * np.log(self._along)
        return None, self.store.log_determinant() - outside

    def invert(self):
        """As for `SchurFactor`, with B the inverse of what was factored."""
        self.store.invert()
        return self.Q / np.sqrt(self._along)

    def feature_covariance(self):
        """Qᵀ(A − AGA)Q with A = Φ + ρI: equals (QᵀA⁻¹Q)⁻¹ where A ≻ 0."""
        return self._N + self.rho * np.eye(len(self._N)) - self._V.T @ self._apply(self._V)

    def variance(self, k_xx, k, q):
        """As for `SchurFactor`."""
        z = self.store.forward(project_out(self.Q, k - self._V @ q))
        Nq = self._N @ q + self.rho * q
        v = k_xx + np.sum(q * (Nq - 2 * (self.Q.T @ k)), axis=0) - squared_norms(z)
        return v, self.Q @ q + project_out(self.Q, self.store.backward(z))

    def covariance(self, K_xx, k, q):
        """As for `SchurFactor`."""
        z = self.store.forward(project_out(self.Q, k - self._V @ q))
        Nq = self._N @ q + self.rho * q
        cross = q.T @ (self.Q.T @ k)
        return K_xx + q.T @ Nq - cross - cross.T - z.T @ z

    def diagonal(self):
        """As for `SchurFactor`."""
        return _by_columns(lambda I: self.store.forward(project_out(self.Q, I)), len(self.Q))


METHODS = {
    "auto": (SchurFactor, NullSpaceFactor),
    "cholesky": (SchurFactor,),
    "nullspace": (NullSpaceFactor,),
}


def factored(store, Q, rho, method, rounding_level):
    """The factor by the first method that succeeds, or None.

    Where ρ is lost in the rounding of Φ, a larger one is factored: `jitter` says by how much.
    """
    jitters = (0.0, 10 * rounding_level, 1000 * rounding_level) if rho > 0 else (0.0,)
    for jitter in jitters:
        for kind in METHODS[method]:
            try:
                return kind(store, Q, rho, jitter)
            except NotPositiveDefinite:
                continue
    return None


def is_psd_on_null_space(store, Q, rounding):
    """Whether Φ is positive semidefinite on ker Qᵀ, but for rounding.

    Eigenvalues above −`rounding` and above −10⁻⁸ of the norm of the projected matrix pass: a
    Cholesky factor exists once the matrix is shifted by as much.
    """
    _project_kernel(store, Q)
    try:
        store.factor(1e-8 * store.lower_norm() + rounding)
    except NotPositiveDefinite:
        return False
    return True


def _project_kernel(store, Q):
    """Write MΦM + τQQᵀ into the lower triangle; returns ΦQ, QᵀΦQ and τ."""
    store.restore()
    m, r = Q.shape
    V = store.times(Q) if r else Q
    N = Q.T @ V
    # On range Q the matrix is (τ + ρ)I.  τ is the mean eigenvalue on ker Qᵀ, so that it
    # neither sets the condition number nor drowns in rounding.
    size = np.abs(store.diagonal).max(initial=0.0) + np.linalg.norm(N)
    tau = max((store.diagonal.sum() - np.trace(N)) / max(m - r, 1), 1e-8 * size)
    store.downdate(Q, V - 0.5 * Q @ (N + tau * np.eye(r)))
    return V, N, tau


def _by_columns(roots, m):
    """The squared norms of the columns of roots(I), some columns of I at a time."""
    norms = np.empty(m)
    for i in range(0, m, _ROW_BLOCK):
        count = min(_ROW_BLOCK, m - i)
        norms[i : i + count] = squared_norms(roots(np.eye(m, count, -i)))
    return norms


def _triangular(R, B, trans=0):
    return blas.dtrsm(1.0, R, B, trans_a=trans)
