"""The primal solvers on arrays: against naive twins, cvxopt, quasi-Newton, certificates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kernelbook.numeric.rows import add_row, as_rows, dot_row, fetch_row, row_squares
from kernelbook.solvers.primal import newton
from kernelbook.solvers.primal.dcd import dual_coordinate_descent, shuffle, sweep
from kernelbook.solvers.primal.newton import (
    finite_newton,
    line_search,
    squared_hinge,
)
from kernelbook.solvers.primal.pegasos import epoch, pegasos
from kernelbook.solvers.primal.proximal import MultiplierProblem, proximal_multipliers
from kernelbook.solvers.primal.solve import solve_primal
from tests.naive import primal as naive


def problem(seed=0, m=40, M=6, l=3, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, M))
    P = np.column_stack([np.ones(m), rng.normal(size=(m, max(l - 1, 0)))])[:, :l]
    y = np.where(X[:, 0] + 0.5 * P.sum(axis=1) + noise * rng.normal(size=m) > 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, P, y


# --------------------------------------------------------------------------- jitted kernels


@pytest.mark.interpreted
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_rows_dense_and_sparse(form):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 7)) * (rng.random((5, 7)) < 0.5)
    rows, v = as_rows(form(A)), rng.normal(size=7)
    assert np.allclose(row_squares(form(A)), (A * A).sum(axis=1))
    for i in range(5):
        fetch_row(rows, i)  # says nothing
        assert np.isclose(dot_row(rows, i, v), A[i] @ v)
        w = v.copy()
        add_row(rows, i, 2.0, w)
        assert np.allclose(w, v + 2 * A[i])
    assert dot_row(as_rows(np.empty((3, 0))), 1, np.empty(0)) == 0.0


@pytest.mark.interpreted
def test_a_shuffle_draws_every_order_alike():
    """Six orders of three, each from a sixth of a grid of draws; and as its naive twin does it."""
    grid, counts = (np.arange(6) + 0.5) / 6, {}
    for first in grid:
        for second in grid:
            order, draws = np.arange(3), np.array([0.9, first, second])
            shuffle(order, draws)
            assert list(order) == naive.shuffle([0, 1, 2], draws)
            counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    assert sorted(counts.values()) == [6] * 6


@pytest.mark.interpreted
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_sweep_is_the_naive_sweep(form, squared):
    X, P, y = problem(m=12)
    rng = np.random.default_rng(1)
    top = np.full(12, np.inf) if squared else rng.uniform(0.2, 1, 12)
    lo, hi = np.where(y > 0, 0, -top), np.where(y > 0, top, 0)
    delta = np.full(12, 0.5 if squared else 0.0)
    step = (X * X).sum(axis=1) + delta + 0.3 * (P * P).sum(axis=1)
    state = [np.zeros(12), np.zeros(6), np.zeros(3)]
    twin = [a.copy() for a in state]
    upper, lower = np.inf, -np.inf
    for _ in range(6):
        order = rng.permutation(12)
        expected = naive.sweep(X, P, y, lo, hi, delta, step, order, *twin, 0.3, upper, lower)
        n, up, down = sweep(
            as_rows(form(X)), P, y, lo, hi, delta, step, order, *state, 0.3, upper, lower
        )
        assert sorted(order[:n]) == sorted(expected[0])
        assert np.allclose([up, down], expected[1:])
        for a, b in zip(state, twin, strict=True):
            assert np.allclose(a, b, atol=1e-12)
        upper, lower = down or np.inf, -up or -np.inf
    assert np.allclose(state[1], X.T @ state[0])
    assert np.allclose(state[2], 0.3 * P.T @ state[0])


@pytest.mark.interpreted
def test_an_epoch_of_pegasos_is_the_recursion_of_the_paper():
    X, P, y = problem(m=15)
    rng = np.random.default_rng(2)
    u, center, rho = rng.uniform(0.1, 2, 15), rng.normal(size=3), 0.4
    v, g, violations = np.zeros(6), np.zeros(3), np.zeros(15)
    w, lam, counted = np.zeros(6), center.copy(), np.zeros(15)
    for n in range(4):
        order = rng.permutation(15)
        w, lam = naive.pegasos_epoch(X, P, y, u, order, 15 * n, center, rho, w, lam, counted)
        epoch(as_rows(X), P, y, u, order, 15 * n, center, rho, v, g, violations)
        assert np.allclose(w, v / (n + 1))
        assert np.allclose(lam, center + rho * g / (n + 1))
        assert np.array_equal(counted, violations)
    beta = y * u * violations / 4
    assert np.allclose(X.T @ beta, w)
    assert np.all((y * beta >= 0) & (y * beta <= u))


# ------------------------------------------------------------------------------ line search


@given(st.integers(0, 10**6), st.integers(1, 12), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_line_search_is_exact(seed, m, bounded):
    rng = np.random.default_rng(seed)
    t, dt = rng.normal(size=m), rng.normal(size=m) * (rng.random(m) < 0.8)
    s, u = rng.uniform(0.1, 3, m), rng.uniform(0.1, 2, m) if bounded else np.full(m, np.inf)
    slope, curvature = rng.normal() - 1, rng.uniform(0.01, 2)
    h = line_search(slope, curvature, t, dt, s, u)
    assert np.isclose(h, naive.line_minimum(slope, curvature, t, dt, s, u), rtol=1e-9, atol=1e-9)


# ----------------------------------------------------------------------------------- Newton


@pytest.mark.parametrize(("m", "M", "l"), [(30, 4, 0), (30, 4, 3), (15, 40, 2), (50, 10, 10)])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_newton_minimizes_the_squared_hinge(m, M, l, C):
    X, P, y = problem(m + l, m, M, l)
    c = np.full(m, C)
    r = finite_newton(X, P, y, squared_hinge(c))
    best = naive.smooth_minimum(X, P, y, c)[-1]
    found = naive.objective(X, P, y, c, r.w, r.lam, squared=True)
    assert r.converged
    assert found <= best * (1 + 1e-9)
    assert np.abs(r.w - X.T @ (y * r.alpha)).max() < 1e-10 * max(1, C)
    assert np.abs(P.T @ (y * r.alpha)).max(initial=0) < 1e-10 * max(1, C)


def test_both_ways_to_a_newton_step_and_conjugate_gradients_agree(monkeypatch):
    X, P, y = problem(3, 60, 8, 4)
    root, g_w, g_lam = np.full(60, 1.7), X[0].copy(), P[0].copy()
    args = (X, root[:, None] * P, root, g_w, g_lam)
    for tau in (0.0, 0.3):
        rows = newton._through_rows(*args, tau)
        basis = newton._through_basis(*args, tau)
        cg = newton._by_conjugate_gradients(*args, tau, rtol=1e-12)
        thin = newton._through_basis(sparse.csr_array(X), *args[1:], tau)
        for other in (basis, cg, thin):
            assert np.allclose(rows[0], other[0], atol=1e-9)
            assert np.allclose(rows[1], other[1], atol=1e-9)
    exact = finite_newton(X, P, y, squared_hinge(np.ones(60)))
    monkeypatch.setattr(newton, "MAX_DIRECT", 2)
    for form in (np.asarray, sparse.csr_array):
        r = finite_newton(form(X), P, y, squared_hinge(np.ones(60)))
        assert np.allclose(r.w, exact.w, atol=1e-9)
        assert np.allclose(r.lam, exact.lam, atol=1e-9)


def test_newton_where_the_active_rows_do_not_see_a_feature():
    """Φ is flat in that λ, and the Hessian singular: λ must neither move nor explode."""
    X, P, y = problem(4, 40, 3, 2)
    far = np.zeros((40, 1))
    far[y * X[:, 0] > 1.5] = 1.0  # fires only where the margin is large anyway
    P = np.hstack([P, far])
    r = finite_newton(X, P, y, squared_hinge(np.full(40, 50.0)))
    reference = finite_newton(X, P[:, :2], y, squared_hinge(np.full(40, 50.0)))
    assert r.converged
    assert np.abs(r.lam).max() < 1e3
    c = np.full(40, 50.0)
    found = naive.objective(X, P, y, c, r.w, r.lam, True)
    without = naive.objective(X, P[:, :2], y, c, reference.w, reference.lam, True)
    assert found <= without * (1 + 1e-12)


# ------------------------------------------------------------------------------ multipliers


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("l", [0, 1, 3, 10])
@pytest.mark.parametrize("C", [0.01, 1.0, 1e3])
def test_the_method_of_multipliers_solves_the_quadratic_program(l, C, squared):
    X, P, y = problem(10 + l, 50, 5, l, noise=3.0)
    c = np.full(50, C)
    w, _, _, best = naive.quadratic_program(X, P, y, c, squared)
    top = np.full(50, np.inf) if squared else c
    delta = 1 / (2 * c) if squared else 0 * c
    r = proximal_multipliers(MultiplierProblem(X, P, y, top, delta))
    assert abs(naive.objective(X, P, y, c, r.w, r.lam, squared) / best - 1) < 1e-7
    assert np.abs(r.w - w).max() < 1e-5 * max(1, np.abs(w).max())
    assert np.abs(r.w - X.T @ (y * r.alpha)).max() < 1e-8 * max(1, C)


def test_multipliers_with_an_offset_and_no_basis_are_the_features_linear_program():
    from scipy.optimize import linprog

    _, P, y = problem(5, 40, 1, 4)
    h = np.random.default_rng(0).normal(size=40)
    u = np.random.default_rng(1).uniform(0.5, 2, 40)
    r = proximal_multipliers(MultiplierProblem(np.empty((40, 0)), P, y, u, 0 * u, h))
    found = u @ np.maximum(0, 1 - y * (h + P @ r.lam))
    program = linprog(
        np.concatenate([np.zeros(4), u]),
        A_ub=-np.hstack([y[:, None] * P, np.eye(40)]),
        b_ub=y * h - 1,
        bounds=[(None, None)] * 4 + [(0, None)] * 40,
    )
    assert abs(found - program.fun) < 1e-8 * program.fun


# ----------------------------------------------------------------------- coordinate descent


def distance(X, P, y, c, squared, best, tol):
    """How far the objective is above the known optimum, in units of tol."""
    return lambda w, lam, beta, f: (
        (naive.objective(X, P, y, c, w, lam, squared) - best) / (tol * best)
    )


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("l", [0, 1, 4])
def test_coordinate_descent_alone_finds_the_free_lambda(l, squared):
    X, P, y = problem(20 + l, 60, 5, l)
    c = np.full(60, 0.7)
    w, _, _, best = naive.quadratic_program(X, P, y, c, squared)
    top = np.full(60, np.inf) if squared else c
    lo, hi = np.where(y > 0, 0, -top), np.where(y > 0, top, 0)
    delta = 1 / (2 * c) if squared else 0 * c
    judge = distance(X, P, y, c, squared, best, 1e-7)
    r = dual_coordinate_descent(X, P, y, lo, hi, delta, judge, 20_000, np.random.default_rng(0))
    assert r.converged
    assert np.abs(r.w - w).max() < 1e-3
    assert np.allclose(r.w, X.T @ r.beta)
    size = np.abs(P).T @ np.abs(r.beta)
    assert np.abs(P.T @ r.beta).max(initial=0) < 1e-3 * size.max(initial=1)
    assert np.all((r.beta >= lo) & (r.beta <= hi))


def test_a_row_of_zeros_goes_to_its_bound():
    X, P, y = problem(0, 20, 3, 0)
    X[:4] = 0.0
    r = solve_primal(X, P, y, np.ones(20))
    assert np.allclose(y[:4] * r.beta[:4], 1.0)


# ------------------------------------------------------------------------------------ Pegasos


@pytest.mark.parametrize("l", [0, 1, 4])
def test_pegasos_encloses_the_optimum_and_closes_in(l):
    X, P, y = problem(30 + l, 80, 4, l)
    c = np.full(80, 0.2)
    best = naive.quadratic_program(X, P, y, c)[-1]
    gaps = []
    for epochs in (8, 200, 3000):
        rng = np.random.default_rng(0)
        r = solve_primal(X, P, y, c, solver="pegasos", tol=1e-12, max_iter=epochs, rng=rng)
        proof = r.certificate
        assert proof.dual <= best * (1 + 1e-9)
        assert proof.primal >= best * (1 - 1e-9)
        assert proof.constraint < 1e-12
        assert r.n_iter == epochs
        gaps.append(proof.relative_gap)
    assert gaps[2] < 0.3 * gaps[0]
    assert gaps[2] < 2e-2


def test_pegasos_stops_when_asked():
    X, P, y = problem(31, 80, 4, 2)
    asked = []

    def enough(w, lam, beta, f):
        asked.append(np.abs(f - X @ w - P @ lam).max())
        return len(asked) == 2

    r = pegasos(X, P, y, np.full(80, 0.1), enough, 1000, np.random.default_rng(0))
    assert r.converged
    assert r.n_iter == 8 + 16
    assert max(asked) < 1e-12


# ------------------------------------------------------------------------- the whole solver


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(2, 40),
    M=st.integers(0, 12),
    l=st.integers(0, 5),
    log_c=st.floats(-4, 4),
)
@settings(max_examples=40, deadline=None)
def test_the_certificate_encloses_the_optimum(loss, seed, m, M, l, log_c):
    squared = loss == "squared_hinge"
    X, P, y = problem(seed, m, max(M, 1), min(l, m))
    X = X[:, :M] if M else np.zeros((m, 1))
    c = 10.0**log_c * np.random.default_rng(seed).integers(1, 4, m)
    r = solve_primal(X, P, y, c, loss=loss)
    proof = r.certificate
    assert abs(naive.objective(X, P, y, c, r.w, r.coef, squared) - proof.primal) < 1e-9 * c.sum()
    assert proof.gap <= 1e-8 * proof.primal + 1e-12 * c.sum()
    assert proof.gap >= -1e-10 * proof.primal - 1e-13 * c.sum()
    assert proof.constraint < 1e-10
    alpha = y * r.beta
    assert np.all(alpha >= 0)
    assert squared or np.all(alpha <= c * (1 + 1e-12))
    if M and not squared and proof.primal > 1e-6 * c.sum():
        best = naive.quadratic_program(X, P, y, c)[-1]
        assert abs(proof.primal - best) < 1e-5 * best


def test_features_that_separate_leave_nothing_to_the_basis():
    """T3: for every C the regularized part is zero and the objective with it."""
    X, P, y = problem(1, 30, 4, 3)
    y = np.where(P @ [0.2, 1.0, -1.0] > 0, 1.0, -1.0)
    for C in (1e-6, 1.0, 1e8):
        for solver, loss in (("dcd", "hinge"), ("newton", "squared_hinge"), ("pegasos", "hinge")):
            r = solve_primal(X, P, y, np.full(30, C), solver=solver, loss=loss)
            assert not r.w.any()
            assert not r.beta.any()
            assert r.certificate.primal == r.certificate.dual == 0.0
            assert np.min(y * (P @ r.coef)) >= 1.0
    y[0] = -y[0]  # one label that the features cannot separate
    assert solve_primal(X, P, y, np.full(30, 1e-6)).w.any()


@pytest.mark.parametrize("solver", ["dcd", "newton", "pegasos"])
def test_separating_features_in_a_large_sample(solver):
    rng = np.random.default_rng(0)
    X, P = rng.normal(size=(1500, 3)), np.column_stack([np.ones(1500), rng.normal(size=(1500, 2))])
    y = np.where(P @ [0.2, 1.0, -1.0] > 0, 1.0, -1.0)
    loss = "squared_hinge" if solver == "newton" else "hinge"
    r = solve_primal(X, P, y, np.ones(1500), solver=solver, loss=loss)
    assert r.certificate.primal < 1e-9


def test_a_feature_that_fires_in_one_class_only():
    """Its λ has no upper end: the rule keeps it as small as the margins allow."""
    X, P, y = problem(2, 30, 3, 1)
    P = np.hstack([P, ((y > 0) & (X[:, 1] > 0))[:, None].astype(float)])
    r = solve_primal(X, P, y, np.ones(30))
    fires = P[:, 1] > 0
    f = X @ r.w + P @ r.coef
    assert not r.beta[fires].any()
    assert abs(np.min(f[fires]) - 1.0) < 1e-9
    assert r.certificate.relative_gap < 1e-10


def test_rank_deficient_features_give_the_same_function():
    X, P, y = problem(6, 40, 4, 3)
    mixed = np.hstack([P, P @ [[1.0], [2.0], [-1.0]], np.zeros((40, 1))])
    for loss in ("hinge", "squared_hinge"):
        a = solve_primal(X, P, y, np.ones(40), loss=loss)
        b = solve_primal(X, mixed, y, np.ones(40), loss=loss)
        assert b.rank == 3
        assert b.coef[-1] == 0.0
        assert np.abs(P @ a.coef - mixed @ b.coef).max() < 1e-9
        assert np.abs(a.w - b.w).max() < 1e-9


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_invertible_changes_of_the_features_change_nothing_else(loss):
    X, P, y = problem(7, 50, 4, 3)
    A = np.array([[2.0, 0.1, 0], [0, -1e6, 3], [1, 0, 1e-5]])
    a = solve_primal(X, P, y, np.ones(50), loss=loss)
    b = solve_primal(X, P @ A, y, np.ones(50), loss=loss)
    assert np.abs(a.w - b.w).max() < 1e-7
    assert np.abs(a.coef - A @ b.coef).max() < 1e-6


def test_huge_entries_are_refused_and_tiny_ones_are_zero():
    X, P, y = problem(8, 30, 4, 2)
    with pytest.raises(ValueError, match="overflows"):
        solve_primal(1e300 * X, P, y, np.ones(30))
    tiny = solve_primal(1e-300 * X, P, y, np.ones(30))
    none = solve_primal(np.zeros((30, 1)), P, y, np.ones(30))
    assert abs(tiny.certificate.primal - none.certificate.primal) < 1e-9
    assert tiny.certificate.relative_gap < 1e-9


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1e-6, 1e-3, 1e3, 1e6, 1e8])
def test_extreme_prices(loss, C):
    for noise in (0.0, 1.0):
        X, P, y = problem(9, 60, 5, 2, noise)
        X = np.vstack([X, X[:10]])
        P, y = np.vstack([P, P[:10]]), np.concatenate([y, -y[:10] if noise else y[:10]])
        proof = solve_primal(X, P, y, np.full(70, C), loss=loss).certificate
        assert proof.relative_gap < 1e-8


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_large_sparse_problems_stop_at_tol_without_a_dense_copy(loss, monkeypatch):
    rng = np.random.default_rng(0)
    S = sparse.random(4000, 6000, 0.005, format="csr", random_state=0, dtype=np.float64)
    S = sparse.csr_array(S)
    P = np.column_stack([np.ones(4000), rng.normal(size=(4000, 2))])
    y = np.where(
        S[:, :40].sum(axis=1) + 0.2 * P[:, 1] + 0.3 * rng.normal(size=4000) > 0.1, 1.0, -1.0
    )
    monkeypatch.setattr(sparse.csr_array, "toarray", None)
    for solver in ("dcd", "newton") if loss == "squared_hinge" else ("dcd",):
        for tol in (1e-2, 1e-5):
            r = solve_primal(S, P, y, np.ones(4000), loss=loss, solver=solver, tol=tol)
            assert r.certificate.relative_gap <= tol
            assert r.certificate.constraint < 1e-12
