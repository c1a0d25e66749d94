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

At γ = 2¹³ a Gaussian underflows to 0 half a unit away, and with a bias of 0 nothing would be left
of f but 0.  Its sign is still there: every reading gives the rows of other points times
e^s, with s the exponent of the nearest sample under the wider Gaussian, and the bias is added in
those units (`add_bias`).  An f of exactly 0 is no decision and counts as an error.
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kernelbook import GaussianBasis, orthonormalize
from kernelbook.solvers.svm.solve import solve_robust

__all__ = ["C_GRID", "DOUBLE", "READINGS", "SINGLE", "cross_validate", "error", "settings"]

C_GRID = 2.0 ** np.arange(-5, 16, 2)
SPIKES = 2.0 ** np.arange(-4, 9, 4)


def l2_product(squared, g, h, d, s=0.0):
    """⟨f, f'⟩ of normalized Gaussians with inverse widths g, h at these squared distances, × eˢ."""
    return (2 * np.sqrt(g * h) / (g + h)) ** (d / 2) * np.exp(s - g * h / (g + h) * squared)


def exponents(squared, g, h):
    """s for every row of squared distances: that of the nearest sample, the wider Gaussian."""
    return np.fmin(g, h) / 2 * squared.min(axis=1, keepdims=True)


def gaussian(train, other, g, _):
    between, squared = cdist(train, train, "sqeuclidean"), cdist(other, train, "sqeuclidean")
    s = exponents(squared, g, np.nan)
    return np.exp(-g / 2 * between), np.exp(s - g / 2 * squared), s


def inner_product(train, other, g, h):
    d, squared = train.shape[1], cdist(other, train, "sqeuclidean")

    def kernel(r, s):
        mixed = l2_product(r, g, h, d, s)
        return l2_product(r, g, g, d, s) + 2 * mixed + l2_product(r, h, h, d, s)

    s = exponents(squared, g, h)
    return kernel(cdist(train, train, "sqeuclidean"), 0.0), kernel(squared, s), s


def kernel_sum(train, other, g, h):
    between, squared = cdist(train, train, "sqeuclidean"), cdist(other, train, "sqeuclidean")
    s = exponents(squared, g, h)
    K = np.exp(-g / 2 * between) + np.exp(-h / 2 * between)
    return K, np.exp(s - g / 2 * squared) + np.exp(s - h / 2 * squared), s


def evaluation(train, other, g, h):
    """B G⁻¹ Bᵀ; h = NaN for one width."""
    gammas = np.array([g] if np.isnan(h) else [g, h])
    centers, d = np.vstack([train] * len(gammas)), train.shape[1]
    basis = orthonormalize(GaussianBasis(centers, np.repeat(gammas**-0.5, len(train))))
    squared = cdist(other, train, "sqeuclidean")
    s = 2 * exponents(squared, g, h)  # f = exp(−γr²), ⟨f, f'⟩ ∝ exp(−γr²/2)
    B = [(2 * a / np.pi) ** (d / 4) * np.exp(s - a * squared) for a in gammas]
    x_hat, others = basis.evaluate(train), basis.coordinates(np.hstack(B))
    return x_hat @ x_hat.T, others @ x_hat.T, s


def spike(train, other, g, tau):
    K, K_other, s = gaussian(train, other, g, None)
    return K + tau * np.eye(len(train)), K_other, s


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
    """Decision values at `other`, up to a positive factor, a row for each C (or one without C)."""
    if method == "nearest neighbour":
        return y[cdist(other, train).argmin(axis=1)][None]
    if method == "Parzen":
        return (gaussian(train, other, g, None)[1] @ y)[None]
    reading, _, libsvm = method.partition(", ")
    K, K_other, s = READINGS.get(reading, gaussian)(train, other, g, h)
    scale = np.trace(K) / len(K)
    K, K_other = K / scale, K_other / scale
    solve = by_libsvm if libsvm else squared_hinge if reading == "squared hinge" else exact
    solutions = [solve(K, y, C) for C in Cs]
    return np.array([add_bias(K_other @ beta, bias, s[:, 0]) for beta, bias in solutions])


def add_bias(values, bias, s):
    """values + bias·eˢ, up to a positive factor that keeps it finite."""
    return values if bias == 0 else np.exp(-s) * values + bias


def exact(K, y, C):
    """(β, b) of the machine with a free bias; of the optimal biases the smallest."""
    solution = solve_robust(K, np.ones((len(y), 1)), y, np.broadcast_to(C, y.shape))
    return solution.beta, solution.coef[0]


def squared_hinge(K, y, C):
    """C times the squared hinge is the hinge on K + I/2C with a box that no sample reaches."""
    return exact(K + np.eye(len(y)) / (2 * C), y, 1e6 * max(C, 1.0))


def by_libsvm(K, y, C):
    """The same machine by LIBSVM; of the optimal biases the middle."""
    model = SVC(C=C, kernel="precomputed", tol=1e-5).fit(K, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    return beta, model.intercept_[0]


def error(method, train, y, other, y_other, g, h, C):
    """Share of `other` misclassified."""
    f = decisions(method, train, y, other, g, h, [C])[0]
    return float(np.mean(f * y_other <= 0))


def cross_validate(method, X, y, g, h, seed, n_splits=5, Cs=C_GRID):
    """Cross-validated error for every C of the grid; a single one where there is no C."""
    wrong = np.zeros(1 if method in WITHOUT_C else len(Cs))
    for train, test in StratifiedKFold(n_splits, shuffle=True, random_state=seed).split(X, y):
        F = decisions(method, X[train], y[train], X[test], g, h, Cs)
        wrong += np.sum(F * y[test] <= 0, axis=1)
    return wrong / len(y)
