"""Fits that mean nothing are said aloud, once, with the remedy; ordinary ones are not."""

import warnings

import numpy as np
import pytest

from kernelbook import (
    Gaussian,
    GRLSClassifier,
    GRLSRegressor,
    IncrementalSVMClassifier,
    Linear,
    Polynomials,
    PrimalSVMClassifier,
    SVMGBClassifier,
    ThinPlate,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = X[:, 0] > 0.3 * X[:, 1] ** 2
LEARNERS = [
    SVMGBClassifier(),
    PrimalSVMClassifier(),
    IncrementalSVMClassifier(max_basis=3),
    GRLSClassifier(),
    GRLSRegressor(),
]


def said(model, X=X, y=Y, **fit):
    """The warnings of a fit, each at the line that called it."""
    y = y.astype(float) if isinstance(model, GRLSRegressor) and y.dtype == bool else y
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **fit)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize("model", LEARNERS, ids=lambda m: type(m).__name__)
def test_columns_in_their_own_units(model):
    """Standardized columns say nothing; in units of a thousandth and of a million they do."""
    assert said(model) == []
    (large,) = said(model, 1e3 * X)
    assert "practically the identity" in large
    assert "StandardScaler" in large
    small = [text for text in said(model, 1e-6 * X) if "practically constant" in text]
    assert len(small) == 1
    assert "narrower kernel" in small[0]


def test_one_column_of_large_units_is_enough():
    (text,) = said(SVMGBClassifier(), X * [1.0, 1.0, 1e5])
    assert "practically the identity" in text


def test_gram_matrices_are_looked_at_too():
    model = SVMGBClassifier("precomputed")
    assert said(model, Gaussian(1.0)(X)) == []
    assert "the Gram matrix is practically the identity" in said(model, np.eye(120))[0]


def test_dense_samples_under_a_narrow_kernel_are_no_strangers():
    """A few samples taken from many would be alone; among all of them each has neighbours."""
    many = RNG.uniform(size=(3000, 2))
    model = GRLSRegressor(Gaussian(0.03), solver="nystrom", n_centers=100, random_state=0)
    assert not [t for t in said(model, many, np.sin(many[:, 0])) if "practically" in t]


def test_kernels_of_which_it_is_no_news():
    assert said(SVMGBClassifier(Linear()), X + 1e4) == []
    assert said(SVMGBClassifier(ThinPlate(), Polynomials(1)), 1e3 * X[:, :2]) == []
    assert said(SVMGBClassifier(Gaussian(1e-3)), X[:8], np.arange(8) % 2) == []  # somebody looks


def test_a_constant_that_the_features_lost():
    y = 40 + X[:, 1] + 0.1 * RNG.normal(size=120)
    plain = GRLSRegressor(features=lambda X: X[:, :1])
    (text,) = said(plain, y=y)
    assert "no constant in its span" in text
    assert "100% of what is left of y" in text
    assert said(plain, y=y - y.mean()) == []  # it would explain nothing
    assert said(GRLSRegressor(features=Polynomials(1)), y=y) == []
    assert said(GRLSRegressor(features=lambda X: np.c_[X[:, :1], 3.0 + 0 * X[:, 0]]), y=y) == []
    assert said(GRLSRegressor(features=None), y=y) == []  # that is what was asked for
    assert said(GRLSRegressor("precomputed"), X @ X.T, y, P=X[:, :1]) == []  # columns on purpose


def test_more_free_columns_than_samples_can_bear():
    def columns(n):
        return lambda X: np.cos(X @ np.random.default_rng(1).normal(size=(3, n)))

    (text,) = said(GRLSRegressor(features=columns(61)), y=X[:, 0])
    assert "61 independent columns for 120 samples" in text
    assert "at most 60, better a tenth" in text
    assert said(GRLSRegressor(features=columns(12)), y=X[:, 0]) == []
    twice = said(GRLSRegressor(features=lambda X: np.tile(columns(6)(X), 12)), y=X[:, 0])
    assert not [t for t in twice if "independent columns for" in t]  # of rank 6


def test_dates_become_numbers_aloud():
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2020-01-01", periods=120)
    frame, y = pandas.DataFrame({"day": days}), np.sin(np.arange(120) / 9)
    for dates in (frame, np.array(days)[:, None], frame - frame.min()):
        texts = said(GRLSRegressor(), dates, y)
        assert sum("dates or durations" in text for text in texts) == 1
        assert any("np.timedelta64(1, 'D')" in text for text in texts)
    assert said(GRLSRegressor(), (frame - frame.min()) / np.timedelta64(30, "D"), y) == []
