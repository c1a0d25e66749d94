"""C, figure 4: basis functions one by one, samples one by one, on Ionosphere.

γ = 2⁻³, and one function more at a time at the sample misclassified most (C's rule), at random, or
where the objective falls most (of 12 candidates); and C's competitor, a kernel machine on k
samples, which sees k labels where the others see all.  Two sets of functions:

    Gaussians in L₂    C's own definition: exp(−γr²) of L₂-norm one, a sample enters as e_j(x_i)
    translates         exp(−γr²/2) in the kernel's own space: all together they are the kernel
                       machine, and C 3.1 expects the same of the first

C starts at a random sample, so the samples are shuffled: "most misclassified by a constant" is then
a random one of the smaller class.  Sizes go up to all training samples of a fold; every C of the
grid has its row, and C takes the best of them at every size.  An L₂ Gaussian in 34 dimensions has
the value 10⁻⁹ at its own centre: C is given in the unit in which that value is 1.
"""

import numpy as np

from kernelbook import Gaussian, GaussianBasis, IncrementalSVMClassifier, KernelBasis
from kernelbook.datasets import load_ionosphere
from kernelbook.datasets.tables import IONOSPHERE
from kernelbook.experiments.nested import fold_numbers
from kernelbook.experiments.running import Experiment

__all__ = ["EXPERIMENT"]

GAMMA = 2.0**-3
CS = 2.0 ** np.arange(-5, 14, 3)
SIZES = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 40, 60, 80, 120, 180, 250, 278)
LAST_BY_IMPROVEMENT = 60  # where every step tries twelve functions
RULES = {
    "most misclassified": "most_misclassified",
    "random": "random",
    "best improvement": "best_improvement",
}
METHODS = tuple(
    f"{kind}, {rule}"
    for kind in ("Gaussians in L2", "translates", "samples")
    for rule in RULES
    if (kind, rule) != ("samples", "best improvement")
)
REPETITIONS = 10


def cells(quick):
    return [
        {"repetition": r, "seed": 4000 + r, "method": method, "sizes": 8 if quick else len(SIZES)}
        for r in range(1 if quick else REPETITIONS)
        for method in METHODS
    ]


def run(cell):
    data = load_ionosphere()
    shuffled = np.random.default_rng(cell["seed"]).permutation(len(data.target))
    X, y = data.data[shuffled], data.target[shuffled]
    kind, rule = cell["method"].split(", ")
    sizes = list(SIZES[: cell["sizes"]])
    if rule == "best improvement":
        sizes = [k for k in sizes if k <= LAST_BY_IMPROVEMENT]
    fold = fold_numbers(y, cell["seed"])
    wrong = np.zeros((len(CS), len(sizes)), dtype=int)
    for a in range(fold.max() + 1):
        train, other = fold != a, fold == a
        for c, C in enumerate(CS):
            model = machine(kind, RULES[rule], C, sizes[-1], X.shape[1], cell["seed"])
            model.fit(X[train], y[train])
            for k, size in enumerate(sizes):
                predicted = model.predict(X[other], n_basis=min(size, model.n_basis_))
                wrong[c, k] += np.sum(predicted != y[other])
    return [
        {"C": float(C), "size": size, "cv_error": float(wrong[c, k] / len(y))}
        for c, C in enumerate(CS)
        for k, size in enumerate(sizes)
    ]


def machine(kind, select, C, most, dimension, seed):
    basis = KernelBasis(Gaussian(width=(2 / GAMMA) ** 0.5))
    if kind == "Gaussians in L2":
        basis = GaussianBasis(widths=GAMMA**-0.5)
        C = C / (2 * GAMMA / np.pi) ** (dimension / 2)  # the square of a function at its centre
    return IncrementalSVMClassifier(
        basis,
        C=C,
        max_basis=most,
        select=select,
        n_candidates=12,
        train_on="centers" if kind == "samples" else "all",
        random_state=seed,
    )


EXPERIMENT = Experiment(
    "growing",
    "C fig. 4: Ionosphere, functions and samples one by one, Gaussians in L2 and translates",
    cells,
    run,
    sources=(IONOSPHERE,),
    measures=("cv_error",),
    best="cv_error",
)
