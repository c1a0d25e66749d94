"""Every mistake that we say paper A contains: the printed formula is wrong, ours is right.

Right and wrong are decided by optimizers that use none of the papers' algebra
(`naive.conditional`): least squares and an interior-point method on the primal problem itself.
What A shares with B is here.
"""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, optimize

from kernelbook import papers
from tests.naive import conditional as naive
from tests.naive.conditional import curve, gaussian, monomials, thin_plate, two_classes
from tests.paths import BOOK

COVERED = set()


def erratum(*where):
    """Say which entries of `papers.ERRATA` a test proves."""
    COVERED.update(where)
    return lambda test: test


def a_dual(gram, P, y, reg):
    """A's own route as far as it is right: (23)(24), then (22)."""
    H, E = papers.split(gram, P)
    alpha = naive.box_program(*papers.a23_24(H, E, y, reg))
    return H, E, alpha, y[P.shape[1] :] * alpha[P.shape[1] :] / (2 * reg)


def a_objective(H, E, y, reg, lam, c):
    return naive.hinge_objective(papers.values(H, E, lam, c), y, reg, c @ H @ c)


@erratum("A (25)")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("l", [2, 3, 5])
def test_a25_misses_the_minimum_and_the_repair_attains_it(seed, l):
    _, y, gram, P = two_classes(seed, l=l)
    reg = 1e-2
    f, best, _, _, _ = naive.hinge_loss(naive.root(gram), P, y, reg)
    H, E, alpha, c = a_dual(gram, P, y, reg)
    repaired = papers.a25_repaired(H, E, y, c)
    assert a_objective(H, E, y, reg, repaired, c) == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(papers.values(H, E, repaired, c), f, atol=1e-4)
    printed = papers.a25_printed(H, E, P, y, c)
    assert a_objective(H, E, y, reg, printed, c) > 1.05 * best
    # The dual problem that A derives is right: no gap (A's L is 1/2γ times the negative of (23)).
    Q, q, _, _ = papers.a23_24(H, E, y, reg)
    assert -(alpha @ Q @ alpha / 2 + q @ alpha) / (2 * reg) == pytest.approx(best, rel=1e-7)


@erratum("A (25)")
def test_a25_is_right_where_the_features_are_their_own_cardinal_features():
    _, y, gram, P = two_classes(5)
    P = papers.cardinal(P, P[:3])
    H, E, _, c = a_dual(gram, P, y, 1e-2)
    assert a_objective(H, E, y, 1e-2, papers.a25_printed(H, E, P, y, c), c) == pytest.approx(
        naive.hinge_loss(naive.root(gram), P, y, 1e-2)[1], rel=1e-7
    )


@erratum("A (23)")
def test_a23_is_strictly_convex_on_the_feasible_subspace_only():
    _, y, gram, P = two_classes(6, m=25)
    H, E = papers.split(gram, P)
    Q, _, A, _ = papers.a23_24(H, E, y, 1e-2)
    assert np.sum(np.abs(np.linalg.eigvalsh(Q)) < 1e-12) == 3
    N = linalg.null_space(A)
    assert np.linalg.eigvalsh(N.T @ Q @ N)[0] > 1e-6


@erratum("A (6)")
def test_a6_has_no_minimizer_unless_the_features_are_orthogonal_to_the_multipliers():
    _, y, gram, P = two_classes(7)
    reg, m = 1e-2, len(y)
    rng = np.random.default_rng(0)
    alpha = rng.uniform(0, 1 / m, m)
    slope = P.T @ (y * alpha)
    assert np.linalg.norm(slope) > 1e-3
    L = [papers.a6_lagrangian(gram, P, y, reg, alpha, t * slope, np.zeros(m)) for t in (0, 1e6)]
    assert L[1] < L[0] - 1.0
    # At the multipliers of the solution the slope is gone and (7) is stationary.
    _, _, alpha, _ = a_dual(gram, P, y, reg)
    c = y * alpha / (2 * reg)
    assert np.linalg.norm(P.T @ (y * alpha)) < 1e-9
    at = papers.a6_lagrangian(gram, P, y, reg, alpha, np.ones(3), c)
    N = linalg.null_space(P.T)
    for _ in range(20):
        step, lam = N @ rng.normal(size=N.shape[1]), rng.normal(size=3)
        assert papers.a6_lagrangian(gram, P, y, reg, alpha, lam, c + step) >= at - 1e-9


@erratum("A 2, B 2")
def test_a_direct_sum_is_not_enough():
    # H_K is the plane; H₀ = span(1, 0), H₁ = span(1, 1): a direct sum, not an orthogonal one.
    h0, h1 = np.array([1.0, 0.0]), np.array([1.0, 1.0]) / np.sqrt(2)
    f = np.array([2.0, -1.0])
    rest = f - (f @ h1) * h1
    assert abs(rest[1]) > 0.1, "f − P₁f is the projection on H₀, says A before (7)"
    assert (h0 @ h1) ** 2 > 0.1, "and a function of H₀ is punished after all"
    h1 = np.array([0.0, 1.0])
    assert (f - (f @ h1) * h1)[1] == (h0 @ h1) ** 2 == 0


@erratum("A 2, reproduction")
def test_hinge_reproduction_needs_strict_separation():
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    gram, P = gaussian(x[:, None], x[:, None]), x[:, None]
    # The labels come from f = φ by the papers' own rule, y = 1 iff f(x) > 0, yet c ≠ 0.
    y = np.where(P[:, 0] > 0, 1.0, -1.0)
    for reg in (1e-3, 1.0, 1e2):
        assert naive.hinge_loss(naive.root(gram), P, y, reg)[2] > 1e-7
    # Away from the boundary the kernel part vanishes whatever the kernel and the weight,
    # and every large enough λ is a solution.
    x, y = np.delete(x, 2), np.delete(y, 2)
    for width, reg in itertools.product((0.1, 1.0, 10.0), (1e-4, 1.0)):
        R = naive.root(gaussian(x[:, None], x[:, None], width))
        _, best, seminorm2, _, _ = naive.hinge_loss(R, x[:, None], y, reg)
        assert seminorm2 < 1e-9
        assert best < 1e-9
    for lam in (1.0, 5.0, 1e9):
        assert naive.hinge_objective(lam * x, y, 1.0, 0.0) == 0.0


@given(seed=st.integers(0, 10**6), log_reg=st.floats(-3, 1), separable=st.booleans())
@settings(max_examples=25, deadline=None)
def test_hinge_reproduction_iff_separated(seed, log_reg, separable):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    P = np.column_stack([np.ones(30), X])
    score = P @ rng.normal(size=3)
    keep = np.argsort(-np.abs(score))[:16]  # off the boundary, so that separation is no close call
    X, P, y = X[keep], P[keep], np.sign(score[keep])
    if not separable:
        y[-1] *= -1
    # Strictly separated iff Σξ can be zero in min Σξ, y(Pλ) ≥ 1 − ξ.
    lam = papers.least_slack(P, np.zeros(16), y)
    slack = np.maximum(1 - y * (P @ lam), 0).sum()
    seminorm2 = naive.hinge_loss(naive.root(gaussian(X, X)), P, y, 10.0**log_reg)[2]
    if slack < 1e-9:
        assert seminorm2 < 1e-8
    elif slack > 1e-3:
        assert seminorm2 > 1e-7


@erratum("A (10), B (12)")
def test_the_first_samples_need_not_be_unisolvent():
    X = np.array([[0.0, 0], [1, 1], [2, 2], [3, 0], [0, 3], [1, 4]])  # the first three on a line
    P = np.column_stack([np.ones(6), X])
    with pytest.raises(np.linalg.LinAlgError):
        papers.split(gaussian(X, X), P)
    order = [0, 1, 3, 2, 4, 5]
    H, _ = papers.split(gaussian(X, X)[np.ix_(order, order)], P[order])
    assert np.linalg.eigvalsh(H)[0] > 0


@erratum("A after (16), B after (18)")
def test_H_is_strictly_positive_definite_only_for_distinct_points():
    X, _, _, _ = curve(7, m=14)
    for points, strict in [(X, True), (np.vstack([X, X[-1:]]), False)]:
        H, _ = papers.split(gaussian(points, points), monomials(points, 1))
        least = np.linalg.eigvalsh(H)[0]
        assert (least > 1e-8) if strict else abs(least) < 1e-12


@erratum("A 3.2")
def test_no_two_variables_can_move_within_several_equality_constraints():
    _, y, _, P = two_classes(8, m=12)
    for l, expected in [(1, True), (2, False), (3, False)]:
        A = (y[:, None] * P[:, :l]).T
        movable = [
            linalg.null_space(A[:, [i, j]], rcond=1e-9).shape[1] > 0
            for i, j in itertools.combinations(range(12), 2)
        ]
        assert all(movable) if expected else not any(movable)
    # ℓ + 1 variables always can.
    assert linalg.null_space((y[:, None] * P).T[:, :4]).shape[1] == 1


@erratum("A 4.2, points")
def test_virtual_points_do_not_exist_in_the_domain_but_beside_it():
    # With φ_1 = 1 the condition φ_1(x_v2) = 0 fails at every point; the least violation is 1.
    def violation(v):
        v = v.reshape(2, 1)
        return np.abs(np.column_stack([np.ones(2), v]).T - np.eye(2)).max()

    starts = np.random.default_rng(0).normal(size=(5, 2))
    least = min(optimize.minimize(violation, s, method="Nelder-Mead").fun for s in starts)
    assert least >= 1.0

    # Beside the domain they do, and A's algorithm with them, label 0, solves the problem.
    _, y, gram, P = two_classes(9)
    reg, (m, l) = 1e-2, P.shape
    gram_v, P_v = papers.virtual_gram(gram, P)
    assert np.linalg.eigvalsh(gram_v)[0] > 0
    H, E = papers.split(gram_v, P_v)
    np.testing.assert_array_equal(E, P.T)  # "no need to compute φ' any more"
    np.testing.assert_allclose(H, gram + P @ P.T, atol=1e-14)
    y_v = np.r_[np.zeros(l), y]
    Q, q, A, _ = papers.a23_24(H, E, y_v, reg)
    alpha = naive.box_program(Q, q, A, np.full(m + l, 1 / m))  # A (27): 1/m, not 1/(m + ℓ)
    c = y * alpha[l:] / (2 * reg)
    lam = papers.least_slack(P, H @ c, y)
    f, best, _, _, _ = naive.hinge_loss(naive.root(gram), P, y, reg)
    np.testing.assert_allclose(H @ c + P @ lam, f, atol=1e-4)
    assert naive.hinge_objective(H @ c + P @ lam, y, reg, c @ H @ c) == pytest.approx(best)
    np.testing.assert_allclose(alpha[:l], 1 / m, rtol=1e-6)  # the constant ℓ/m of (27)


@erratum("A 4.2, points")
def test_that_extension_is_wrong_for_thin_plates():
    X, _, _, P = two_classes(9, m=30)
    N = linalg.null_space(P.T)
    gram = thin_plate(X, X)
    assert np.linalg.eigvalsh(N.T @ gram @ N)[0] > 0
    gram_v, P_v = papers.virtual_gram(gram, P)
    N = linalg.null_space(P_v.T)
    assert np.linalg.eigvalsh(N.T @ gram_v @ N)[0] < -1.0


@erratum("A 4.2, invariance")
@pytest.mark.parametrize("seed", range(3))
def test_the_problem_is_invariant_under_linear_maps_of_the_features_without_virtual_points(seed):
    _, y, gram, P = two_classes(seed)
    reg = 1e-2
    change = np.random.default_rng(seed).normal(size=(3, 3))
    results = []
    for F in (P, P @ change):
        H, E, _, c = a_dual(gram, F, y, reg)
        lam = papers.a25_repaired(H, E, y, c)
        results.append((a_objective(H, E, y, reg, lam, c), papers.values(H, E, lam, c)))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-8)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-5)


@erratum("A 5, COIL-20")
def test_neighbour_features_of_twenty_classes_are_dependent_on_each_pair():
    rng = np.random.default_rng(0)
    centres = rng.uniform(-1, 1, (20, 5)) * 4
    labels = np.repeat(np.arange(20), 12)
    X = centres[labels] + rng.normal(size=(240, 5)) * 0.5
    P_all = naive.neighbour_features(X, labels, 20)
    assert np.linalg.matrix_rank(P_all) == 20  # independent as functions, on all the samples …
    ranks, vanishing = [], []
    for a, b in itertools.combinations(range(20), 2):
        pair = np.flatnonzero((labels == a) | (labels == b))
        P, y = P_all[pair], np.where(labels[pair] == a, 1.0, -1.0)
        ranks.append(np.linalg.matrix_rank(P))
        lam = papers.least_slack(P, np.zeros(len(y)), y)
        vanishing.append(np.maximum(1 - y * (P @ lam), 0).sum() < 1e-9)
    assert max(ranks) < 10  # … and not on those of the two classes that a machine is trained on
    assert np.mean(vanishing) > 0.9  # strictly separated: by T3 the kernel plays no part


@erratum("A 5, nearest neighbours")
def test_no_function_of_the_neighbour_features_is_the_vote():
    # Every multiset of three neighbours among three classes: features, and the class of the vote.
    votes = {}
    for classes in itertools.combinations_with_replacement(range(3), 3):
        counts = np.bincount(classes, minlength=3)
        if np.sum(counts == counts.max()) == 1:
            votes.setdefault(tuple(counts > 0), set()).add(int(counts.argmax()))
    assert {len(v) for v in votes.values()} == {1, 2}
    # The vote is a function of the features where the neighbours agree, and nowhere else.
    assert all((len(v) == 1) == (sum(near) == 1) for near, v in votes.items())


def test_plsa_features_contain_the_constant():
    P = np.random.default_rng(0).dirichlet(np.full(10, 0.3), size=50)
    assert np.linalg.matrix_rank(P) == 10
    assert np.linalg.matrix_rank(np.hstack([P, np.ones((50, 1))])) == 10


@erratum("A 6")
@pytest.mark.parametrize("seed", range(3))
def test_the_semiparametric_machine_is_the_same_machine(seed):
    # Smola, Frieß & Schölkopf: min ½‖w‖² + CΣξ, y(⟨w, ψ(x)⟩ + Σβ_jφ_j(x)) ≥ 1 − ξ, with w in
    # the feature space of Φ; `hinge_loss` is that problem, γ = 1/2Cm, ψ the rows of a root of Φ.
    _, y, gram, P = two_classes(seed)
    C = 2.0
    reg = 1 / (2 * C * len(y))
    f = naive.hinge_loss(naive.root(gram), P, y, reg)[0]
    H, E, _, c = a_dual(gram, P, y, reg)
    lam = papers.a25_repaired(H, E, y, c)
    np.testing.assert_allclose(papers.values(H, E, lam, c), f, atol=1e-4)


def bib_entry(key):
    text = (BOOK / "references.bib").read_text()
    return re.search(rf"@\w+\{{{key},.*?\n\}}", text, re.DOTALL).group()


@erratum("A, B, references")
def test_two_references_of_A_and_B_against_our_bibliography():
    assert "{Numerische Mathematik}" in bib_entry("LightWayne1999")
    assert "Distance Matrices and" in bib_entry("Micchelli1986")
    # What the title means: matrices of distances are nonsingular, one eigenvalue being positive.
    X = np.random.default_rng(4).normal(size=(12, 3))
    values = np.linalg.eigvalsh(np.linalg.norm(X[:, None] - X, axis=2))
    assert np.abs(values).min() > 1e-6
    assert np.sum(values > 0) == 1


def test_every_erratum_of_A_has_a_test():
    assert COVERED == {e.where for e in papers.ERRATA if e.where[0] == "A"}
