"""Several binary problems on one sample: pairs of classes, or each class against the rest.

What the problems share is computed once: the Gram matrix of all samples, or the blocks of the
classes (`svm.pairs.blocks`).  Each problem is tried with the first solver that applies, and the
certificate decides whether the next one is needed:

1. ``large``, one problem after the other, without a Gram matrix;
2. ``pairs``, where the problems are pairs of classes: several threads at a time, on shared blocks;
3. ``robust``, on parts of the Gram matrix of all samples.
"""

from itertools import combinations

import numpy as np

from kernelbook.numeric.threads import parallel_for
from kernelbook.solvers.svm.certificate import DEFAULT_TOLERANCE, recertified
from kernelbook.solvers.svm.convexity import passes_whole
from kernelbook.solvers.svm.large.solve import solve_large
from kernelbook.solvers.svm.memory import room_for_blocks, room_for_matrix, room_for_search
from kernelbook.solvers.svm.pairs.blocks import ClassBlocks
from kernelbook.solvers.svm.pairs.solve import solve_pair
from kernelbook.solvers.svm.solve import able, solve_on_gram

__all__ = ["solve_several"]


def solve_several(
    source, P, C, problems, *, members=None, starts=None, solver="auto", max_iter=-1, **options
):
    """Solve all binary problems of a fit; each certificate is that of f as predicted.

    Parameters
    ----------
    source : KernelSource or MatrixSource
    P : (m, ℓ) array;  C : (m,) array
    problems : list of (rows, sign)
    members : list of arrays, optional
        The samples of each class, if the problems are the pairs of classes.
    starts : list, optional
        For each problem a β to start from, or None.
    solver, max_iter, options : as in `svm.solve.solve_binary`

    Returns
    -------
    list of DualSolution
    """
    starts = starts or [None] * len(problems)
    fit = _Fit(source, P, C, problems, members, starts, max_iter, options)
    if solver == "auto":
        fit.by_large_samples()
        fit.by_pairs_of_classes()
    if fit.unsolved:
        largest = max(problems[i][0].size for i in fit.unsolved)
        with room_for_matrix(source, len(P), largest, solver):
            fit.on_gram(solver)
    return fit.solutions


class _Fit:
    """The binary problems of one fit and their solutions so far."""

    def __init__(self, source, P, C, problems, members, starts, max_iter, options):
        self.source, self.P, self.C, self.problems = source, P, C, problems
        self.members, self.starts = members, starts
        self.max_iter, self.options = max_iter, options
        self.tolerance = options.get("tolerance", DEFAULT_TOLERANCE)
        self.solutions = [None] * len(problems)
        self.smo_failed = set()

    @property
    def unsolved(self):
        return [i for i, solution in enumerate(self.solutions) if solution is None]

    def able(self, solver):
        """The problems without a solution that this solver can do."""
        sizes = {i: self.problems[i][0].size for i in self.unsolved}
        return [i for i, m in sizes.items() if able(solver, self.source, m, self.max_iter)]

    def data(self, i):
        """(P, y, C) of problem i."""
        rows, sign = self.problems[i]
        return self.P[rows], sign, self.C[rows]

    def part(self, i):
        """The kernel on the samples of problem i; all of them are no copy."""
        rows, _ = self.problems[i]
        return self.source if rows.size == len(self.P) else self.source.part(rows)

    # ------------------------------------------------------------------- the solvers in turn

    def by_large_samples(self):
        for i in self.able("large"):
            with room_for_search(self.source, self.problems[i][0].size):
                self.solutions[i] = solve_large(
                    self.part(i), *self.data(i), start=self.starts[i], **self.options
                )

    def by_pairs_of_classes(self):
        if self.members and (some := self.able("pairs")):
            pairs = self.classes_of(some)
            with room_for_blocks(self.source, [rows.size for rows in self.members]):
                blocks = self.source.class_blocks(self.members, pairs.values())
                self.try_pairs(some, pairs, blocks)

    def on_gram(self, solver):
        """On the Gram matrix of all samples."""
        gram = self.source.gram()
        if self.source.definiteness == "unknown" and passes_whole(gram):
            self.source.definiteness = "pd"  # and so is every part of it: no need to test each
            if solver == "auto" and self.members and (some := self.able("pairs")):
                pairs = self.classes_of(some)
                blocks = ClassBlocks.of_matrix(gram, self.members, pairs.values())
                self.try_pairs(some, pairs, blocks, gram)
        for i in self.unsolved:
            rows, _ = self.problems[i]
            whole = rows.size == len(gram)
            self.solutions[i] = solve_on_gram(
                self.part(i), gram if whole else gram[np.ix_(rows, rows)], *self.data(i),
                solver=solver, definiteness=self.source.definiteness, start=self.starts[i],
                # A pair has a copy of its own; one-vs-rest needs the matrix again.
                overwrite=self.source.writable and not whole,
                skip_smo=i in self.smo_failed, max_iter=self.max_iter, **self.options,
            )  # fmt: skip

    # -------------------------------------------------------------------------- pairs of classes

    def classes_of(self, some):
        """{problem: (a, b)}: the classes that these problems are about."""
        every = list(combinations(range(len(self.members)), 2))
        return {i: every[i] for i in some}

    def try_pairs(self, some, pairs, blocks, gram=None):
        """Try these problems on several threads."""
        self.smo_failed = set(some)

        def attempt(i):
            data = self.data(i)
            K = blocks.pair(*pairs[i])
            solution = solve_pair(K, *data, self.starts[i], tolerance=self.tolerance)
            if solution is not None:
                self.solutions[i] = self.as_predicted(solution, i, data, blocks.size, gram)

        parallel_for(attempt, some)

    def as_predicted(self, solution, i, data, size, gram):
        """The solution with the certificate of f as `predict` computes it.

        The entries of the blocks and those of prediction are the same numbers, rounded in
        different ways.  Where that cannot move f by more than a thousandth of the tolerance, the
        certificate stands.
        """
        error = self.source.rounding(size) * np.abs(solution.beta).sum()
        if self.source.consistent and error <= 1e-3 * self.tolerance.kkt:
            return solution
        rows = self.problems[i][0]
        part = None if self.source.consistent else gram[np.ix_(rows, rows)]
        h = self.part(i).product(solution.beta, part)
        return recertified(solution, h, *data, size)
