"""Which solver for which binary problem.

A fit has one binary problem, or one for each pair of classes, or one for each class.  They are
tried in this order, and each step takes what the one before has left:

1. *Large problems* with a kernel that is known to be definite: `solvers.svm.large.solve`, which
   computes
   what it needs of the Gram matrix.
2. *Small pairs of classes*, with such a kernel: `solvers.svm.small`, on blocks that the pairs share
   (`_class_blocks`), several threads at a time.
3. *On the Gram matrix of all samples*: small problems by `svm.small` again, where 2. did not
   apply, and the rest by the robust
   `solvers.svm.robust`, or by the paper's program, if that was asked for.
"""

from itertools import combinations

import numpy as np
from scipy import sparse

from kernelbook.estimators._centering import far_origin
from kernelbook.estimators._class_blocks import ClassBlocks
from kernelbook.estimators._kernel_gram import KernelGram
from kernelbook.numeric.column_space import column_space
from kernelbook.numeric.threads import parallel_for
from kernelbook.solvers.svm.convexity import is_convex, passes_whole
from kernelbook.solvers.svm.large.solve import solve_large
from kernelbook.solvers.svm.pair_matrix import pair_matrix
from kernelbook.solvers.svm.reference import solve_reference
from kernelbook.solvers.svm.robust import SMALL, solve_robust, solve_separable
from kernelbook.solvers.svm.small import solve_small

__all__ = ["Fitting"]


class Fitting:
    """The binary problems of a fit, and their solutions once `run` has been called.

    Parameters
    ----------
    model : SVMGBClassifier
        For its parameters, kernel_ and Gram matrix.
    sample : Sample
    C : (m,) array
    problems : list of (rows, sign)
    members : list of arrays, or None
        The samples of each class, if the problems are the pairs of classes.
    starts : list
        For each problem the β to start from, or None.

    Attributes
    ----------
    solutions : list of SVMSolution
    origin : (d,) array or None
        Where a linear kernel far from the origin was put.
    alike : bool
        Whether all Φβ of the solutions are those of Φ itself.
    size : float
        The largest |Φ_ij|.
    """

    def __init__(self, model, sample, C, problems, members, starts):
        self.model, self.sample, self.C, self.problems = model, sample, C, problems
        self.members, self.starts = members, starts
        self.kind = model._kind()
        self.solutions = [None] * len(problems)
        self.origin, self.alike, self.size = None, True, 0.0
        self.precision = {"tol": model.tol, "gap_tol": model.gap_tol}

    @property
    def _fast(self):
        """Whether the fast solvers may be tried: they count no steps."""
        return self.model.solver == "smo" and self.model.max_iter < 0

    def run(self):
        """Solve all problems; returns self."""
        if self._fast and self.kind == "pd":
            self._without_gram()
        if None in self.solutions:
            self._on_gram()
        return self

    def _left(self, small):
        """The problems without a solution that are small, or those that are not."""
        return [
            i
            for i, (rows, _) in enumerate(self.problems)
            if self.solutions[i] is None and (rows.size <= SMALL) == small
        ]

    def _data(self, i):
        """(P, y, C) of problem i."""
        rows, sign = self.problems[i]
        return self.sample.P[rows], sign, self.C[rows]

    # ----------------------------------------------------- without a matrix of all samples

    def _without_gram(self):
        model, X = self.model, self.sample.X
        if far_origin(model.kernel_, X, self.sample.P) is not None:
            return
        large = self._left(small=False)
        if large and not sparse.issparse(X):
            self.size = model.kernel_.diag(X).max()
            for i in large:
                self.solutions[i] = self._large(i)
        if self.members and (small := self._left(small=True)):
            pairs = self._pairs(small)
            blocks = ClassBlocks.of_kernel(model.kernel_, X, self.members, pairs.values())
            self.size = max(self.size, blocks.size)
            self._attempt(small, lambda i: blocks.pair(*pairs[i]))

    def _large(self, i):
        X, (rows, _), data = self.sample.X, self.problems[i], self._data(i)
        span = column_space(data[0])
        apart = solve_separable(*data, self.size, span)
        if apart is not None:
            return apart
        source = KernelGram(self.model.kernel_, X if rows.size == len(X) else X[rows])
        options = {"span": span, "start": self.starts[i], "verbose": self.model.verbose}
        return solve_large(source, *data, **options, **self.precision)

    # ------------------------------------------------------------ small problems, one attempt

    def _pairs(self, some):
        """{problem: (a, b)}: which classes these problems are about."""
        every = list(combinations(range(len(self.members)), 2))
        return {i: every[i] for i in some}

    def _attempt(self, some, matrix):
        """Try some problems on several threads; matrix(i) is the `PairMatrix` of i, or None."""

        def attempt(i):
            K = matrix(i)
            if K is not None:
                self.solutions[i] = solve_small(K, *self._data(i), self.starts[i], **self.precision)

        parallel_for(attempt, some)

    # -------------------------------------------------------------- on a matrix of all samples

    def _on_gram(self):
        gram, self.origin, tilt = self.model._centred_gram(self.sample)
        kind, self.size = self.kind, _largest(gram, self.kind)
        if kind == "unknown" and len(self.problems) > 1 and passes_whole(gram):
            kind = "pd"  # and so is every part of it: no need to ask each
        tried = self._fast and tilt is None and kind != "cpd"
        if tried and not (self.members and self.kind == "pd"):  # those have been tried already
            self._attempt(small := self._left(small=True), self._matrices(gram, kind, small))
        self.alike = self.kind == "pd" and None not in self.solutions
        for i, solution in enumerate(self.solutions):
            if solution is None:
                self.solutions[i] = self._patient(gram, kind, i, tilt, tried)

    def _matrices(self, gram, kind, small):
        """The function i → `PairMatrix` of a problem, None where it is not convex."""
        if kind != "pd":
            return lambda i: self._if_convex(self._part(gram, i), i)
        if self.members is None or not small:
            K = pair_matrix(gram)
            return lambda i: K
        pairs = self._pairs(small)
        blocks = ClassBlocks.of_matrix(gram, self.members, pairs.values())
        return lambda i: blocks.pair(*pairs[i])

    def _if_convex(self, part, i):
        return pair_matrix(part) if is_convex(part, self._data(i)[0]) else None

    def _part(self, gram, i):
        """What problem i needs of the Gram matrix; all of it is no copy."""
        rows, _ = self.problems[i]
        return gram if rows.size == len(gram) else gram[np.ix_(rows, rows)]

    def _patient(self, gram, kind, i, tilt, tried):
        model, problem = self.model, (self._part(gram, i), *self._data(i))
        rows, _ = self.problems[i]
        tilt = None if tilt is None else tilt[rows]
        options = {"tilt": tilt, "max_iter": model.max_iter, "verbose": model.verbose, "kind": kind}
        if model.solver == "cvxopt":
            return solve_reference(*problem, **options)
        # A pair has a copy of its own; one-vs-rest needs the matrix again.
        own = rows.size < len(gram) or (len(self.problems) == 1 and not model._precomputed)
        return solve_robust(*problem, **options, **self.precision, tried=tried, overwrite=own)


def _largest(gram, kind):
    """The largest |Φ_ij|; of a positive semidefinite matrix it is on the diagonal."""
    if kind == "pd":
        return gram.diagonal().max(initial=0.0)
    return max(gram.max(initial=0.0), -gram.min(initial=0.0))
