"""`make bench`: ask all questions, or those that are named; print a table, write it as CSV.

python -m benchmarks [--quick] [--threads N] [--output FOLDER] [question ...]

A bar shows how far it has come and what is left, weighing each question by what it took the last
time.  Where a target is missed, the case that misses it by most is run once more on one thread and
under a profiler.  A target is missed, too, where our objective is worse than the peer's.  What a
question found is written as soon as it is answered, with the machine it was answered on.
"""

import ast
import csv
import importlib
import json
import pkgutil
import time
from dataclasses import asdict, fields
from pathlib import Path
from statistics import median

import click
from tqdm import tqdm

import benchmarks
from benchmarks.harness import Row, cores, measure, profiled, provenance, threads

ROOT = Path(__file__).parents[1]
SHARED = {"harness", "problems", "__main__"}
RUN = ("made", "quick", "threads", "processor", "cores", "system", "python", "versions")
BAR = "{percentage:3.0f}%|{bar:20}| {elapsed} gone, {remaining} left: {desc}"


def questions():
    """The names of the modules that ask something."""
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(set(found) - SHARED)


def what_it_asks(name):
    """The line QUESTION of a module, read without importing what the module needs."""
    source = Path(benchmarks.__path__[0], f"{name}.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "QUESTION":
            return ast.literal_eval(node.value)
    raise ValueError(f"benchmarks/{name}.py has no QUESTION: say in one line what it compares.")


def load(name):
    """The module of a question, or an error that says what to install."""
    try:
        return importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{name} needs {error.name}, which is not installed: python -m pip install '.[bench]', "
            "or name other questions."
        ) from error


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
    module = load(name)
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
                worst[peer][1]()  # on one thread it may call what has not been compiled yet
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
        if worse := sum(row.peer == peer and not row.as_good for row in rows):
            reached = False
            asked += f" with an objective as good, which {worse} of {len(ratios)} cases miss"
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
    modules = {name: load(name) for name in names}
    return {
        name: {peer: [target.median, target.worst] for peer, target in module.TARGETS.items()}
        for name, module in modules.items()
    }


def write(rows, folder, facts):
    """Write the table and where it comes from; what is there of other questions stays.

    So do, under "runs", the machine, the threads and the versions that those were measured with.
    """
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
    facts = facts | {"runs": {name: {key: facts.get(key) for key in RUN} for name in asked}}
    for part in ("targets", "profiles", "seconds", "runs"):
        others = {k: v for k, v in before.get(part, {}).items() if k not in asked}
        facts[part] = dict(sorted((others | facts.get(part, {})).items()))
    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


def epilog():
    """The questions, for --help, and what to type."""
    lines = [f"  {name:<18} {what_it_asks(name)}" for name in questions()]
    return "\n".join(
        [
            "\b", "Questions:", *lines, "",
            "\b", "Examples:",
            "  python -m benchmarks --quick               all, small: a first impression",
            "  python -m benchmarks gram svm_one_bias     two of them, in full",
            "  python -m benchmarks --threads 1 gram      on one core",
            "",
            "A row reads: case, our seconds and peak memory, the peer's, and how many times faster "
            "we are (in the extreme calls). WORSE: our objective is larger than theirs. "
            "Close other programs first: what disturbs a run makes it longer.",
        ]
    )  # fmt: skip


@click.command(epilog=epilog())
@click.argument("names", nargs=-1, metavar="[QUESTION]...")
@click.option("--quick", is_flag=True, help="Small sizes only: under two minutes.")
@click.option(
    "--threads",
    "count",
    type=click.IntRange(1, cores()),
    default=cores(),
    show_default=True,
    help="For BLAS, OpenMP and kernelbook alike.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of benchmarks.csv and .json.  [default: book/results; _build/results if --quick]",
)
def main(names, quick, count, output):
    """Measure kernelbook beside its peers: all questions, or those that are named."""
    known = questions()
    if unknown := sorted(set(names) - set(known)):
        raise click.UsageError(
            f"there is no question {', '.join(map(repr, unknown))}; there are {', '.join(known)}."
        )
    output = output or ROOT / ("_build/results" if quick else "book/results")
    names = list(dict.fromkeys(names)) or known
    start, written = time.perf_counter(), 0
    weights = expected(names, output / "benchmarks.json")
    with (
        threads(count),
        tqdm(total=round(sum(weights.values())), unit="s", bar_format=BAR, disable=None) as bar,
    ):
        wanted = targets(names)  # loads them all: what is not installed shows now
        for name in names:
            begin = time.perf_counter()
            facts = provenance(count, quick)
            rows, profiles = ask(name, quick, tqdm.write, bar.set_description)
            written += len(rows)
            minutes = round((time.perf_counter() - start) / 60, 1)
            facts |= {
                "targets": {name: wanted[name]},
                "profiles": {name: profiles} if profiles else {},
                "seconds": {name: round(time.perf_counter() - begin, 1)},
                "minutes": minutes,
            }
            write(rows, output, facts)
            bar.update(weights[name])
    print(f"\n{written} rows in {minutes} minutes: {output / 'benchmarks.csv'}")


if __name__ == "__main__":
    main()
