"""The benchmark harness: what it counts is right, and nothing here depends on how fast we are."""

import csv
import importlib
import json
import os

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.svm import SVC
from threadpoolctl import threadpool_info

from benchmarks.__main__ import line, main, questions, verdicts, write
from benchmarks.harness import Case, Target, measure, peak_memory, provenance, threads
from benchmarks.problems import hinge_objective, noisy_xor, unkind
from kernelbook._jit import n_threads

needs_linux = pytest.mark.skipif(
    not os.path.exists("/proc/self/clear_refs"), reason="peak memory is read from Linux's /proc"
)


def case(ours=1.0, theirs=2.0):
    return Case(
        "small", lambda: ours, {"peer": lambda: theirs}, objective=lambda x: x, facts={"m": 3}
    )


def test_a_worse_objective_is_said_to_be_worse():
    (good,) = measure("q", case(1.0, 2.0), quick=True)
    (bad,) = measure("q", case(1.1, 1.0), quick=True)
    assert good.as_good
    assert good.excess == -0.5
    assert not bad.as_good
    assert "WORSE" in line(bad)
    assert "WORSE" not in line(good)


def test_rows_count_calls_and_keep_medians_between_the_extremes():
    calls = []
    (row,) = measure("q", Case("c", lambda: calls.append(0), {"p": lambda: None}), quick=True)
    # The child of `peak_memory` has its own list: one warm-up here, then the timed calls.
    assert len(calls) == row.repetitions + 1
    assert row.seconds_min <= row.seconds <= row.seconds_max
    assert row.ratio == pytest.approx(row.peer_seconds / row.seconds)
    assert np.isnan(row.excess)
    assert row.as_good


@needs_linux
def test_peak_memory_is_what_was_held_at_once():
    def hold():
        for _ in range(3):
            np.ones(5_000_000)  # 40 MB, three times, one after the other

    # Pages shared with the child by the fork are no news; the allocator may round up.
    assert 30 < peak_memory(hold) < 60
    # Freed memory that the allocator still keeps must not hide what `hold` needs.
    large = np.ones(3_900_000)
    del large  # from now on glibc keeps up to 60 MB
    small = [np.ones(100_000) for _ in range(70)]
    del small
    assert 30 < peak_memory(hold) < 60
    assert peak_memory(lambda: None) < 5


@needs_linux
def test_a_child_that_fails_gives_no_number():
    assert np.isnan(peak_memory(lambda: 1 / 0))


def test_all_sides_get_the_same_number_of_threads():
    with threads(1):
        assert n_threads() == 1
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    assert "NUMBA_NUM_THREADS" not in os.environ or n_threads() >= 1


def test_targets_speak_of_median_and_worst_case():
    rows = [*measure("q", case(), quick=True), *measure("q", case(), quick=True)]
    assert "NOT reached" in next(verdicts(rows, {"peer": Target(1e12)}))
    assert "NOT reached" in next(verdicts(rows, {"peer": Target(1e-12, worst=1e12)}))
    assert "NOT" not in next(verdicts(rows, {"peer": Target(1e-12, worst=1e-12)}))


def test_the_table_is_written_with_where_it_comes_from(tmp_path):
    write(measure("q", case(), quick=True), tmp_path, provenance(2, True))
    with (tmp_path / "benchmarks.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["question"] == "q"
    assert json.loads(row["facts"]) == {"m": 3}
    facts = json.loads((tmp_path / "benchmarks.json").read_text())
    assert facts["threads"] == 2
    assert facts["versions"]["numpy"] == np.__version__


@pytest.mark.parametrize("name", questions())
def test_every_question_says_what_it_asks(name):
    module = importlib.import_module(f"benchmarks.{name}")
    assert module.__doc__
    assert module.QUESTION
    assert all(isinstance(target, Target) for target in module.TARGETS.values())
    assert callable(module.cases)


def test_unknown_questions_are_refused():
    result = CliRunner().invoke(main, ["nothing"])
    assert result.exit_code != 0
    assert "svm_one_bias" in result.output


def test_objective_of_the_svm_is_the_textbooks():
    X, y = noisy_xor(120, 3)
    model = SVC(C=2.0, gamma=0.5, tol=1e-10).fit(X, y)  # its kernel is in single precision
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    beta = np.zeros(120)
    beta[model.support_] = model.dual_coef_[0]
    expected = 0.5 * beta @ K @ beta + 2 * np.maximum(0, 1 - y * model.decision_function(X)).sum()
    value = hinge_objective(X, y, 2**0.5, 2.0)
    answer = (model.support_, model.dual_coef_[0], model.intercept_)
    assert value(answer) == pytest.approx(expected, rel=1e-12)
    assert value(answer) == pytest.approx(y @ beta - 0.5 * beta @ K @ beta, rel=1e-6)


def test_unkind_problems_have_two_classes():
    for X, y, width, C in unkind(200).values():
        assert len(X) == len(y)
        assert set(y) == {-1.0, 1.0}
        assert width > 0
        assert C > 0


def test_a_question_asked_alone_leaves_the_other_rows(tmp_path):
    facts = provenance(2, True)
    for name in ("one", "two", "one"):
        write(measure(name, case(), quick=True), tmp_path, facts)
    with (tmp_path / "benchmarks.csv").open() as file:
        asked = [row["question"] for row in csv.DictReader(file)]
    assert set(asked) == {"one", "two"}
    assert asked.count("one") == asked.count("two")
