"""`intercept_`: the constant that f contains, where the features tell it apart from the rest."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from kernelbook import (
    Gaussian,
    GRLSClassifier,
    IncrementalSVMClassifier,
    KernelBasis,
    Linear,
    PrimalSVMClassifier,
    SVMGBClassifier,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.4
LEARNERS = [
    SVMGBClassifier(),
    GRLSClassifier(),
    PrimalSVMClassifier(),
    IncrementalSVMClassifier(max_basis=5),
]
every_learner = pytest.mark.parametrize("model", LEARNERS, ids=lambda m: type(m).__name__)


def one_hot(X):
    return np.column_stack([X[:, 0] > 0, X[:, 0] <= 0]).astype(float)


@every_learner
def test_it_is_the_coefficient_of_the_constant_times_its_value(model):
    model.set_params(features=lambda X: np.column_stack([X[:, 1], np.full(len(X), -4.0)]))
    model.fit(X, Y)
    np.testing.assert_array_equal(model.intercept_, -4.0 * model.coef_[:, 1])
    model.set_params(features="constant").fit(X, Y)
    np.testing.assert_array_equal(model.intercept_, model.coef_[:, 0])


def test_it_is_f_without_the_kernel_and_the_other_features():
    """f(0) of linear learners, whose kernel and whose feature are zero there."""
    origin = np.zeros((1, 2))
    features = lambda X: np.column_stack([X[:, 1], np.full(len(X), 0.5)])  # noqa: E731
    for model in (
        SVMGBClassifier(Linear(), features),
        PrimalSVMClassifier(KernelBasis(Linear()), features),
        IncrementalSVMClassifier(KernelBasis(Linear()), features),
    ):
        f = model.fit(X, Y).decision_function(origin)
        np.testing.assert_allclose(model.intercept_, f, atol=1e-12)


@every_learner
def test_there_is_none_without_a_constant_or_where_others_can_replace_it(model):
    for features in (None, one_hot, lambda X: np.column_stack([np.ones(len(X)), one_hot(X)])):
        assert not hasattr(model.set_params(features=features).fit(X, Y), "intercept_")
    model.set_params(features="constant").fit(X, Y)
    assert hasattr(model, "intercept_")
    assert not hasattr(model.set_params(features=None).fit(X, Y), "intercept_")


@pytest.mark.parametrize("learner", [SVMGBClassifier, PrimalSVMClassifier])
def test_there_is_one_for_each_pair_of_classes(learner):
    data, classes = load_iris(return_X_y=True)
    model = learner(Gaussian(2.0) if learner is SVMGBClassifier else None)
    model.fit(data[::3], classes[::3])
    assert model.intercept_.shape == (3,)
    np.testing.assert_array_equal(model.intercept_, model.coef_[:, 0])
