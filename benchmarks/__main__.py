"""`make bench`: ask all questions, or those that are named; print a table, write it as CSV.

python -m benchmarks [--quick] [--threads N] [--output FOLDER] [question ...]

A bar shows how far it has come and what is left, weighing each question by what it took the last
time.  Where a target is missed, the case that misses it by most is run once more on one thread and
under a profiler.
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
from tqdm import tqdm

import benchmarks
from benchmarks.harness import Row, measure, profiled, provenance, threads

ROOT = Path(__file__).parents[1]
SHARED = {"harness", "problems", "__main__"}
BAR = "{percentage:3.0f}%|{bar:20}| {elapsed} gone, {remaining} left: {desc}"


def questions():
    """The names of the modules that ask something."""
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(set(found) - SHARED)


def ask(name, quick, say=print, tick=lambda text: None):
    """Measure one question.

    Parameters
    ----------
    name : str
    quick : bool
    say : callable
        Gets the lines of the table as they come.
    tick : callable
        Gets the name of each case that is about to be measured.

    Returns
    -------
    rows : list of Row
    profiles : dict, peer → [(share, function), …]
        Of the worst case beside every peer whose target is missed.
    """
    module = importlib.import_module(f"benchmarks.{name}")
    say(f"\n{module.QUESTION}")
    rows, worst = [], {}
    for case in module.cases(quick):
        tick(f"{name}: {case.name}")
        for row in measure(name, case, quick=quick):
            say("  " + line(row))
            rows.append(row)
            if row.ratio < worst.get(row.peer, (float("inf"), None))[0]:
                worst[row.peer] = row.ratio, case.ours
    profiles = {}
    for peer, reached, text in verdicts(rows, module.TARGETS):
        say("  " + text)
        if not reached:
            with threads(1):  # else most of it would be waiting for other threads
                profiles[peer] = profiled(worst[peer][1])
            say("    its worst case: " + "; ".join(f"{s:.0%} {f}" for s, f in profiles[peer][:4]))
    for text in module.summary(rows) if hasattr(module, "summary") else ():
        say("  " + text)
    return rows, profiles


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
    """(peer, whether it is reached, a line that says what was asked) for each target."""
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
            peer,
            reached,
            f"→ {peer}: {median(ratios):.2f}× in the median, {min(ratios):.2f}× at worst; "
            f"asked: {asked}: {'reached' if reached else 'NOT reached'}",
        )


def expected(names, path):
    """Question → the seconds it took the last time, if it is known; else the mean of the others."""
    known = json.loads(path.read_text()).get("seconds", {}) if path.exists() else {}
    usual = sum(known.values()) / len(known) if known else 1.0
    return {name: known.get(name, usual) for name in names}


def targets(names):
    """Question → peer → [the median that was asked for, the worst case, or None]."""
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in names}
    return {
        name: {peer: [target.median, target.worst] for peer, target in module.TARGETS.items()}
        for name, module in modules.items()
    }


def write(rows, folder, facts):
    """Write the table and where it comes from; what is there of other questions stays."""
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
    path = folder / "benchmarks.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    for part in ("targets", "profiles", "seconds"):
        others = {k: v for k, v in before.get(part, {}).items() if k not in asked}
        facts[part] = dict(sorted((others | facts.get(part, {})).items()))
    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


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
    output = output or ROOT / ("_build/results" if quick else "book/results")
    names = names or known
    start, rows = time.perf_counter(), []
    weights = expected(names, output / "benchmarks.json")
    with (
        threads(count),
        tqdm(total=round(sum(weights.values())), unit="s", bar_format=BAR, disable=None) as bar,
    ):
        facts = provenance(count, quick) | {
            "targets": targets(names),
            "profiles": {},
            "seconds": {},
        }
        for name in names:
            begin = time.perf_counter()
            found, profiles = ask(name, quick, tqdm.write, bar.set_description)
            rows += found
            facts["profiles"] |= {name: profiles} if profiles else {}
            facts["seconds"][name] = round(time.perf_counter() - begin, 1)
            bar.update(weights[name])
    facts["minutes"] = round((time.perf_counter() - start) / 60, 1)
    write(rows, output, facts)
    print(f"\n{len(rows)} rows in {facts['minutes']} minutes: {output / 'benchmarks.csv'}")


if __name__ == "__main__":
    main()
