"""Fourier learners in chunks: what one fit gives, what is refused, what an interruption leaves."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

from kernelbook import (
    Gaussian,
    GRLSClassifier,
    GRLSRegressor,
    GRLSRegressorCV,
    Polynomials,
)
from kernelbook.solvers.grls.fourier import sums
from tests.samples.fourier import (
    ARGUMENTS,
    BOUNDS,
    LABELS,
    W,
    X,
    Y,
    Z,
    chunks,
    classifier,
    close,
    regressor,
)


def linear(X):
    return np.asarray(X)


@pytest.fixture(scope="module")
def ours():
    return regressor().fit(X, Y, W)


def test_chunks_give_what_one_fit_gives(ours):
    model = regressor(bounds=BOUNDS)
    for chunk in chunks(X, Y, W):
        assert model.partial_fit(*chunk) is model
    close(model.predict(Z), ours.predict(Z))
    np.testing.assert_allclose(model.scale_, ours.scale_, rtol=1e-7)
    for stream in (
        chunks(X, Y, W),  # no bounds: found in a first pass
        chunks(X, Y, W)[::-1],
    ):
        again = regressor().fit_chunks(stream)
        close(again.predict(Z), ours.predict(Z))
    frames = [(pd.DataFrame(a, columns=["u", "v"]), b, w) for a, b, w in chunks(X, Y, W)]
    again = regressor(bounds=BOUNDS).fit_chunks(chunk for chunk in frames)
    at = pd.DataFrame(Z, columns=["u", "v"])
    close(again.predict(at), ours.predict(Z))


def test_a_fit_can_be_continued():
    model = regressor(bounds=BOUNDS).fit(X[:300], Y[:300])
    model.partial_fit(X[300:], Y[300:])
    close(model.predict(Z), regressor().fit(X, Y).predict(Z))


def test_a_chunk_of_absent_rows_changes_nothing(ours):
    model = regressor(bounds=BOUNDS).fit(X, Y, W)
    model.partial_fit(X[:5] + 99.0, Y[:5], np.zeros(5))
    close(model.predict(Z), ours.predict(Z))


def test_classes_in_chunks():
    expected = classifier().fit(X, LABELS).decision_function(Z)
    model = classifier(bounds=BOUNDS)
    by_class = np.argsort(LABELS, kind="stable")
    for k, (a, b) in enumerate(chunks(X[by_class], LABELS[by_class])):
        model.partial_fit(a, b, classes=None if k else ["c", "a", "b"])
    close(model.decision_function(Z), expected)
    again = classifier().fit_chunks(chunks(X, LABELS))
    close(again.decision_function(Z), expected)
    with pytest.raises(ValueError, match=r"label 'd', which is none of the classes"):
        model.partial_fit(X[:2], ["a", "d"])
    with pytest.raises(ValueError, match="not those of the chunks before"):
        model.partial_fit(X[:2], ["a", "b"], classes=["a", "b"])
    with pytest.raises(ValueError, match="needs classes"):
        classifier(bounds=BOUNDS).partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="classes must be given for chunks that can be read only"):
        classifier(bounds=BOUNDS).fit_chunks(iter(chunks(X, LABELS)))


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        ((np.where(X > 11.9, np.nan, X), Y), "NaN"),
        ((X, np.where(Y > Y.mean(), np.inf, Y)), "infinity"),
        ((X[:, :1], Y), "X has 1 features, but GRLSRegressor is expecting 2"),
        ((X + 5.0, Y), r"row 0 .*outside the box .*Give bounds"),
        ((X, np.c_[Y, Y]), "same outputs"),
        ((X, Y[:-1]), "inconsistent numbers"),
        ((X, Y, -W), "Negative"),
    ],
)
def test_a_bad_late_chunk_leaves_the_learner_as_it_was(chunk, message):
    model = regressor(bounds=BOUNDS, tol=1e-3).partial_fit(X[:300], Y[:300])
    before, state = model.predict(Z), dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*chunk)
    assert vars(model) == state
    np.testing.assert_array_equal(model.predict(Z), before)
    fresh = regressor(bounds=BOUNDS)
    with pytest.raises(ValueError, match=message):
        fresh.fit_chunks([(X, Y, W), chunk])
    assert not [name for name in vars(fresh) if name.endswith("_")]


def test_what_streams_refuse():
    with pytest.raises(ValueError, match=r"needs bounds.*pair for each column"):
        regressor().partial_fit(X, Y)
    with pytest.raises(ValueError, match="bounds must be given for chunks that can be read only"):
        regressor().fit_chunks(iter(chunks(X, Y)))
    with pytest.raises(ValueError, match="chunks is empty"):
        regressor(bounds=BOUNDS).fit_chunks([])
    with pytest.raises(TypeError, match=r"a chunk must be \(X, y\)"):
        regressor(bounds=BOUNDS).fit_chunks([X])
    model = regressor(bounds=BOUNDS).partial_fit(X, Y)
    with pytest.raises(ValueError, match="not the kernel of the chunks before"):
        model.set_params(kernel=Gaussian(0.5)).partial_fit(X, Y)
    model = regressor(bounds=BOUNDS, features=Polynomials(1)).fit(X, Y)
    model.set_params(features=Polynomials(1)).partial_fit(X, Y)
    for others in ({"features": "constant"}, {"features__degree": 2}):
        with pytest.raises(ValueError, match="are not those of the chunks before"):
            model.set_params(**others).partial_fit(X, Y)
        model.set_params(features=Polynomials(1))
    model = regressor(bounds=BOUNDS, features=linear).partial_fit(X, Y)
    pickle.loads(pickle.dumps(model)).partial_fit(X, Y)
    with pytest.raises(ValueError, match="are not those of the chunks before"):
        model.set_params(features=lambda X: X[:, :1]).partial_fit(X, Y)
    with pytest.raises(ValueError, match="fitted by an exact solver"):
        GRLSRegressor(**ARGUMENTS).fit(X, Y).set_params(solver="fourier").partial_fit(X, Y)
    for other in (GRLSRegressor(), GRLSClassifier(solver="cg"), GRLSRegressorCV()):
        assert not hasattr(other, "partial_fit")
        assert not hasattr(other, "fit_chunks")
    with pytest.raises(ValueError, match=r"learns from data.*FrozenEstimator"):
        regressor(features=StandardScaler(), bounds=BOUNDS).partial_fit(X, Y)


def test_features_that_were_fitted_before():
    splines = make_pipeline(StandardScaler(), SplineTransformer(4, degree=2)).fit(X)
    frozen = FrozenEstimator(splines)
    model = regressor(features=frozen, bounds=BOUNDS, reg=1e-2).fit_chunks(chunks(X, Y))
    exact = GRLSRegressor(Gaussian(0.4), frozen, 1e-2).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-5)
    with pytest.raises(ValueError, match="FrozenEstimator"):
        regressor(features=PolynomialFeatures(1), bounds=BOUNDS).partial_fit(X, Y)


def test_interrupted_streams_are_usable(ours):
    def interrupted():
        yield from chunks(X, Y)[:2]
        raise KeyboardInterrupt

    model = regressor(bounds=BOUNDS)
    with pytest.raises(KeyboardInterrupt, match="first 2 chunks, 101 rows; partial_fit"):
        model.fit_chunks(interrupted())
    for chunk in chunks(X, Y)[2:]:
        model.partial_fit(*chunk)
    close(model.predict(Z), regressor().fit(X, Y).predict(Z))


def test_chunks_without_weight_may_come_first(ours):
    nothing = X[:5], Y[:5], np.zeros(5)
    for bounds in (None, BOUNDS):
        model = regressor(bounds=bounds).fit_chunks([nothing, (X, Y, W), nothing])
        close(model.predict(Z), ours.predict(Z))
        with pytest.raises(ValueError, match=r"weight.* zero"):
            regressor(bounds=bounds).fit_chunks([nothing, nothing])
    with pytest.raises(ValueError, match="zero for all of the first chunk"):
        regressor(bounds=BOUNDS).partial_fit(*nothing)


def test_an_interruption_says_what_is_left(monkeypatch):
    model = regressor(bounds=BOUNDS, tol=1e-3).fit(X, Y)
    before = model.predict(Z)

    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(sums, "statistics", interrupt)
    with pytest.raises(KeyboardInterrupt, match="as it was before this chunk"):
        model.partial_fit(X, Y)
    np.testing.assert_array_equal(model.predict(Z), before)
    with pytest.raises(KeyboardInterrupt, match="has kept nothing"):
        model.fit(X, Y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_predictions_come_in_chunks_too(ours):
    parts = [Z[:7], Z[7:30], Z[30:]]
    asked = []

    def stream():
        for number, part in enumerate(parts):
            asked.append(number)
            yield part

    found = ours.predict_chunks(stream())
    assert asked == []  # one chunk at a time, when it is asked for
    np.testing.assert_array_equal(next(found), ours.predict(parts[0]))
    assert asked == [0]
    rest = np.concatenate(list(found))
    np.testing.assert_array_equal(rest, np.concatenate([ours.predict(p) for p in parts[1:]]))
    for (_, std), part in zip(ours.predict_chunks(parts, return_std=True), parts, strict=True):
        np.testing.assert_array_equal(std, ours.predict(part, return_std=True)[1])
    exact = GRLSClassifier(Gaussian(0.5)).fit(X[:80], LABELS[:80])  # any solver will do
    labels = list(exact.predict_chunks(parts))
    np.testing.assert_array_equal(np.concatenate(labels), exact.predict(Z))
    for wrong, match in ((Z[:, :1], "expecting 2 features"), ((Z, Z[:, 0]), "inhomogeneous")):
        with pytest.raises(ValueError, match=match) as refused:
            list(ours.predict_chunks([Z, wrong]))
        assert refused.value.__notes__[0].startswith("This was chunk 1, counted from 0")
    with pytest.raises(NotFittedError):
        regressor().predict_chunks(parts)
    with pytest.raises(TypeError, match=r"chunks=5 must be something to iterate over"):
        ours.predict_chunks(5)
    with pytest.raises(TypeError, match=r"X is a generator.*predict_chunks\(X\)"):
        ours.predict(stream())


def test_an_error_says_which_chunk_it_was():
    bad = X[300:].copy()
    bad[-1, 0] = np.nan
    for bounds in (BOUNDS, None):
        model = regressor(bounds=bounds)
        with pytest.raises(ValueError, match="NaN") as refused:
            model.fit_chunks([(X[:300], Y[:300]), (bad, Y[300:])])
        assert refused.value.__notes__ == ["This was chunk 1, counted from 0."]
        assert not hasattr(model, "coef_")
    with pytest.raises(TypeError, match=r"chunks=5 must be something to iterate over"):
        model.fit_chunks(5)
