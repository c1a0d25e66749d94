"""The benchmark harness: what it counts is right, and nothing here depends on how fast we are."""

import csv
import importlib
import json
import os
import signal
import subprocess
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import linregress
from sklearn.svm import SVC
from threadpoolctl import threadpool_info

from benchmarks import first_call, grls_dense
from benchmarks.__main__ import ask, expected, line, main, questions, targets, verdicts, write
from benchmarks.harness import (
    REPETITIONS,
    Case,
    Target,
    cores,
    measure,
    peak_memory,
    profiled,
    provenance,
    slope,
    threads,
)
from benchmarks.problems import hinge_objective, noisy_xor, unkind
from kernelbook.numeric.threads import n_threads

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
    # The child of `peak_memory` has its own list: a warm-up before it and one after it.
    assert len(calls) == row.repetitions + 2
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
def test_a_child_that_fails_or_hangs_gives_no_number():
    assert np.isnan(peak_memory(lambda: 1 / 0))
    assert np.isnan(peak_memory(signal.pause, patience=0.1))


@needs_linux
def test_memory_is_read_after_the_first_call():
    kept = []

    def ours():  # what a first call loads and keeps is no cost of the second
        if not kept:
            kept.append(np.ones(5_000_000))

    (row,) = measure("q", Case("c", ours), quick=True)
    assert row.peak_mb < 5


@needs_linux
def test_processes_of_a_fresh_interpreter_are_counted(tmp_path):
    (row,) = measure(
        "q",
        Case(
            "c",
            lambda: first_call.run("x = bytearray(50_000_000); sum(range(10**6))", tmp_path),
            peak=lambda megabytes: megabytes,
        ),
        quick=True,
    )
    assert 50 < row.peak_mb < 120
    assert row.cpu_seconds > 0
    with pytest.raises(subprocess.CalledProcessError):
        first_call.run("1 / 0", tmp_path)
    facts = {}
    first_call.run("import time", tmp_path, "time.sleep(0.05)", facts)
    assert facts["fit_seconds"][0] >= 0.05 > facts["fit_cpu_seconds"][0]
    told = [
        replace(row, facts=json.dumps({"fit_seconds": [9, s], "fit_cpu_seconds": [9, s]}))
        for s in (0.4, 1.5)
    ]
    assert ["NOT" in text for text in first_call.summary([row, *told])] == [False, True]


def test_slopes_are_those_of_powers():
    m = np.array([500, 1000, 2000, 4000])
    assert slope(m, 3e-9 * m**2.5) == pytest.approx((2.5, 0), abs=1e-9)
    assert slope([1, 4], [2, 2]) == (0.0, np.inf)
    noise = np.exp(np.random.default_rng(0).normal(scale=0.1, size=4))
    exponent, error = slope(m, m**2.0 * noise)
    # What statsmodels and every textbook say: the ordinary least squares line.
    fit = linregress(np.log(m), np.log(m**2.0 * noise))
    assert (exponent, error) == pytest.approx((fit.slope, fit.stderr), rel=1e-9)
    for bad in (([1], [1]), ([2, 2], [1, 3]), ([1, 2, 3], [1, 2])):
        with pytest.raises(ValueError, match="slope"):
            slope(*bad)


def test_a_profile_names_what_takes_the_time():
    def busy():
        return sum(i * i for i in range(200_000))

    shares, functions = zip(*profiled(busy), strict=True)
    assert 0 < sum(shares) <= 1 + 1e-9
    assert any("test_benchmarks.py" in function for function in functions)
    assert not any("/" in function for function in functions)


def test_a_missed_target_is_explained(monkeypatch):
    module = types.SimpleNamespace(
        QUESTION="?",
        TARGETS={"peer": Target(1e12)},
        cases=lambda quick: [case()],
        summary=lambda rows: [f"{len(rows)} row"],
    )
    monkeypatch.setitem(sys.modules, "benchmarks.missed", module)
    said, ticks = [], []
    rows, profiles = ask("missed", True, said.append, ticks.append)
    assert len(rows) == 1
    assert ticks == ["missed: small"]
    assert profiles["peer"]
    assert "worst case" in said[-2]
    assert said[-1] == "  1 row"


def test_what_is_left_is_weighed_by_what_it_took(tmp_path):
    path = tmp_path / "benchmarks.json"
    assert expected(["a", "b"], path) == {"a": 1.0, "b": 1.0}
    path.write_text(json.dumps({"seconds": {"a": 2.0, "c": 4.0}}))
    assert expected(["a", "b"], path) == {"a": 2.0, "b": 3.0}


def test_objectives_of_dense_regression_are_those_of_the_certificate():
    X, y = grls_dense.data(60)
    ours = grls_dense.ours(X, y)
    primal = pytest.approx(ours.certificate_.primal, rel=1e-9)
    assert grls_dense.objective(ours, X, y) == primal
    assert grls_dense.objective(grls_dense.scipys(X, y), X, y) == primal
    ridge, bare = grls_dense.ridge(X, y), grls_dense.bare(X, y)
    larger = grls_dense.objective(ridge, X, y)
    assert larger > ours.certificate_.primal
    assert grls_dense.objective(bare, X, y) == pytest.approx(larger, rel=1e-9)


def test_all_sides_get_the_same_number_of_threads():
    with threads(1):
        assert n_threads() == 1
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    assert "NUMBA_NUM_THREADS" not in os.environ or n_threads() >= 1


def test_targets_speak_of_median_and_worst_case():
    rows = [*measure("q", case(), quick=True), *measure("q", case(), quick=True)]
    for target, enough in (
        (Target(1e12), False),
        (Target(1e-12, worst=1e12), False),
        (Target(1e-12, worst=1e-12), True),
    ):
        ((peer, reached, text),) = verdicts(rows, {"peer": target, "absent": Target(1.0)})
        assert peer == "peer"
        assert reached == enough
        assert ("NOT reached" in text) != enough


def test_the_table_is_written_with_where_it_comes_from(tmp_path):
    write(measure("q", case(), quick=True), tmp_path, provenance(2, True))
    with (tmp_path / "benchmarks.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["question"] == "q"
    assert json.loads(row["facts"]) == {"m": 3}
    assert row["threads"] == str(n_threads())
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
    assert set(targets([name])[name]) == set(module.TARGETS)


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
    for X, y, width, C, P in unkind(200).values():
        assert P is None or P.shape == (200, 10)
        assert len(X) == len(y)
        assert set(y) == {-1.0, 1.0}
        assert width > 0
        assert C > 0


def test_a_question_asked_alone_leaves_the_other_rows(tmp_path):
    facts = provenance(2, True)
    for name in ("one", "two", "one"):
        of_it = {"targets": {name: {"peer": [1.0, None]}}, "seconds": {name: 1.0}}
        write(measure(name, case(), quick=True), tmp_path, facts | of_it)
    known = json.loads((tmp_path / "benchmarks.json").read_text())
    assert set(known["targets"]) == set(known["seconds"]) == {"one", "two"}
    with (tmp_path / "benchmarks.csv").open() as file:
        asked = [row["question"] for row in csv.DictReader(file)]
    assert set(asked) == {"one", "two"}
    assert asked.count("one") == asked.count("two")


def test_libraries_that_are_loaded_later_get_the_same_number_of_threads():
    program = """
from benchmarks.harness import threads
from kernelbook.numeric.threads import n_threads
from threadpoolctl import threadpool_info
with threads(1):
    import scipy.linalg, sklearn.svm, sklearn.metrics.pairwise
    print({pool["num_threads"] for pool in threadpool_info()}, n_threads())
"""
    free = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=free, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["{1}", "1"]


def test_what_the_environment_said_of_threads_is_set_aside_and_comes_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with threads(cores()):
        assert n_threads() == cores()
    assert os.environ["OMP_NUM_THREADS"] == "1"
    assert "MKL_NUM_THREADS" not in os.environ
    for bad in (0, cores() + 1):
        with pytest.raises(ValueError, match="threads="), threads(bad):
            pass


def test_an_objective_that_is_no_number_has_not_won():
    (lost,) = measure("q", case(np.nan, 1.0), quick=True)
    assert not lost.as_good
    (won,) = measure("q", case(1.0, np.nan), quick=True)
    assert won.as_good
    (same,) = measure("q", case(0.0, 0.0), quick=True)
    assert same.excess == 0.0


def test_a_target_is_not_reached_with_a_worse_objective():
    rows = [*measure("q", case(), quick=True), *measure("q", case(1.1, 1.0), quick=True)]
    ((_, reached, text),) = verdicts(rows, {"peer": Target(1e-12)})
    assert not reached
    assert "1 of 2" in text


def test_a_slow_first_call_does_not_cost_repetitions(monkeypatch):
    monkeypatch.setattr("benchmarks.harness.peak_memory", lambda call: 0.0)
    seconds = iter([60.0] + [0.01] * 100)  # the first call compiles

    def clocked(call):
        return call(), next(seconds), 0.0

    monkeypatch.setattr("benchmarks.harness.timed", clocked)
    (row,) = measure("q", Case("c", lambda: None), quick=True)
    assert row.repetitions == REPETITIONS[True]
    assert row.seconds == 0.01


def test_each_question_keeps_the_machine_it_was_answered_on(tmp_path):
    for name, count in (("one", 1), ("two", 2)):
        write(measure(name, case(), quick=True), tmp_path, provenance(count, True))
    runs = json.loads((tmp_path / "benchmarks.json").read_text())["runs"]
    assert {name: run["threads"] for name, run in runs.items()} == {"one": 1, "two": 2}


def test_what_was_answered_is_kept_when_the_next_question_fails(tmp_path, monkeypatch):
    def asked(name, *_):
        if name == "growth":
            raise KeyboardInterrupt
        return measure(name, case(), quick=True), {}

    monkeypatch.setattr("benchmarks.__main__.ask", asked)
    arguments = ["gram", "gram", "growth", "--quick", "--output", str(tmp_path)]
    assert CliRunner().invoke(main, arguments).exit_code != 0
    with (tmp_path / "benchmarks.csv").open() as file:
        assert [row["question"] for row in csv.DictReader(file)] == ["gram"]


def test_the_command_teaches(tmp_path, monkeypatch):
    shown = CliRunner().invoke(main, ["--help"]).output
    assert all(name in shown for name in questions())
    assert "Examples:" in shown
    assert "0 is not in the range" in CliRunner().invoke(main, ["--threads", "0"]).output
    (file := tmp_path / "file").touch()
    assert "is a file" in CliRunner().invoke(main, ["--output", str(file)]).output

    def absent(name):
        raise ModuleNotFoundError("no", name="clarabel")

    monkeypatch.setattr("benchmarks.__main__.importlib.import_module", absent)
    result = CliRunner().invoke(main, ["svm_programs", "--quick", "--output", str(tmp_path)])
    assert "needs clarabel" in result.output


def test_the_objective_of_many_classes_is_that_of_the_certificate_and_a_bound_for_svc():
    from benchmarks import multiclass

    (case,) = multiclass.cases(quick=True)
    ours = case.ours()
    assert case.objective(ours) == pytest.approx(ours.certificate_.primal, rel=1e-9)
    theirs = case.objective(case.peers["SVC"]())
    assert ours.certificate_.dual < theirs < 1.01 * ours.certificate_.primal
