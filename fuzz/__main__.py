"""`make fuzz`: try seeds for so many minutes, and log each.

python -m fuzz [--minutes M] [--output FOLDER] [--seed S] [name ...]

A name is a file, `svm`, or one of its trials, `svm.path`.  With --seed that seed alone is tried.
Trials take turns.  The log has a line for each seed: the trial, the seed, the
outcome ("right", "refused", "warned", "found"), and what was found; a run goes on behind the last
seed it finds there.
"""

import importlib
import inspect
import json
import sys
import time
import traceback
import warnings
from collections import Counter
from itertools import cycle
from pathlib import Path

import click
import numpy as np
from tqdm import tqdm

ROOT = Path(__file__).parents[1]
FILES = "svm", "grls", "primal"


def trials(names=()):
    """{name: function} of the generators in the files that take a generator alone."""
    found = {}
    for file in FILES:
        module = importlib.import_module(f"fuzz.{file}")
        for name, function in inspect.getmembers(module, inspect.isgeneratorfunction):
            own = function.__module__ == module.__name__
            if own and list(inspect.signature(function).parameters) == ["rng"]:
                found[f"{file}.{name}"] = function
    if unknown := [n for n in names if not any(k == n or k.startswith(n + ".") for k in found)]:
        raise click.BadParameter(f"{unknown} are not among {sorted(found)}.")
    return {k: f for k, f in found.items() if not names or {k, k.split(".")[0]} & set(names)}


def attempt(function, name, seed):
    """(outcome, what it was, problem): one seed of one trial."""
    rng = np.random.default_rng([seed, *name.encode()])
    trial = function(rng)
    text, fit = next(trial)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit()
        except (ValueError, TypeError, MemoryError) as error:
            words = str(error)
            in_words = len(words) > 40 and "array must not contain" not in words
            return ("refused" if in_words else "found"), f"{type(error).__name__}: {words}", text
    complaints = [str(w.message) for w in caught]
    strange = [w for w in caught if not issubclass(w.category, UserWarning)]
    if strange:
        return "found", f"{strange[0].category.__name__}: {strange[0].message}", text
    finds = list(trial)
    if finds and not complaints:
        return "found", "; ".join(finds), text
    return ("warned" if complaints else "right"), "; ".join(complaints + finds), text


def one(function, name, seed):
    """The line of the log."""
    start = time.perf_counter()
    try:
        outcome, what, text = attempt(function, name, seed)
    except Exception:
        outcome, what, text = "found", traceback.format_exc(limit=-3), ""
    seconds = round(time.perf_counter() - start, 2)
    return {
        "trial": name, "seed": seed, "outcome": outcome, "what": what, "problem": text,
        "seconds": seconds,
    }  # fmt: skip


def next_seeds(log, names):
    """Where each trial goes on."""
    after = dict.fromkeys(names, 0)
    if log.exists():
        for line in log.read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:  # killed while it was written
                continue
            if record["trial"] in after:
                after[record["trial"]] = max(after[record["trial"]], record["seed"] + 1)
    return after


@click.command()
@click.option("--minutes", default=5.0, show_default=True)
@click.option("--output", default=ROOT / "_build" / "fuzz", type=Path)
@click.option("--seed", type=int, help="Try this seed alone.")
@click.argument("names", nargs=-1)
def main(minutes, output, seed, names):
    """Try problems nobody thought of for so many MINUTES."""
    chosen = trials(names)
    if seed is not None:
        for name, function in chosen.items():
            click.echo(json.dumps(one(function, name, seed), indent=1, ensure_ascii=False))
        return
    output.mkdir(parents=True, exist_ok=True)
    log = output / "log.jsonl"
    seeds, outcomes, finds = next_seeds(log, chosen), Counter(), []
    start, end = time.monotonic(), 60.0 * minutes
    bar = tqdm(
        total=round(end), unit="s", bar_format="{l_bar}{bar}| {elapsed}<{remaining} {postfix}"
    )
    with bar, log.open("a") as out:
        for name in cycle(chosen):
            record = one(chosen[name], name, seeds[name])
            seeds[name] += 1
            outcomes[record["outcome"]] += 1
            if record["outcome"] == "found":
                finds.append(record)
                bar.write(f"{name} seed {record['seed']}: {record['what'].strip()}")
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
            out.flush()
            gone = time.monotonic() - start
            bar.update(min(round(gone), round(end)) - bar.n)
            bar.set_postfix_str(", ".join(f"{n} {k}" for k, n in outcomes.items()), False)
            if gone >= end:
                break
    click.echo(f"{sum(outcomes.values())} seeds: {dict(outcomes)}; the log is {log}")
    sys.exit(bool(finds))


if __name__ == "__main__":
    main()
