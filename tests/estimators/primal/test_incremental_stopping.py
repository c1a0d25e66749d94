"""When the growing basis stops, and the competitor that adds samples instead of functions."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from kernelbook import (
    Gaussian,
    IncrementalSVMClassifier,
    KernelBasis,
    LinearBasis,
)
from tests.samples.xor import xor as noisy_xor

xor = partial(noisy_xor, above=0.2, labels=(-1, 1))


def test_held_out_samples_are_not_trained_on():
    X, y = xor(120, seed=1)
    model = IncrementalSVMClassifier(
        KernelBasis(Gaussian(1.0)), stop="held_out", patience=5, random_state=0
    ).fit(X, y)
    errors = np.array([step.validation_error for step in model.path_])
    assert model.n_basis_ == np.argmin(errors) + 1
    assert len(errors) == model.n_basis_ + 5  # it stopped when five steps brought nothing
    assert model.basis_.centers_.shape == (96, 3)
    out = np.array([not (x == model.basis_.centers_).all(axis=1).any() for x in X])
    assert out.sum() == 24
    for k in (1, model.n_basis_):
        assert np.mean(model.predict(X[out], n_basis=k) != y[out]) == pytest.approx(errors[k - 1])
    same = IncrementalSVMClassifier(KernelBasis(Gaussian(1.0)), max_basis=10).fit(X[~out], y[~out])
    k = len(model.path_)
    assert np.array_equal(same.selected_[:k], model.selected_[:10])


def test_cross_validation_grows_a_path_on_every_fold():
    X, y = xor(60, seed=1)
    folds = StratifiedKFold(3)
    model = IncrementalSVMClassifier(
        KernelBasis(Gaussian(1.0)), stop="cv", cv=folds, patience=None, max_basis=12
    ).fit(X, y)
    assert len(model.path_) == 12  # patience=None only records
    plain = IncrementalSVMClassifier(KernelBasis(Gaussian(1.0)), max_basis=12)
    wrong = np.zeros(12)
    for train, test in folds.split(X, y):
        part = clone(plain).fit(X[train], y[train])
        for k in range(1, 13):
            wrong[k - 1] += np.sum(part.predict(X[test], n_basis=k) != y[test])
    errors = [step.validation_error for step in model.path_]
    assert errors == pytest.approx(list(wrong / 60), abs=1e-12)
    assert model.n_basis_ == np.argmin(errors) + 1
    assert np.array_equal(model.selected_, clone(plain).fit(X, y).selected_)


def test_weights_of_zero_are_neither_trained_on_nor_held_out():
    X, y = xor(80)
    w = np.where(np.arange(80) % 4 == 0, 0.0, 1.0)
    here = w > 0
    for stop in (None, "held_out"):
        model = IncrementalSVMClassifier(max_basis=6, stop=stop, random_state=1)
        a, b = clone(model).fit(X, y, w), clone(model).fit(X[here], y[here])
        for s, t in zip(a.path_, b.path_, strict=True):
            assert s.objective == pytest.approx(t.objective)
            assert s.validation_error == pytest.approx(t.validation_error, nan_ok=True)


@pytest.mark.parametrize("stop", [None, "held_out", "cv"])
def test_every_stopping_rule_checks_the_whole_sample(stop):
    X, y = xor(40)
    model = IncrementalSVMClassifier(LinearBasis(), max_basis=2, stop=stop, cv=2, random_state=0)
    one = np.arange(40) == 7
    for bad_y, w, match in (
        (y, np.where(one, -1.0, 1.0), "[Nn]egative"),
        (y, np.where(one, np.nan, 1.0), "NaN"),
        (y, np.ones(39), "sample_weight.shape"),
        (y, np.zeros(40), "zero"),
        (y[:39], None, "inconsistent numbers of samples"),
        (np.append(y, 1), None, "inconsistent numbers of samples"),
        (X[:, 0], None, "Unknown label type"),
        (np.ones(40), None, "one class only"),
    ):
        with pytest.raises(ValueError, match=match):
            clone(model).fit(X, bad_y, w)
    right = clone(model).fit(X, y).decision_function(X)
    with pytest.warns(DataConversionWarning):
        column = clone(model).fit(X, y[:, None])
    for same in (
        column,
        clone(model).fit(X, y, 1.0),
        clone(model).fit(sparse.coo_array(X), y),
        clone(model).fit(sparse.bsr_array(X), y),
        clone(model).fit(X.tolist(), y.tolist(), [1.0] * 40),
    ):
        assert np.allclose(same.decision_function(X), right, atol=1e-9)


# --------------------------------------------------------------------------------- the competitor


def test_the_competitor_sees_only_the_labels_at_its_centres():
    X, y = xor(60, seed=4)
    model = IncrementalSVMClassifier(
        KernelBasis(Gaussian(1.2)), C=2.0, max_basis=20, train_on="centers"
    ).fit(X, y)
    for k in (5, 20):
        S = model.selected_[:k]
        if np.unique(y[S]).size < 2:
            continue
        alone = SVC(C=2.0, gamma=1 / 1.2**2, tol=1e-10).fit(X[S], y[S])
        assert np.abs(model.decision_function(X, k) - alone.decision_function(X)).max() < 1e-6
    flipped = y.copy()
    unseen = np.setdiff1d(np.arange(60), model.selected_)
    # Labels of unseen samples still choose who is seen next; the last classifier ignores them.
    flipped[unseen] *= -1
    S = model.selected_
    again = SVC(C=2.0, gamma=1 / 1.2**2, tol=1e-10).fit(X[S], flipped[S])
    assert np.abs(model.decision_function(X) - again.decision_function(X)).max() < 1e-6
    # Each step adds the sample that the last classifier gets most wrong.
    for k in (6, 12):
        margin = y * model.decision_function(X, k)
        rest = np.setdiff1d(np.arange(60), S[:k])
        assert margin[S[k]] == pytest.approx(margin[rest].min(), abs=1e-8)


def test_with_all_samples_the_competitor_is_the_same_machine():
    X, y = xor(30)
    both = [
        IncrementalSVMClassifier(train_on=train_on, max_basis=30).fit(X, y)
        for train_on in ("all", "centers")
    ]
    assert both[0].path_[-1].objective == pytest.approx(both[1].path_[-1].objective, rel=1e-9)
