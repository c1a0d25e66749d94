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

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tqdm import tqdm

from kernelbook.experiments.running.journal import Journal, fingerprint
from kernelbook.experiments.running.tables import summarize, write_table
from kernelbook.experiments.running.workers import completed, executor

__all__ = ["Experiment", "Result", "finished", "run"]

PACKAGES = ("kernelbook", "numpy", "scipy", "scikit-learn", "numba")


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
    journal = Journal(folder / f"{experiment.name}.journal", fingerprint(experiment, cells))
    if collect:
        chosen = [k for k in chosen if k in journal.done]
    if not chosen:
        raise ValueError(
            f"collect={collect!r}: {journal.path} has no finished cell; run some first."
        )
    left = [k for k in chosen if k not in journal.done]
    resumed = len(chosen) - len(left)
    bar = tqdm(total=len(chosen), initial=resumed, unit="cell", disable=not progress, smoothing=0.1)
    with bar, executor(jobs, scheduler) as submit:
        for k, rows, seconds in completed(experiment, cells, left, submit, jobs, scheduler):
            journal.add(k, rows, seconds)
            bar.set_postfix_str(_short(cells[k]))
            bar.update()
    table = folder / f"{experiment.name}.csv"
    n_rows = write_table(table, cells, journal.done)
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
    summary = summarize(experiment, cells, journal.done)
    return Result(table, provenance, n_rows, resumed, missing, summary)


def finished(experiment, folder):
    """(finished cells, planned cells) of the whole protocol, from the journal or the provenance."""
    folder, cells = Path(folder), experiment.cells(False)
    journal = folder / f"{experiment.name}.journal"
    if journal.exists():
        lines = journal.read_text(encoding="utf-8").split("\n")
        if lines[0] == json.dumps({"fingerprint": fingerprint(experiment, cells)}):
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


def _sha256(source):
    from kernelbook.datasets import data_file
    from kernelbook.datasets._fetch import sha256

    return sha256(data_file(source))


def _short(cell):
    return " ".join(f"{name}={value}" for name, value in cell.items())[:50]
