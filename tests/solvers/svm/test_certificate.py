"""The pieces of an SVM's proof: its terms, the bounds that are reached, what needs no repair."""

import numpy as np
import pytest

from kernelbook.numeric.column_space import column_space
from kernelbook.solvers.svm.certificate import (
    _residual,
    at_bounds,
    certificate_sums,
    is_feasible,
    violation,
)
from kernelbook.solvers.svm.feasibility import make_feasible
from kernelbook.solvers.svm.multipliers import choose_multipliers
from kernelbook.solvers.svm.solve import solve_robust
from tests.naive import svm as naive
from tests.samples.svm import box, problem


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(4))
def test_terms_of_the_certificate(seed):
    rng = np.random.default_rng(seed)
    y, C = rng.choice([-1.0, 1.0], size=30), rng.uniform(0.5, 2, size=30)
    beta = y * C * np.clip(rng.normal(size=30), 0, 1)
    h, f = rng.normal(size=(2, 30))
    expected = naive.certificate_terms(h, f, y, C, beta)
    np.testing.assert_allclose(certificate_sums(h, f, y, C, beta), expected, rtol=1e-12)
    assert np.isnan(certificate_sums(h, np.full(30, np.nan), y, C, beta)[0])
    P = rng.normal(size=(30, 2))
    P[:, 1] = 0.0
    P[0, 1] = 1.0
    beta[0] = 1e-12
    total = [np.abs(P[:, 0] * beta).sum(), 1e-8 * np.abs(beta).sum()]
    assert _residual(P, beta) == pytest.approx(np.max(np.abs(P.T @ beta) / total), rel=1e-12)


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(3))
def test_bounds_that_are_reached_and_the_bias_that_follows(seed):
    rng = np.random.default_rng(seed)
    C = rng.uniform(0.5, 2.0, size=40)
    alpha = C * np.clip(rng.normal(0.5, 1.0, size=40), 0.0, 1.0)
    alpha[:3] = 1e-13, C[1] - 1e-13, 0.5 * C[2]
    at_zero, at_C = at_bounds(alpha, C)
    tiny = 1e-11 * alpha.max()
    np.testing.assert_array_equal(at_zero, alpha <= np.minimum(tiny, 0.5 * C))
    np.testing.assert_array_equal(at_C, ~at_zero & (C - alpha <= 1e-11 * C))
    assert list(at_zero[:3]) == [True, False, False]
    assert list(at_C[:3]) == [False, True, False]
    y, h = rng.choice([-1.0, 1.0], size=40), 1e6 + 1e-6 * rng.normal(size=40)
    h += y  # the free samples all but agree about a large bias
    Q = np.full((40, 1), 40**-0.5)
    (nu,) = choose_multipliers(h, Q, y, C, at_zero, at_C, np.zeros(1))
    free = ~(at_zero | at_C)
    assert nu * 40**-0.5 == pytest.approx(np.mean((y - h)[free]), rel=1e-15)


@pytest.mark.interpreted
def test_violation_is_what_it_says():
    rng = np.random.default_rng(0)
    beta, v = np.clip(rng.normal(0.5, 1.0, 30), 0.0, 1.0), rng.normal(size=30)
    lo, hi = np.zeros(30), np.ones(30)
    expected = max(0.0, v[beta < hi].max()) + max(0.0, -v[beta > lo].min())
    assert violation(beta, v, lo, hi) == expected
    assert np.isnan(violation(beta, np.full(30, np.nan), lo, hi))


@pytest.mark.interpreted
def test_what_is_settled_needs_no_repair():
    K, P, y, C = problem(60, 3, 0, C=2.0)
    Q, (lo, hi) = column_space(P).Q, box(y, C)
    beta = solve_robust(K, P, y, C).beta
    assert is_feasible(Q, beta, lo, hi)
    again = make_feasible(Q, beta, lo, hi)
    np.testing.assert_array_equal(again, beta)
    assert again is not beta
    free = np.flatnonzero((beta > lo) & (beta < hi))[0]
    for i, value in ((free, beta[free] + 1e-9), (free, lo[free] + 1e-16), (free, hi[free] + 1.0)):
        off = beta.copy()
        off[i] = value
        assert not is_feasible(Q, off, lo, hi)
