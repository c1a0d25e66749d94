"""The front door: which solver for which binary problem.

A fit has one binary problem, or one for each pair of classes, or one for each class.  The solvers
and what each can do are in a table, `ABILITIES`; with solver="auto" a problem is tried with the
first that applies, and the certificate decides whether the next one is needed:

- ``large``: more than 1,000 samples, dense rows, a kernel that is known to be definite.  Never
  computes a Gram matrix in double precision.
- ``pairs``: pairs of classes with up to 1,000 samples, a definite kernel; several threads at a
  time, on blocks that the pairs share.
- ``robust``: everything; on the Gram matrix of the problem.
- ``cvxopt``: everything, by the paper's quadratic and linear program; only on request.

The names of `solver`, and nothing else, are documented in `SOLVERS`.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from kernelbook.numeric.threads import parallel_for
from kernelbook.solvers.svm.convexity import passes_whole
from kernelbook.solvers.svm.finish import recertified
from kernelbook.solvers.svm.large.solve import solve_large
from kernelbook.solvers.svm.pairs.blocks import ClassBlocks
from kernelbook.solvers.svm.pairs.solve import solve_pair
from kernelbook.solvers.svm.reference import solve_reference
from kernelbook.solvers.svm.robust import EXACT_UP_TO, solve_robust
from kernelbook.solvers.svm.solution import DEFAULT_TOLERANCE

__all__ = ["ABILITIES", "SOLVERS", "solve_all"]

SOLVERS = {
    "auto": "the fastest solver that applies; where its certificate fails, the next one",
    "robust": "SMO, active set and interior points in turn, on the Gram matrix of each problem",
    "cvxopt": "the paper's quadratic and linear program; needs kernelbook[reference]",
}


@dataclass(frozen=True)
class Ability:
    """What a solver can do.

    Attributes
    ----------
    rows : the numbers of samples it is made for
    any_kernel : whether the kernel may be indefinite on the whole space, or unknown
    counts_steps : whether it can be told how many steps to take
    takes_start : whether it can start from a given β
    """

    rows: range
    any_kernel: bool
    counts_steps: bool
    takes_start: bool


ANY_SIZE = range(1, 2**62)
ABILITIES = {
    "large": Ability(range(EXACT_UP_TO + 1, 2**62), False, False, True),
    "pairs": Ability(range(1, EXACT_UP_TO + 1), False, False, True),
    "robust": Ability(ANY_SIZE, True, True, True),
    "cvxopt": Ability(ANY_SIZE, True, True, False),
}


def solve_all(
    source,
    P,
    C,
    problems,
    *,
    members=None,
    starts=None,
    solver="auto",
    tolerance=DEFAULT_TOLERANCE,
    max_iter=-1,
    verbose=0,
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
    solver : one of `SOLVERS`

    Returns
    -------
    list of DualSolution
    """
    starts = starts or [None] * len(problems)
    fit = _Fit(source, P, C, problems, members, starts, tolerance, max_iter, verbose)
    if solver == "auto":
        fit.by_large_samples()
        fit.by_pairs_of_classes()
    left = fit.unsolved(solver if solver == "cvxopt" else "robust")
    if left:
        fit.on_gram(left, solver)
    return fit.solutions


class _Fit:
    """The binary problems of one fit and their solutions so far."""

    def __init__(self, source, P, C, problems, members, starts, tolerance, max_iter, verbose):
        self.source, self.P, self.C, self.problems = source, P, C, problems
        self.members, self.starts, self.tolerance = members, starts, tolerance
        self.max_iter, self.verbose = max_iter, verbose
        self.solutions = [None] * len(problems)
        self.definiteness = source.definiteness
        self.tried = set()

    def unsolved(self, solver):
        """The problems without a solution that this solver can do."""
        able = ABILITIES[solver]
        definite = self.definiteness == "pd" and self.source.linear_offset is None
        if not (able.any_kernel or definite) or (self.max_iter >= 0 and not able.counts_steps):
            return []
        return [
            i
            for i, (rows, _) in enumerate(self.problems)
            if self.solutions[i] is None and rows.size in able.rows
        ]

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
        for i in self.unsolved("large"):
            if sparse.issparse(self.source.X):
                break
            options = {"start": self.starts[i], "verbose": self.verbose}
            self.solutions[i] = solve_large(
                self.part(i), *self.data(i), tolerance=self.tolerance, **options
            )

    def by_pairs_of_classes(self):
        if self.members and (some := self.unsolved("pairs")):
            pairs = self.classes_of(some)
            blocks = self.source.class_blocks(self.members, pairs.values())
            self.try_pairs(some, pairs, blocks)

    def on_gram(self, left, solver):
        """On the Gram matrix of all samples."""
        gram = self.source.gram()
        if self.definiteness == "unknown" and len(self.problems) > 1 and passes_whole(gram):
            self.definiteness = "pd"  # and so is every part of it: no need to test each
        if (
            solver == "auto"
            and self.members
            and not self.tried
            and (some := self.unsolved("pairs"))
        ):
            pairs = self.classes_of(some)
            blocks = ClassBlocks.of_matrix(gram, self.members, pairs.values())
            self.try_pairs(some, pairs, blocks, gram)
        for i in left:
            if self.solutions[i] is None:
                self.solutions[i] = self.one_on_gram(gram, i, solver)

    def one_on_gram(self, gram, i, solver):
        rows, _ = self.problems[i]
        part = self.part(i)
        matrix = gram if rows.size == len(gram) else gram[np.ix_(rows, rows)]
        kept = None if part.writable else matrix
        options = {
            "tolerance": self.tolerance,
            "definiteness": self.definiteness,
            "linear_offset": part.linear_offset,
            "product": lambda beta: part.product(beta, kept),
            "max_iter": self.max_iter,
            "verbose": self.verbose,
        }
        if solver == "cvxopt":
            return solve_reference(matrix, *self.data(i), **options)
        # A pair has a copy of its own; one-vs-rest needs the matrix again.
        own = part.writable and (rows.size < len(gram) or len(self.problems) == 1)
        return solve_robust(
            matrix, *self.data(i), **options,
            start=self.starts[i], skip_smo=i in self.tried, overwrite=own,
        )  # fmt: skip

    # -------------------------------------------------------------------------- pairs of classes

    def classes_of(self, some):
        """{problem: (a, b)}: the classes that these problems are about."""
        every = list(combinations(range(len(self.members)), 2))
        return {i: every[i] for i in some}

    def try_pairs(self, some, pairs, blocks, gram=None):
        """Try these problems on several threads."""
        self.tried = set(some)

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
