"""`make bench`: ask all questions, or those that are named; print a table, write it as CSV.

python -m benchmarks [--quick] [--threads N] [--output FOLDER] [question ...]
"""

import csv
import importlib
import json
import os
import pkgutil
import time
from dataclasses import asdict, fields
from pathlib import Path
from statistics import median

import click

import benchmarks
from benchmarks.harness import Row, measure, provenance, threads

ROOT = Path(__file__).parents[1]
SHARED = {"harness", "problems", "__main__"}


def questions():
    """The names of the modules that ask something."""
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(set(found) - SHARED)


def ask(name, quick):
    """Measure one question: its rows, printed as they come, and its summary."""
    module = importlib.import_module(f"benchmarks.{name}")
    print(f"\n{module.QUESTION}", flush=True)
    rows = []
    for case in module.cases(quick):
        for row in measure(name, case, quick=quick):
            print("  " + line(row), flush=True)
            rows.append(row)
    for text in verdicts(rows, module.TARGETS):
        print("  " + text)
    for text in module.summary(rows) if hasattr(module, "summary") else ():
        print("  " + text)
    return rows


def line(row):
    ours = f"{row.case:<38} {row.seconds:8.3f} s {row.peak_mb:7.0f} MB"
    if not row.peer:
        return ours
    worse = "" if row.as_good else f"  WORSE by {row.excess:.1e}"
    least, most = row.peer_seconds_min / row.seconds_max, row.peer_seconds_max / row.seconds_min
    return (
        f"{ours}   {row.peer:<22} {row.peer_seconds:8.3f} s {row.peer_peak_mb:7.0f} MB"
        f"   {row.ratio:6.2f}× ({least:.1f}–{most:.1f}){worse}"
    )


def verdicts(rows, targets):
    """A line for each target: what was asked, what was reached."""
    for peer, target in targets.items():
        ratios = [row.ratio for row in rows if row.peer == peer]
        if not ratios:
            continue
        reached = median(ratios) >= target.median
        asked = f"{target.median:g}× in the median"
        if target.worst is not None:
            reached = reached and min(ratios) >= target.worst
            asked += f", {target.worst:g}× at worst"
        yield (
            f"→ {peer}: {median(ratios):.2f}× in the median, {min(ratios):.2f}× at worst; "
            f"asked: {asked}: {'reached' if reached else 'NOT reached'}"
        )


def write(rows, folder, facts):
    """Write the table; rows of other questions that are in it already stay."""
    folder.mkdir(parents=True, exist_ok=True)
    path, names = folder / "benchmarks.csv", [f.name for f in fields(Row)]
    asked, old = {row.question for row in rows}, []
    if path.exists():
        with path.open(newline="") as file:
            old = [row for row in csv.DictReader(file) if row["question"] not in asked]
    new = [
        {k: f"{v:.5g}" if isinstance(v, float) else v for k, v in asdict(row).items()}
        for row in rows
    ]
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, names, lineterminator="\n", extrasaction="ignore")
        table.writeheader()
        table.writerows(sorted(old + new, key=lambda row: row["question"]))
    (folder / "benchmarks.json").write_text(json.dumps(facts, indent=1) + "\n")


@click.command()
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help="Small sizes only: under two minutes.")
@click.option("--threads", "count", default=os.cpu_count(), show_default=True)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Folder of benchmarks.csv.  [default: book/results; _build/results if --quick]",
)
def main(names, quick, count, output):
    """Measure kernelbook beside its peers; NAMES are modules of this package, by default all."""
    known = questions()
    if unknown := set(names) - set(known):
        raise click.UsageError(f"unknown: {sorted(unknown)}; there are {known}")
    start, rows = time.perf_counter(), []
    with threads(count):
        facts = provenance(count, quick)
        for name in names or known:
            rows += ask(name, quick)
    output = output or ROOT / ("_build/results" if quick else "book/results")
    facts["minutes"] = round((time.perf_counter() - start) / 60, 1)
    write(rows, output, facts)
    print(f"\n{len(rows)} rows in {facts['minutes']} minutes: {output / 'benchmarks.csv'}")


if __name__ == "__main__":
    main()
