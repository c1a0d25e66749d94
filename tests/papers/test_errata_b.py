"""Every mistake that we say paper B contains: the printed formula is wrong, ours is right.

Right and wrong are decided by optimizers that use none of the papers' algebra
(`naive.conditional`): least squares and an interior-point method on the primal problem itself.
What B shares with A is in `test_errata_a`.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from scipy.sparse.linalg import cg

from kernelbook import papers
from tests.naive import conditional as naive
from tests.naive.conditional import curve, two_classes

COVERED = set()
SHARED = "A after (16), B after (18)"


def erratum(*where):
    """Say which entries of `papers.ERRATA` a test proves."""
    COVERED.update(where)
    return lambda test: test


@erratum("B (26)", "B (25)")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("reg", [1e-3, 1e-1])
def test_b26_misses_the_minimum_and_the_repair_attains_it(seed, reg):
    _, y, gram, P = curve(seed)
    H, E = papers.split(gram, P)
    f, best, _, _, _ = naive.squared_loss(naive.root(gram), P, y, reg)

    printed = papers.b26_27_printed(H, E, y, reg)
    assert papers.b22(H, E, y, reg, *printed) > 1.01 * best

    repaired = papers.b26_27_repaired(H, E, y, reg)
    assert papers.b22(H, E, y, reg, *repaired) == pytest.approx(best, rel=1e-9)
    np.testing.assert_allclose(papers.values(H, E, *repaired), f, atol=1e-7)

    # The same as linear systems: one block of (25) is the whole difference.
    for system, solution in [(papers.b25_printed, printed), (papers.b25_repaired, repaired)]:
        z = np.linalg.solve(system(H, E, y, reg), y)
        np.testing.assert_allclose(z, np.concatenate(solution), atol=1e-8)


@erratum("B (26)")
def test_b26_depends_on_which_samples_come_first_and_the_repair_does_not():
    _, y, gram, P = curve(1, m=60)
    reg = 1e-2
    best = naive.squared_loss(naive.root(gram), P, y, reg)[1]
    printed, repaired = [], []
    for seed in range(30):
        order = np.random.default_rng(seed).permutation(60)
        y_, gram_, P_ = y[order], gram[np.ix_(order, order)], P[order]
        if np.linalg.cond(P_[:3]) > 1e4:
            continue
        H, E = papers.split(gram_, P_)
        printed.append(papers.b22(H, E, y_, reg, *papers.b26_27_printed(H, E, y_, reg)))
        repaired.append(papers.b22(H, E, y_, reg, *papers.b26_27_repaired(H, E, y_, reg)))
    np.testing.assert_allclose(repaired, best, rtol=1e-8)
    assert min(printed) > best
    assert max(printed) > 2 * min(printed)


@erratum("B (26)")
def test_b26_solves_the_problem_with_infinite_weight_on_the_first_samples():
    _, y, gram, P = curve(2)
    reg, (m, l) = 1e-2, P.shape
    H, E = papers.split(gram, P)
    f = papers.values(H, E, *papers.b26_27_printed(H, E, y, reg))
    np.testing.assert_array_equal(f[:l], y[:l])  # noise and all
    # Weights w in the loss: (Φ + mγ diag(1/w))c + Pλ = y, Pᵀc = 0; now let 1/w be zero.
    A = gram + m * reg * np.diag(np.r_[np.zeros(l), np.ones(m - l)])
    saddle = np.block([[A, P], [P.T, np.zeros((l, l))]])
    z = np.linalg.solve(saddle, np.r_[y, np.zeros(l)])
    np.testing.assert_allclose(gram @ z[:m] + P @ z[m:], f, atol=1e-7)


@erratum("B (26)")
def test_b27_is_right_once_lambda_is():
    _, y, gram, P = curve(3)
    reg, (m, l) = 1e-2, P.shape
    H, E = papers.split(gram, P)
    f = naive.squared_loss(naive.root(gram), P, y, reg)[0]
    c = (y - f) / (m * reg)  # B (7)
    np.testing.assert_allclose(
        (H + reg * m * np.eye(m - l)) @ c[l:], y[l:] - E.T @ f[:l], atol=1e-7
    )


@given(seed=st.integers(0, 10**6), log_reg=st.floats(-4, 1), degree=st.integers(0, 2))
@settings(max_examples=40, deadline=None)
def test_b26_is_never_better_and_the_repair_never_worse(seed, log_reg, degree):
    _, y, gram, P = curve(seed, m=20, degree=degree)
    l, reg = degree + 1, 10.0**log_reg
    if np.linalg.cond(P[:l]) > 1e4:
        return
    H, E = papers.split(gram, P)
    best = naive.squared_loss(naive.root(gram), P, y, reg)[1]
    assert papers.b22(H, E, y, reg, *papers.b26_27_repaired(H, E, y, reg)) == pytest.approx(
        best, rel=1e-7
    )
    assert papers.b22(H, E, y, reg, *papers.b26_27_printed(H, E, y, reg)) >= best * (1 - 1e-9)


@erratum("B (23)")
def test_b23_is_not_the_derivative_of_b22():
    _, y, gram, P = curve(4, m=12)
    reg, (m, l) = 0.05, P.shape
    H, E = papers.split(gram, P)
    z = np.random.default_rng(0).normal(size=m)

    def objective(z):
        return papers.b22(H, E, y, reg, z[:l], z[l:])

    # Central differences of a quadratic are exact up to rounding.
    gradient = np.array([objective(z + e) - objective(z - e) for e in np.eye(m)]) / 2
    matrix, rhs = papers.b23_repaired(H, E, y, reg)
    np.testing.assert_allclose(2 / m * (matrix @ z - rhs), gradient, atol=1e-11)
    matrix, rhs = papers.b23_printed(H, E, y, reg)
    assert np.abs(2 / m * (matrix @ z - rhs) - gradient).max() > 0.1
    # … and what it leads to is (26).
    printed = np.concatenate(papers.b26_27_printed(H, E, y, reg))
    np.testing.assert_allclose(matrix @ printed, rhs, atol=1e-9)


@erratum("B before (24)")
def test_the_inverse_of_K_as_printed_does_not_fit_together():
    _, _, gram, P = curve(5, m=8)
    H, E = papers.split(gram, P)
    with pytest.raises(ValueError, match="dimensions"):
        papers.b24_inverse_printed(H, E)
    K = np.block([[np.eye(3), np.zeros((3, 5))], [E.T, H]])
    np.testing.assert_allclose(papers.b24_inverse_repaired(H, E) @ K, np.eye(8), atol=1e-9)


@erratum("B before (24), inverse", SHARED)
def test_with_a_linear_kernel_H_is_singular_and_the_repair_does_not_mind():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(15, 3))
    y, gram, P = rng.normal(size=15), X @ X.T, np.column_stack([np.ones(15), X[:, 0]])
    H, E = papers.split(gram, P)
    assert np.linalg.matrix_rank(H, tol=1e-9) == 2 < len(H)  # three coordinates, one of them free
    best = naive.squared_loss(naive.root(gram), P, y, 0.1)[1]
    repaired = papers.b26_27_repaired(H, E, y, 0.1)
    assert papers.b22(H, E, y, 0.1, *repaired) == pytest.approx(best, rel=1e-10)


@erratum("B before (8)")
def test_only_the_minimizer_itself_is_orthogonal_to_the_features():
    # ⟨φ'_p, g⟩_K = g(a_p) − 0 for g = Σc_iK_{x_i}: the inner product with φ'_p = K_{a_p}.
    _, y, gram, P = curve(8)
    H, E = papers.split(gram, P)
    lam, c = papers.b26_27_repaired(H, E, y, 1e-2)
    f_star = papers.values(H, E, lam, c)
    P_f_star = papers.values(H, E, lam, 0 * c)
    np.testing.assert_allclose((f_star - P_f_star)[:3], 0, atol=1e-12)
    other = papers.values(H, E, lam + 1.0, c)  # any f of the space but f*
    assert np.abs((other - P_f_star)[:3]).min() > 0.9


@erratum("B (9)")
@pytest.mark.parametrize("dependent", [False, True])
def test_lambda_is_unique_iff_the_features_are_independent_on_the_sample(dependent):
    X, _, gram, P = curve(9, m=25)
    # |x| + 1 is no combination of 1 and x, but on positive samples nobody can tell.
    extra = (np.abs(X) + 1) if dependent else np.sin(X)
    P = np.hstack([P, extra])
    saddle = np.block([[gram + 0.25 * np.eye(25), P], [P.T, np.zeros((4, 4))]])
    unknown = linalg.null_space(saddle, rcond=1e-12)
    assert unknown.shape[1] == int(dependent)
    np.testing.assert_allclose(unknown[:25], 0, atol=1e-10)  # c is unique in any case


@erratum("B (19)")
def test_the_sum_that_b19_keeps_is_zero():
    _, y, gram, P = curve(10)
    reg, (m, l) = 1e-2, P.shape
    c = np.linalg.solve(
        np.block([[gram + m * reg * np.eye(m), P], [P.T, np.zeros((l, l))]]), np.r_[y, np.zeros(l)]
    )[:m]
    H, E = papers.split(gram, P)
    np.testing.assert_allclose(c[:l] + E @ c[l:], 0, atol=1e-9)
    np.testing.assert_allclose(c[l:], papers.b26_27_repaired(H, E, y, reg)[1], atol=1e-6)


@erratum("B 1, hinge")
def test_problem_1_of_b_has_no_bias_and_problem_2_is_the_classical_machine():
    from sklearn.svm import SVC

    X, _, gram, _ = two_classes(0)
    y = np.where(np.arange(len(X)) % 5 > 0, 1.0, -1.0)
    C = 0.5
    reg = 1 / (2 * C * len(y))
    classical = SVC(C=C, kernel="precomputed", tol=1e-10).fit(gram, y).decision_function(gram)
    R, constant = naive.root(gram), np.ones((len(y), 1))
    without = naive.hinge_loss(R, constant[:, :0], y, reg)[0]
    free = naive.hinge_loss(R, constant, y, reg)[0]
    np.testing.assert_allclose(free, classical, atol=1e-4)
    assert np.abs(without - classical).max() > 0.1


@erratum("B 1, finite dimension")
def test_least_squares_on_finitely_many_features_can_be_ill_posed():
    x = np.linspace(0, 1, 60)
    growth = []
    for degree in (2, 8, 14):
        P = np.vander(x, degree + 1, increasing=True)
        U, s, _ = np.linalg.svd(P, full_matrices=False)
        moved = np.linalg.lstsq(P, U[:, -1], rcond=None)[0]  # the answer to an error of length one
        assert np.linalg.norm(moved) == pytest.approx(1 / s[-1], rel=1e-3)
        growth.append(1 / s[-1])
    assert growth[1] > 1e4
    assert growth[2] > 1e8
    # And where two features agree on the sample there is no unique answer at all.
    assert np.linalg.matrix_rank(np.column_stack([x, np.abs(x)])) == 1


@erratum("B after (27)")
def test_conjugate_gradients_need_more_products_for_less_regularization():
    _, y, gram, P = curve(0)
    H, _ = papers.split(gram, P)
    l, count = P.shape[1], []
    for reg in (1e-1, 1e-3, 1e-5):
        A, steps = H + reg * len(y) * np.eye(len(H)), []
        _, failed = cg(A, y[l:], rtol=1e-8, maxiter=2000, callback=steps.append)
        assert not failed
        count.append(len(steps))
    assert count[0] < count[1] < count[2]


def test_every_erratum_of_B_has_a_test():
    assert COVERED == {SHARED} | {e.where for e in papers.ERRATA if e.where[0] == "B"}
