"""The choice of centres: leverage scores against their definition, and every rule."""

import numpy as np
import pytest

from kernelbook import Gaussian, ThinPlate
from kernelbook.bases.centers import choose_centers, leverage_scores
from tests.samples.nystrom import sample


def test_leverage_scores_of_the_full_pilot_are_exact():
    X, *_ = sample(m=120)
    K = Gaussian(0.5)(X)
    exact = np.diag(K @ np.linalg.inv(K + 120 * 1e-3 * np.eye(120)))
    scores = leverage_scores(Gaussian(0.5), X, np.arange(120), 1e-3)
    np.testing.assert_allclose(scores / (120 * 1e-3), exact, rtol=1e-8)


def test_leverage_prefers_what_is_alone():
    rng = np.random.default_rng(0)
    X = np.vstack([0.05 * rng.normal(size=(960, 2)), rng.uniform(-3, 3, size=(40, 2))])
    w = np.ones(1000)
    counts = {
        rule: np.mean(
            np.abs(choose_centers(rule, X, 30, w, 0, Gaussian(0.5), 1e-4)[0]).max(axis=1) > 0.4
        )
        for rule in ("uniform", "leverage")
    }
    assert counts["leverage"] > 0.4 > 0.2 > counts["uniform"]


@pytest.mark.parametrize("rule", ["uniform", "leverage", "kmeans"])
def test_centres(rule):
    X, *_ = sample(m=200)
    w = np.ones(200)
    w[100:] = 1e-9
    args = (rule, X, 20, w, 3, Gaussian(0.5), 1e-3)
    Z, index = choose_centers(*args)
    assert Z.shape == (20, 2)
    assert np.isfinite(Z).all()
    np.testing.assert_array_equal(Z, choose_centers(*args)[0])
    if rule != "kmeans":  # rows, all different, and none of negligible weight
        np.testing.assert_array_equal(Z, X[index])
        assert len(set(index)) == 20
        assert max(index) < 100
    else:
        assert index is None
    assert choose_centers(rule, X, 500, w, 3, Gaussian(0.5), 1e-3)[0] is X


def test_centres_refuse():
    X, *_ = sample(m=30)
    w = np.ones(30)
    for rule in ("random", np.ones((3, 2))):
        with pytest.raises(ValueError, match="uniform"):
            choose_centers(rule, X, 5, w, 0)
    for n in (0, 2.5, True, None):
        with pytest.raises(ValueError, match="n_centers"):
            choose_centers("uniform", X, n, w, 0)
    with pytest.raises(ValueError, match="positive definite"):
        choose_centers("leverage", X, 5, w, 0, ThinPlate(), 1e-3)
