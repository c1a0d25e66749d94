"""The `kernelbook` command."""

import signal
import threading
from contextlib import contextmanager
from pathlib import Path

import click

from kernelbook import __version__
from kernelbook.course.commands import course

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kernelbook")
def main() -> None:
    """Kernel learning in which some features are not penalized: the book's command."""


@main.command(short_help="Show versions, threads and folders.")
def info() -> None:
    """Show what this installation runs on: versions, threads, folders.

    Put its output into a report when something behaves differently on two machines.
    """
    import os
    import platform
    from importlib.metadata import version

    from kernelbook.numeric.jit import cache_root
    from kernelbook.numeric.threads import n_threads

    rows: list[tuple[str, object]] = [
        ("kernelbook", __version__),
        ("python", platform.python_version()),
    ]
    rows += [(name, version(name)) for name in ("numpy", "scipy", "scikit-learn", "numba")]
    rows += [
        ("threads", n_threads()),
        ("compiled code", cache_root() or "not kept: the cache folder cannot be written"),
        ("data", os.environ.get("KERNELBOOK_DATA", "KERNELBOOK_DATA is not set")),
    ]
    for name, value in rows:
        click.echo(f"{name:<14}{value}")


@main.command(short_help="Compile everything in advance.")
def warm() -> None:
    """Compile in advance what the learners need, so that no first fit has to wait.

    Some minutes, once after an installation; a second run takes seconds.  Ctrl-C keeps what is
    compiled so far.
    """
    from tqdm import tqdm

    from kernelbook.numeric.jit import cache_root
    from kernelbook.warm import run, steps

    if cache_root() is None:
        raise click.ClickException(
            "the cache folder cannot be written, so nothing would be kept; set NUMBA_CACHE_DIR to "
            "a folder that can."
        )
    everything = list(steps())
    bar = tqdm(everything, desc="compiling", unit="fit")
    for name, step in bar:
        bar.set_postfix_str(name)
        run(step)
    click.echo(f"{len(everything)} fits made; compiled code is in {cache_root()}")


class NothingToJudge(click.ClickException):
    """What keeps `verify` from a verdict; its exit code is none of a verdict's."""

    exit_code = 3


@main.command(short_help="Check that a fitted learner is optimal.")
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path())
@click.option("--tol", default=1e-3, show_default=True, help="The largest relative gap.")
@click.option(
    "--trust-pickle", is_flag=True, help="Load a .joblib or .pkl, which may run any code."
)
def verify(model: str, data: str, tol: float, trust_pickle: bool) -> None:
    """Check a learner saved as MODEL on DATA, an .npz file with X, y; sample_weight, P if used.

    \b
    kernelbook verify model.kb data.npz
    kernelbook verify model.joblib data.npz --trust-pickle

    The answer is `proved optimal within …`, `not proved` or `refuted`; the exit code 0, 1 or 2,
    and 3 where there was nothing to judge.
    """
    import numpy as np

    from kernelbook.verifier import verify as check

    if model.endswith((".joblib", ".pkl", ".pickle")):
        if not trust_pickle:
            raise NothingToJudge(
                f"{model} is a pickle, and loading one can run any code that its author put in: "
                "pass --trust-pickle if it is your own, or save with model.save('model.kb')."
            )
        import joblib

        try:
            learner = joblib.load(model)
        except FileNotFoundError as refused:
            raise NothingToJudge(str(refused)) from None
    else:
        learner = model  # `verify` reads the file, and loads no learner
    try:
        arrays = np.load(data, allow_pickle=False)
        if isinstance(arrays, np.ndarray):
            raise ValueError("it has one array, without a name")
        with arrays:
            given = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError) as refused:
        raise NothingToJudge(f"{data} is not an .npz file of arrays: {refused}") from None
    if not {"X", "y"} <= given.keys() <= {"X", "y", "sample_weight", "P"}:
        raise NothingToJudge(
            f"{data} has the arrays {', '.join(given)}; it must have X and y, and may have "
            "sample_weight and P: np.savez(path, X=X, y=y)."
        )
    try:
        verdict = check(learner, tol=tol, **given)
    except (TypeError, ValueError) as refused:
        raise NothingToJudge(str(refused)) from None
    click.echo(str(verdict))
    raise SystemExit({"proved": 0, "not proved": 1, "refuted": 2}[verdict.status])


@main.command(short_help="Run one of the papers' experiments.")
@click.argument("name")
@click.option("--quick", is_flag=True, help="A small honest version, under a minute.")
@click.option("--jobs", default=1, show_default=True, metavar="N", help="Processes.")
@click.option("--scheduler", metavar="ADDRESS", help="Spread the cells over a Dask cluster.")
@click.option(
    "--only",
    multiple=True,
    metavar="KEY=VALUE[,VALUE]",
    help="Only the cells with one of these values, e.g. --only size=100,200; may be repeated.",
)
@click.option("--collect", is_flag=True, help="Run nothing: write the table of finished cells.")
@click.option(
    "--output",
    type=click.Path(file_okay=False),
    help="Folder for NAME.csv and NAME.json.  [default: book/results; _build/results if --quick]",
)
def experiment(
    name: str,
    quick: bool,
    jobs: int,
    scheduler: str | None,
    only: tuple[str, ...],
    collect: bool,
    output: str | None,
) -> None:
    """Run one of the papers' experiments; NAME may also be `list`.

    \b
    kernelbook experiment list                    what there is, and how much of it is finished
    kernelbook experiment spirals --quick         a taste
    kernelbook experiment text --jobs 8           the whole protocol
    kernelbook experiment text --only collection=sci --only size=100
    kernelbook experiment text --scheduler tcp://head:8786

    Interrupt it when you like: the same command goes on after the last finished cell.
    """
    from kernelbook.datasets import DataUnavailable
    from kernelbook.experiments import NAMES, get
    from kernelbook.experiments.running import finished, run

    if name == "list":
        for known in NAMES:
            done, planned = finished(get(known), output or "book/results")
            cells = f"{done} of {planned} cells"
            click.echo(f"{known:<12}{cells:<22}{get(known).summary}")
        return
    if name not in NAMES:
        raise click.BadParameter(f"{name!r} is none of {', '.join(NAMES)}.", param_hint="NAME")
    folder = Path(output or ("_build/results" if quick else "book/results")).resolve()
    options = {"quick": quick, "jobs": jobs, "scheduler": scheduler, "only": only}
    options["collect"] = collect
    try:
        with _terminated_is_interrupted():
            done = run(get(name), folder, **options)
    except ValueError as refused:
        raise click.UsageError(str(refused)) from None
    except DataUnavailable as missing:
        raise click.ClickException(str(missing)) from None
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; the same command goes on from here.") from None
    _show_summary(get(name), done.summary)
    resumed = f" ({done.resumed} cells from the journal)" if done.resumed else ""
    click.echo(f"{done.rows} rows in {done.table}{resumed}; provenance in {done.provenance}")
    if done.left:
        click.echo(f"{done.left} cells are left; run without --only, or with another, to add them.")


@contextmanager
def _terminated_is_interrupted():
    """A batch system ends a job with SIGTERM: its worker processes must not outlive it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show_summary(experiment, summary):
    """A line for each method; what was not measured is a dash."""
    if not experiment.measures:
        return
    width = max(len(row["method"]) for row in summary)
    best = f" with the least {experiment.best} of each cell" if experiment.best else ""
    click.echo(f"Means over the rows{best}:")
    heads = "".join(f"{name:>{max(len(name), 7) + 2}}" for name in ("rows", *experiment.measures))
    click.echo(f"{'':{width}}{heads}")
    for row in summary:
        numbers = f"{row['rows']:>9}"
        for name in experiment.measures:
            value = "–" if row[name] != row[name] else f"{row[name]:.4g}"
            numbers += f"{value:>{max(len(name), 7) + 2}}"
        click.echo(f"{row['method']:{width}}{numbers}")


main.add_command(course)
