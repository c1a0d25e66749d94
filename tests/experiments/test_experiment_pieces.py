"""The pieces of the experiments, against slow and obvious versions."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF
from sklearn.metrics import mutual_info_score

from kernelbook.experiments import two_scales
from kernelbook.experiments.geodesic import class_features, geodesic, nearest, to_training, votes
from kernelbook.experiments.nested import count_errors, fold_numbers, nested
from kernelbook.experiments.plsa import em_step, fit_plsa, fold_in, log_likelihood
from kernelbook.experiments.words import (
    l2_log_counts,
    most_informative,
    mutual_information,
    to_interval,
)
from tests.naive import plsa as naive

# ------------------------------------------------------------------------------ geodesics


def floyd(X, k):
    """Shortest paths in the graph of k nearest neighbours, three loops."""
    D = cdist(X, X)
    G = np.full(D.shape, np.inf)
    for i, row in enumerate(D):
        for j in np.argsort(row, kind="stable")[: k + 1]:
            G[i, j] = G[j, i] = row[j]
    for j in range(len(X)):
        G = np.minimum(G, G[:, [j]] + G[[j]])
    return G


def test_geodesics_are_shortest_paths():
    X = np.random.default_rng(0).normal(size=(40, 3))
    for k in (2, 5):
        np.testing.assert_allclose(geodesic(X, k), floyd(X, k), rtol=1e-12)
    far = np.vstack([X, X + 100])
    assert np.isinf(geodesic(far, 3)[:40, 40:]).all()


def test_along_a_circle_the_way_is_the_arc():
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    D = geodesic(X, 2)
    assert D[0, 50] == pytest.approx(np.pi, rel=1e-3)
    assert D[0, 75] == pytest.approx(np.pi / 2, rel=1e-3)


def test_a_new_image_reaches_the_training_images_through_its_neighbours():
    rng = np.random.default_rng(1)
    X, train = rng.normal(size=(30, 2)), np.arange(20)
    D = to_training(X, train, 3, "inductive")
    inner, step = floyd(X[train], 3), cdist(X, X[train])
    np.testing.assert_allclose(D[train], inner, rtol=1e-12)
    for i in range(20, 30):
        first = np.argsort(step[i])[:3]
        np.testing.assert_allclose(D[i], (step[i, first][:, None] + inner[first]).min(axis=0))
    with pytest.raises(ValueError, match="reading='both'"):
        to_training(X, train, 3, "both")


def test_features_and_votes_of_a_hand_made_example():
    D = np.array([[0.0, 1, 2, 3], [1, 0, 1, np.inf], [5, 4, 3, 2]])
    labels = np.array([0, 1, 1, 2])
    near = nearest(D)
    assert near.tolist() == [[0, 1, 2], [1, 0, 2], [3, 2, 1]]
    assert class_features(near, labels, 3).tolist() == [[1, 1, 0], [1, 1, 0], [0, 1, 1]]
    assert votes(near, labels, 3).tolist() == [1, 1, 1]
    own = np.array([0, 1, -1])
    assert nearest(D, own).tolist() == [[1, 2, 3], [0, 2, -1], [3, 2, 1]]
    # Three different classes: the nearest decides; a column without label does not vote.
    assert votes(np.array([[3, 0, 1]]), labels, 3).tolist() == [2]
    assert votes(np.array([[3, 0, -1]]), np.array([0, 1, 1, -1]), 3).tolist() == [0]


def test_itself_among_the_neighbours_gives_the_label_away():
    X, y = load_digits(return_X_y=True)
    X, y, train = X[:300], y[:300], np.arange(200)
    D = to_training(X, train, 7, "transductive")
    own = np.where(np.arange(300) < 200, np.arange(300), -1)
    leaky = class_features(nearest(D), y[train], 10)
    clean = class_features(nearest(D, own), y[train], 10)
    assert leaky[np.arange(200), y[train]].all()  # its own label is always among its features
    assert not clean[np.arange(200), y[train]].all()
    assert np.array_equal(leaky[200:], clean[200:])


# ----------------------------------------------------------------------------- two scales


def test_the_readings_are_the_kernels_they_claim_to_be():
    from kernelbook import GaussianBasis

    rng = np.random.default_rng(0)
    train, other = rng.normal(size=(12, 2)), rng.normal(size=(5, 2))
    g, h = 0.7, 5.0
    widths = np.repeat([[g**-0.5, h**-0.5]], 12, axis=0)
    G = GaussianBasis(train, widths).gram()
    whole = G[:12, :12] + G[:12, 12:] + G[12:, :12] + G[12:, 12:]
    K, K_other, s = two_scales.inner_product(train, other, g, h)
    np.testing.assert_allclose(K, whole, atol=1e-12)
    B = GaussianBasis(train, widths)
    L, L_other, s = two_scales.evaluation(train, other, g, h)
    np.testing.assert_allclose(L, B.evaluate(train) @ np.linalg.solve(G, B.evaluate(train).T))
    np.testing.assert_allclose(
        L_other * np.exp(-s),
        B.evaluate(other) @ np.linalg.solve(G, B.evaluate(train).T),
        rtol=1e-6,
    )
    one = np.exp(-g / 2 * cdist(other, train, "sqeuclidean"))
    two = np.exp(-h / 2 * cdist(other, train, "sqeuclidean"))
    _, S_other, s = two_scales.kernel_sum(train, other, g, h)
    np.testing.assert_allclose(S_other * np.exp(-s), one + two)
    assert K_other.shape == (5, 12)


def test_the_machines_are_the_usual_ones():
    from sklearn.svm import SVC

    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0)
    K, K_other, s = two_scales.gaussian(X[:40], X[40:], 1.0, None)

    def values(beta, bias):
        return two_scales.add_bias(K_other @ beta, bias, s[:, 0])

    peer = SVC(C=4.0, gamma=0.5, tol=1e-9).fit(X[:40], y[:40]).decision_function(X[40:])
    np.testing.assert_allclose(values(*two_scales.exact(K, y[:40], 4.0)), peer, atol=1e-5)
    np.testing.assert_allclose(values(*two_scales.by_libsvm(K, y[:40], 4.0)), peer, atol=1e-4)
    squared = values(*two_scales.squared_hinge(K, y[:40], 4.0))
    from kernelbook import Gaussian, KernelBasis, PrimalSVMClassifier

    primal = PrimalSVMClassifier(
        KernelBasis(Gaussian(2**0.5)), C=4.0, loss="squared_hinge", solver="newton"
    )
    primal.fit(X[:40], y[:40])
    np.testing.assert_allclose(squared, primal.decision_function(X[40:]), atol=1e-6)


@pytest.mark.parametrize("method", ["Parzen", "gaussian", "spike", "evaluation", "inner product"])
def test_narrow_gaussians_keep_their_sign(method):
    """Where exp(−γr²/2) underflows, f = b + 0, and for b = 0 the nearest sample must decide.

    Read by evaluation it decides against its own class: the flip of T15.
    """
    rng = np.random.default_rng(6)
    train, other = rng.uniform(size=(30, 2)), rng.uniform(size=(200, 2))
    y = np.repeat([1.0, -1.0], 15)  # balanced and narrow: the bias of least size is 0
    assert np.exp(-(2.0**18) * cdist(other, train, "sqeuclidean").min(axis=1)).min() == 0
    h = {"spike": 1.0, "evaluation": 2.0**21, "inner product": 2.0**21}.get(method, np.nan)
    f = two_scales.decisions(method, train, y, other, 2.0**19, h, [1.0])[0]
    nearest = two_scales.decisions("nearest neighbour", train, y, other, 1, 1, [1.0])[0]
    nearest *= -1 if method == "evaluation" else 1
    np.testing.assert_array_equal(np.sign(f), nearest)
    assert two_scales.error(method, train, y, other, nearest, 2.0**19, h, 1.0) == 0


def test_cross_validation_counts_what_is_left_out():
    rng = np.random.default_rng(4)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 8])
    y = np.repeat([-1.0, 1.0], 30)
    assert two_scales.cross_validate("gaussian", X, y, 1.0, np.nan, 0).max() == 0
    flipped = two_scales.cross_validate("nearest neighbour", X, np.tile([-1.0, 1.0], 30), 1, 1, 0)
    assert flipped.shape == (1,)
    assert 0.3 < flipped[0] < 0.7


def test_nested_selection_is_that_of_the_naive_loops():
    """25 fits by the definition, 15 by sharing; and the samples of a fold have no say in it."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=60) > 0, 1.0, -1.0)
    fold, calls = fold_numbers(y, seed=3), []
    assert np.bincount(fold).tolist() == [12] * 5

    def decide(train, other):
        calls.append(len(train))
        arguments = X[train], y[train], X[other], 1.0, np.nan, [0.1, 1.0, 10.0]
        return two_scales.decisions("gaussian, LIBSVM", *arguments)

    def errors(out, judged):
        train, other = np.flatnonzero(~np.isin(fold, out)), np.flatnonzero(fold == judged)
        return np.sum(np.where(decide(train, other) > 0, 1.0, -1.0) != y[other], axis=1)

    wrong = count_errors(decide, y, fold)
    assert sorted(calls) == [36] * 10 + [48] * 5
    total, chosen = nested(wrong)
    expected = 0
    for a in range(5):
        inner = sum(errors((a, b), b) for b in range(5) if b != a)
        assert chosen[a] == np.argmin(inner)
        expected += errors((a,), a)[chosen[a]]
    assert total == expected
    assert total >= np.einsum("saa->s", wrong).min()


def test_one_width_read_by_evaluation_is_its_equivalent_kernel():
    from kernelbook import GaussianBasis
    from kernelbook.experiments.ionosphere_ import ONE_WIDTH, decisions

    rng = np.random.default_rng(6)
    train, other = rng.normal(size=(20, 2)), rng.normal(size=(7, 2))
    y = np.where(train[:, 0] > 0, 1.0, -1.0)
    basis = GaussianBasis(train, np.full(20, 2.0**-0.5))
    B, G = basis.evaluate(train), basis.gram()
    K = B @ np.linalg.solve(G, B.T)
    K_other = basis.evaluate(other) @ np.linalg.solve(G, B.T)
    scale = np.trace(K) / 20
    beta, bias = two_scales.exact(K / scale, y, 4.0)
    expected = K_other @ beta / scale + bias
    ours = decisions(ONE_WIDTH, train, y, other, 2.0, np.nan, [4.0])[0]
    np.testing.assert_allclose(ours, expected, atol=1e-6)


# ---------------------------------------------------------------------------- words and topics


def documents(D=60, W=40, Z=3, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(Z, 0.3), D)
    words = rng.dirichlet(np.full(W, 0.2), Z)
    return sparse.csr_matrix(rng.poisson(30 * topics @ words).astype(float))


def test_mutual_information_is_that_of_scikit_learn():
    counts, y = documents(), np.arange(60) % 3
    ours = mutual_information(counts, y)
    present = (counts > 0).toarray().astype(int)
    theirs = [mutual_info_score(column, y) for column in present.T]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    best = most_informative(counts, y, 5)
    assert ours[best].min() >= np.delete(ours, best).max()


def test_scalings():
    counts = documents()
    lengths = np.sqrt(np.asarray(l2_log_counts(counts).power(2).sum(axis=1))).ravel()
    np.testing.assert_allclose(lengths[lengths > 0], 1)
    train = np.arange(40)
    X = to_interval(counts, train)
    spread = np.ptp(counts[train].toarray(), axis=0) > 0
    np.testing.assert_allclose(X[train].min(axis=0), -1)
    np.testing.assert_allclose(X[train].max(axis=0)[spread], 1)


@pytest.mark.interpreted
def test_a_step_of_em_is_that_of_the_formula():
    counts = documents(8, 10, 2)
    rng = np.random.default_rng(1)
    topics, words = rng.dirichlet(np.ones(2), 8), rng.dirichlet(np.ones(10), 2).T
    new_topics, new_words = np.empty_like(topics), np.empty_like(words)
    csr = counts.tocsr()
    L = em_step(csr.indptr, csr.indices, csr.data, topics, words.copy(), new_topics, new_words)
    expected = naive.em_step(counts.toarray(), topics, words)
    np.testing.assert_allclose(L, expected[0])
    np.testing.assert_allclose(new_topics, expected[1])
    np.testing.assert_allclose(new_words, expected[2])
    assert L == pytest.approx(log_likelihood(counts, topics, words))


def test_em_climbs_and_ends_where_a_factorization_ends():
    """The likelihood is that of KL-NMF: its solution is a fixed point of EM, and no better."""
    counts = documents()
    topics, words, history = fit_plsa(counts, 3, max_iter=2000, tol=1e-10, random_state=0)
    assert np.all(np.diff(history) >= -1e-9 * abs(history[0]))
    np.testing.assert_allclose(topics.sum(axis=1), 1)
    np.testing.assert_allclose(words.sum(axis=0), 1)
    nmf = NMF(3, beta_loss="kullback-leibler", solver="mu", init="random", random_state=0)
    nmf.set_params(max_iter=5000, tol=1e-12)
    A = nmf.fit_transform(counts)
    scale = nmf.components_.sum(axis=1)
    B = (nmf.components_ / scale[:, None]).T
    A = A * scale
    A = A / A.sum(axis=1, keepdims=True)
    L = log_likelihood(counts, A, B)
    new_topics, new_words = np.empty_like(A), np.empty_like(B)
    em_step(counts.indptr, counts.indices, counts.data, A, B, new_topics, new_words)
    A2, B2 = new_topics / new_topics.sum(axis=1, keepdims=True), new_words / new_words.sum(axis=0)
    assert log_likelihood(counts, A2, B2) - L < 1e-6 * abs(L)
    runs = [fit_plsa(counts, 3, max_iter=2000, tol=1e-10, random_state=s)[2][-1] for s in range(5)]
    assert max(runs) > L - 1e-3 * abs(L)


def test_folding_in_sees_the_document_alone():
    counts = documents(D=90)
    _, words, _ = fit_plsa(counts[:60], 3, max_iter=500, random_state=0)
    together = fold_in(counts[60:], words, max_iter=500, tol=0)
    alone = fold_in(counts[70], words, max_iter=500, tol=0)
    np.testing.assert_allclose(together[10], alone[0], atol=1e-6)
    empty = sparse.csr_matrix((1, 40))
    np.testing.assert_allclose(fold_in(empty, words), 1 / 3)
    unseen = words.copy()
    unseen[5] = 0
    only = sparse.csr_matrix(([3.0], ([0], [5])), shape=(1, 40))
    np.testing.assert_allclose(fold_in(only, unseen), 1 / 3)


def test_rounded_shares_have_no_crumbs_and_sum_to_one():
    from kernelbook.experiments.text_ import rounded

    P = np.array([[0.7, 0.3 - 1e-70, 1e-70], [0.333, 0.333, 0.334], [0.98, 0.0149, 0.0051]])
    for digits in (2, 4):
        Q = rounded(P, digits)
        np.testing.assert_allclose(Q.sum(axis=1), 1, rtol=1e-15)
        assert Q[0, 2] == 0
        np.testing.assert_allclose(Q, P, atol=2 * 10.0**-digits)


@pytest.mark.parametrize("share", [0.5, 1e-3, 1e-9])
def test_a_pure_topic_silences_its_documents(share):
    """Whatever the size of the share; and the rest of the machine does not notice them."""
    from kernelbook.solvers.svm.solve import solve_robust

    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    K = np.exp(-cdist(X, X, "sqeuclidean"))
    topic = np.zeros(40)
    mute = np.flatnonzero(y > 0)[:6]
    topic[mute] = [0.9, 0.5, share, 0.2, 0.8, 0.4]
    P, C = np.column_stack([np.ones(40), topic]), np.full(40, 3.0)
    solution = solve_robust(K, P, y, C)
    np.testing.assert_allclose(solution.beta[mute], 0, atol=1e-9)
    f = K @ solution.beta + P @ solution.coef
    assert (y * f)[mute].min() > 1 - 1e-6
    left = np.setdiff1d(np.arange(40), mute)
    rest = solve_robust(K[np.ix_(left, left)], np.ones((34, 1)), y[left], C[left])
    np.testing.assert_allclose(solution.beta[left], rest.beta, atol=1e-6)
    assert np.abs(rest.beta).max() > 0.1


@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_who_is_silenced_is_who_has_no_multiplier_in_any_dual_point(seed):
    """One linear program for all samples, against one for each: the largest |β_i| there can be."""
    from kernelbook.experiments.text_ import rounded, share_silenced, silenced

    rng = np.random.default_rng(seed)
    m, y = 30, np.arange(30) % 3
    P = rounded(rng.dirichlet(np.full(10, 0.1), size=m), 2)
    count, total = 0, 0
    for a, b in ((0, 1), (0, 2), (1, 2)):
        rows = np.flatnonzero((y == a) | (y == b))
        sign = np.where(y[rows] == a, 1.0, -1.0)
        mute = silenced(P[rows], sign)
        balance = (sign[:, None] * P[rows]).T  # Pᵀβ = 0 for α = y∘β ≥ 0
        for i, e in enumerate(np.eye(rows.size)):
            most = linprog(-e, A_eq=balance, b_eq=np.zeros(10), bounds=(0, 1)).x[i]
            assert mute[i] == (most < 1e-7)
        count, total = count + mute.sum(), total + rows.size
    assert 0 < count < total
    assert share_silenced(P, y, "ovo") == count / total
    rest = sum(silenced(P, np.where(y == c, 1.0, -1.0)).sum() for c in range(3))
    assert share_silenced(P, y, "ovr") == rest / (3 * m)
