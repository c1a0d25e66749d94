"""Samples near the margin: their inner products, Newton's method with them, and what is proved."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelbook.solvers.primal import terms as terms
from kernelbook.solvers.primal.growing import newton as module
from kernelbook.solvers.primal.growing.active_set import active_set_solve
from kernelbook.solvers.primal.growing.inner_products import face_matrix, grown, near_margin
from kernelbook.solvers.primal.growing.newton import newton_near, zero_near
from kernelbook.solvers.primal.newton import PiecewiseLoss, finite_newton
from kernelbook.solvers.primal.problem import PrimalProblem
from kernelbook.solvers.svm.certificate import violation
from tests.naive import primal as naive


def asked(near, F):
    H = np.zeros((len(F), len(F)))
    assert face_matrix(near, np.array(F), H)
    return np.triu(H) + np.triu(H, 1).T


def sample(seed, m=40, k=5, l=2):
    rng = np.random.default_rng(seed)
    X, P = rng.normal(size=(m, k)), rng.normal(size=(m, l))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=m) > 0, 1.0, -1.0)
    return rng, X, P, y


# ------------------------------------------------------------------------------- inner products


@pytest.mark.interpreted
@pytest.mark.parametrize("order", ["C", "F"])
def test_inner_products_stay_right_while_columns_and_members_come_and_go(order):
    rng, X, _, _ = sample(0, m=30, k=12)
    X, wide = np.array(X, order=order), np.zeros((30, 16))
    wide[:, :12] = X
    near = near_margin(X[:, :0])
    for k in (1, 2, 3, 7, 12):  # one column more, or several
        part = wide[:, :k] if order == "C" else X[:, :k]
        before = near.G[: near.size[0], : near.size[0]].copy()
        new = grown(near, part)
        assert np.array_equal(near.G[: near.size[0], : near.size[0]], before)
        assert new.size[0] == near.used[: near.size[0]].sum()  # the others are forgotten
        near = new
        for _ in range(3):
            F = rng.permutation(30)[:8]
            assert np.abs(asked(near, F) - part[F] @ part[F].T).max() < 1e-13
    assert np.shares_memory(near.rows, wide) == (order == "C")  # no copy of what lies in rows
    assert grown(near, X[:, :4]).size[0] == 0  # fewer columns: nothing is known


@pytest.mark.interpreted
def test_where_there_is_no_room_the_others_leave():
    _, X, _, _ = sample(1, m=400, k=2)
    near = near_margin(X)
    room = near.member.size
    assert room < 200
    for begin in range(0, 390, 30):
        F = np.arange(begin, begin + 10)
        assert np.abs(asked(near, F) - X[F] @ X[F].T).max() < 1e-13
    assert np.abs(asked(near, np.arange(room)) - X[:room] @ X[:room].T).max() < 1e-13
    inside = near.place >= 0
    assert np.array_equal(np.flatnonzero(inside), np.sort(near.member[: near.size[0]]))
    assert not face_matrix(near, np.arange(room + 1), np.zeros((room + 1, room + 1)))


# --------------------------------------------------------------------------------------- Newton


@pytest.mark.interpreted
@given(st.integers(0, 10**6), st.integers(1, 12), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_line_search_without_sorting_is_exact(seed, m, bounded):
    rng = np.random.default_rng(seed)
    t, dt = rng.normal(size=m), rng.normal(size=m) * (rng.random(m) < 0.8)
    s, u = rng.uniform(0.1, 3), rng.uniform(0.1, 2, m) if bounded else np.full(m, np.inf)
    slope, curvature = rng.normal() - 1, rng.uniform(0.01, 2)
    expected = naive.line_minimum(slope, curvature, t, dt, np.full(m, s), u)
    h = zero_near(slope, curvature, t, dt, s, u)
    assert np.isclose(h, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.interpreted
@pytest.mark.parametrize("l", [0, 1, 3])
@pytest.mark.parametrize(("m", "k"), [(40, 5), (30, 60)])
@pytest.mark.parametrize("s", [0.5, 20.0, 1e4])
def test_newton_near_the_margin_finds_the_minimizer(m, k, l, s):
    """With a face larger than the basis and with a smaller one, and X̂ = 2X."""
    rng, X, P, y = sample(m + l, m, k, l)
    X /= np.sqrt(k)
    u = rng.uniform(0.5, 2.0, m)
    a, start = rng.uniform(0.0, 1.0, m) * u, rng.normal(size=l)
    loss, w = PiecewiseLoss(a, np.full(m, s), u), rng.normal(size=k)
    near = near_margin(X, l)
    found = newton_near(near, 2.0, P, y, loss, w, start, 0.3)
    assert found.converged
    expected = naive.clipped_minimum(2.0 * X, P, y, a, s, u, 0.3, start)
    assert np.abs(found.w - expected[0]).max() < 1e-8
    assert np.abs(found.lam - expected[1]).max(initial=0.0) < 1e-7
    f = 2.0 * X @ found.w + P @ found.lam
    assert np.abs(found.alpha - np.clip(a + s * (1 - y * f), 0.0, u)).max() < 1e-9 * s + 1e-12
    same = finite_newton(2.0 * X, P, y, loss, w, start, tau=0.3)
    assert abs(same.n_iter - found.n_iter) <= 2
    early = newton_near(near, 2.0, P, y, loss, w, start, 0.3, rough=0.1)
    gradient = early.w - 2.0 * X.T @ (y * early.alpha)
    assert np.abs(gradient).max() <= 0.1 + 1e-9
    assert early.n_iter <= found.n_iter
    assert not newton_near(near, 2.0, P, y, loss, w, start, 0.3, max_iter=1).converged


@pytest.mark.interpreted
def test_no_factor_is_larger_than_the_basis(monkeypatch):
    """Interpreted, one can watch; compiled, this only checks that nothing fails."""
    sizes, real = [], module.factorize
    monkeypatch.setattr(module, "factorize", lambda A: sizes.append(len(A)) or real(A))
    for m, k in ((60, 3), (20, 30)):
        _, X, P, y = sample(3, m, k, 1)
        loss = PiecewiseLoss(np.zeros(m), np.full(m, 0.1), np.full(m, 5.0))
        sizes.clear()
        newton_near(near_margin(X, 1), 1.0, P, y, loss, np.zeros(k), np.zeros(1), 1.0)
        assert max(sizes, default=0) <= min(m, k) + 1


# ---------------------------------------------------------------------------------------- sides


@pytest.mark.interpreted
@pytest.mark.parametrize("l", [0, 1, 2])
def test_sides_are_those_of_the_naive_active_set(l):
    agreed = 0
    for seed in range(8):
        rng, X, P, y = sample(seed, 30, 6, l)
        u = rng.uniform(0.5, 2.0, 30)
        _, lam, beta, _ = naive.quadratic_program(X, P, y, u)
        alpha = np.clip(y * beta, 0.0, u)
        alpha[alpha < 1e-6] = 0.0
        alpha = np.where(alpha > u - 1e-6, u, alpha)
        guess = np.where(np.arange(30) < seed % 3, 0.5 * u, alpha)  # some are put on the margin
        expected = naive.active_set_solve(X, P, y, u, guess, 12)
        near = near_margin(X, l)
        for _ in range(2):  # with nothing at hand, and with all that the first call left
            found = active_set_solve(X, P, y, u, lam, guess, near)
            if (guess > 0)[guess < u].sum() > 6 + l:
                assert found is None
            elif expected is not None:
                assert found is not None
                assert np.abs(found[0] - expected[0]).max() < 1e-8
                assert np.abs(found[2] - expected[2]).max() < 1e-7
                agreed += 1
    assert agreed >= 4


# ---------------------------------------------------------------------------------- the proof


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
    assert np.array_equal(terms.without_noise(beta, u), naive.without_noise(beta, u))
    changed, moved = terms.snapped(beta, f, y, u, delta, squared)
    expected = naive.snapped(beta, f, y, u, delta, squared)
    assert np.array_equal(moved, expected)
    assert changed == (not np.array_equal(expected, beta))
    problem = PrimalProblem(np.zeros((m, 1)), np.ones((m, 1)), y, u, squared)
    ours = problem._bounds(beta / problem.unit)
    assert np.array_equal(ours, naive.bounds(beta, y, u, squared))
    short = [z for z in y * f if 1 - 1e-9 < z < 1]
    assert terms.nearly_one(y, f) == min([1.0, *short])
    loss = naive.objective(np.zeros((m, 0)), f[:, None], y, u, np.zeros(0), np.ones(1), squared)
    assert terms.hinge(f, y, u, squared) == pytest.approx(loss, rel=1e-13)
    assert violation(beta, y - f, lo, hi) == naive.violation(beta, y - f, lo, hi)
    Q = np.zeros((m, 0))
    quiet = terms.is_quiet(beta, f, y, u, delta, squared, Q, lo, hi)
    clean = np.array_equal(naive.without_noise(beta, u), beta)
    assert quiet == (clean and not changed)
    ones = np.full((m, 1), m**-0.5)
    assert not terms.is_quiet(np.abs(beta) + 0.1, f, y, u, delta, squared, ones, lo, hi)


@pytest.mark.interpreted
def test_what_is_no_number_is_none_in_a_proof():
    bad, one = np.array([1.0, np.nan, 2.0]), np.ones(3)
    assert np.isnan(terms.hinge(bad, one, one, False))
    assert np.isnan(violation(0.5 * one, bad, 0 * one, one))


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 1e3])
def test_units_are_powers_of_four_and_products_the_same(size):
    rng, X, P, y = sample(4)
    X = size * X
    q = PrimalProblem(X, P, y, np.full(40, 3.0), False)
    assert np.log2(q.unit) % 2 == 0
    assert q.root**2 == q.unit
    assert 0.25 < q.unit / min(3.0, 1 / np.mean(np.sum(X * X, axis=1))) < 4
    w, beta = rng.normal(size=5), rng.normal(size=40)
    assert np.allclose(q.values(w), q.X @ w, rtol=1e-13, atol=0)
    assert np.allclose(q.sums(beta), q.X.T @ beta, rtol=1e-12, atol=1e-13)
    part = q.widened(X[:, :2], float(np.mean(np.sum(X[:, :2] ** 2, axis=1))))
    fresh = PrimalProblem(X[:, :2], P, y, np.full(40, 3.0), False)
    assert part.unit == fresh.unit
    assert np.array_equal(part.u, fresh.u)
    assert np.array_equal(part.X, fresh.X)
