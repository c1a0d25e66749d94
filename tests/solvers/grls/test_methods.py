"""Which solver runs, and what is said where the Gram matrix does not fit in memory."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from kernelbook import (
    Gaussian,
    GRLSClassifier,
    GRLSClassifierCV,
    GRLSRegressor,
    GRLSRegressorCV,
    Matern,
    Polynomials,
    ThinPlate,
)
from kernelbook.numeric import memory

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X[:, 0] ** 2 + 0.1 * RNG.normal(size=60)


@pytest.mark.parametrize(
    ("model", "which"),
    [
        (GRLSRegressor(), "cholesky"),
        (GRLSRegressor(solver="nullspace"), "nullspace"),
        (GRLSRegressor(ThinPlate(), Polynomials(1)), "nullspace"),
        (GRLSRegressorCV(), "cholesky"),
        (GRLSClassifier(solver="nystrom", reg=1e-2), "nystrom"),
        (GRLSRegressor(solver="cg"), "cg"),
    ],
    ids=repr,
)
def test_which_solver_it_was(model, which):
    y = Y > 1 if isinstance(model, GRLSClassifier) else Y
    assert clone(model).fit(X, y).solver_ == which


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GRLSRegressor(), "m=60 samples need 0.0 GiB for the Gram matrix, .*'cg'.*'nystrom'"),
        (GRLSRegressor(ThinPlate(), Polynomials(1)), "'cg' needs none and is exact"),
        (GRLSRegressor(reg=0), r"interpolation \(reg=0\) needs it"),
        (GRLSRegressor("precomputed"), "pass the points and a kernel"),
        (GRLSRegressorCV(), "and 2 more like it.*GridSearchCV over GRLSRegressor"),
        (GRLSClassifierCV(), "GridSearchCV over GRLSClassifier"),
    ],
    ids=repr,
)
def test_a_gram_matrix_that_does_not_fit(model, message, monkeypatch):
    """The error comes before the matrix: a kernel that is asked for it would fail the test."""
    monkeypatch.setattr(memory, "ALWAYS_THERE", 0)
    monkeypatch.setattr(memory, "available", lambda: 8 * 60 * 60 - 1)
    monkeypatch.setattr(Gaussian, "__call__", None)
    points = X @ X.T if model.kernel == "precomputed" else X
    with pytest.raises(MemoryError, match=message):
        model.fit(points, Y > 1 if isinstance(model, GRLSClassifier) else Y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_those_that_need_no_gram_matrix_do_not_ask_for_one(monkeypatch):
    """What they ask for is a matter of centres and of Fourier modes."""
    monkeypatch.setattr(memory, "available", lambda: 1.0)
    for solver in ("nystrom", "cg", "fourier"):
        model = GRLSRegressor(Gaussian(2.0), reg=1e-2, solver=solver, tol=1e-4)
        model.fit(X[:, :1], Y)


def test_numpys_own_refusal_is_explained(monkeypatch):
    def refuse(self, X, Z=None):
        raise MemoryError("Unable to allocate 298. GiB")

    monkeypatch.setattr(Gaussian, "__call__", refuse)
    with pytest.raises(MemoryError, match="could not be had: solver='cg'"):
        GRLSRegressor().fit(X, Y)


def test_chunks_are_for_one_solver_and_the_error_says_so():
    for name in ("partial_fit", "fit_chunks"):
        plain, choosing = GRLSRegressor(), GRLSRegressorCV()
        assert not hasattr(plain, name)
        assert hasattr(plain.set_params(solver="fourier"), name)
        with pytest.raises(AttributeError, match=f"{name} only with solver='fourier'.*='cg'"):
            getattr(plain.set_params(solver="cg"), name)
        with pytest.raises(AttributeError, match=f"{name} only with solver='fourier'"):
            getattr(GRLSRegressor, name)(plain, [])
        assert not hasattr(choosing, name)
        with pytest.raises(AttributeError, match=f"has no {name}: to choose reg it needs all"):
            getattr(choosing, name)
    assert "chunk" in GRLSClassifier.partial_fit.__doc__


def test_fourier_hands_a_small_rough_problem_over():
    """144 points of the plane and Matern(3.33, 1.5) at reg=8.8e-6 took Fourier a minute."""
    points = np.random.default_rng(7).uniform(size=(144, 2))
    y = np.sin(6 * points[:, 0]) + points[:, 1]
    arguments = {"kernel": Matern(3.33, 1.5), "reg": 8.8e-6}
    with pytest.warns(UserWarning, match=r"m=144 samples: solver='cholesky' was used"):
        model = GRLSRegressor(**arguments, solver="fourier").fit(points, y)
    exact = GRLSRegressor(**arguments, solver="cholesky").fit(points, y)
    np.testing.assert_array_equal(model.predict(points), exact.predict(points))
    assert (model.solver_, model.get_params()["solver"]) == ("cholesky", "fourier")


def test_fourier_that_goes_on_whatever_it_takes_says_so_before():
    """With bounds the sample may grow, so nothing is handed over; the warning comes first."""
    points = np.random.default_rng(7).uniform(size=(144, 2))
    bounds = [(0.0, 1.0)] * 2
    model = GRLSRegressor(Matern(3.33, 1.5), reg=8.8e-6, solver="fourier", bounds=bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it ends the fit before it begins
        with pytest.raises(UserWarning, match=r"m=144 samples.  It goes on, since bounds promise"):
            model.fit(points, points[:, 0])
    small = model.set_params(kernel=Gaussian(0.5), reg=1e-2)
    assert small.fit(points, points[:, 0]).solver_ == "fourier"
