"""The public attributes tell the f that `predict` evaluates, and the certificate is of that f."""

import warnings

import numpy as np
import pytest

import kernelbook as kb

RNG = np.random.default_rng(2)
X = RNG.normal(size=(40, 2))
TARGET = X[:, 0] + np.sin(2 * X[:, 1]) + 0.4 * RNG.normal(size=40)
LABELS = (TARGET > 0).astype(int)
NEW = RNG.normal(size=(15, 2))


@pytest.mark.parametrize("far", [0.0, 1e4, 1e6])
@pytest.mark.parametrize(
    "model", [kb.SVMGBClassifier(kb.Linear(), C=3.0), kb.GRLSRegressor(2.0 * kb.Linear(), reg=1e-2)]
)
def test_a_linear_kernel_far_from_the_origin(model, far):
    y = TARGET if isinstance(model, kb.GRLSRegressor) else LABELS
    model.fit(X + far, y)
    centers = X + far if isinstance(model, kb.GRLSRegressor) else (X + far)[model.support_]
    if model.origin_ is not None:
        centers = centers - model.origin_
    assert (model.origin_ is None) == (far == 0)
    P = model.features_.transform(NEW + far)
    dual, coef = np.atleast_2d(model.dual_coef_), np.atleast_2d(model.coef_)
    K = model.kernel_(NEW + far, centers)
    f = (K @ dual.T + P @ coef.T)[:, 0]
    rounding = 1e-15 * len(centers) * float(np.max(np.abs(K) @ np.abs(dual.T)))
    ours = model.predict if isinstance(model, kb.GRLSRegressor) else model.decision_function
    assert rounding < 1e-5
    assert f == pytest.approx(ours(NEW + far), rel=0, abs=rounding)


def objective(model, F):
    """Of two classes and the hinge loss, for given values."""
    w = model.basis_coef_[0]
    return 0.5 * w @ w + model.C * np.maximum(0, 1 - np.where(LABELS == 1, 1, -1) * F).sum()


@pytest.mark.parametrize("width", [1.0, 10.0, 60.0])
@pytest.mark.parametrize("C", [1.0, 1e4, 1e7])
def test_a_primal_machine_certifies_what_it_predicts(width, C):
    """Wide Gaussians are nearly dependent: T and its rounding are large."""
    basis = kb.KernelBasis(kb.Gaussian(width), centers=X[:20])
    model = kb.PrimalSVMClassifier(basis, C=C, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, LABELS)
    proof, value = model.certificate_, objective(model, model.decision_function(X))
    assert proof.primal == pytest.approx(value, rel=1e-12)
    assert proof.gap >= (value - proof.dual) * (1 - 1e-6) - 1e-12 * value
