"""Run an experiment: in parallel, interruptible, with a record of where the numbers come from.

A **cell** is a dictionary of plain values, a setting and a repetition; `Experiment.run(cell)`
returns the rows measured there.  A cell carries its own seed, so its rows are the same on one
process or on many, today or after a break, and the table is in the order of the cells.

Finished cells go to a **journal** beside the result, one line of JSON each, flushed before the
next is started.  Running the same command again reads the journal and does what is left; parts
run one after another (`only`) add up, and the journal goes when the last cell is done.  A journal
of other cells, or of other code, is put aside (never deleted) and the run starts afresh; comments,
docstrings and where an import comes from are not code here.

A journal may be copied while a run adds to it: `collect` writes the table of what the copy has.
"""

import ast
import csv
import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

from threadpoolctl import threadpool_limits
from tqdm import tqdm

__all__ = ["Experiment", "Result", "finished", "run"]

PACKAGES = ("kernelbook", "numpy", "scipy", "scikit-learn", "numba")
DIGITS = 6  # of a number in the table


@dataclass(frozen=True)
class Experiment:
    """What to run.

    Attributes
    ----------
    name, summary : str
    cells : callable
        `cells(quick)` lists the cells; quick is a small honest version.
    run : callable
        `run(cell)` returns a list of dictionaries, the rows of that cell; a module-level function,
        because it travels to other processes.
    sources : tuple of `kernelbook.datasets` sources
        The data files it reads.
    modules : tuple of str
        Further modules whose code the numbers depend on, for the journal's fingerprint.
    measures : tuple of str
        The columns that are results; the summary has their means.
    best : str or None
        The column by which a method's rows of one cell compete: the summary takes the least.
        None takes them all.
    """

    name: str
    summary: str
    cells: Callable
    run: Callable
    sources: tuple = ()
    modules: tuple = ()
    measures: tuple = ()
    best: str | None = None


@dataclass(frozen=True)
class Result:
    table: Path
    provenance: Path
    rows: int
    resumed: int
    left: int
    summary: list


def run(
    experiment,
    folder,
    *,
    quick=False,
    jobs=1,
    scheduler=None,
    only=(),
    collect=False,
    progress=True,
):
    """Run what is not in the journal yet, then write the table and its provenance.

    Parameters
    ----------
    experiment : Experiment
    folder : path
        Where NAME.csv and NAME.json go.
    quick : bool
    jobs : int
        Processes on this machine.
    scheduler : str or None
        Address of a Dask scheduler whose workers run the cells instead.
    only : list of "key=value" or "key=value,value"
        Run only the cells that have one of these values; the table has them beside those of
        earlier runs.
    collect : bool
        Run nothing: write the table of the cells that the journal has.
    progress : bool
        Show a bar with the remaining time.
    """
    if jobs < 1:
        raise ValueError(f"jobs={jobs!r} must be at least 1.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    hashes = {source.folder: _sha256(source) for source in experiment.sources}
    cells = experiment.cells(quick)
    chosen = _chosen(cells, only)
    journal = Journal(folder / f"{experiment.name}.journal", _fingerprint(experiment, cells))
    if collect:
        chosen = [k for k in chosen if k in journal.done]
    if not chosen:
        raise ValueError(
            f"collect={collect!r}: {journal.path} has no finished cell; run some first."
        )
    left = [k for k in chosen if k not in journal.done]
    resumed = len(chosen) - len(left)
    bar = tqdm(total=len(chosen), initial=resumed, unit="cell", disable=not progress, smoothing=0.1)
    with bar, _executor(jobs, scheduler) as submit:
        for k, rows, seconds in _completed(experiment, cells, left, submit, jobs, scheduler):
            journal.add(k, rows, seconds)
            bar.set_postfix_str(_short(cells[k]))
            bar.update()
    table = folder / f"{experiment.name}.csv"
    n_rows = _write_table(table, cells, journal.done)
    provenance = folder / f"{experiment.name}.json"
    record = {
        "experiment": experiment.name,
        "quick": quick,
        "cells": len(journal.done),
        "cells_of_the_protocol": len(cells),
        "rows": n_rows,
        "data_sha256": hashes,
        "versions": {name: version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "cpu_seconds_of_cells": round(sum(journal.seconds.values())),
        "seed": "every cell names its own",
        "finished": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    provenance.write_text(json.dumps(record, indent=1) + "\n")
    missing = len(cells) - len(journal.done)
    if not missing:
        journal.remove()
    summary = _summary(experiment, cells, journal.done)
    return Result(table, provenance, n_rows, resumed, missing, summary)


def finished(experiment, folder):
    """(finished cells, planned cells) of the whole protocol, from the journal or the provenance."""
    folder, cells = Path(folder), experiment.cells(False)
    journal = folder / f"{experiment.name}.journal"
    if journal.exists():
        lines = journal.read_text(encoding="utf-8").split("\n")
        if lines[0] == json.dumps({"fingerprint": _fingerprint(experiment, cells)}):
            return len({json.loads(line)["cell"] for line in lines[1:-1]}), len(cells)
    provenance = folder / f"{experiment.name}.json"
    if not provenance.exists():
        return 0, len(cells)
    return json.loads(provenance.read_text())["cells"], len(cells)


def _chosen(cells, only):
    """The places of the cells that have the values asked for."""
    chosen = list(range(len(cells)))
    for rule in only:
        key, _, value = rule.partition("=")
        if key not in cells[0]:
            raise ValueError(f"only={rule!r} must be KEY=VALUE with KEY one of {list(cells[0])}.")
        # Names of methods have commas too: a value that fits as a whole is not taken apart.
        whole = any(str(cell[key]) == value for cell in cells)
        wanted = [value] if whole else value.split(",")
        kept = [k for k in chosen if str(cells[k][key]) in wanted]
        if not kept:
            values = sorted({str(cells[k][key]) for k in chosen})
            raise ValueError(f"only={rule!r} leaves no cell; {key} has the values {values}.")
        chosen = kept
    return chosen


# ------------------------------------------------------------------------------- the journal


class Journal:
    """Finished cells on disk: a first line that says of what, then a line a cell."""

    def __init__(self, path, fingerprint):
        self.path, self.done, self.seconds = path, {}, {}
        if path.exists() and not self._read(fingerprint):
            path.rename(path.with_suffix(f".journal-{time.time_ns()}"))
            self.done, self.seconds = {}, {}
        if not path.exists():
            self._line({"fingerprint": fingerprint})

    def _read(self, fingerprint):
        lines = self.path.read_text(encoding="utf-8").split("\n")
        if not lines[0] or json.loads(lines[0]) != {"fingerprint": fingerprint}:
            return False
        for line in lines[1:-1]:  # what follows the last newline was cut off by the interruption
            entry = json.loads(line)
            self.done[entry["cell"]] = entry["rows"]
            self.seconds[entry["cell"]] = entry["seconds"]
        if lines[-1]:
            with self.path.open("rb+") as file:
                file.truncate(len("\n".join([*lines[:-1], ""]).encode()))
        return True

    def _line(self, entry):
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def add(self, cell, rows, seconds):
        self._line({"cell": cell, "rows": rows, "seconds": round(seconds, 3)})
        self.done[cell], self.seconds[cell] = rows, seconds

    def remove(self):
        """For when the table is written and no cell is left to run."""
        self.path.unlink()


def _fingerprint(experiment, cells):
    """What the rows depend on: the cells, and the code that runs them."""
    from importlib import import_module

    h = hashlib.sha256(json.dumps(cells, sort_keys=True).encode())
    for name in (experiment.run.__module__, *experiment.modules):
        h.update(_code(Path(import_module(name).__file__).read_text(encoding="utf-8")).encode())
    return h.hexdigest()


def _code(source):
    """A module without what cannot change its numbers: comments, docstrings, imports, layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if hasattr(node, "body") and isinstance(node.body, list):
            node.body = [
                part
                for part in node.body
                if not isinstance(part, ast.Import | ast.ImportFrom)
                and not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
            ]
    return ast.unparse(tree)


def _sha256(source):
    from kernelbook.datasets import data_file
    from kernelbook.datasets._fetch import sha256

    return sha256(data_file(source))


# ------------------------------------------------------------------------- where cells run


@contextmanager
def _executor(jobs, scheduler):
    """`submit(function, *arguments)` → future, or None to run in this process."""
    if scheduler is not None:
        from distributed import Client

        try:
            client = Client(scheduler)
        except OSError as silence:
            raise ValueError(
                f"scheduler={scheduler!r} does not answer ({silence}): start one with `dask "
                "scheduler`, which prints its address, and workers with `dask worker ADDRESS`."
            ) from None
        with client:
            yield client.get_executor().submit
    elif jobs == 1:
        yield None
    else:
        # Not fork: the parent may already run threads of BLAS.
        pool = ProcessPoolExecutor(jobs, mp_context=get_context("forkserver"))
        try:
            yield pool.submit
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _completed(experiment, cells, left, submit, jobs, scheduler):
    """Yield (k, rows, seconds) as cells finish; only a few wait in the queue at a time."""
    if submit is None:
        for k in left:
            yield k, *_timed(experiment.run, cells[k], None)
        return
    queue, running = list(reversed(left)), {}
    while queue or running:
        while queue and len(running) < (4 * jobs if scheduler is None else 1000):
            k = queue.pop()
            running[submit(_timed, experiment.run, cells[k], 1)] = k
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            yield running.pop(future), *future.result()


def _timed(function, cell, threads):
    """Run a cell; beside others it gets one thread."""
    start = time.process_time()
    with threadpool_limits(threads):
        rows = function(cell)
    return rows, time.process_time() - start


# -------------------------------------------------------------------------------- the table


def _write_table(path, cells, done):
    rows = [cells[k] | row for k in sorted(done) for row in done[k]]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    beside = path.with_suffix(".csv.part")
    with beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _plain(v) for name, v in row.items()} for row in rows)
    beside.replace(path)
    return len(rows)


def _summary(experiment, cells, done):
    """For each method its name, how many rows it has, and the mean of every measure over them."""
    kept = {}
    for k, cell in enumerate(cells):
        here = {}
        for row in (cell | row for row in done.get(k, ())):
            here.setdefault(row.get("method", ""), []).append(row)
        for method, rows in here.items():
            if experiment.best is not None:
                rows = sorted(rows, key=lambda row: row.get(experiment.best, math.inf))[:1]
            kept.setdefault(method, []).extend(rows)
    return [
        {"method": method, "rows": len(rows)} | {m: _mean(rows, m) for m in experiment.measures}
        for method, rows in kept.items()
    ]


def _mean(rows, measure):
    values = [row[measure] for row in rows if not math.isnan(row.get(measure, math.nan))]
    return sum(values) / len(values) if values else math.nan


def _plain(value):
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value


def _short(cell):
    return " ".join(f"{name}={value}" for name, value in cell.items())[:50]
