"""Experiments: on any number of processes, after any interruption, the same table."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from kernelbook.cli import main
from kernelbook.experiments import NAMES, get
from kernelbook.experiments.running import Experiment, run

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
    return list(csv.DictReader(path.open()))


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


def test_resumed_and_whole_runs_write_the_same_table(tmp_path, monkeypatch):
    whole = run(toy(), tmp_path / "whole", progress=False)
    monkeypatch.setattr("kernelbook.experiments.running._timed", _breaks_after(4))
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
    refused = runner.invoke(main, ["experiment", "nope"])
    assert refused.exit_code == 2
    assert "'nope' is none of" in refused.output
    wrong = runner.invoke(main, ["experiment", "abs", "--only", "z=1"])
    assert wrong.exit_code == 2
    assert "must be KEY=VALUE" in wrong.output
    monkeypatch.setattr("kernelbook.experiments.get", lambda name: toy())
    done = runner.invoke(main, ["experiment", "abs", "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "12 rows" in done.output


def test_one_sample_of_figure_1_of_b():
    """The smallest cell of `abs`, and what the printed formula does to it."""
    rows = get("abs").run({"repetition": 0, "seed": 1000})
    best = {m: min(r["rmse_inside"] for r in rows if r["method"] == m) for m in _methods(rows)}
    assert len(rows) == 28
    assert best["G-RLS"] < best["B (26)(27) as printed"]
    assert all(np.isfinite(r["from_best_outside"]) for r in rows)


def _methods(rows):
    return {r["method"] for r in rows}
