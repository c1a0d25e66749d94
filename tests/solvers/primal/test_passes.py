"""The compiled passes over a sample are their formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelbook.solvers.primal import passes
from kernelbook.solvers.svm.certificate import violation
from tests.naive import primal as naive


@pytest.mark.interpreted
@pytest.mark.parametrize("squared", [False, True])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_passes_over_the_samples_are_their_formulas(seed, squared):
    rng = np.random.default_rng(seed)
    m = 12
    y, u = rng.choice([-1.0, 1.0], m), rng.uniform(0.5, 2.0, m)
    alpha = rng.choice([0.0, 1e-14, 1e-12, 0.4, 1.0], m) * u
    beta, delta = y * alpha, rng.uniform(0.0, 0.3, m) * squared
    f = y * (1 + rng.choice([-1.0, -1e-8, -1e-12, 0.0, 1e-12, 1e-8, 1.0], m)) - delta * beta
    lo, hi = np.minimum(0.0, y * u), np.maximum(0.0, y * u)
    assert np.array_equal(passes.without_noise(beta, u), naive.without_noise(beta, u))
    changed, moved = passes.snapped(beta, f, y, u, delta, squared)
    expected = naive.snapped(beta, f, y, u, delta, squared)
    assert np.array_equal(moved, expected)
    assert changed == (not np.array_equal(expected, beta))
    short = [z for z in y * f if 1 - 1e-9 < z < 1]
    assert passes.nearly_one(y, f) == min([1.0, *short])
    loss = naive.objective(np.zeros((m, 0)), f[:, None], y, u, np.zeros(0), np.ones(1), squared)
    assert passes.hinge(f, y, u, squared) == pytest.approx(loss, rel=1e-13)
    assert violation(beta, y - f, lo, hi) == naive.violation(beta, y - f, lo, hi)


@pytest.mark.interpreted
def test_what_is_no_number_is_none_in_a_proof():
    bad, one = np.array([1.0, np.nan, 2.0]), np.ones(3)
    assert np.isnan(passes.hinge(bad, one, one, False))
    assert np.isnan(violation(0.5 * one, bad, 0 * one, one))
