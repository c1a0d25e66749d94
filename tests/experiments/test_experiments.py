"""Experiments: on any number of processes, after any interruption, the same table."""

import csv
import json
import os
import re
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC
from sklearn.utils import Bunch

from kernelbook.cli import main
from kernelbook.experiments import NAMES, get
from kernelbook.experiments.running import Experiment, finished, run
from kernelbook.experiments.running.journal import code as without_remarks

CALLS = []


def squares(cell):
    CALLS.append(cell["x"])
    if cell["x"] == cell.get("stop"):
        raise KeyboardInterrupt
    return [{"method": m, "value": cell["x"] ** k / 3} for m, k in (("one", 1), ("two", 2))]


def toy(stop=None, n=6):
    cells = [{"x": x} | ({} if stop is None else {"stop": stop}) for x in range(n)]
    return Experiment("toy", "squares", lambda quick: cells[:2] if quick else cells, squares)


def table(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_table_has_a_row_for_each_cell_and_method_and_says_where_it_comes_from(tmp_path):
    done = run(toy(), tmp_path, progress=False)
    rows = table(done.table)
    assert [(r["x"], r["method"]) for r in rows] == [
        (str(x), m) for x in range(6) for m in ("one", "two")
    ]
    assert rows[5]["value"] == "1.33333"
    record = json.loads(done.provenance.read_text())
    assert record["rows"] == done.rows == 12
    assert {"numpy", "numba"} <= set(record["versions"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["toy.csv", "toy.json"]
    assert run(toy(), tmp_path / "quick", quick=True, progress=False).rows == 4


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    CALLS.clear()
    with pytest.raises(KeyboardInterrupt):
        run(toy(stop=3), tmp_path, progress=False)
    assert CALLS == [0, 1, 2, 3]
    assert not (tmp_path / "toy.csv").exists()
    # A line that the interruption cut in half is done again.
    journal = tmp_path / "toy.journal"
    journal.write_bytes(journal.read_bytes()[:-9])
    CALLS.clear()
    with pytest.raises(KeyboardInterrupt):
        run(toy(stop=3), tmp_path, progress=False)
    assert CALLS == [2, 3]


def test_a_terminated_command_ends_like_an_interrupted_one(tmp_path, monkeypatch):
    """Batch systems send SIGTERM; without this the worker processes went on alone."""

    def killed(*args, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    monkeypatch.setattr("kernelbook.experiments.running.run", killed)
    before = signal.getsignal(signal.SIGTERM)
    result = CliRunner().invoke(main, ["experiment", "abs", "--quick", "--output", str(tmp_path)])
    assert "interrupted; the same command goes on" in result.output
    assert signal.getsignal(signal.SIGTERM) is before


def _runs_until_killed(folder, at):
    """A run in a process of its own, which notes each cell that it ends and is killed in one."""

    def ends_here(cell):
        if cell["x"] == at:
            os.kill(os.getpid(), signal.SIGKILL)
        rows = squares(cell)
        with (folder / "ended").open("a") as file:
            file.write(f"{cell['x']}\n")
        return rows

    child = os.fork()
    if child == 0:
        try:
            run(replace(toy(), run=ends_here), folder / "out", progress=False)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_killed_run_loses_no_finished_cell_and_repeats_none(tmp_path):
    """SIGKILL leaves no time to tidy up; it strikes once in every cell but the first."""
    for at in range(1, 6):
        assert _runs_until_killed(tmp_path, at) == -signal.SIGKILL
        assert (tmp_path / "ended").read_text().split() == [str(x) for x in range(at)]
    assert _runs_until_killed(tmp_path, None) == 0
    assert (tmp_path / "ended").read_text().split() == [str(x) for x in range(6)]
    whole = run(toy(), tmp_path / "whole", progress=False)
    assert (tmp_path / "out" / "toy.csv").read_bytes() == whole.table.read_bytes()


def test_resumed_and_whole_runs_write_the_same_table(tmp_path, monkeypatch):
    whole = run(toy(), tmp_path / "whole", progress=False)
    monkeypatch.setattr("kernelbook.experiments.running.workers.timed", _breaks_after(4))
    with pytest.raises(KeyboardInterrupt):
        run(toy(), tmp_path / "parts", progress=False)
    monkeypatch.undo()
    CALLS.clear()
    parts = run(toy(), tmp_path / "parts", progress=False)
    assert (parts.resumed, CALLS) == (4, [4, 5])
    assert parts.table.read_bytes() == whole.table.read_bytes()


def _breaks_after(n):
    left = [n]

    def timed(function, cell, threads):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return function(cell), 0.0

    return timed


def test_a_journal_of_something_else_is_put_aside_not_lost(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(toy(stop=3), tmp_path, progress=False)
    old = (tmp_path / "toy.journal").read_bytes()
    assert run(toy(), tmp_path, progress=False).resumed == 0
    (kept,) = tmp_path.glob("toy.journal-*")
    assert kept.read_bytes() == old


def test_processes_and_a_dask_cluster_give_the_same_table(tmp_path):
    distributed = pytest.importorskip("distributed")
    alone = run(toy(), tmp_path / "1", progress=False).table.read_bytes()
    assert run(toy(), tmp_path / "2", jobs=2, progress=False).table.read_bytes() == alone
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        # An in-process cluster: its workers cannot be reached by another process, but by us.
        address = cluster.scheduler_address
        spread = run(toy(), tmp_path / "3", scheduler=address, progress=False)
    assert spread.table.read_bytes() == alone


def test_only_some_cells(tmp_path):
    done = run(toy(), tmp_path, only=["x=4"], progress=False)
    assert [r["x"] for r in table(done.table)] == ["4", "4"]
    record = json.loads(done.provenance.read_text())
    assert (record["cells"], record["cells_of_the_protocol"]) == (1, 6)
    assert (done.rows, done.left) == (2, 5)
    for rule, word in (("z=1", "one of"), ("x=77", "leaves no cell"), ("x", "leaves no cell")):
        with pytest.raises(ValueError, match=word):
            run(toy(), tmp_path, only=[rule], progress=False)


def test_a_value_with_a_comma_is_one_value(tmp_path):
    """`--only "x=inner, LIBSVM"` used to run "inner" instead."""
    cells = [{"x": x} for x in ("inner", "inner, LIBSVM", "sum")]
    named = Experiment("toy", "names", lambda quick: cells, lambda cell: [{"method": "m"}])
    for value, expected in (("inner, LIBSVM", cells[1:2]), ("inner,sum", cells[::2])):
        done = run(named, tmp_path / value, only=[f"x={value}"], progress=False)
        assert [r["x"] for r in table(done.table)] == [c["x"] for c in expected]


def test_parts_add_up_to_the_whole(tmp_path):
    whole = run(toy(), tmp_path / "whole", progress=False)
    for x in ("4", "1,2"):
        part = run(toy(), tmp_path / "parts", only=[f"x={x}"], progress=False)
    assert [r["x"] for r in table(part.table)] == ["1", "1", "2", "2", "4", "4"]
    CALLS.clear()
    rest = run(toy(), tmp_path / "parts", progress=False)
    assert (rest.resumed, rest.left, CALLS) == (3, 0, [0, 3, 5])
    assert rest.table.read_bytes() == whole.table.read_bytes()
    assert not (tmp_path / "parts" / "toy.journal").exists()


def test_the_summary_has_the_means_of_each_method(tmp_path, monkeypatch):
    cells = [{"x": x, "seed": x} for x in (1, 2, 4)]
    measured = Experiment("toy", "squares", lambda quick: cells, squares, measures=("value", "no"))
    summary = run(measured, tmp_path / "all", progress=False).summary
    assert [(s["method"], s["rows"]) for s in summary] == [("one", 3), ("two", 3)]
    assert [s["value"] for s in summary] == pytest.approx([7 / 9, 7.0 / 3])
    assert all(np.isnan(s["no"]) for s in summary)
    best = replace(measured, best="value", run=two_rows)
    assert run(best, tmp_path / "best", progress=False).summary == [
        {"method": "one", "rows": 3, "value": 0.0, "no": pytest.approx(7 / 3)}
    ]
    monkeypatch.setattr("kernelbook.experiments.get", lambda name: best)
    shown = CliRunner().invoke(main, ["experiment", "abs", "--output", str(tmp_path / "cli")])
    assert shown.exit_code == 0, shown.output
    assert "with the least value of each cell" in shown.output
    (line,) = [line for line in shown.output.splitlines() if line.startswith("one")]
    assert line.split() == ["one", "3", "0", "2.333"]


@pytest.mark.parametrize("name", ["abs", "spirals", "ionosphere", "coil20", "text"])
def test_every_paper_s_experiment_names_its_results(name):
    assert get(name).measures


def two_rows(cell):
    """The better row has the measure, the other does not."""
    return [
        {"method": "one", "value": 1.0 + cell["x"]},
        {"method": "one", "value": 0.0, "no": float(cell["x"])},
    ]


def test_jobs_must_be_positive(tmp_path):
    with pytest.raises(ValueError, match="jobs=0"):
        run(toy(), tmp_path, jobs=0)


@pytest.mark.parametrize("name", NAMES)
def test_cells_are_plain_seeded_and_quick_is_small(name):
    experiment = get(name)
    full, quick = experiment.cells(False), experiment.cells(True)
    assert json.loads(json.dumps(full)) == full
    assert len({json.dumps(c, sort_keys=True) for c in full}) == len(full)
    assert 0 < len(quick) < len(full)
    assert all("seed" in cell for cell in full)


def test_the_command_lists_refuses_and_runs(tmp_path, monkeypatch):
    runner = CliRunner()
    listed = runner.invoke(main, ["experiment", "list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in NAMES)
    assert re.search(r"keep +\d+ of 1215 cells", listed.output)
    refused = runner.invoke(main, ["experiment", "nope"])
    assert refused.exit_code == 2
    assert "'nope' is none of" in refused.output
    wrong = runner.invoke(main, ["experiment", "abs", "--only", "z=1"])
    assert wrong.exit_code == 2
    assert "must be KEY=VALUE" in wrong.output
    monkeypatch.setattr("kernelbook.experiments.get", lambda name: toy())
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(main, ["experiment", "abs", "--output", "here"])
    assert done.exit_code == 0, done.output
    assert "12 rows" in done.output
    assert str(tmp_path / "here") in done.output


def test_one_sample_of_figure_1_of_b():
    """The smallest cell of `abs`, and what the printed formula does to it."""
    rows = get("abs").run({"repetition": 0, "seed": 1000})
    best = {m: min(r["rmse_inside"] for r in rows if r["method"] == m) for m in _methods(rows)}
    assert len(rows) == 28
    assert best["G-RLS"] < best["B (26)(27) as printed"]
    assert all(np.isfinite(r["from_best_outside"]) for r in rows)


@pytest.fixture
def small_ionosphere(monkeypatch):
    """Ionosphere's shape in small: few columns, one of them constant, and one row twice."""
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.normal(size=(60, 3)), np.zeros(60)])
    y = np.where(np.hypot(X[:, 0], X[:, 1]) > 1.0, 1.0, -1.0)
    X[-1], y[-1] = X[0], y[0]
    data = Bunch(data=X, target=y)
    monkeypatch.setattr("kernelbook.experiments.ionosphere_.load_ionosphere", lambda: data)
    return data


def _cell(method):
    (cell,) = [c for c in get("ionosphere").cells(True) if c["method"] == method]
    return cell


def test_ionosphere_counts_what_is_odd_in_the_data(small_ionosphere):
    (row,) = get("ionosphere").run(_cell("the data"))
    assert (row["samples"], row["dimension"]) == (60, 4)
    assert (row["repeated_rows"], row["constant_columns"]) == (1, 1)
    assert row["positive"] == (small_ionosphere.target > 0).sum()
    assert 0 <= row["changed_by_second_width"] <= 60


def test_ionosphere_has_the_grid_and_one_nested_error_for_each_method(small_ionosphere):
    """The least of the grid is what scikit-learn's machines give on the same folds."""
    X, y = small_ionosphere.data, small_ionosphere.target
    cell = _cell("sum of kernels, LIBSVM")
    rows = get("ionosphere").run(cell)
    assert [(r["gamma1"], r["gamma2"]) for r in rows] == [
        (2.0**-7, 2.0**-3),
        (2.0**-7, 2.0),
        (2.0**-3, 2.0),
    ]
    squared = cdist(X, X, "sqeuclidean")
    folds = StratifiedKFold(5, shuffle=True, random_state=cell["seed"])
    for row in rows:
        K = np.exp(-row["gamma1"] / 2 * squared) + np.exp(-row["gamma2"] / 2 * squared)
        peer = SVC(C=row["C"] / 2, kernel="precomputed", tol=1e-5)  # K has the diagonal 2
        right = cross_val_predict(peer, K, y, cv=folds) == y
        assert row["cv_error"] == pytest.approx(1 - right.mean())
    (best,) = [r for r in rows if "nested_error" in r]
    assert best["cv_error"] == min(r["cv_error"] for r in rows) < 0.4


def test_ionosphere_grows_functions_and_samples(small_ionosphere):
    run_cell = get("ionosphere").run
    functions = run_cell(_cell("functions, random"))
    samples = run_cell(_cell("samples, random"))
    assert (
        [r["size"] for r in functions] == [r["size"] for r in samples] == [1, 2, 3, 4, 5, 7, 10, 14]
    )
    last = {name: rows[-1]["cv_error"] for name, rows in (("f", functions), ("s", samples))}
    assert last["f"] < last["s"] < 0.5  # all labels against fourteen


def _methods(rows):
    return {r["method"] for r in rows}


def test_collecting_a_copied_journal_runs_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(toy(stop=3), tmp_path, progress=False)
    journal = (tmp_path / "toy.journal").read_bytes()
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "toy.journal").write_bytes(journal[:-9])  # copied while a line is written
    CALLS.clear()
    done = run(toy(stop=3), tmp_path / "copy", collect=True, progress=False)
    assert (CALLS, done.rows, done.left) == ([], 4, 4)
    assert json.loads(done.provenance.read_text())["cells"] == 2
    assert finished(toy(stop=3), tmp_path / "copy") == (2, 6)
    assert finished(toy(stop=3), tmp_path) == (3, 6)
    with pytest.raises(ValueError, match="no finished cell"):
        run(toy(), tmp_path / "new", collect=True, progress=False)
    assert finished(toy(), tmp_path / "nowhere") == (0, 6)


def test_a_journal_survives_what_cannot_change_its_numbers():
    code = '"""Doc."""\nimport a.b\n\ndef f(x):\n    """Says."""\n    from a import g\n'
    code += "    return g(x)\n"
    moved = "from c import b\n# a remark\ndef f(x):\n    return g(x)  # more\n"
    assert without_remarks(code) == without_remarks(moved)
    assert without_remarks(code) != without_remarks(code.replace("g(x)", "g(2 * x)"))


def test_the_page_that_opens_part_v_is_what_the_provenance_says():
    from kernelbook.experiments.running import report
    from tests.paths import BOOK, ROOT

    assert (ROOT / report.PAGE).read_text(encoding="utf-8") == report.page(BOOK / "results")
    assert {row[2] for row in report.ROWS} == set(NAMES)
