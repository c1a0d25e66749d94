"""C, figures 3 and 4: Ionosphere, one width against two, and functions against samples.

Figure 3.  C reports 5-fold errors of 4 % at γ = 2⁻² for one Gaussian and 3.14 % at (2⁻⁷, 2⁻³) for
two, each the least over a grid, on one division into folds.  Here: the grid γ = 2⁻⁹ … 2² in steps
of a factor of two, all pairs, the readings of `two_scales`, five divisions into folds, and beside
the least error of the grid the *nested* one, whose choice of γ and C never saw the samples that
judge it.  With 351 samples an error more is 0.28 %.  "evaluation, one width" is C's definition with
the second family left out: what the second one adds is the difference to it.

Figure 4.  γ = 2⁻³, one function more at a time at the sample misclassified most (C's rule), at
random, or where the objective falls most (of 12 candidates); and C's competitor, a kernel machine
on k samples, which sees k labels where the others see all.  C starts at a random sample, so the
samples are shuffled: "most misclassified by a constant" is then a random one of the smaller class.
Every C of a short grid has its row; C takes the best of them at every k.

Both figures use C's kernel exp(−γr²/2) (C 3.1).  Solutions by LIBSVM, where the method says so, and
else to rounding error.
"""

import numpy as np

from kernelbook import (
    Gaussian,
    IncrementalSVMClassifier,
    KernelBasis,
)
from kernelbook.datasets import load_ionosphere
from kernelbook.datasets.tables import IONOSPHERE
from kernelbook.experiments import two_scales
from kernelbook.experiments.nested import count_errors, fold_numbers, nested
from kernelbook.experiments.running import Experiment
from kernelbook.experiments.two_scales import SINGLE, WITHOUT_C

__all__ = ["EXPERIMENT"]

GAMMAS = {"fine": 2.0 ** np.arange(-9, 3), "coarse": 2.0 ** np.array([-7, -3, 1])}
CS = {"fine": 2.0 ** np.arange(-3, 14, 2), "coarse": 2.0 ** np.arange(-3, 14, 6)}
ONE_WIDTH = "evaluation, one width"
DOUBLE = ("evaluation", "inner product, LIBSVM", "sum of kernels, LIBSVM", "spike")
REPETITIONS = {3: 5, 4: 3}
GAMMA_4 = 2.0**-3
CS_4 = 2.0 ** np.array([-1, 2, 5, 8])
SIZES = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 40, 50, 60)
RULES = {
    "functions, most misclassified": ("all", "most_misclassified"),
    "functions, random": ("all", "random"),
    "functions, best improvement": ("all", "best_improvement"),
    "samples, most misclassified": ("centers", "most_misclassified"),
    "samples, random": ("centers", "random"),
}


def cells(quick):
    grid = "coarse" if quick else "fine"
    first = {"figure": 0, "repetition": 0, "seed": 4000, "method": "the data", "grid": grid}
    methods = {3: (*SINGLE, ONE_WIDTH, *DOUBLE), 4: tuple(RULES)}
    repetitions = {3: 1, 4: 1} if quick else REPETITIONS
    return [first] + [
        {"figure": figure, "repetition": r, "seed": 4000 + r, "method": method, "grid": grid}
        for r in range(max(repetitions.values()))
        for figure in methods
        if r < repetitions[figure]
        for method in methods[figure]
    ]


def run(cell):
    data = load_ionosphere()
    return {0: facts, 3: two_widths, 4: growing}[cell["figure"]](data.data, data.target, cell)


# --------------------------------------------------------------------------------- the data


def facts(X, y, cell):
    """What there is, and how many predictions the wide Gaussians of C's best pair change."""
    fold, wide, narrow = fold_numbers(y, cell["seed"]), 2.0**-7, 2.0**-3
    changed = 0
    for a in range(5):
        train, other = fold != a, fold == a
        arguments = X[train], y[train], X[other]
        two = two_scales.decisions("evaluation", *arguments, wide, narrow, [8.0])
        one = decisions(ONE_WIDTH, *arguments, narrow, np.nan, [8.0])
        changed += int(np.sum((two > 0) != (one > 0)))
    return [
        {
            "samples": len(y),
            "positive": int((y > 0).sum()),
            "repeated_rows": len(X) - len(np.unique(X, axis=0)),
            "constant_columns": int((np.ptp(X, axis=0) == 0).sum()),
            "dimension": X.shape[1],
            "changed_by_second_width": changed,
        }
    ]


# --------------------------------------------------------------------------------- figure 3


def two_widths(X, y, cell):
    method, fold = cell["method"], fold_numbers(y, cell["seed"])
    Cs = np.array([np.nan]) if method in WITHOUT_C else CS[cell["grid"]]
    rows, counts, m = [], [], len(y)
    for g, h in settings(method, GAMMAS[cell["grid"]]):

        def decide(train, other, g=g, h=h):
            return decisions(method, X[train], y[train], X[other], g, h, Cs)

        wrong = count_errors(decide, y, fold)
        errors = np.einsum("saa->s", wrong)
        best = int(np.argmin(errors))
        rows.append(
            {
                "gamma1": float(g),
                "gamma2": float(h),
                "C": float(Cs[best]),
                "cv_error": float(errors[best] / m),
            }
        )
        counts.append(wrong)
    errors, _ = nested(np.concatenate(counts))
    rows[int(np.argmin([r["cv_error"] for r in rows]))]["nested_error"] = errors / m
    return rows


def settings(method, gammas):
    if method == ONE_WIDTH:
        return [(g, np.nan) for g in gammas]
    return two_scales.settings(method.removesuffix(", LIBSVM"), gammas)


def decisions(method, *arguments):
    """Those of `two_scales`; one width is the reading "evaluation" with no second one."""
    return two_scales.decisions("evaluation" if method == ONE_WIDTH else method, *arguments)


# --------------------------------------------------------------------------------- figure 4


def growing(X, y, cell):
    rng = np.random.default_rng(cell["seed"])
    shuffled = rng.permutation(len(y))
    X, y = X[shuffled], y[shuffled]
    quick = cell["grid"] == "coarse"
    sizes, Cs = (SIZES[:8], CS_4[1:2]) if quick else (SIZES, CS_4)
    fold, (train_on, select) = fold_numbers(y, cell["seed"]), RULES[cell["method"]]
    wrong = np.zeros((len(Cs), len(sizes)), dtype=int)
    for a in range(5):
        train, other = fold != a, fold == a
        for c, C in enumerate(Cs):
            model = IncrementalSVMClassifier(
                KernelBasis(Gaussian(width=(2 / GAMMA_4) ** 0.5)),
                C=C,
                max_basis=sizes[-1],
                select=select,
                n_candidates=12,
                train_on=train_on,
                random_state=cell["seed"],
            )
            model.fit(X[train], y[train])
            for k, size in enumerate(sizes):
                wrong[c, k] += np.sum(model.predict(X[other], n_basis=size) != y[other])
    return [
        {"C": float(C), "size": size, "cv_error": float(wrong[c, k] / len(y))}
        for c, C in enumerate(Cs)
        for k, size in enumerate(sizes)
    ]


EXPERIMENT = Experiment(
    "ionosphere",
    "C figs. 3, 4: Ionosphere, one width and two, functions and samples one by one",
    cells,
    run,
    sources=(IONOSPHERE,),
    modules=("kernelbook.experiments.two_scales", "kernelbook.experiments.nested"),
    measures=("cv_error", "nested_error"),
    best="cv_error",
)
