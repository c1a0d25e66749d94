"""Values and gradients of the criteria: textbook formulas, refits, finite differences, mpmath."""

import mpmath
import numpy as np
import pytest
from scipy import linalg
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.gaussian_process.kernels import Matern as SklearnMatern

from kernelbook import (
    Categorical,
    Gaussian,
    GRLSRegressor,
    Laplacian,
    Matern,
    Multiquadric,
    Periodic,
    Polyharmonic,
    Polynomials,
    RationalQuadratic,
)
from kernelbook.solvers.grls.loo_path import Spectrum
from kernelbook.solvers.grls.saddle_factor import NotPositiveDefinite
from kernelbook.solvers.grls.tuning.criteria import CRITERIA, Criteria, Sample
from kernelbook.solvers.grls.tuning.search import criteria_at
from kernelbook.solvers.grls.tuning.spectral import log_likelihoods

RNG = np.random.default_rng(0)
M = 40
X = RNG.uniform(0, 5, (M, 2))
Y = np.sin(X) + X[:, :1] + 0.3 * RNG.normal(size=(M, 2))
P = np.column_stack([np.ones(M), X])
COUNTS = RNG.integers(1, 4, M).astype(float)
KERNELS = [
    Matern([1.0, 2.0]) + 0.5 * Gaussian(1.5, columns=[0]),
    Periodic(3.0, columns=[1]) * Laplacian(2.0, columns=[0]) + RationalQuadratic(1.0, 0.7),
    Polyharmonic(3) + Multiquadric(1.0),
]


def textbook(gram, P, y, rho, restricted=True):
    """log L at the best scale, from dense inverses and determinants."""
    m, r = P.shape
    A = gram + rho * np.eye(m)
    inverse = np.linalg.inv(A)
    G = inverse - inverse @ P @ np.linalg.solve(P.T @ inverse @ P, P.T @ inverse)
    n = m - r if restricted else m
    s = y @ G @ y / n
    logs = np.linalg.slogdet(A)[1]
    if restricted:
        logs += np.linalg.slogdet(P.T @ inverse @ P)[1] - np.linalg.slogdet(P.T @ P)[1]
    return -0.5 * (n * np.log(2 * np.pi * s) + n + logs)


def test_both_likelihoods_are_the_textbook_formulas():
    gram = KERNELS[0](X)
    found = criteria_at(KERNELS[0], X, P, Y, 0.02)
    for name, restricted in (("reml", True), ("ml", False)):
        expected = sum(textbook(gram, P, y, 0.02 * M, restricted) for y in Y.T)
        assert found[name] == pytest.approx(expected, abs=1e-9)


def test_without_features_it_is_the_density_of_y():
    gram, y = KERNELS[0](X), Y[:, 0]
    A = gram + 0.3 * np.eye(M)
    s = y @ np.linalg.solve(A, y) / M
    found = criteria_at(KERNELS[0], X, np.empty((M, 0)), y[:, None], 0.3 / M)
    expected = multivariate_normal(np.zeros(M), s * A).logpdf(y)
    assert found["reml"] == pytest.approx(expected, abs=1e-9)
    assert found["ml"] == pytest.approx(expected, abs=1e-9)


def test_it_is_the_density_of_what_the_features_leave():
    """By any basis of ker Pᵀ: here SciPy's, rotated at random."""
    basis = linalg.null_space(P.T) @ np.linalg.qr(RNG.normal(size=(M - 3, M - 3)))[0]
    A = basis.T @ KERNELS[2](X) @ basis + 0.3 * np.eye(M - 3)
    z = basis.T @ Y[:, 1]
    s = z @ np.linalg.solve(A, z) / (M - 3)
    found = criteria_at(KERNELS[2], X, P, Y[:, 1:], 0.3 / M)
    expected = multivariate_normal(np.zeros(M - 3), s * A).logpdf(z)
    assert found["reml"] == pytest.approx(expected, abs=1e-8)
    assert "ml" not in found


def test_fifty_digits():
    """A nearly interpolating fit of a smooth kernel, where digits are lost if they can be."""
    x, y = X[:12, :1], Y[:12, 0]
    P = np.column_stack([np.ones(12), x[:, 0]])
    with mpmath.workdps(50):
        rows = [[mpmath.e ** (-((mpmath.mpf(a) - b) ** 2)) for b in x[:, 0]] for a in x[:, 0]]
        A = mpmath.matrix(rows) + mpmath.mpf(10) ** -8 * mpmath.eye(12)
        F, v = mpmath.matrix(P.tolist()), mpmath.matrix(y.tolist())
        inverse = A**-1
        S = F.T * inverse * F
        G = inverse - inverse * F * S**-1 * F.T * inverse
        q = (v.T * G * v)[0]
        logs = mpmath.log(mpmath.det(A)) + mpmath.log(mpmath.det(S) / mpmath.det(F.T * F))
        expected = -(10 * mpmath.log(2 * mpmath.pi * q / 10) + 10 + logs) / 2
        loo = sum(((G * v)[i] / G[i, i]) ** 2 for i in range(12)) / 12
    found = criteria_at(Gaussian(1.0), x, P, y[:, None], 1e-8 / 12)
    assert found["reml"] == pytest.approx(float(expected), rel=1e-8)
    assert found["loo"] == pytest.approx(float(loo), rel=1e-6)


def test_scikit_learn_has_the_same_likelihood():
    """With the scale of ours put into its kernel; without features its likelihood is the full."""
    y, none, rho = Y[:, :1], np.empty((M, 0)), 0.4
    gram = Matern(1.7)(X)
    s = float(y[:, 0] @ np.linalg.solve(gram + rho * np.eye(M), y[:, 0])) / M
    kernel = ConstantKernel(s) * SklearnMatern(1.7, nu=1.5) + WhiteKernel(s * rho)
    process = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(X, y)
    ours = criteria_at(Matern(1.7), X, none, y, rho / M)["ml"]
    assert ours == pytest.approx(process.log_marginal_likelihood_value_, abs=1e-9)


def test_leave_one_out_gcv_and_likelihood_are_those_of_the_path():
    kernel = KERNELS[0]
    for weights in (None, COUNTS):
        found = criteria_at(kernel, X, P, Y, 0.02, weights)
        w = np.ones(M) if weights is None else weights
        path = Spectrum(kernel(X), P, w).path(Y, [0.02])
        squares = np.mean(path.residuals[0] ** 2, axis=1)
        assert found["loo"] == pytest.approx(w @ squares / w.sum(), rel=1e-10)
        assert found["gcv"] == pytest.approx(path.gcv[0], rel=1e-10)
    taus, values = log_likelihoods(kernel(X), P, Y[:, 0], [0.02 * M])
    assert taus == [0.02 * M]
    assert values[0] == pytest.approx(criteria_at(kernel, X, P, Y[:, :1], 0.02)["reml"], abs=1e-9)


def test_left_out_rows_are_refits():
    kernel, reg = KERNELS[0], 0.02
    errors = []
    for i in range(M):
        rest = np.arange(M) != i
        model = GRLSRegressor(kernel, Polynomials(1), reg=reg * M / (M - 1)).fit(X[rest], Y[rest])
        errors.append(Y[i] - model.predict(X[i : i + 1])[0])
    found = criteria_at(kernel, X, P, Y, reg)["loo"]
    assert found == pytest.approx(np.mean(np.square(errors)), rel=1e-8)


@pytest.mark.parametrize("kernel", [KERNELS[0], KERNELS[2]])
def test_a_weight_of_two_is_two_rows(kernel):
    rows = np.repeat(np.arange(M), COUNTS.astype(int))
    weighted = criteria_at(kernel, X, P, Y, 0.02, COUNTS)
    repeated = criteria_at(kernel, X[rows], P[rows], Y[rows], 0.02)
    assert weighted.keys() == repeated.keys()
    for name, value in weighted.items():
        assert value == pytest.approx(repeated[name], rel=1e-9), name


@pytest.mark.parametrize("weights", [None, COUNTS, COUNTS / 3.7], ids=["none", "counts", "shares"])
@pytest.mark.parametrize(
    ("criterion", "kernel"),
    [(name, k) for name in CRITERIA for k in KERNELS if name != "ml" or k.cpd_order == 0],
)
def test_gradients_are_finite_differences(kernel, criterion, weights):
    definite = kernel.cpd_order == 0
    sample, names = Sample(P, Y, weights), list(kernel.tunable())
    point = np.log([*kernel.tunable().values(), 0.7])

    def criteria(point):
        tuned = kernel.tuned(dict(zip(names, np.exp(point[:-1]), strict=True)))
        return tuned, Criteria(tuned(X), sample, np.exp(point[-1]), definite)

    matrix, slope = criteria(point)[1].weight_matrix(criterion)
    exact = [*kernel.gradient_traces(X, matrix).values(), slope]
    for k, h in enumerate(1e-5 * np.eye(len(point))):
        up, down = (criteria(point + s * h)[1].value(criterion) for s in (1, -1))
        assert exact[k] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-6), k


def test_units_only_shift_the_logarithms():
    """y and the kernel in units at the ends of the range of floating-point numbers."""
    plain = criteria_at(Matern(1.7), X, P, Y, 0.02)
    for unit in (1e-140, 1e140):
        scaled = criteria_at(unit**2 * Matern(1.7), X, P, unit * Y, 0.02 * unit**2)
        shift = 2 * (M - 3) * np.log(unit)
        assert scaled["reml"] == pytest.approx(plain["reml"] - shift, rel=1e-12)
        assert scaled["loo"] / unit**2 == pytest.approx(plain["loo"], rel=1e-9)


def test_a_feature_that_one_row_sees_alone_leaves_that_row_out():
    alone = np.column_stack([P, np.arange(M) == 3])
    found = Criteria(Matern(1.7)(X), Sample(alone, Y), 0.3)
    assert np.isnan(found.loo_residuals()).sum() == 2
    rest = np.arange(M) != 3
    expected = criteria_at(Matern(1.7), X[rest], P[rest], Y[rest], 0.3 / (M - 1))
    assert found.loo() == pytest.approx(expected["loo"], rel=1e-9)


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(NotPositiveDefinite):
        Criteria(-Categorical()(X), Sample(P, Y), 0.3)
