"""`tune`: what a fitted learner carries, for which learners it works, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from kernelbook import (
    Gaussian,
    GRLSClassifier,
    GRLSRegressor,
    GRLSRegressorCV,
    Linear,
    Matern,
    Polynomials,
    Tuning,
)

RNG = np.random.default_rng(5)
M = 60
TABLE = pd.DataFrame(RNG.uniform(0, 5, (M, 2)), columns=["north", "east"])
X = TABLE.to_numpy()
FIELD = np.linalg.cholesky(Matern(1.5)(X) + 1e-10 * np.eye(M)) @ RNG.normal(size=M)
Y = 1 + 0.3 * X[:, 0] + FIELD + 0.3 * RNG.normal(size=M)
QUICK = Tuning(starts=1)


def test_the_fit_is_that_of_the_chosen_parameters():
    model = GRLSRegressor(Matern(columns=["north", "east"]), "1 + north", tune=QUICK).fit(TABLE, Y)
    assert model.kernel.width == 1.0 != model.kernel_.width
    assert model.tuning_.names == ("width", "reg")
    assert model.tuning_.parameters == {"width": model.kernel_.width, "reg": model.reg_}
    given = GRLSRegressor(model.kernel_, "1 + north", reg=model.reg_).fit(TABLE, Y)
    np.testing.assert_array_equal(given.predict(TABLE), model.predict(TABLE))
    assert (given.reg_, given.tuning_) == (model.reg_, None)
    assert given.scale_ == model.scale_


def test_columns_need_no_scaling():
    """A width in metres is found from the default of one."""
    plain = GRLSRegressor(Matern(), Polynomials(1), tune=QUICK).fit(X, Y)
    metres = GRLSRegressor(Matern(), Polynomials(1), tune=Tuning(starts=2)).fit(1000 * X, Y)
    assert metres.kernel_.width == pytest.approx(1000 * plain.kernel_.width, rel=1e-4)


def test_it_is_cloned_pickled_and_searched():
    model = GRLSRegressor(Matern(), tune=QUICK).fit(X, Y)
    assert clone(model).tune == QUICK
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.tuning_.parameters == model.tuning_.parameters
    search = GridSearchCV(GRLSRegressor(tune=QUICK), {"kernel": [Matern(), Gaussian()]}, cv=2)
    assert search.fit(X, Y).best_estimator_.tuning_.names == ("width", "reg")


@pytest.mark.filterwarnings("ignore:solver='fourier' would take far more work")
@pytest.mark.parametrize("solver", ["cholesky", "nullspace", "nystrom", "cg", "fourier"])
def test_every_solver_takes_what_was_chosen(solver):
    model = GRLSRegressor(Matern(), solver=solver, tune=QUICK, n_centers=M, tol=1e-2).fit(X, Y)
    exact = GRLSRegressor(model.kernel_, reg=model.reg_).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=0.1)
    assert model.reg_ != model.reg


def test_of_a_matrix_only_reg_is_chosen():
    model = GRLSRegressor("precomputed", tune="reml").fit(Matern(2.0)(X), Y)
    points = GRLSRegressor(Matern(2.0), tune=Tuning(fixed="width")).fit(X, Y)
    assert model.tuning_.names == ("reg",)
    assert model.reg_ == pytest.approx(points.reg_, rel=1e-6)
    assert not hasattr(model, "kernel_")


def test_reg_is_that_of_the_grid():
    """The same criterion, on a grid: its best lies beside ours."""
    regs = np.geomspace(1e-5, 1, 400)
    grid = GRLSRegressorCV(Matern(2.0), regs=regs).fit(X, Y)
    model = GRLSRegressor(Matern(2.0), tune=Tuning("loo", fixed="width")).fit(X, Y)
    assert model.reg_ == pytest.approx(grid.reg_, rel=0.02)
    assert model.tuning_.criteria["loo"] <= -grid.best_score_
    assert grid.tuning_ is None


def test_weights_count_observations():
    """Equal rows with equal values are noise-free, so γ is held."""
    counts = RNG.integers(1, 4, M)
    rows = np.repeat(np.arange(M), counts)
    held = Tuning(fixed="reg", starts=1)
    weighted = GRLSRegressor(Matern(), reg=0.01, tune=held).fit(X, Y, counts)
    repeated = GRLSRegressor(Matern(), reg=0.01, tune=held).fit(X[rows], Y[rows])
    assert weighted.kernel_.width == pytest.approx(repeated.kernel_.width, rel=1e-5)
    absent = GRLSRegressor(Matern(), tune=QUICK).fit(X, Y, np.arange(M) < 40)
    there = GRLSRegressor(Matern(), tune=QUICK).fit(X[:40], Y[:40])
    assert absent.reg_ == pytest.approx(there.reg_, rel=1e-9)


def test_labels_and_several_outputs():
    classifier = GRLSClassifier(tune=Tuning("loo", starts=1)).fit(X, Y > Y.mean())
    assert classifier.score(X, Y > Y.mean()) > 0.8
    both = GRLSRegressor(Matern(), tune=QUICK).fit(X, np.column_stack([Y, Y]))
    one = GRLSRegressor(Matern(), tune=QUICK).fit(X, Y)
    assert both.reg_ == pytest.approx(one.reg_, rel=1e-4)
    assert both.tuning_.log_likelihood == pytest.approx(2 * one.tuning_.log_likelihood, rel=1e-9)


def test_a_linear_kernel_far_from_the_origin():
    near = GRLSRegressor(Linear() + Matern(), tune=QUICK).fit(X, Y)
    far = GRLSRegressor(Linear(), tune="reml").fit(X + 1e7, Y)
    assert far.reg_ == pytest.approx(GRLSRegressor(Linear(), tune="reml").fit(X, Y).reg_, rel=1e-4)
    assert near.tuning_.names == ("right__width", "reg")


def test_warnings_are_those_of_the_search():
    noise = np.random.default_rng(0).normal(size=M)
    with pytest.warns(UserWarning, match="next to nothing|bound of the search"):
        GRLSRegressor(Matern(), tune="reml").fit(X, noise)


def test_progress_counts_evaluations(capsys):
    model = GRLSRegressor(Matern(), tune=QUICK, verbose=1).fit(X, Y)
    shown = capsys.readouterr().err
    assert "tune: 100%" in shown
    assert "evaluations" in shown
    assert model.tuning_.n_evaluations > 5


def test_blocks_cannot_be_searched():
    da = pytest.importorskip("dask.array")
    model = GRLSRegressor(Gaussian(), solver="fourier", bounds=[(0, 5)] * 2, tune="reml")
    for call in (
        lambda: model.partial_fit(X, Y),
        lambda: model.fit_chunks([(X, Y)]),
        lambda: model.fit(da.from_array(X, chunks=30), da.from_array(Y, chunks=30)),
    ):
        with pytest.raises(ValueError, match=r"tune='reml' needs the sample in memory: fit on"):
            call()
