"""The table of all rows, and its summary by method."""

import csv
import math

__all__ = ["summarize", "write_table"]

DIGITS = 6  # of a number in the table


def write_table(path, cells, done):
    rows = [cells[k] | row for k in sorted(done) for row in done[k]]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    beside = path.with_suffix(".csv.part")
    with beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _plain(v) for name, v in row.items()} for row in rows)
    beside.replace(path)
    return len(rows)


def summarize(experiment, cells, done):
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
