"""BLAS calls that several threads may make at once, and a Cholesky factor made of them.

SciPy's wrappers of BLAS hold Python's global lock while they compute: on two threads they take
turns.  SciPy also hands out the bare addresses of the same routines (`scipy.linalg.cython_blas`),
and a call through `ctypes` lets go of the lock.  `solve_rows` and `add_gram` work in place, on
whole panels of rows: what a solver does to a tile of the kernel matrix before it forgets it.

`cholesky` is for the matrices in between, too large for one thread and yet small enough that the
threads of BLAS spend their time waiting for each other: those wait by running in circles, and where
other programs want the cores, too, that takes longer than one thread alone would.  The textbook's
algorithm by blocks does as well with threads that sleep while they wait,

    L_kk = chol(A_kk),    L_ik = A_ik L_kk⁻ᵀ for i > k,    A_ij −= L_ik L_jkᵀ for i ≥ j > k,

since within each of the last two steps no block waits for another.

`one_thread` is for what stands between the passes: the algebra of n×n matrices.  BLAS would divide
it among threads that spend more time waiting for each other than computing, and on a machine with
other work to do a hundred times more.
"""

import ctypes
from contextlib import nullcontext

import numpy as np
from scipy.linalg import LinAlgError, cython_blas, cython_lapack

from kernelbook.numeric.threads import n_threads, parallel_for, serial_blas

__all__ = [
    "FEW",
    "add_gram",
    "cholesky",
    "one_thread",
    "solve_factored",
    "solve_rows",
    "solve_triangular",
]

FEW = 32
"""With up to so many right-hand sides memory is the limit, not arithmetic: one thread does."""

_SMALL = 1500  # a Cholesky factor of that size takes a twentieth of a second
_ALONE = 600  # up to this size one thread is done before others could help
_BLOCK = 192  # of `cholesky`: matrix products of this width are nearly as fast as they get


def one_thread(n):
    """A context for the algebra of n×n matrices: BLAS on one thread, unless they are large."""
    return serial_blas if n <= _SMALL else nullcontext()


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


def solve_rows(L, rows):
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
    # What BLAS, which counts columns first, finds in the memory of `rows` is the transpose.
    L, rows = _address(L, "F"), _address(rows, "C")
    size = _int(max(n, 1))
    _dtrsm(
        *(_char(c) for c in (b"L", b"L", b"N", b"N")),
        *(_int(n), _int(h), _float(1.0), L, size, rows, size),
    )


def add_gram(rows, total):
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


@serial_blas
def cholesky(A):
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
    n, start, info = len(A), _address(A, "F"), ctypes.c_int(0)
    size = _int(max(n, 1))

    def at(i, j):
        return start + 8 * (i + j * n)

    block = _BLOCK if n > _ALONE else max(n, 1)
    for k in range(0, n, block):
        width = min(block, n - k)
        _dpotrf(_char(b"L"), _int(width), at(k, k), size, ctypes.byref(info))
        if info.value:
            raise LinAlgError(f"the leading minor of order {k + info.value} is not positive.")
        below = range(k + width, n, block)

        def solve(b, k=k, width=width, below=below):
            i = below[b]
            _dtrsm(
                *(_char(c) for c in (b"R", b"L", b"T", b"N")),
                *(_int(min(block, n - i)), _int(width), _float(1.0)),
                *(at(k, k), size, at(i, k), size),
            )

        def update(b, k=k, width=width, below=below):
            j = below[b]  # the strip from its diagonal block down, of which half is not ours
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


@serial_blas
def solve_factored(L, B):
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


@serial_blas
def solve_triangular(L, B, trans=False):
    """L⁻¹B, or L⁻ᵀB, in the same way."""
    how = [_char(c) for c in (b"L", b"L", b"T" if trans else b"N", b"N")]

    def solve(n, k, factor, size, part):
        _dtrsm(*how, n, k, _float(1.0), factor, size, part, size)

    return _by_columns(solve, L, B)


def _by_columns(solve, L, B):
    n = len(L)
    if len(B) != n:
        raise ValueError(f"L of shape {L.shape} does not fit B of shape {B.shape}.")
    out = np.array(B, dtype=np.float64, order="F")
    columns = out[:, None] if out.ndim == 1 else out
    factor, size = _address(L, "F"), _int(max(n, 1))
    k = columns.shape[1]
    step = max(FEW, -(-k // n_threads()))

    def some(p):
        part = columns[:, p * step : (p + 1) * step]
        solve(_int(n), _int(part.shape[1]), factor, size, _address(part, "F"))

    if n:
        parallel_for(some, -(-k // step))
    return out
