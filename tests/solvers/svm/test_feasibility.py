"""The projection behind the repair of dual points, against cvxopt and against its definition."""

import numpy as np
import pytest
from cvxopt import matrix, solvers

from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.piecewise_linear import zero_of_slope
from kernelbook.solvers.svm.feasibility import make_feasible
from kernelbook.solvers.svm.feasibility import project_to_feasible as project

EXACT = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-13, "feastol": 1e-13}


def nearest(Q, beta, lo, hi):
    """The same by interior points."""
    m, r = Q.shape
    sides = np.vstack([np.eye(m), -np.eye(m)])
    given = map(matrix, (np.eye(m), -beta, sides, np.append(hi, -lo), Q.T.copy(), np.zeros(r)))
    return np.ravel(solvers.qp(*given, options=EXACT)["x"])


def sample(seed, m=40):
    """Features, a box and a point of it, of three kinds: inside, at bounds, shares of topics."""
    rng = np.random.default_rng(seed)
    l, kind = rng.integers(1, 9), seed % 3
    P = rng.normal(size=(m, l)) if kind < 2 else rng.dirichlet(np.full(l, 0.1), size=m).round(2)
    y, C = rng.choice([-1.0, 1.0], size=m), rng.uniform(0.5, 2.0, size=m)
    lo, hi = np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    size = (0.3, 3.0, 30.0)[kind]
    return column_space(P).Q, np.clip(size * rng.normal(size=m), lo, hi), lo, hi


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_nearest_point(seed):
    Q, beta, lo, hi = sample(seed)
    z = project(Q, beta, lo, hi)
    assert np.all((z >= lo) & (z <= hi))
    assert np.abs(Q.T @ z).max() <= 1e-13 * np.linalg.norm(beta)
    np.testing.assert_allclose(z, nearest(Q, beta, lo, hi), atol=1e-6)


@pytest.mark.interpreted
def test_a_feasible_point_stays_and_nothing_is_no_problem():
    Q, beta, lo, hi = sample(0)
    z = project(Q, beta, lo, hi)
    np.testing.assert_allclose(project(Q, z, lo, hi), z, atol=1e-14)
    np.testing.assert_array_equal(project(Q[:, :0], beta, lo, hi), beta)
    np.testing.assert_array_equal(project(Q, 0 * beta, lo, hi), 0 * beta)


def test_features_of_one_sign_and_labels_of_one_side_leave_only_zero():
    """Σ β_i = 0 with all β_i ≥ 0: the answer is zero, and rounding of zero is accepted."""
    m = 20
    Q = np.full((m, 1), m**-0.5)
    z = project(Q, np.linspace(0.1, 1.0, m), np.zeros(m), np.ones(m))
    assert np.abs(z).max() < 1e-12


@pytest.mark.interpreted
@pytest.mark.parametrize("length", [1e-3, 1.0, 1e6])
def test_the_search_finds_the_zero_of_a_falling_slope(length):
    """Whatever the length of the step: long ones are the point of an exact search."""
    Q, beta, lo, hi = sample(1)
    s = length * (Q.T @ beta)

    def search(fall):
        return zero_of_slope(fall @ lo, 0.0, beta - lo, fall, np.ones(beta.size), hi - lo)

    t = search(-Q @ s)

    def slope(t):
        return s @ (Q.T @ np.clip(beta - t * (Q @ s), lo, hi))

    assert abs(slope(t)) <= 1e-12 * slope(0.0)
    assert slope(0.9 * t) > 0 > slope(1.1 * t)
    assert search(Q @ s) == 0.0


def test_an_infinite_bound_gives_no_nan():
    """The squared hinge has no upper bound: where no step is defined the search ends."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        m = 30
        y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
        lower, upper = np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0)
        beta = y * rng.exponential(size=m) * (rng.random(m) < 0.2)
        Q = np.linalg.qr(rng.normal(size=(m, 1 + seed % 3)))[0]
        z = make_feasible(Q, beta, lower, upper)
        assert np.isfinite(z).all()
        assert np.abs(Q.T @ z).max() <= 1e-9 * max(np.linalg.norm(z), 1e-300)
        assert np.all((z >= lower) & (z <= upper))
