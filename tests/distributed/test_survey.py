"""What is known of the data before the first sum, from blocks of any size; and sums for scores."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

from kernelbook.distributed.fit import Survey
from kernelbook.distributed.score import Accuracy, Squares

RNG = np.random.default_rng(0)
X, Y, W = RNG.normal(size=(90, 2)), RNG.integers(0, 4, size=90), RNG.uniform(0, 2, size=90)
CUTS = [slice(0, 20), slice(20, 20), slice(20, 25), slice(25, 90)]


def test_surveys_of_blocks_add_up():
    w = np.where(X[:, 0] > 1, 0.0, W)
    parts = [Survey.of(X[b], Y[b], w[b], True, 40, seed) for seed, b in enumerate(CUTS)]
    left = parts[0].merge(parts[1]).merge(parts[2]).merge(parts[3])
    right = parts[0].merge(parts[1].merge(parts[2].merge(parts[3])))
    for survey in (left, right):
        np.testing.assert_array_equal(survey.low, X[w > 0].min(axis=0))
        np.testing.assert_array_equal(survey.high, X[w > 0].max(axis=0))
        np.testing.assert_array_equal(survey.labels, np.unique(Y[w > 0]))
        assert survey.rows.shape == (40, 2)
        assert np.all(np.diff(survey.keys) <= 0)
        np.testing.assert_array_equal(survey.rows, left.rows)
    assert len(np.unique(left.rows, axis=0)) == 40


def test_rows_are_drawn_in_proportion_to_their_weights():
    w, count = np.array([1.0, 2.0, 3.0, 6.0]), np.zeros(4)
    rows = np.arange(4.0)[:, None]
    for seed in range(3000):
        halves = [Survey.of(rows[b], None, w[b], False, 1, (seed, i)) for i, b in enumerate(HALVES)]
        count[int(halves[0].merge(halves[1]).rows[0, 0])] += 1
    np.testing.assert_allclose(count / 3000, w / w.sum(), atol=0.04)


HALVES = slice(0, 2), slice(2, 4)


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_r2_from_blocks(offset):
    y = np.c_[X[:, 0], RNG.normal(size=90)] + offset
    f = y + 0.3 * RNG.normal(size=(90, 2))
    total = sum(Squares.of(y[b], f[b], W[b]) for b in CUTS if W[b].size)
    assert total.score() == pytest.approx(r2_score(y, f, sample_weight=W), rel=1e-6)
    # A constant y is explained completely or not at all.
    constant = Squares.of(np.ones((4, 2)), np.ones((4, 2)) - [[0.0, 1.0]], np.ones(4))
    assert constant.score() == 0.5
    assert np.isnan(Squares.of(y[:1], f[:1], W[:1]).score())
    assert Squares.of(y[:2], f[:2], np.zeros(2)) == 0


def test_accuracy_from_blocks():
    right = RNG.uniform(size=90) < 0.7
    total = sum(Accuracy(W[b].sum(), W[b] @ right[b]) for b in CUTS)
    assert total.score() == pytest.approx(
        accuracy_score(Y, np.where(right, Y, -1), sample_weight=W)
    )
