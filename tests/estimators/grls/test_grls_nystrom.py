"""GRLSRegressor and GRLSClassifier without a Gram matrix: solver="nystrom" and solver="cg"."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelbook import (
    Gaussian,
    GRLSClassifier,
    GRLSRegressor,
    GRLSRegressorCV,
    Laplacian,
    Linear,
    Polynomials,
    ThinPlate,
)
from kernelbook.kernels import FunctionKernel

BOTH = ["nystrom", "cg"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=250)
    return X, y, rng.normal(size=(30, 4))


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        yield


@parametrize_with_checks(
    [
        # All rows are centres in these small samples; drawing some of them would not be the same
        # for repeated rows as for weights, which one of the checks demands.
        GRLSRegressor(solver="nystrom", random_state=0),
        GRLSClassifier(solver="nystrom", centers="leverage", random_state=0),
        GRLSRegressor(solver="cg", random_state=0),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


# ---------------------------------------------------------------------------- the exact answer


@pytest.mark.parametrize("solver", BOTH)
@pytest.mark.parametrize(
    ("kernel", "features"),
    [(Gaussian(2.0), Polynomials(1)), (ThinPlate(), Polynomials(1)), (Laplacian(), None)],
    ids=["Gaussian", "ThinPlate", "no features"],
)
def test_equals_the_exact_solver(solver, kernel, features, data):
    X, y, Z = data
    options = {"centers": X} if solver == "nystrom" else {"tol": 1e-10, "random_state": 0}
    exact = GRLSRegressor(kernel, features, reg=1e-4).fit(X, y)
    ours = GRLSRegressor(kernel, features, 1e-4, solver, **options).fit(X, y)
    size = np.abs(y).max()
    np.testing.assert_allclose(ours.predict(Z), exact.predict(Z), atol=1e-8 * size)
    np.testing.assert_allclose(ours.coef_, exact.coef_, atol=1e-7 * size)
    assert ours.scale_ == pytest.approx(exact.scale_, rel=1e-7)
    assert ours.rank_ == exact.rank_
    assert ours.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-9)
    if solver == "cg":
        np.testing.assert_allclose(ours.dual_coef_, exact.dual_coef_, atol=1e-5)


@pytest.mark.parametrize("solver", BOTH)
def test_classes(solver, data):
    X, y, Z = data
    labels = np.digitize(y, [-0.5, 0.5])
    exact = GRLSClassifier(Gaussian(2.0), reg=1e-3).fit(X, labels)
    ours = GRLSClassifier(Gaussian(2.0), reg=1e-3, solver=solver, random_state=0).fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(Z), exact.decision_function(Z), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(Z), exact.predict(Z))
    assert len(ours.certificate_.parts) == 3


def test_few_centres_and_their_certificates(data):
    X, y, _ = data
    exact = GRLSRegressor(Gaussian(2.0), reg=1e-3).fit(X, y)
    values = []
    for n in (10, 40, 160):
        ours = GRLSRegressor(
            Gaussian(2.0), reg=1e-3, solver="nystrom", n_centers=n, random_state=0
        ).fit(X, y)
        assert ours.centers_.shape == (n, 4)
        assert ours.dual_coef_.shape == (n,)
        assert ours.certificate_.kkt < 1e-10
        assert ours.certificate_.primal - ours.full_gap_ <= exact.certificate_.primal
        values.append(ours.certificate_.primal)
    assert values[0] > values[1] > values[2] > exact.certificate_.primal


@pytest.mark.parametrize("solver", BOTH)
def test_weights_are_duplicates_and_zero_is_absent(solver, data):
    X, y, Z = data
    times = np.arange(250) % 3
    rows = np.repeat(np.arange(250), times)
    model = GRLSRegressor(Gaussian(2.0), Polynomials(1), 1e-3, solver, 1e-11, centers=X[:60])
    weighted, repeated = clone(model).fit(X, y, times), clone(model).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(Z), repeated.predict(Z), atol=1e-8)
    assert weighted.scale_ == pytest.approx(repeated.scale_)
    if solver == "cg":
        assert weighted.dual_coef_.shape == (250,)
        assert not weighted.dual_coef_[times == 0].any()


@pytest.mark.parametrize("solver", BOTH)
def test_features_are_reproduced(solver, data):
    X, _, _ = data
    model = GRLSRegressor(Gaussian(2.0), Polynomials(1, scaled=False), 1e-6, solver, n_centers=30)
    model.fit(X, 1 + X @ np.array([1.0, 2.0, 3.0, 4.0]))
    assert not model.dual_coef_.any()
    np.testing.assert_allclose(model.coef_, [1, 1, 2, 3, 4], atol=1e-12)


# ------------------------------------------------------------------------------------- input


@pytest.mark.parametrize("solver", BOTH)
@pytest.mark.parametrize("centers", ["uniform", "leverage", "kmeans"])
def test_sparse_rows_with_the_linear_kernel(solver, centers, data):
    X, y, _ = data
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    model = GRLSRegressor(
        Linear(), reg=1e-2, solver=solver, centers=centers, n_centers=20, random_state=0
    )
    assert model.__sklearn_tags__().input_tags.sparse
    exact = GRLSRegressor(Linear(), reg=1e-2).fit(X, y)  # 20 centres span all of four dimensions
    fitted = clone(model).fit(sparse.csr_array(X), y).predict(sparse.csr_array(X))
    np.testing.assert_allclose(fitted, exact.predict(X), atol=1e-7)
    np.testing.assert_allclose(clone(model).fit(X, y).predict(X), fitted, atol=1e-7)


@pytest.mark.parametrize("solver", BOTH)
def test_float32(solver, data):
    X, y, Z = (a.astype(np.float32) for a in data)
    model = GRLSRegressor(Gaussian(2.0), solver=solver, n_centers=50, random_state=0)
    single = clone(model).fit(X, y).predict(Z)
    double = clone(model).fit(X.astype(float), y.astype(float)).predict(Z.astype(float))
    np.testing.assert_array_equal(single, double)


def test_random_state(data):
    X, y, Z = data
    model = GRLSRegressor(Gaussian(2.0), solver="nystrom", n_centers=20)
    a, b, c = (clone(model).set_params(random_state=s).fit(X, y).predict(Z) for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - c).max() > 1e-3


def test_the_callers_arrays_stay_the_callers(data):
    X, y, Z = (a.copy() for a in data)
    centers = X[:40].copy()
    model = GRLSRegressor(Gaussian(2.0), solver="nystrom", centers=centers).fit(X, y)
    before = model.predict(Z)
    centers[:], X[:] = 0.0, 0.0
    np.testing.assert_array_equal(model.predict(Z), before)


def test_grid_search(data):
    X, y, _ = data
    model = GRLSRegressor(Gaussian(2.0), solver="nystrom", n_centers=30, random_state=0)
    search = GridSearchCV(model, {"reg": [1e-3, 1e-1], "kernel__width": [1.0, 2.0]}, cv=2)
    assert search.fit(X, y).best_estimator_.score(X, y) > 0.5


# --------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"centers": "random"}, "centers='random'"),
        ({"centers": np.ones((3, 2))}, "centers has 2 columns"),
        ({"centers": np.full((3, 4), np.nan)}, "centers"),
        ({"n_centers": 0}, "n_centers"),
        ({"n_centers": 2.5}, "n_centers"),
        ({"reg": 0.0}, "reg=0.0"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"kernel": ThinPlate(), "features": Polynomials(1), "centers": "leverage"}, "leverage"),
        ({"kernel": ThinPlate(), "features": "constant"}, "Polynomials"),
    ],
    ids=lambda v: str(v)[:30],
)
@pytest.mark.parametrize("solver", BOTH)
def test_refusals(solver, options, message, data):
    X, y, _ = data
    model = GRLSRegressor(**{"kernel": Gaussian(2.0), "solver": solver, "n_centers": 20, **options})
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("solver", BOTH)
def test_what_needs_the_matrix_is_refused(solver, data):
    X, y, Z = data
    model = GRLSRegressor(Gaussian(2.0), solver=solver, n_centers=20, random_state=0).fit(X, y)
    assert model.solver_ == solver
    with pytest.raises(ValueError, match=r"return_std is not available .*'nullspace' or 'fourier'"):
        model.predict(Z, return_std=True)
    with pytest.raises(AttributeError, match="coef_cov_ is not available"):
        _ = model.coef_cov_
    with pytest.raises(ValueError, match="precomputed"):
        GRLSRegressor("precomputed", solver=solver).fit(Gaussian(2.0)(X), y)
    with pytest.raises(ValueError, match="is not known"):
        GRLSRegressorCV(Gaussian(2.0), solver=solver).fit(X, y)
    wrong = FunctionKernel(lambda A, B: np.tanh(3 * A @ B.T - 1.0))
    with pytest.raises(ValueError, match="not positive semidefinite"):
        GRLSRegressor(wrong, reg=1e-6, solver=solver, random_state=0).fit(X, y)


def test_a_kernel_that_vanishes_warns(data):
    X, y, _ = data
    model = GRLSRegressor(Linear(), solver="nystrom", centers=np.zeros((2, 4)))
    with pytest.warns(UserWarning, match="zero at every pair of centres"):
        model.fit(X, y)
    np.testing.assert_allclose(model.coef_, [y.mean()])


def test_dropped_centres_are_counted_and_named():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(700, 1))
    y = np.sin(6 * X[:, 0]) + (X[:, 0] > 0.5)
    exact = GRLSRegressor(Gaussian(0.5), reg=1e-8).fit(X, y)
    ours = GRLSRegressor(Gaussian(0.5), reg=1e-8, solver="nystrom", centers=X).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), exact.predict(X), atol=1e-7)
    with pytest.warns(ConvergenceWarning, match=r"6\d\d of its 700 centres depend on others"):
        ours.set_params(reg=1e-12).fit(X, y)


def test_a_fit_that_ends_early_warns(data):
    X, y, _ = data
    model = GRLSRegressor(Laplacian(), reg=1e-6, solver="cg", max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"solver='cg' ended before tol=1e-08, after 2"):
        model.fit(X, y)
    assert model.certificate_.kkt > 1e-8


@pytest.mark.parametrize("solver", BOTH)
def test_a_bar_when_asked_for(solver, data, capsys):
    X, y, _ = data
    model = GRLSRegressor(Gaussian(2.0), solver=solver, n_centers=20, random_state=0)
    model.fit(X, y)
    assert capsys.readouterr().err == ""
    model.set_params(verbose=1).fit(X, y)
    assert "100%" in capsys.readouterr().err


@pytest.mark.parametrize("solver", BOTH)
def test_interruption_leaves_nothing_and_says_so(solver, data):
    X, y, _ = data
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        if len(calls) > 2:
            raise KeyboardInterrupt
        return Gaussian(2.0)(A, B)

    model = GRLSRegressor(kernel, solver=solver, n_centers=20, random_state=0, reg=1e-6, tol=1e-12)
    with pytest.raises(KeyboardInterrupt, match="has kept nothing"):
        model.fit(X, y)
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "coef_")
