"""BLAS calls that several threads may make at once, and a Cholesky factor made of them.

SciPy's wrappers of BLAS hold Python's global lock while they compute: on two threads they take
turns.  SciPy also exposes the addresses of the same routines (`scipy.linalg.cython_blas`), and a
call through `ctypes` releases the lock.  `solve_rows` and `add_gram` work in place, on whole panels
of rows: what a solver does to a tile of the kernel matrix before it discards it.

`cholesky` is for matrices of medium size, too large for one thread and yet small enough that the
threads of BLAS spend their time waiting for each other: they wait by spinning, and where other
programs need the cores, too, that takes longer than one thread alone would.  The textbook's
algorithm by blocks is as fast with threads that sleep while they wait,

    L_kk = chol(A_kk),    L_ik = A_ik L_kk⁻ᵀ for i > k,    A_ij −= L_ik L_jkᵀ for i ≥ j > k,

since within each of the last two steps no block waits for another.  Small matrices are one call.

A solver that factors and solves holds BLAS to one thread as a whole (`threads.serial_blas`);
nothing here does so again.
"""

import ctypes

import numpy as np
from scipy import linalg
from scipy.linalg import LinAlgError, cython_blas, cython_lapack

from kernelbook.numeric.threads import n_threads, parallel_for

__all__ = [
    "SERIAL_RHS",
    "add_gram",
    "cholesky",
    "invert_factored",
    "solve_factored",
    "solve_rows",
    "solve_semidefinite",
    "solve_triangular",
]

SERIAL_RHS = 32
"""Up to this many right-hand sides memory is the limit, not arithmetic: one thread is enough."""

SERIAL_CHOLESKY_SIZE = 600  # up to this size one thread is done before others could help
CHOLESKY_BLOCK = 192  # of `cholesky`: matrix products of this width are nearly as fast as they get


def _routine(name, count, library=cython_blas):
    """The BLAS or LAPACK routine of that name, which takes `count` addresses."""
    capsule = library.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(address)


_dtrsm = _routine("dtrsm", 11)
_dsyrk = _routine("dsyrk", 10)
_dgemm = _routine("dgemm", 13)
_dpotrf = _routine("dpotrf", 5, cython_lapack)
_dpotrs = _routine("dpotrs", 8, cython_lapack)
_dpotri = _routine("dpotri", 5, cython_lapack)


def _char(letter):
    return ctypes.byref(ctypes.c_char(letter))


def _int(value):
    return ctypes.byref(ctypes.c_int(value))


def _float(value):
    return ctypes.byref(ctypes.c_double(value))


def _address(array, order):
    flags = array.flags
    contiguous = flags.f_contiguous if order == "F" else flags.c_contiguous
    if array.dtype != np.float64 or array.ndim != 2 or not contiguous or not flags.writeable:
        raise TypeError(f"a writeable float64 matrix in {order} order is needed.")
    return array.ctypes.data


def solve_rows(L: np.ndarray, rows: np.ndarray) -> None:
    """Overwrite every row k of `rows` by L⁻¹k.

    Parameters
    ----------
    L : (n, n) array in Fortran order
        Its lower triangle counts.
    rows : (h, n) array in C order
    """
    h, n = rows.shape
    if L.shape != (n, n):
        raise ValueError(f"L of shape {L.shape} does not fit rows of shape {rows.shape}.")
    # BLAS is column-major: in the memory of `rows` it sees the transpose.
    L, rows = _address(L, "F"), _address(rows, "C")
    size = _int(max(n, 1))
    _dtrsm(
        *(_char(c) for c in (b"L", b"L", b"N", b"N")),
        *(_int(n), _int(h), _float(1.0), L, size, rows, size),
    )


def add_gram(rows: np.ndarray, total: np.ndarray) -> None:
    """Add rowsᵀrows to the lower triangle of `total`.

    Parameters
    ----------
    rows : (h, n) array in C order
    total : (n, n) array in Fortran order
    """
    h, n = rows.shape
    if total.shape != (n, n):
        raise ValueError(f"total of shape {total.shape} does not fit rows of shape {rows.shape}.")
    rows, total = _address(rows, "C"), _address(total, "F")
    size = _int(max(n, 1))
    _dsyrk(
        *(_char(c) for c in (b"L", b"N")),
        *(_int(n), _int(h), _float(1.0), rows, size, _float(1.0), total, size),
    )


def cholesky(A: np.ndarray) -> None:
    """Overwrite the lower triangle of a positive definite A by that of L, A = LLᵀ.

    Parameters
    ----------
    A : (n, n) array in Fortran order
        What is above the diagonal is neither read nor changed.

    Raises
    ------
    LinAlgError
        Where A is not positive definite, to rounding.
    """
    n, start = len(A), _address(A, "F")
    size = _int(max(n, 1))
    if n <= SERIAL_CHOLESKY_SIZE:
        _factor_block(start, n, size, 0)
        return

    def at(i, j):
        return start + 8 * (i + j * n)

    block = CHOLESKY_BLOCK
    for k in range(0, n, block):
        width = min(block, n - k)
        _factor_block(at(k, k), width, size, k)
        below = range(k + width, n, block)

        def solve(b, k=k, width=width, below=below):
            i = below[b]
            _dtrsm(
                *(_char(c) for c in (b"R", b"L", b"T", b"N")),
                *(_int(min(block, n - i)), _int(width), _float(1.0)),
                *(at(k, k), size, at(i, k), size),
            )

        def update(b, k=k, width=width, below=below):
            j = below[b]  # the strip from its diagonal block down; only the lower half is used
            here, rest = min(block, n - j), max(0, n - j - block)
            _dsyrk(
                *(_char(c) for c in (b"L", b"N")),
                *(_int(here), _int(width), _float(-1.0), at(j, k), size),
                *(_float(1.0), at(j, j), size),
            )
            _dgemm(
                *(_char(c) for c in (b"N", b"T")),
                *(_int(rest), _int(here), _int(width), _float(-1.0)),
                *(at(j + here, k), size, at(j, k), size, _float(1.0), at(j + here, j), size),
            )

        parallel_for(solve, len(below))
        parallel_for(update, len(below))


def _factor_block(address, width, size, first):
    """The factor of the diagonal block that begins in row `first`."""
    info = ctypes.c_int(0)
    _dpotrf(_char(b"L"), _int(width), address, size, ctypes.byref(info))
    if info.value:
        raise LinAlgError(f"the leading minor of order {first + info.value} is not positive.")


def invert_factored(L: np.ndarray) -> None:
    """Overwrite the lower triangle of the L of `cholesky` by that of (LLᵀ)⁻¹.

    Large ones by blocks: with M = L⁻¹, first M column by column of blocks, which do not wait for
    each other, then MᵀM, whose block rows do not either.

    Parameters
    ----------
    L : (n, n) array in Fortran order
        What is above the diagonal is neither read nor changed.
    """
    n, start = len(L), _address(L, "F")
    size = _int(max(n, 1))
    if n <= SERIAL_CHOLESKY_SIZE:
        _dpotri(_char(b"L"), _int(n), start, size, ctypes.byref(ctypes.c_int(0)))
        return
    block = CHOLESKY_BLOCK
    firsts = range(0, n, block)
    M = np.zeros((n, n), order="F")
    inverse = _address(M, "F")

    def at(origin, i, j):
        return origin + 8 * (i + j * n)

    def column(b):  # the columns of M from `j` on solve LX = (columns of I)
        j = firsts[b]
        width, rest = min(block, n - j), n - j
        M[range(j, j + width), range(j, j + width)] = 1.0
        _dtrsm(
            *(_char(c) for c in (b"L", b"L", b"N", b"N")),
            *(_int(rest), _int(width), _float(1.0)),
            *(at(start, j, j), size, at(inverse, j, j), size),
        )

    def row(b):  # the blocks (i, j), j ≤ i, of MᵀM: only rows of M from `i` on count
        i = firsts[b]
        width, rest = min(block, n - i), n - i
        _dsyrk(
            *(_char(c) for c in (b"L", b"T")),
            *(_int(width), _int(rest), _float(1.0), at(inverse, i, i), size),
            *(_float(0.0), at(start, i, i), size),
        )
        _dgemm(
            *(_char(c) for c in (b"T", b"N")),
            *(_int(width), _int(i), _int(rest), _float(1.0), at(inverse, i, i), size),
            *(at(inverse, i, 0), size, _float(0.0), at(start, i, 0), size),
        )

    parallel_for(column, len(firsts))
    parallel_for(row, len(firsts))


def solve_factored(L: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(LLᵀ)⁻¹B for the L of `cholesky`; many right-hand sides are divided among threads.

    Parameters
    ----------
    L : (n, n) array in Fortran order
        Its lower triangle counts.
    B : (n,) or (n, k) array
    """

    def solve(n, k, factor, size, part):
        _dpotrs(_char(b"L"), n, k, factor, size, part, size, ctypes.byref(ctypes.c_int(0)))

    return _by_columns(solve, L, B)


def solve_triangular(L: np.ndarray, B: np.ndarray, trans: bool = False) -> np.ndarray:
    """L⁻¹B, or L⁻ᵀB, in the same way."""
    how = [_char(c) for c in (b"L", b"L", b"T" if trans else b"N", b"N")]

    def solve(n, k, factor, size, part):
        _dtrsm(*how, n, k, _float(1.0), factor, size, part, size)

    return _by_columns(solve, L, B)


def solve_semidefinite(S: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """x with Sx = rhs for a small positive semidefinite S; of least norm where S is singular."""
    if rhs.size == 0:
        return rhs
    try:
        L, lower = linalg.cho_factor(S, lower=True, check_finite=False)
        if L.diagonal().min() > 1e-6 * L.diagonal().max():
            return linalg.cho_solve((L, lower), rhs, check_finite=False)
    except LinAlgError:
        pass
    size, U = linalg.eigh(S, check_finite=False)
    kept = size > 1e-13 * size[-1]
    return U[:, kept] @ ((U[:, kept].T @ rhs) / size[kept])


def _by_columns(solve, L, B):
    n = len(L)
    if len(B) != n:
        raise ValueError(f"L of shape {L.shape} does not fit B of shape {B.shape}.")
    out = np.array(B, dtype=np.float64, order="F")
    columns = out[:, None] if out.ndim == 1 else out
    factor, size, k = _address(L, "F"), _int(max(n, 1)), columns.shape[1]

    def some(start, stop):
        part = columns[:, start:stop]
        solve(_int(n), _int(part.shape[1]), factor, size, _address(part, "F"))

    if n and 0 < k <= SERIAL_RHS:
        some(0, k)
    elif n:
        step = max(SERIAL_RHS, -(-k // n_threads()))
        parallel_for(lambda p: some(p * step, (p + 1) * step), -(-k // step))
    return out
