"""Two BLAS calls that several threads may make at once.

SciPy's wrappers of BLAS hold Python's global lock while they compute: on two threads they take
turns.  SciPy also hands out the bare addresses of the same routines (`scipy.linalg.cython_blas`),
and a call through `ctypes` lets go of the lock.  Both functions work in place, on whole panels of
rows: what a solver does to a tile of the kernel matrix before it forgets it.

`one_thread` is for what stands between the passes: the algebra of n×n matrices.  BLAS would divide
it among threads that spend more time waiting for each other than computing, and on a machine with
other work to do a hundred times more.
"""

import ctypes
from contextlib import nullcontext

import numpy as np
from scipy.linalg import cython_blas

from kernelbook._jit import serial_blas

__all__ = ["add_gram", "one_thread", "solve_rows"]

_SMALL = 1500  # a Cholesky factor of that size takes a twentieth of a second


def one_thread(n):
    """A context for the algebra of n×n matrices: BLAS on one thread, unless they are large."""
    return serial_blas if n <= _SMALL else nullcontext()


def _routine(name, count):
    """The BLAS routine of that name, which takes `count` addresses."""
    capsule = cython_blas.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(address)


_dtrsm = _routine("dtrsm", 11)
_dsyrk = _routine("dsyrk", 10)


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
