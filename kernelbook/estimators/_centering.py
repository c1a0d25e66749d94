"""Linear kernels far from the origin: moving the origin, so that Gram matrices keep their digits.

At points near 10⁶ the entries of XXᵀ are near 10¹², their differences near one, and what a solver
sees of them is rounding error.  If Σβ_i = 0, which the constant among the free features ensures,
the origin does not matter:

    Σ β_i x·z_i  =  Σ β_i x·(z_i − μ)        for every μ.

So the solver gets the Gram matrix of the centred points, with the *offset* g_i = (x_i − μ)·μ that
leads back, x·z = (x − μ)·(z − μ) + g_x + g_z + ‖μ‖²; predictions use the centred centres z_i − μ;
and f, β and λ are those of the kernel x·z, as always.

G-RLS does the same, and gives two more things back: `solvers.grls.predictor.OriginShift`.

Differences of rows do not suffer from a far origin, so kernels of ‖x − z‖ need none of this;
kernels (x·z + 1)ᵈ change with the origin, and the certificate says what they have lost.
"""

import numpy as np
from scipy import sparse

from kernelbook.kernels import Linear, Scaled
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.span_basis import constant_first

__all__ = ["far_origin"]

CENTERING_RATIO = 8.0
"""A sample is centred if its distance from the origin is more than this many times its extent."""


def far_origin(kernel, X, P):
    """μ, the mean of the rows, if the kernel is linear and centering is allowed and useful."""
    while type(kernel) is Scaled:
        kernel = kernel.kernel
    if type(kernel) is not Linear or sparse.issparse(X):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.mean(axis=0)
        away, extent = np.abs(mean).max(), np.abs(X - mean).max()
        far = np.isfinite(away) and away > CENTERING_RATIO * extent
    if not far or not constant_first(column_space(P).Q)[1]:
        return None
    return mean
