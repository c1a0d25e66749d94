"""The rule for λ where the optimal one is not unique, and when features separate alone."""

import numpy as np
import pytest
from scipy import linalg
from scipy.optimize import linprog, nnls

from kernelbook.numeric.column_space import column_space
from kernelbook.solvers.svm import multipliers
from kernelbook.solvers.svm.certificate import at_bounds
from kernelbook.solvers.svm.multipliers import (
    _least_distance,
    _nearest,
    choose_multipliers,
    hard_margin_multipliers,
)
from kernelbook.solvers.svm.solve import solve_robust
from tests.samples.svm import gaussian

cvxopt = pytest.importorskip("cvxopt")


def assert_least_norm(z, G, g, weight=None):
    """Gz ≥ g, and the gradient of ½zᵀWz is a non-negative combination of the active rows."""
    size = np.linalg.norm(G, axis=1) * np.linalg.norm(z) + np.abs(g)
    slack = G @ z - g
    assert np.all(slack >= -1e-9 * size)
    gradient = z if weight is None else weight @ z
    active = G[slack <= 1e-9 * size]
    _, rest = nnls(active.T, gradient) if len(active) else (None, np.linalg.norm(gradient))
    assert rest <= 1e-8 * np.linalg.norm(gradient)


def test_nearest_point_of_a_polyhedron():
    rng = np.random.default_rng(0)
    for trial in range(200):
        k, n = rng.integers(1, 12), rng.integers(1, 150)
        G = np.round(rng.normal(size=(n, k))) if trial % 3 == 0 else rng.normal(size=(n, k))
        inside = rng.normal(size=k) * 10.0 ** rng.uniform(-2, 3)
        g = G @ inside - rng.exponential(size=n) * (rng.random(n) < 0.7)
        assert_least_norm(_nearest(G, g, np.linalg.norm(inside)), G, g)


def test_nearest_point_says_when_there_is_none():
    G = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert _nearest(G, np.array([1.0, 1.0]), 1.0) is None
    np.testing.assert_allclose(_nearest(G, np.array([1.0, -1.0]), 1.0), [1.0, 0.0])


def test_a_sliver_that_rounding_left_does_not_count():
    """z₁ ≥ 1 and z₁ ≤ 1 + 10⁻¹³(z₂ − 50): nearest is (1, 50), and (1, 0) is meant."""
    G, g = np.array([[1.0, 0.0], [-1.0, 1e-13]]), np.array([1.0, -1.0 + 5e-12])
    assert np.linalg.norm(_nearest(G, g, 1.0)) > 45
    z = _least_distance(G, g, np.array([1.0, 50.0]))
    np.testing.assert_allclose(z, [1.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_separate_says_yes_exactly_when_the_features_separate(seed):
    rng = np.random.default_rng(seed)
    m, r = rng.integers(10, 200), rng.integers(1, 10)
    Q = np.linalg.qr(rng.normal(size=(m, r)))[0]
    y = np.where(Q @ rng.normal(size=r) > 0, 1.0, -1.0)
    if seed % 2:
        y[: 1 + seed // 4] *= -1
    w = rng.uniform(0.2, 3, size=m)
    nu = hard_margin_multipliers(Q, y, w)
    feasible = linprog(np.zeros(r), -y[:, None] * Q, -np.ones(m), bounds=(None, None)).status == 0
    assert (nu is not None) == feasible
    if nu is not None:
        assert_least_norm(nu, y[:, None] * Q, np.ones(m), Q.T @ (w[:, None] * Q))


@pytest.mark.parametrize("seed", range(4))
def test_the_least_nu_for_some_is_the_least_for_all(seed, monkeypatch):
    """Samples join until none is short: more than one round, and the answer is that of everyone."""
    rng = np.random.default_rng(seed)
    P = np.column_stack([np.ones(3000), rng.normal(size=(3000, 5))])
    Q, w = column_space(P).Q, rng.uniform(0.2, 3, size=3000)
    y = np.where(P @ rng.normal(size=6) > 0, 1.0, -1.0)
    sizes, nearest = [], multipliers._first_nearest

    def counted(G, g):
        sizes.append(len(g))
        return nearest(G, g)

    monkeypatch.setattr(multipliers, "_first_nearest", counted)
    nu = hard_margin_multipliers(Q, y, w)
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 1
    assert sizes[-1] < 1500
    assert_least_norm(nu, y[:, None] * Q, np.ones(3000), Q.T @ (w[:, None] * Q))


def polyhedron_oracle(h, Q, y, w, at_zero, at_C):
    """The rule by cvxopt, all conditions as they stand."""
    free = ~(at_zero | at_C)
    sign = np.where(at_zero, y, -y)[~free]
    independent = linalg.qr(Q[free].T, pivoting=True)[2][: np.linalg.matrix_rank(Q[free])]
    solution = cvxopt.solvers.qp(
        cvxopt.matrix(Q.T @ (w[:, None] * Q)),
        cvxopt.matrix(np.zeros(Q.shape[1])),
        cvxopt.matrix(-sign[:, None] * Q[~free]),
        cvxopt.matrix(-sign * (y - h)[~free]),
        cvxopt.matrix(Q[free][independent]),
        cvxopt.matrix((y - h)[free][independent]),
        options={"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12},
    )
    return np.ravel(solution["x"])


@pytest.mark.parametrize("seed", range(6))
def test_rule_for_lambda_when_support_vectors_do_not_determine_it(seed):
    """Indicator features of groups: a group without free support vectors leaves its λ open."""
    rng = np.random.default_rng(seed)
    m = 60
    group = rng.integers(0, 6, size=m)
    P = np.eye(6)[group]
    y = np.where(group < 3, 1.0, -1.0)
    y[rng.choice(m, 4, replace=False)] *= -1
    X = rng.normal(size=(m, 2))
    K, w = gaussian(X, 2.0), rng.uniform(0.5, 2.0, size=m)
    s = solve_robust(K, P, y, 0.3 * w)
    where = at_bounds(y * s.beta, 0.3 * w)
    assert s.certificate.kkt < 1e-10
    free = ~(where[0] | where[1])
    assert np.linalg.matrix_rank(P[free]) < 6  # otherwise there would be nothing to choose
    expected = polyhedron_oracle(K @ s.beta, P, y, w, *where)
    np.testing.assert_allclose(s.coef, expected, atol=1e-6)
    # and it does not depend on where the solver came from
    Q = column_space(P).Q
    h = K @ s.beta
    other = Q.T @ (P @ (s.coef + 1e-6))
    chosen = choose_multipliers(h, Q, y, w, *where, other)
    np.testing.assert_allclose(Q @ chosen, P @ s.coef, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_features_that_vanish_at_the_free_samples_leave_lambda_open(seed):
    """Q is zero there up to rounding, and what rounding holds is not held."""
    rng = np.random.default_rng(seed)
    m = 12
    P = rng.normal(size=(m, 1)) @ [[1.0, 2.0]]
    P[:5] = 0.0
    y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    at_zero, at_C = np.arange(m) >= 8, (np.arange(m) >= 5) & (np.arange(m) < 8)
    Q = column_space(P).Q
    Q[:5] += 1e-17 * rng.normal(size=(5, 1))
    optimal, w = np.array([rng.normal()]), rng.uniform(0.5, 2.0, m)
    margin = np.where(at_zero, 1 + rng.random(m), np.where(at_C, 1 - rng.random(m), 1.0))
    h = y * margin - Q @ optimal
    h[:5] = y[:5] + 1e-15 * rng.normal(size=5)
    chosen = choose_multipliers(h, Q, y, w, at_zero, at_C, optimal)
    assert np.abs(chosen) <= np.abs(optimal) + 1e-12
    f = y * (h + Q @ chosen)
    assert f[at_zero].min() > 1 - 1e-9
    assert f[at_C].max() < 1 + 1e-9
