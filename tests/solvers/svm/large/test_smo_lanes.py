"""SMO in lanes: the steps of its naive twin, on rows that are there or computed on demand."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kernelbook import Gaussian
from kernelbook.solvers.svm.large import search, state
from kernelbook.solvers.svm.large import smo_lanes as passes
from kernelbook.solvers.svm.large.lanes import (
    LANES,
    MASKED,
    compute_rows,
    gather,
    known_matrix,
    lanes,
    masks,
    padded,
    subtract_rows,
    unknown_matrix,
    violation_bounds,
)
from kernelbook.solvers.svm.large.smo_lanes import smo_lanes
from kernelbook.solvers.svm.solve import solve_robust
from tests.naive import svm as naive
from tests.samples.svm import box, kernel_problem


def in_lanes(K):
    """A square matrix as `Lanes`, in single precision."""
    n = len(K)
    K32 = np.zeros((n, padded(n)), dtype=np.float32)
    K32[:, :n] = K
    return known_matrix(K32, K.diagonal())


@pytest.mark.interpreted
@pytest.mark.parametrize("m", [20, 150])
def test_smo_in_lanes_takes_the_steps_of_its_naive_twin(m):
    """Equal pairs, so equal steps; v differs by what single precision does to K."""
    kernel, X, _, y, C = kernel_problem(m, 1, 0, C=2.0)
    K = kernel(X).astype(np.float32).astype(float)
    lo, hi = box(y, C)
    for steps in (1, 7, 60):
        beta, v = np.zeros(m), lanes(y, 0.0, np.float64)
        G = in_lanes(K)
        used, left, spent = smo_lanes(G, lo, hi, beta, v, *masks(beta, lo, hi), 1e-3, steps)
        beta_n, v_n, used_n, left_n = naive.smo_pairs(K, lo, hi, np.zeros(m), y, 1e-3, steps)
        assert not spent
        assert used == used_n
        np.testing.assert_allclose(beta, beta_n, atol=1e-5)
        np.testing.assert_allclose(v.ravel()[:m], v_n, atol=1e-5)
        assert left == pytest.approx(left_n, abs=1e-5)
        assert abs(beta.sum()) < 1e-13


def test_smo_in_lanes_arrives():
    kernel, X, P, y, C = kernel_problem(300, 1, 1, C=5.0)
    K, (lo, hi) = kernel(X), box(y, C)
    beta, v = np.zeros(300), lanes(y, 0.0, np.float64)
    _, left, _ = smo_lanes(in_lanes(K), lo, hi, beta, v, *masks(beta, lo, hi), 1e-4, 100_000)
    assert left <= 1e-4
    assert np.all((beta >= lo) & (beta <= hi))
    np.testing.assert_allclose(v.ravel()[:300], y - K @ beta, atol=1e-5)
    exact = solve_robust(K, P, y, C).certificate.primal
    assert y @ beta - 0.5 * beta @ K @ beta == pytest.approx(exact, rel=1e-5)


def test_a_large_bias_costs_smo_no_digits():
    """Single precision compares v with its top: 10⁶ for all, beside which 10⁻³ would be nothing."""
    kernel, X, _, y, C = kernel_problem(300, 1, 1, C=5.0)
    G, (lo, hi) = in_lanes(kernel(X)), box(y, C)
    ends = []
    for level in (0.0, 1e6):
        beta, v = np.zeros(300), lanes(y + level, level, np.float64)
        steps, left, _ = smo_lanes(G, lo, hi, beta, v, *masks(beta, lo, hi), 1e-3, 100_000)
        assert left <= 1e-3
        ends.append((steps, beta))
    assert ends[1][0] < 2 * ends[0][0]
    np.testing.assert_allclose(ends[1][1], ends[0][1], atol=0.05)


@pytest.mark.interpreted
def test_smo_in_lanes_copes_with_a_zero_kernel_and_with_duplicates():
    y = np.array([1.0, -1.0, 1.0, -1.0])
    lo, hi = box(y, np.full(4, 2.0))
    for K in (np.zeros((4, 4)), np.ones((4, 4))):
        beta, v = np.zeros(4), lanes(y, 0.0, np.float64)
        G = in_lanes(K)
        G.diag[0, 4:] = 1.0
        steps, left, _ = smo_lanes(G, lo, hi, beta, v, *masks(beta, lo, hi), 1e-6, 1000)
        assert steps < 1000
        assert left <= 1e-6
        np.testing.assert_array_equal(np.abs(beta), 2.0)


def lazy(X, A, budget, width=1.3):
    """(Z, G) with K_ij = 2^(−‖z_i − z_j‖²) + a_i·a_j, no row of it known."""
    Z = np.sqrt(0.5) * Gaussian(width).exponents(X)[0]
    return Z, unknown_matrix(1.0 + (A * A).sum(axis=1), budget, Z, A)


@pytest.mark.interpreted
@pytest.mark.parametrize(("m", "d", "l"), [(40, 3, 0), (200, 6, 2)])
def test_rows_on_demand_are_those_of_the_kernel(m, d, l):
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(m, d)), rng.normal(size=(m, l))
    Z, G = lazy(X, A, 10)
    rows = np.array([3, m - 1, 3])
    compute_rows(G, rows)
    np.testing.assert_array_equal(np.flatnonzero(G.slot >= 0), [3, m - 1])
    np.testing.assert_array_equal(G.slot[rows], [0, 1, 0])  # one after the other
    np.testing.assert_array_equal(G.count, [2, 8])
    for i in rows:
        row = G.rows[G.slot[i]]
        np.testing.assert_allclose(row[:m], naive.gaussian_row(Z, A, i), atol=3e-7)
        expected = np.exp(-cdist(X[[i]], X, "sqeuclidean")[0] / 1.3**2) + A @ A[i]
        np.testing.assert_allclose(row[:m], expected, atol=1e-6)
        assert np.all(row[m:] == 0)


def test_rows_on_demand_are_good_as_far_out_as_they_are_trusted():
    """At ‖z‖ = MAX_NORM, the largest that the solver accepts, an entry is off by a few 1e-6."""
    rng = np.random.default_rng(0)
    centre = rng.normal(size=5)
    Z = state.MAX_NORM * centre / np.linalg.norm(centre) + 0.5 * rng.normal(size=(300, 5))
    G = unknown_matrix(np.ones(300), 300, Z, np.empty((300, 0)))
    compute_rows(G, np.arange(300))
    exact = 2.0 ** -cdist(Z, Z, "sqeuclidean")
    assert np.abs(G.rows[:, :300] - exact).max() < 1e-7 * state.MAX_NORM


def test_smo_stops_when_the_budget_of_rows_is_spent_and_goes_on_afterwards():
    _, X, _, y, C = kernel_problem(300, 1, 2)
    lo, hi = box(y, C)
    none = np.empty((300, 0))
    _, whole = lazy(X, none, 300)
    beta, v = np.zeros(300), lanes(y, 0.0, np.float64)
    steps, *_ = smo_lanes(whole, lo, hi, beta, v, *masks(beta, lo, hi), 1e-3, 10_000)
    _, G = lazy(X, none, 20)
    other, w, total = np.zeros(300), lanes(y, 0.0, np.float64), 0
    spent, interruptions = True, 0
    while spent:
        used, _, spent = smo_lanes(G, lo, hi, other, w, *masks(other, lo, hi), 1e-3, 10_000)
        total, interruptions = total + used, interruptions + spent
        G.count[1] = 20
    assert interruptions > 2
    assert total == steps
    np.testing.assert_array_equal(beta, other)


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [1, 128, 150])
def test_where_coordinates_may_go_and_who_is_undecided(n):
    rng = np.random.default_rng(n)
    lo, hi = np.zeros(n), np.ones(n)
    beta, v = np.clip(rng.normal(0.5, 1.0, n), 0.0, 1.0), rng.normal(size=n)
    up, down = masks(beta, lo, hi)
    grows, falls = beta < hi, beta > lo
    np.testing.assert_array_equal(up.ravel()[:n] == 0, grows)
    np.testing.assert_array_equal(down.ravel()[:n] == 0, falls)
    assert np.all(up.ravel()[n:] < -1e29)
    assert np.all(down.ravel()[n:] > 1e29)
    top, bottom = violation_bounds(v, beta, lo, hi)
    assert top == np.max(v[grows], initial=-np.inf)
    assert bottom == np.min(v[falls], initial=np.inf)
    near = (grows & falls) | (grows & (v > bottom - 0.05)) | (falls & (v < top + 0.05))
    chosen = search._undecided(v, beta, lo, hi, 0.5)
    np.testing.assert_array_equal(chosen, np.flatnonzero(near))


@pytest.mark.interpreted
def test_gather_and_subtract_rows():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(150, 150))
    K += K.T
    G = in_lanes(K)
    rows = np.array([149, 3, 77, 20, 9, 10, 0])
    part = gather(G, rows)
    np.testing.assert_array_equal(part[:, :7], K[np.ix_(rows, rows)].astype(np.float32))
    assert not part[:, 7:].any()
    d, v = rng.normal(size=7), lanes(rng.normal(size=150), 0.0, np.float64)
    expected = v.ravel()[:150] - K.astype(np.float32).astype(float)[:, rows] @ d
    subtract_rows(G, rows, d, v)
    np.testing.assert_allclose(v.ravel()[:150], expected, atol=1e-13)


@pytest.mark.interpreted
def test_gather_and_subtract_rows_that_lie_in_another_order():
    rng = np.random.default_rng(0)
    _, G = lazy(rng.normal(size=(140, 3)), rng.normal(size=(140, 2)), 140)
    rows = np.array([130, 3, 77, 20, 9])
    compute_rows(G, np.append(rows, 5))
    K = np.array([G.rows[G.slot[i], :140] for i in rows])
    part = gather(G, rows[::-1])
    np.testing.assert_array_equal(part[:, :5], K[::-1, rows[::-1]])
    assert not part[:, 5:].any()
    d, v = rng.normal(size=5), lanes(rng.normal(size=140), 0.0, np.float64)
    expected = v.ravel()[:140] - d @ K.astype(float)
    subtract_rows(G, rows, d, v)
    np.testing.assert_allclose(v.ravel()[:140], expected, atol=1e-13)


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [100, 300])
def test_the_passes_of_a_step_are_those_of_their_naive_twins(n):
    """Extremes by rows of lanes, the best partner, the gradient after the step, the middle."""
    rng = np.random.default_rng(n)
    single = np.float32
    lo, hi = np.zeros(n), np.ones(n)
    beta = np.clip(rng.normal(0.5, 1.0, n), 0.0, 1.0)
    up, down = masks(beta, lo, hi)
    v, K_i, K_j = (lanes(rng.normal(size=n).astype(single), 0.0, single) for _ in range(3))
    diag = lanes(rng.uniform(3.0, 4.0, n), 1.0, single)
    flat = v.ravel()[:n].astype(float)
    assert passes._largest(diag) == diag.max()

    i, least = int(np.argmax(np.where(beta < hi, flat, -np.inf))), single(1e-7)
    top, best = v.ravel()[i], np.empty(len(v), single)
    expected = naive.gains(K_i.ravel()[:n], flat, beta > lo, diag.ravel()[:n], i, top, least)
    passes._best_gains(K_i, v, down, diag, top, diag.ravel()[i], least, best)
    j, flat_K = n - 1, K_i.ravel()
    one = (top, v.ravel()[j], down.ravel()[j], diag.ravel()[i], diag.ravel()[j], flat_K[j], least)
    assert passes._gain(*one) == pytest.approx(expected[j], rel=1e-5)
    by_rows = [expected[k : k + LANES].max() for k in range(0, n, LANES)]
    np.testing.assert_allclose(best, by_rows, rtol=1e-5)
    b = int(np.argmax(best))
    row = K_i[b], v[b], down[b], diag[b], top, diag.ravel()[i], least
    assert b * LANES + passes._first_best(*row) == np.argmax(expected)

    middle = 0.5 * (flat[beta < hi].max() + flat[beta > lo].min())
    assert passes._middle(v.astype(float), up, down) == 0.0  # near zero nothing is gained
    assert passes._middle(v.astype(float) + 100.0, up, down) == pytest.approx(middle + 100.0)

    high, low = np.empty((2, len(v)), single)
    passes._update_and_select(K_i, K_j, single(0.5), v, up, down, high, low)
    flat -= 0.5 * (K_i - K_j).ravel()[:n]
    np.testing.assert_allclose(v.ravel()[:n], flat, atol=1e-6)
    assert high.max() == pytest.approx(flat[beta < hi].max(), rel=1e-6)
    assert low.min() == pytest.approx(flat[beta > lo].min(), rel=1e-6)
    b = int(np.argmax(high))
    assert b * LANES + passes._first(high[b], v[b], up[b]) == np.argmax(
        np.where(beta < hi, flat, -np.inf)
    )


@pytest.mark.interpreted
def test_masks_follow_a_coordinate():
    up, down = np.zeros((1, LANES), np.float32), np.zeros((1, LANES), np.float32)
    passes._update_masks(up, down, 0, 3, 1.0, 0.0, 1.0)
    assert (up[0, 3], down[0, 3]) == (np.float32(-MASKED), 0.0)
    passes._update_masks(up, down, 0, 3, 0.0, 0.0, 1.0)
    assert (up[0, 3], down[0, 3]) == (0.0, np.float32(MASKED))
