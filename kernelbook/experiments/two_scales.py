"""Two Gaussians at every sample (C 3.1 and 4.1), under every reading of the definitions.

C centres f_i with inverse width γ₁ and f'_i with γ₂ at each sample, L₂-normalized, and regularizes
in L₂.  How a sample enters is left open, and it decides everything:

    evaluation      x̂ = (e_j(x_i)), C's own definition: the kernel B G⁻¹ Bᵀ (literal; T15 applies)
    inner product   x̂ = (⟨f_i + f'_i, e_j⟩): the kernel k₁₁ + k₁₂ + k₂₁ + k₂₂, k_ab the L₂ products
    sum of kernels  k₁₁ + k₂₂, "the standard approach" that C says cannot do as well
    spike           k₁₁ on all pairs plus τI on the sample: a second function so narrow, and
                    orthogonal to the rest, that it is seen at its own sample only

Beside them what needs no second width: the Gaussian machine with the hinge and with the squared
hinge, Parzen windows, the nearest neighbour.

Where no support vector is free, which is the rule for narrow Gaussians and small C, every bias of
an interval is optimal.  We take the one of least |b|, LIBSVM the middle of the interval.  Far from
the samples the kernel part is tiny, and that choice alone decides: methods marked "LIBSVM" are
the same problems solved by scikit-learn's SVC.

A **reading** is a function that turns distances into
the kernel matrices between training samples, and from other points to them.  Each matrix is divided
by the mean of its diagonal, so that one grid of C serves all.
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kernelbook import GaussianBasis, orthonormalize
from kernelbook.solvers.svm_dual import solve_svm

__all__ = ["C_GRID", "DOUBLE", "READINGS", "SINGLE", "cross_validate", "error", "settings"]

C_GRID = 2.0 ** np.arange(-5, 16, 2)
SPIKES = 2.0 ** np.arange(-4, 9, 4)


def l2_product(squared, g, h, d):
    """⟨f, f'⟩ of normalized Gaussians with inverse widths g, h at the given squared distances."""
    return (2 * np.sqrt(g * h) / (g + h)) ** (d / 2) * np.exp(-g * h / (g + h) * squared)


def gaussian(train, other, g, _):
    return tuple(np.exp(-g / 2 * cdist(A, train, "sqeuclidean")) for A in (train, other))


def inner_product(train, other, g, h):
    def kernel(A):
        r, d = cdist(A, train, "sqeuclidean"), train.shape[1]
        mixed = l2_product(r, g, h, d)
        return l2_product(r, g, g, d) + 2 * mixed + l2_product(r, h, h, d)

    return kernel(train), kernel(other)


def kernel_sum(train, other, g, h):
    first, second = gaussian(train, other, g, None), gaussian(train, other, h, None)
    return first[0] + second[0], first[1] + second[1]


def evaluation(train, other, g, h):
    widths = np.repeat([g**-0.5, h**-0.5], len(train))
    basis = orthonormalize(GaussianBasis(np.vstack([train, train]), widths))
    x_hat, others = basis.evaluate(train), basis.evaluate(other)
    return x_hat @ x_hat.T, others @ x_hat.T


def spike(train, other, g, tau):
    K, K_other = gaussian(train, other, g, None)
    return K + tau * np.eye(len(train)), K_other


READINGS = {
    "evaluation": evaluation,
    "inner product": inner_product,
    "sum of kernels": kernel_sum,
    "spike": spike,
}
WITHOUT_C = ("Parzen", "nearest neighbour")
SINGLE = ("gaussian", "gaussian, LIBSVM", "squared hinge", *WITHOUT_C)
DOUBLE = (*READINGS, "inner product, LIBSVM", "sum of kernels, LIBSVM")


def settings(method, gammas):
    """A method's grid of pairs (γ₁, second parameter), NaN where there is none."""
    if method == "nearest neighbour":
        return [(np.nan, np.nan)]
    if method == "spike":
        return [(g, tau) for g in gammas for tau in SPIKES]
    if method in DOUBLE:
        return [(g, h) for k, g in enumerate(gammas) for h in gammas[k + 1 :]]
    return [(g, np.nan) for g in gammas]


def decisions(method, train, y, other, g, h, Cs):
    """Decision values at `other`, a row for each C (one row where there is no C)."""
    if method == "nearest neighbour":
        return y[cdist(other, train).argmin(axis=1)][None]
    if method == "Parzen":
        return (gaussian(train, other, g, None)[1] @ y)[None]
    reading, _, libsvm = method.partition(", ")
    K, K_other = READINGS.get(reading, gaussian)(train, other, g, h)
    scale = np.trace(K) / len(K)
    K, K_other = K / scale, K_other / scale
    solve = by_libsvm if libsvm else squared_hinge if reading == "squared hinge" else exact
    return np.array([solve(K, K_other, y, C) for C in Cs])


def exact(K, K_other, y, C):
    """The machine with a free bias; of the optimal biases the smallest."""
    solution = solve_svm(K, np.ones((len(y), 1)), y, np.broadcast_to(C, y.shape))
    return K_other @ solution.beta + solution.coef[0]


def squared_hinge(K, K_other, y, C):
    """C times the squared hinge is the hinge on K + I/2C with a box that nobody reaches."""
    return exact(K + np.eye(len(y)) / (2 * C), K_other, y, 1e6 * max(C, 1.0))


def by_libsvm(K, K_other, y, C):
    """The same machine by LIBSVM; of the optimal biases the middle."""
    return SVC(C=C, kernel="precomputed", tol=1e-5).fit(K, y).decision_function(K_other)


def error(method, train, y, other, y_other, g, h, C):
    """Share of `other` misclassified."""
    f = decisions(method, train, y, other, g, h, [C])[0]
    return float(np.mean(np.where(f > 0, 1.0, -1.0) != y_other))


def cross_validate(method, X, y, g, h, seed, n_splits=5, Cs=C_GRID):
    """Cross-validated error for every C of the grid; a single one where there is no C."""
    wrong = np.zeros(1 if method in WITHOUT_C else len(Cs))
    for train, test in StratifiedKFold(n_splits, shuffle=True, random_state=seed).split(X, y):
        F = decisions(method, X[train], y[train], X[test], g, h, Cs)
        wrong += np.sum(np.where(F > 0, 1.0, -1.0) != y[test], axis=1)
    return wrong / len(y)
