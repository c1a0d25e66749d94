"""`tol` has one meaning: a fit warns where its certificate shows more (`Certificate`, Notes)."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelbook import (
    Gaussian,
    GRLSClassifier,
    GRLSRegressor,
    IncrementalSVMClassifier,
    PrimalSVMClassifier,
    SVMGBClassifier,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * RNG.normal(size=60), [0.0, 0.8])
COARSE = {"solver": "cg", "n_centers": 5, "max_iter": 4, "random_state": 0, "reg": 1e-3}
LEARNERS = [
    (SVMGBClassifier(max_iter=25), "kkt"),
    (GRLSRegressor(Gaussian(1.0), **COARSE), "kkt"),
    (GRLSClassifier(Gaussian(1.0), **COARSE), "kkt"),
    (PrimalSVMClassifier(solver="pegasos", max_iter=40, random_state=0), "relative_gap"),
    (IncrementalSVMClassifier(max_basis=6), "relative_gap"),
]


def fitted(model, tol):
    """The certificates of the problems, of all steps of a path, and whether the fit warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.set_params(tol=tol).fit(X, Y)
    proofs = [model.certificate_, *(step.certificate for step in getattr(model, "path_", []))]
    parts = [part for proof in proofs for part in proof.parts or (proof,)]
    said = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    return parts, said


@pytest.mark.parametrize(("model", "measure"), LEARNERS, ids=lambda p: type(p).__name__)
def test_a_fit_warns_where_its_certificate_shows_more_than_tol(model, measure):
    parts, _ = fitted(model, 1e-2)
    reached = max(getattr(part, measure) for part in parts)
    outcomes = set()
    for tol in (reached / 4, 4 * reached, 1e-2):
        parts, said = fitted(model, tol)
        gap = max(part.relative_gap for part in parts)
        more = max(getattr(part, measure) for part in parts) > tol
        assert said == (more or gap > 1e-3)
        outcomes.add(said)
    assert True in outcomes
