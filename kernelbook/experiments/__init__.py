"""The papers' experiments, as programs anyone can run again.

    kernelbook experiment list
    kernelbook experiment spirals --quick

An experiment is a list of *cells* (one setting, one repetition) and a function that turns a cell
into rows: one row for each method.  `running` does the rest: spreads cells over processes or a
Dask cluster, keeps a journal from which an interrupted run goes on, and writes NAME.csv with
NAME.json, its provenance, beside it.  One file, NAME_, holds one experiment.

| experiment | its pieces |
|---|---|
| `abs_` | |
| `spirals_`, `laws_`, `ionosphere_` | `two_scales`; `nested` |
| `growing_` | `nested` |
| `coil20_` | `geodesic` |
| `text_` | `words`, `plsa`, `narrow`, `search` |
| `keep_` | `comparisons` |

`running.report` writes the page of the book that says what has been run.
"""

from dataclasses import replace
from importlib import import_module

__all__ = ["NAMES", "get"]

NAMES = ("abs", "spirals", "laws", "ionosphere", "growing", "coil20", "text", "keep")
"""Every experiment's name; its module is `kernelbook.experiments.NAME_`, to spare the built-ins."""


SUMMARY = {
    "spirals": (("cv_error", "fresh_error"), "cv_error"),
    "coil20": (("accuracy",), None),
}
"""`measures` and `best` of experiments whose long runs go on from a journal: named here, since a
journal belongs to the bytes of the experiment's own file."""


def get(name):
    """The `Experiment` of that name."""
    if name not in NAMES:
        raise ValueError(f"experiment {name!r} is not known; there are {', '.join(NAMES)}.")
    experiment = import_module(f"kernelbook.experiments.{name}_").EXPERIMENT
    if name in SUMMARY:
        measures, best = SUMMARY[name]
        experiment = replace(experiment, measures=measures, best=best)
    return experiment
