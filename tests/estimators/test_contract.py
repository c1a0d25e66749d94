"""What chapters and users rely on, for every learner: defaults, certificates, parameters."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_regressor
from sklearn.exceptions import ConvergenceWarning

import kernelbook
from kernelbook import (
    Constant,
    Gaussian,
    GRLSClassifier,
    GRLSClassifierCV,
    GRLSRegressor,
    GRLSRegressorCV,
    Polynomials,
    PrimalSVMClassifier,
    SVMGBClassifier,
)
from kernelbook.certificates import WARN_GAP

LEARNERS = [
    value
    for value in (getattr(kernelbook, name) for name in kernelbook.__all__)
    if isinstance(value, type) and issubclass(value, BaseEstimator) and hasattr(value, "predict")
]
RNG = np.random.default_rng(8)
X = RNG.normal(size=(40, 3))
VALUES = np.sin(X[:, 0]) + 0.3 * RNG.normal(size=40)


def target(learner):
    return VALUES if is_regressor(learner) else VALUES > 0


def test_there_are_learners():
    assert {SVMGBClassifier, GRLSRegressor, GRLSClassifierCV} <= set(LEARNERS)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda c: c.__name__)
def test_every_fit_has_a_certificate_that_prints(learner):
    proof = learner().fit(X, target(learner())).certificate_
    numbers = [proof.primal, proof.dual, proof.gap, proof.constraint, proof.kkt]
    assert np.isfinite(numbers).all()
    assert 0 <= proof.gap == pytest.approx(proof.primal - proof.dual, abs=1e-9)
    for name in ("primal", "dual", "gap", "constraint", "kkt"):
        assert name in str(proof)


@pytest.mark.parametrize(
    ("learner", "explicit"),
    [
        (GRLSRegressor, {"reg": 1e-3, "solver": "auto"}),
        (GRLSClassifier, {"reg": 1e-3, "solver": "auto"}),
        (GRLSRegressorCV, {"solver": "auto"}),
        (GRLSClassifierCV, {"solver": "auto"}),
        (
            SVMGBClassifier,
            {"C": 1.0, "tol": 1e-3, "solver": "auto", "class_weight": None, "gap_tol": None},
        ),
    ],
)
def test_defaults(learner, explicit):
    """Gaussian(width=√d) with a free constant; `Constant()` is what "constant" means."""
    plain = learner().fit(X, target(learner()))
    for features in ("constant", Constant(), Polynomials(0)):
        named = learner(Gaussian(np.sqrt(3.0)), features, **explicit).fit(X, target(learner()))
        f, g = (getattr(m, "decision_function", m.predict)(X) for m in (plain, named))
        np.testing.assert_allclose(f, g, atol=1e-9)
    assert learner().get_params()["kernel"] is None
    assert learner().get_params()["features"] == "constant"


@pytest.mark.parametrize("learner", [GRLSRegressor, SVMGBClassifier])
def test_parameters_of_kernel_and_features_are_reached(learner):
    model = learner(Gaussian(1.0), Polynomials(1))
    assert model.get_params()["kernel__width"] == 1.0
    model.set_params(kernel__width=2.0, features__degree=2)
    assert model.kernel == Gaussian(2.0)
    assert model.fit(X, target(model)).coef_.shape[-1] == 10


@pytest.mark.parametrize("C", [0.1, 100.0])
def test_a_small_problem_is_finished_whatever_the_tolerance(C):
    coarse = SVMGBClassifier(Gaussian(1.0), Polynomials(1), C=C, tol=0.5).fit(X, VALUES > 0)
    assert coarse.certificate_.kkt < 1e-9
    assert coarse.certificate_.relative_gap < 1e-9


def test_what_a_search_over_reg_keeps():
    model = GRLSRegressorCV(regs=[1.0, 1e-2, 1e-4]).fit(X, VALUES)
    assert model.reg_ in (1.0, 1e-2, 1e-4)
    assert model.loo_errors_.shape == (40,)
    assert model.path_.reg.tolist() == [1.0, 1e-2, 1e-4]
    assert np.mean(model.loo_errors_**2) == pytest.approx(model.path_.loo.min(), rel=1e-9)


COARSE = [
    SVMGBClassifier(C=100.0, tol=0.3, gap_tol=0.5),
    PrimalSVMClassifier(solver="pegasos", tol=0.5, random_state=0),
    GRLSRegressor(Gaussian(0.3), reg=1e-4, tol=0.5, solver="cg"),
]


@pytest.mark.parametrize("model", COARSE, ids=str)
def test_a_gap_of_more_than_a_thousandth_warns_whatever_the_tolerance(model):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 2))
    y = rows[:, 0] * rows[:, 1] + 0.5 * rng.normal(size=1500)
    with pytest.warns(ConvergenceWarning, match="gap"):
        model.fit(rows, y if isinstance(model, GRLSRegressor) else y > 0)
    assert model.certificate_.relative_gap > WARN_GAP


@pytest.mark.parametrize(
    "learner", [v for v in LEARNERS if not is_regressor(v())], ids=lambda c: c.__name__
)
def test_labels_that_have_no_order_are_explained(learner):
    with pytest.raises(TypeError, match=r"labels that cannot be compared .*: use one type"):
        learner().fit(X, np.array(["b", None] * 20, dtype=object))
