"""The text experiment's pieces: splits, grids that grow, leave-one-out in few columns."""

import numpy as np
import pytest
from sklearn.svm import SVC

from kernelbook import GRLSClassifierCV
from kernelbook.experiments import text_
from kernelbook.experiments.narrow import grlsc_by_leave_one_out
from kernelbook.experiments.search import Search


@pytest.mark.parametrize("seed", range(4))
def test_every_beginning_of_the_order_has_each_class_in_proportion(seed):
    y = np.repeat(["a", "b", "c"], [11, 300, 689])
    order = text_.stratified_order(y, seed)
    assert np.array_equal(np.sort(order), np.arange(1000))
    for size in (10, 37, 100, 500, 999):
        for label, n in zip(*np.unique(y, return_counts=True), strict=True):
            assert abs(np.sum(y[order[:size]] == label) - size * n / 1000) < 2.0


def test_orders_differ_and_do_not_follow_the_file():
    y = np.repeat([0, 1], 200)
    a, b = (text_.stratified_order(y, seed) for seed in (0, 1))
    assert np.mean(a == b) < 0.1
    # Within a class the place in the file says nothing about the place in the order.
    place = np.argsort(a)[:200]
    assert abs(np.corrcoef(place, np.arange(200))[0, 1]) < 0.3


@pytest.mark.parametrize(
    ("score", "best", "end"),
    [
        (lambda x: -abs(np.log2(x) - 3), 8.0, ""),  # inside
        (lambda x: -abs(np.log2(x) - 9), 512.0, ""),  # the grid grows upwards
        (lambda x: -abs(np.log2(x) + 7), 2.0**-7, ""),  # and downwards
        (lambda x: min(x, 64.0), 64.0, ""),  # of equals the smallest
        (lambda x: x, 2.0**13, "end"),  # for ever: the limit, and it says so
        (lambda x: 1.0, 0.125, "tie"),  # nothing matters
    ],
)
def test_a_grid_grows_while_its_end_is_better(score, best, end):
    search = Search(
        lambda values: {x: score(x) for x in values},
        (0.25, 1.0, 4.0, 16.0), 4.0, 4.0**-6, 4.0**6, halve=True,
    )  # fmt: skip
    assert search.run() == pytest.approx(best)
    assert search.end == end


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("free", [0, 1, 3])
def test_leave_one_out_in_few_columns_is_that_of_the_estimator(classes, free):
    rng = np.random.default_rng(classes + free)
    F, other = rng.normal(size=(60, 12)), rng.normal(size=(200, 12))
    y = (F[:, 0] > 0) + 2 * (F[:, 1] > 0) + rng.integers(0, 2, 60) if classes == 4 else F[:, 0] > 0
    P, P_other = rng.normal(size=(60, free)), rng.normal(size=(200, free))
    if free:
        P[:, 0] = P_other[:, 0] = 1.0
    regs = 2.0 ** np.arange(-20, 5)
    model = GRLSClassifierCV(kernel="precomputed", features=None, regs=regs)
    given = ({"P": P}, {"P": P_other}) if free else ({}, {})
    model.fit(F @ F.T, y, **given[0])
    said, reg, score = grlsc_by_leave_one_out(F, other, y, P, P_other, regs)
    assert reg == model.reg_
    assert score == pytest.approx(model.best_score_, rel=1e-8)
    assert np.array_equal(said, model.predict(other @ F.T, **given[1]))


def test_one_vs_rest_is_one_machine_a_class():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    X[np.arange(50), y] += 1.5
    machine = text_.OneVsRest(X @ X.T, y, np.arange(50))
    values = [
        SVC(C=2.0, kernel="linear").fit(X, y == label).decision_function(X) for label in range(3)
    ]
    assert np.array_equal(machine.predict(2.0, X @ X.T, slice(None)), np.argmax(values, axis=0))


def test_small_sizes_come_first_and_repetitions_of_the_largest_last():
    cells = text_.EXPERIMENT.cells(False)
    assert len(cells) == len({str(cell) for cell in cells}) == 1800
    last = cells[-60:]
    assert {(c["size"], c["repetition"]) for c in last} == {(3200, 8), (3200, 9)}
    firsts = {c["size"]: k for k, c in reversed(list(enumerate(cells)))}
    assert sorted(firsts, key=firsts.get) == [100, 200, 400, 800, 1600, 3200]
