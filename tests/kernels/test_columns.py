"""Kernels of some columns: by number and by name, in sums and products, with a width for each."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.linalg import null_space
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sklearn_kernels
from sklearn.model_selection import GridSearchCV

from kernelbook import GRLSRegressor, Polynomials
from kernelbook.features import check_order
from kernelbook.kernels import (
    Categorical,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Periodic,
    Polyharmonic,
    Polynomial,
    RationalQuadratic,
    ThinPlate,
)
from tests.naive import kernels as naive


def sample(m=7, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(m, d))


MAKERS = [
    *(Gaussian, Laplacian, Matern, Multiquadric, RationalQuadratic, Linear, Polynomial),
    *(Polyharmonic, ThinPlate, Categorical),
    lambda **on: Periodic(1.3, 0.7, **on),
    lambda **on: Matern(1.0, 2.2, **on),
    lambda **on: FunctionKernel(lambda X, Z: X @ Z.T, **on),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("columns", [0, 2, [2, 0], (1,)])
def test_a_kernel_of_some_columns_is_the_kernel_of_that_part(make, columns):
    X, Z, c = sample(), sample(5, seed=1), sample(5, 2, seed=2)
    part, whole = make(columns=columns), make()
    of = [columns] if isinstance(columns, int) else list(columns)
    XS, ZS = (np.ascontiguousarray(A[:, of]) for A in (X, Z))
    np.testing.assert_array_equal(part(X, Z), whole(XS, ZS))
    np.testing.assert_array_equal(part(X), whole(XS))
    np.testing.assert_array_equal(part.diag(X), whole.diag(XS))
    np.testing.assert_array_equal(part.matvec(X, Z, c), whole.matvec(XS, ZS, c))
    np.testing.assert_array_equal(part.gram_matvec(Z, c[:, 0]), whole.gram_matvec(ZS, c[:, 0]))
    np.testing.assert_array_equal(part.single(X), whole.single(XS))
    np.testing.assert_array_equal(part.panels(X, Z).times(c), whole.panels(XS, ZS).times(c))
    block = np.empty((7, 7))
    part.blocks(X)(slice(0, 7), slice(0, 7), block)
    np.testing.assert_array_equal(block, whole(XS))
    assert not part.strictly_pd


def test_sums_and_products_over_columns():
    X, Z = sample(), sample(5, seed=1)
    a, b = Gaussian(1.5, columns=0), Matern(0.8, columns=[1, 2])
    A, B = Gaussian(1.5)(X[:, :1], Z[:, :1]), Matern(0.8)(X[:, 1:], Z[:, 1:])
    for kernel, matrix in [(a + 2 * b, A + 2 * B), (a * b, A * B), (a + b + 0.5 * a * b, None)]:
        matrix = A + B + 0.5 * A * B if matrix is None else matrix
        np.testing.assert_allclose(kernel(X, Z), matrix, rtol=1e-14)
        np.testing.assert_allclose(kernel.matvec(X, Z, np.ones(5)), matrix.sum(axis=1), rtol=1e-13)
    assert (a * Gaussian(1.5, columns=1))(X) == pytest.approx(Gaussian(1.5)(X[:, :2]), rel=1e-13)


def test_linear_kernels_take_columns_of_sparse_rows():
    X = sparse.random(20, 6, density=0.4, random_state=0, format="csr")
    for kernel in (Linear(columns=[1, 4]), Polynomial(2, columns=[1, 4])):
        np.testing.assert_allclose(kernel(X), kernel(X.toarray()), rtol=1e-14)
        np.testing.assert_allclose(kernel.matvec(X, None, np.ones(20)), kernel(X) @ np.ones(20))


# ------------------------------------------------------------------------ a width for each column


@pytest.mark.parametrize("d", [2, 20])
def test_widths_for_each_column_are_those_of_scikit_learn(d):
    X, Z = sample(30, d), sample(20, d, seed=1)
    widths = np.random.default_rng(2).uniform(0.5, 5.0, d)
    root = np.sqrt(2.0)
    for ours, theirs in [
        (Gaussian(root * widths), sklearn_kernels.RBF(widths)),
        (Matern(widths, 0.5), sklearn_kernels.Matern(widths, nu=0.5)),
        (Matern(widths, 1.5), sklearn_kernels.Matern(widths, nu=1.5)),
        (Matern(widths, 1.7), sklearn_kernels.Matern(widths, nu=1.7)),
        (Laplacian(widths), sklearn_kernels.Matern(widths, nu=0.5)),
    ]:
        np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-11)
        np.testing.assert_allclose(ours.matvec(X, Z, np.ones(20)), theirs(X, Z).sum(1), rtol=1e-11)
    scaled = RationalQuadratic(widths, 0.7)(X, Z)
    np.testing.assert_allclose(scaled, RationalQuadratic(1.0, 0.7)(X / widths, Z / widths))


def test_scikit_learns_rational_quadratic_and_periodic_kernel():
    X, Z = sample(30, 2), sample(20, 2, seed=1)
    oracle = sklearn_kernels.RationalQuadratic(length_scale=1.3, alpha=0.6)(X, Z)
    np.testing.assert_allclose(RationalQuadratic(1.3 * np.sqrt(2), 0.6)(X, Z), oracle, rtol=1e-12)
    oracle = sklearn_kernels.ExpSineSquared(length_scale=0.9, periodicity=1.7)
    product = oracle(X[:, :1], Z[:, :1]) * oracle(X[:, 1:], Z[:, 1:])
    np.testing.assert_allclose(Periodic(1.7, 0.9 * np.sqrt(2))(X, Z), product, rtol=1e-12)
    far = Periodic(1.7)(X + 1.7e6, Z)
    np.testing.assert_allclose(far, Periodic(1.7)(X, Z), rtol=1e-8)


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
def test_the_rational_quadratic_has_no_unit_of_length(size):
    X = sample(4, 2)
    exact = RationalQuadratic(1.7, 0.4)(X)
    np.testing.assert_allclose(RationalQuadratic(1.7 * size, 0.4)(size * X), exact, rtol=1e-12)
    ends = RationalQuadratic(1e-300, 2.0)([[0.0], [1e10]])
    assert (ends == np.eye(2)).all()


@pytest.mark.parametrize("kernel", [Periodic(1.0), Periodic([1.0, 2.0]), Categorical()], ids=str)
def test_seasons_and_categories_are_positive_definite(kernel):
    X = np.round(sample(40, 2), 1)
    assert np.linalg.eigvalsh(kernel(X))[0] > -1e-12


# ------------------------------------------------------------------------------------- definiteness


def test_a_sum_needs_the_polynomials_of_its_terms_in_their_columns():
    X = sample(12)
    kernel = Polyharmonic(3, columns=0) + Gaussian() + 2 * Multiquadric(columns=[1, 2])
    assert kernel.cpd_order == 2
    assert kernel.required_polynomials() == [(1, 0), (0, (1, 2))]
    P = np.column_stack([np.ones(12), X[:, 0]])  # not the other coordinates
    check_order(P, X, kernel)
    N = null_space(P.T)
    assert np.linalg.eigvalsh(N.T @ kernel(X) @ N)[0] > 0
    with pytest.raises(ValueError, match=r"degree ≤ 1 in the columns 0 .* and x0 is not in the"):
        check_order(np.ones((12, 1)), X, kernel)
    with pytest.raises(ValueError, match=r"needs the constant among .*1 is not in the span"):
        check_order(X, X, Gaussian() + Multiquadric(columns=[1, 2]))
    with pytest.raises(ValueError, match="only conditionally positive definite"):
        Polyharmonic(3, columns=0) * Gaussian(columns=1)
    smooth = GRLSRegressor(kernel, Polynomials(1)).fit(X, X @ [1.0, 2.0, 3.0])
    np.testing.assert_allclose(smooth.coef_ @ [0, 1, 0, 0], smooth.coef_[1])
    assert smooth.certificate_.kkt < 1e-8


# --------------------------------------------------------------------------------------- values


def test_columns_and_widths_are_parameters():
    kernel = 2.0 * Matern([1.0, 3.0], columns=["x", "y"]) + Periodic(12.0, columns="month")
    assert repr(kernel) == (
        "2.0 * Matern(width=(1.0, 3.0), nu=1.5, columns=('x', 'y')) + "
        "Periodic(period=12.0, width=1.0, columns='month')"
    )
    for twin in (clone(kernel), kernel.copy(), pickle.loads(pickle.dumps(kernel))):
        assert twin == kernel
        assert hash(twin) == hash(kernel)
    widths = [1.0, 3.0]
    k = Gaussian(widths)
    widths[0] = 9.0
    assert k.width == (1.0, 3.0)
    assert k == Gaussian(np.array([1.0, 3.0])) != Gaussian([1.0, 4.0])
    assert clone(GRLSRegressor(kernel)).kernel == kernel
    found = {name for name in GRLSRegressor(kernel).get_params() if "__" in name}
    assert {"kernel__left__kernel__width", "kernel__right__period"} <= found


def test_a_search_reaches_widths_and_columns():
    X = sample(60)
    y = np.sin(3 * X[:, 1])
    learner = GRLSRegressor(Gaussian(1.0, columns=0))
    grid = {"kernel__columns": [0, 1, [1, 2]], "kernel__width": [1.0, 30.0]}
    search = GridSearchCV(learner, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__columns": 1, "kernel__width": 1.0}


def test_names_are_looked_up_in_a_data_frame():
    X = sample(30)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    y = X[:, 2] + np.sin(X[:, 1])
    named = GRLSRegressor(Gaussian(columns="b") + Matern(columns=["c", "a"])).fit(frame, y)
    numbered = GRLSRegressor(Gaussian(columns=1) + Matern(columns=[2, 0])).fit(X, y)
    assert named.kernel_ == numbered.kernel_
    np.testing.assert_array_equal(named.predict(frame), numbered.predict(X))
    assert named.kernel.left.columns == "b"
    with pytest.raises(ValueError, match="names the column 'b', and X is a matrix"):
        GRLSRegressor(Gaussian(columns="b")).fit(X, y)
    with pytest.raises(ValueError, match=r"column 'z', which X does not have; .* a, b, c"):
        GRLSRegressor(Gaussian(columns="z")).fit(frame, y)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Gaussian(columns=[]), ValueError, r"columns=\[\] selects no column"),
        (lambda: Gaussian(columns=[0, 0]), ValueError, "names a column twice"),
        (lambda: Gaussian(columns=-1), TypeError, "number of a column .* got -1"),
        (lambda: Gaussian(columns=True), TypeError, "got True"),
        (lambda: Gaussian(columns=1.0), TypeError, r"got 1\.0"),
        (lambda: Gaussian([1.0, -2.0]), ValueError, r"width\[1\] must be positive"),
        (lambda: Gaussian([]), ValueError, "width=.. has no entries"),
        (lambda: Periodic(0.0), ValueError, "period must be positive"),
        (lambda: RationalQuadratic(alpha=0), ValueError, "alpha must be positive"),
        (lambda: Gaussian(columns=5)(sample()), ValueError, "sees column 5, .* X has 3 columns"),
        (lambda: Gaussian([1, 2])(sample()), ValueError, "2 entries .* sees 3 columns"),
        (lambda: Periodic([1, 2])(sample()), ValueError, "period has 2 entries"),
        (lambda: Gaussian(columns="a")(sample()), ValueError, "columns have no names"),
        (
            lambda: GRLSRegressor(Matern(columns=0), solver="fourier").fit(sample(), np.ones(7)),
            ValueError,
            "kernels of all columns and of one width",
        ),
    ],
)
def test_what_columns_and_widths_may_not_be(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_the_naive_twin_knows_the_new_kernels():
    X, Z = sample(6, 2), sample(5, 2, seed=1)
    for kernel, function in [
        (RationalQuadratic(1.3, 0.4), naive.rational_quadratic(1.3, 0.4)),
        (Periodic(1.7, 0.6), naive.periodic(1.7, 0.6)),
    ]:
        exact = naive.matrix(function, X, Z).astype(float)
        np.testing.assert_allclose(kernel(X, Z), exact, rtol=1e-13)
