"""Is the SVM-GB convex with this Gram matrix?  It is iff βᵀΦβ ≥ 0 wherever Pᵀβ = 0.

A kernel that this library proves to be (conditionally) positive definite needs no test.  Of a
matrix that a user supplies, or of a function, nothing is known.  A solver that takes an indefinite
matrix for a kernel stops at a stationary point of a problem without a minimum, where every
optimality condition holds and nothing follows from them.  So the matrix is tested.

With orthonormal features Q and M = I − QQᵀ the question is whether MΦM is positive semidefinite,
and a Cholesky factorization of MΦM + εI answers it.  ε is the tolerance: 10⁻⁵ of MΦM's largest
entry, plus the rounding error of a Φ stored in single precision, 1.2·10⁻⁷ of its largest
entry for each entry, √m times as much for the whole.

The test costs m³/3 operations and a second m×m matrix, so with more than `MAX_TESTED` samples it
looks at a principal submatrix of that many, evenly spread, rows of MΦM: a matrix that fails is
indefinite, one that passes need not be definite.  There the certificate decides: it refuses a
solution with βᵀΦβ < 0 (`kernelbook.solvers.svm.certificate`).
"""

import numpy as np
from scipy import linalg

__all__ = [
    "INDEFINITE", "MAX_TESTED", "definiteness_of", "evenly_spaced", "is_definite", "passes_whole",
    "require_symmetric",
]  # fmt: skip

BLOCK = 256
MAX_TESTED = 3000
"""Up to this m the whole matrix is tested."""
DEFINITENESS_RTOL = 1e-5
SINGLE = float(np.finfo(np.float32).eps)
INDEFINITE = (
    "the kernel matrix is not positive semidefinite, not even on the coefficients β with Pᵀβ = 0: "
    "the problem is not convex.  Use a positive definite kernel, or one that is conditionally "
    "positive definite with respect to the features."
)


def definiteness_of(gram, Q):
    """ "pd" if Φ passes for positive semidefinite, "cpd" if only MΦM does; otherwise an error.

    Parameters
    ----------
    gram : (m, m) array;  Q : (m, r) array, orthonormal columns that span the features
    """
    require_symmetric(gram)
    if Q.shape[1] == 0:
        if not is_definite(gram):
            raise ValueError(INDEFINITE)
        return "pd"
    if not _has_factor(_projected(gram, Q), SINGLE * np.sqrt(len(gram))):
        raise ValueError(INDEFINITE)
    return "pd" if is_definite(gram) else "cpd"


def passes_whole(gram):
    """Whether all of Φ, and so each principal submatrix, passes for positive semidefinite."""
    if len(gram) > MAX_TESTED:
        return False
    require_symmetric(gram)
    return is_definite(gram)


def _projected(gram, Q):
    """The tested rows and columns of MΦM, in units of Φ's largest entry."""
    size = _largest(gram) or 1.0
    S = gram @ (Q / size)
    S -= 0.5 * Q @ (Q.T @ S)
    rows = evenly_spaced(len(gram))
    Q, S = Q[rows], S[rows]
    projected = gram[np.ix_(rows, rows)]
    for i in range(0, len(rows), BLOCK):
        block = projected[i : i + BLOCK]
        block /= size
        block -= Q[i : i + BLOCK] @ S.T
        block -= S[i : i + BLOCK] @ Q.T
    return projected


def is_definite(gram):
    """Whether gram is positive semidefinite up to `DEFINITENESS_RTOL` of its largest entry.

    Of a matrix with more than MAX_TESTED rows, a principal submatrix is tested.
    """
    rows = evenly_spaced(len(gram))
    return _has_factor(gram[np.ix_(rows, rows)], 0.0)


def _has_factor(part, noise):
    """Whether `part`, which is destroyed, has a Cholesky factor, `noise` added to the tolerance."""
    size = _largest(part)
    if size <= noise:
        return True
    part /= size
    part[np.diag_indices_from(part)] += DEFINITENESS_RTOL + noise / size
    try:
        linalg.cho_factor(part.T, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


def evenly_spaced(m):
    """At most MAX_TESTED of m indices."""
    return np.unique(np.linspace(0, m - 1, min(m, MAX_TESTED)).astype(np.intp))


def _largest(gram):
    return max(gram.max(initial=0.0), -gram.min(initial=0.0))


def require_symmetric(gram):
    """An error where gram and its transpose differ by more than rounding; nothing is copied."""
    size = _largest(gram)
    for i in range(0, len(gram), BLOCK):
        rows = slice(i, i + BLOCK)
        if np.abs(gram[rows, i:] - gram[i:, rows].T).max() > 1e-6 * size:
            raise ValueError("the kernel matrix is not symmetric; it must be, in fit.")
