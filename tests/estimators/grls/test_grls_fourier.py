"""solver="fourier" of the G-RLS learners: the exact answer, in memory and in chunks."""

import os
import pickle
import warnings
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from kernelbook import (
    Gaussian,
    GRLSClassifier,
    GRLSRegressor,
    Matern,
    Polynomials,
    ThinPlate,
)
from kernelbook.solvers.grls import methods
from kernelbook.solvers.grls.fourier.grid import NoSpectrum, TooManyModes
from tests.samples.fourier import (
    ARGUMENTS,
    BOUNDS,
    LABELS,
    RNG,
    M,
    W,
    X,
    Y,
    Z,
    chunks,
    classifier,
    close,
    regressor,
)


@pytest.fixture(scope="module")
def exact():
    return GRLSRegressor(**ARGUMENTS).fit(X, Y, W)


@pytest.fixture(scope="module")
def ours():
    return regressor().fit(X, Y, W)


# ------------------------------------------------------------------------------- the answer


def test_all_that_the_exact_learner_says(exact, ours):
    f, std = ours.predict(Z, return_std=True)
    expected, expected_std = exact.predict(Z, return_std=True)
    close(f, expected)
    np.testing.assert_allclose(std, expected_std, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ours.coef_, exact.coef_, rtol=1e-5)
    np.testing.assert_allclose(ours.coef_cov_, exact.coef_cov_, rtol=1e-4)
    np.testing.assert_allclose(ours.scale_, exact.scale_, rtol=1e-7)
    assert ours.rank_ == exact.rank_ == 6
    np.testing.assert_allclose(ours.score(X, Y, W), exact.score(X, Y, W), rtol=1e-7)
    certificate = ours.certificate_
    assert certificate.dual <= exact.certificate_.primal * (1 + 1e-6)
    assert certificate.kkt <= 1e-7
    assert 0 < ours.kernel_error_ < 1e-9


def test_several_outputs_and_shapes():
    both = np.c_[Y, -2 * X[:, 0] ** 3]
    ours, exact = regressor().fit(X, both, W), GRLSRegressor(**ARGUMENTS).fit(X, both, W)
    close(ours.predict(Z), exact.predict(Z))
    assert ours.coef_.shape == (2, 6)
    assert ours.coef_cov_.shape == (2, 6, 6)
    assert ours.predict(Z[:3], return_std=True)[1].shape == (3, 2)
    assert len(ours.certificate_.parts) == 2
    column = regressor().fit(X, Y[:, None], W)
    assert column.predict(Z).shape == (80, 1)


def test_classes():
    ours, exact = classifier().fit(X, LABELS, W), GRLSClassifier(**ARGUMENTS).fit(X, LABELS, W)
    close(ours.decision_function(Z), exact.decision_function(Z))
    np.testing.assert_array_equal(ours.predict(X), exact.predict(X))
    two = LABELS == "a"
    ours, exact = classifier().fit(X, two), GRLSClassifier(**ARGUMENTS).fit(X, two)
    close(ours.decision_function(Z), exact.decision_function(Z))
    with pytest.raises(ValueError, match="one class only"):
        classifier().fit(X, np.ones(M))


def test_one_and_three_columns_no_feature_float32_and_a_constant_column():
    cube = np.c_[X, RNG.uniform(size=M)].astype(np.float32)
    flat = np.c_[X[:, 0], np.full(M, 7.0)]
    for points, kernel, reg in (
        (X[:, :1], Matern(0.5, 2.5), 1e-2),
        (cube, Gaussian(2.0), 1e-2),
        (flat, Gaussian(0.5), 1e-2),
    ):
        a = GRLSRegressor(kernel, None, reg, "fourier", tol=1e-4).fit(points, Y - 50)
        b = GRLSRegressor(kernel, None, reg).fit(points, Y - 50)
        np.testing.assert_allclose(a.predict(points), b.predict(points), atol=1e-4)
        assert a.coef_.shape == (0,)


def test_rows_of_weight_zero_are_absent():
    far, w = np.concatenate([X, [[1e6, 1e6]]]), np.append(W, 0.0)
    a = regressor().fit(far, np.append(Y, 0.0), w)
    close(a.predict(Z), regressor().fit(X, Y, W).predict(Z))


def test_frames_clone_pickle_and_search(ours):
    frame, at = pd.DataFrame(X, columns=["u", "v"]), pd.DataFrame(Z, columns=["u", "v"])
    fitted = regressor().fit(frame, pd.Series(Y), W)
    close(fitted.predict(at), ours.predict(Z))
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.predict(Z), ours.predict(Z))
    assert clone(ours).solver == "fourier"
    search = GridSearchCV(regressor(tol=1e-3), {"reg": [1e-3, 1e3]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"reg": 1e-3}


def test_auto_is_exact_below_twenty_thousand_and_fourier_where_it_wins(monkeypatch):
    assert methods.EXACT_BELOW == 20_000
    assert hasattr(GRLSRegressor(**ARGUMENTS).fit(X, Y), "dual_coef_")
    monkeypatch.setattr(methods, "EXACT_BELOW", 500)
    ours = GRLSRegressor(**ARGUMENTS, tol=1e-7).fit(X, Y)
    assert ours.n_modes_ > 100
    assert ours.solver_ == "fourier"
    exact = [
        {"kernel": ThinPlate(), "features": Polynomials(1)},
        {"kernel": Matern(0.1, 0.5)},  # would need too many functions
        {"reg": 0.0, "kernel": Matern(1.0, 0.5)},
        {"solver": "cholesky"},
    ]
    for changes in exact:
        assert hasattr(GRLSRegressor(**ARGUMENTS | changes).fit(X, Y), "dual_coef_")
    assert hasattr(GRLSRegressor(reg=1e-2).fit(np.c_[X, X], Y), "dual_coef_")


def test_a_fit_after_a_fit_forgets(exact):
    model = regressor().fit(X, Y, W)
    model.set_params(solver="cholesky", tol=1e-8).fit(X, Y, W)
    np.testing.assert_array_equal(model.predict(Z), exact.predict(Z))
    assert not hasattr(model, "n_modes_")
    model.set_params(solver="fourier", tol=1e-7).fit(X, Y, W)
    assert not hasattr(model, "dual_coef_")


# ------------------------------------------------------------------------- warnings, errors


def test_what_is_not_reached_is_said():
    rough = GRLSRegressor(Matern(0.3, 0.5), reg=1e-3, solver="fourier", bounds=BOUNDS[:1])
    with (
        pytest.warns(ConvergenceWarning, match=r"kkt=.*because the kernel is exact to"),
        pytest.warns(UserWarning, match=r"more work .* for m=600 samples.  It goes on"),
    ):
        rough.fit(X[:, :1], Y)
    with pytest.warns(UserWarning, match=r"more work .* for m=600 samples: solver='cholesky' was"):
        rough.set_params(bounds=None).fit(X[:, :1], Y)
    assert rough.solver_ == "cholesky"
    assert rough.certificate_.kkt < 1e-8
    with pytest.warns(ConvergenceWarning, match="kernel is exact to"):
        GRLSRegressor(Gaussian(0.5), reg=1e-14, solver="fourier").fit(X[:, :1], Y)
    with pytest.warns(ConvergenceWarning, match="after 1 steps of conjugate gradients"):
        regressor(max_iter=1, tol=1e-9).fit(X, Y)
    for call in ("fit", "partial_fit"):
        with pytest.warns(ConvergenceWarning) as caught:
            getattr(regressor(max_iter=1, tol=1e-9, bounds=BOUNDS), call)(X, Y)
        assert caught[0].filename == __file__  # the line that called us
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regressor().fit(X, Y)
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert regressor(reg=1e-300, max_iter=2).fit(X, Y).certificate_.kkt > 1


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"kernel": ThinPlate(), "features": Polynomials(1)},
            NoSpectrum,
            "Fourier transform is known",
        ),
        ({"kernel": Gaussian(1e-5)}, TooManyModes, "wider or smoother kernel"),
        ({"reg": 0.0}, ValueError, "reg=0.0: solver='fourier' needs reg > 0.*cholesky"),
        ({"bounds": [(0, 1), (0, 1)]}, ValueError, r"row 0 .* outside the box .*bounds"),
        ({"bounds": [(0, 1)]}, ValueError, r"bounds=\[\(0, 1\)\] must be a pair .*2 columns"),
        ({"bounds": [(20, 0), (0, 1)]}, ValueError, "low must not exceed high"),
        ({"bounds": "box"}, ValueError, "bounds='box'"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"tol": -1.0}, ValueError, "tol=-1.0"),
        ({"features": lambda A: np.ones((len(A), 700))}, ValueError, "700 free features on 600"),
    ],
)
def test_parameters_that_are_refused(changes, error, message):
    model = regressor(**changes)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_gram_matrix_is_refused():
    with pytest.raises(ValueError, match=r"needs the points themselves.*'auto'"):
        regressor(kernel="precomputed", features="constant").fit(X @ X.T, Y)


def test_data_that_are_refused(ours):
    for bad, message in (
        (np.c_[X, X], "one to three columns, and X has 4.*nystrom"),
        (np.where(X > 11.9, np.nan, X), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            regressor().fit(bad, Y)
    with pytest.raises(TypeError, match="dense rows"):
        regressor().fit(sparse.csr_matrix(X), Y)
    for late, first, message in (
        (1e200, 1.0, "overflow"),
        (1e-200, 0.0, "underflow: scale them"),
    ):
        with pytest.raises(ValueError, match=message):
            regressor().fit_chunks([(X[:300], first * Y[:300]), (X[300:], late * Y[300:])])
    with pytest.raises(ValueError, match="NaN"):
        ours.predict(np.full((1, 2), np.nan))
    with pytest.raises(ValueError, match="P is taken only"):
        ours.predict(Z, P=np.ones((80, 6)))


@pytest.mark.parametrize("factor", [1e-170, 1e200])
def test_units(factor, ours):
    """Of y, whose squares are no numbers, and of the weights; no warning either."""
    f, std = ours.predict(Z, return_std=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled = regressor().fit(X, factor * Y, W)
        g, deviation = scaled.predict(Z, return_std=True)
        close(g / factor, f)
        np.testing.assert_allclose(deviation / factor, std, rtol=1e-6)
        close(regressor().fit(X, Y, factor * W).predict(Z), f)
        chunked = regressor().fit_chunks(chunks(X, factor * Y, factor * W))
        close(chunked.predict(Z) / factor, f)


def test_nothing_comes_of_nothing():
    assert not regressor().fit(X, 0 * Y).predict(Z).any()
    late = regressor().fit_chunks([(X[:300], 0 * Y[:300]), (X[300:], Y[300:])])
    exact = GRLSRegressor(**ARGUMENTS).fit(X, np.r_[0 * Y[:300], Y[300:]])
    close(late.predict(Z), exact.predict(Z), 1e-5)


def test_periodic_images_are_not_data(ours, exact):
    period = ours._blocks.frame.grid.period
    at = X[:5] + period * [[1, 0], [0, 1], [-1, 1], [3, 0], [1000, 0]]
    np.testing.assert_allclose(ours.predict(at), exact.predict(at), rtol=1e-6)
    free = exact.features_.transform(at) @ exact.coef_
    np.testing.assert_allclose(ours.predict(at), free, rtol=1e-6)


def _child(model, points, expected):
    np.testing.assert_allclose(model.predict(points), expected, rtol=1e-9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_threads_share_the_rows_and_survive_a_fork():
    """Enough rows for two threads; then a forked child, in which OpenMP's threads would hang."""
    line = np.linspace(0, 1, 2 * 2**15 + 7)[:, None]
    values = np.sin(5 * line[:, 0])
    model = GRLSRegressor(Gaussian(0.5), reg=1e-3, solver="fourier", tol=1e-6).fit(line, values)
    expected = model.predict(line)
    step = model._blocks.resumed(model).sums(line[:99], values[:99], None)
    assert step.m == 99
    grid = model._blocks.frame.grid
    theta = grid.angles(line[::1000]) * grid.frequencies.T[0][:, None]
    waves = np.real(
        np.exp(1j * theta).T
        @ (model._solution.c[0] * np.r_[1, 2 * np.ones(len(grid.frequencies) - 1)])
    )
    np.testing.assert_allclose(expected[::1000], waves + model.coef_[0], rtol=1e-6)
    child = get_context("fork").Process(target=_child, args=(model, line, expected))
    child.start()
    child.join(120)
    hanging = child.is_alive()
    if hanging:
        child.kill()
    assert not hanging
    assert child.exitcode == 0


def test_a_bar_with_the_remaining_time(capsys):
    regressor(verbose=1, tol=1e-3).fit(X, Y)
    shown = capsys.readouterr().err
    assert "statistics: 100%" in shown
    assert "solve: 100%" in shown
    regressor(tol=1e-3).fit(X, Y)
    assert capsys.readouterr().err == ""
