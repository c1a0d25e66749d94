"""Which function next?  The incremental construction of paper C, section 3.2, on arrays.

A path of classifiers, the k-th over k basis functions.  It starts with none, the classifier of the
free features alone, and then repeats: choose a function, orthogonalize it (`GrowingFactor`), solve
again from where the solution stood (`GrowingHinge`).  Three rules choose.

- **most misclassified**: the function that belongs to the sample with the least margin y f.  To a
  sample belongs the function with the largest |f_j(x_i)|/‖f_j‖; for translates of a kernel at the
  samples that is the one at x_i itself, since by Cauchy and Schwarz |k(z, x)|/√k(z, z) ≤ √k(x, x)
  with equality at z = x.  If that function is in use, or depends on those in use, or is so near
  to them that it must wait (`GrowingFactor.postponed`), the sample with the next larger margin
  decides; if that is so for all samples, the sample with the least margin takes the best function
  that is left.
- **best improvement**: the function that makes the objective smallest.  Of a few candidates drawn
  at random (of 59 the best is among the best 5 % with probability 95 %) each costs one warm start;
  but by the bound ½g² of `solvers.primal.growing.hinge` most need not be tried: in the order of
  their bounds, until a bound is no better than what has been reached.
- **random**.

With several binary problems the functions are shared: margins are the least over the problems,
objectives and bounds are summed.

**The competitor** of C 4.2 adds samples: the k-th classifier is trained on the k samples at which
its functions are centred, and on no others; only the rule that chooses the next one may read all
labels.  In coordinates it differs in one thing: the loss is summed over those samples.

Chapter: book/primal/incremental

References
----------
Giesen, Laue & Mueller (2012), sections 3.2 and 4.2.  Smola & Schölkopf (2000), *Sparse greedy
matrix approximation for machine learning*: the 59.
"""

import numpy as np

from kernelbook.certificates import Certificate
from kernelbook.numeric.threads import serial_blas
from kernelbook.solvers.primal.finish import PrimalSolution
from kernelbook.solvers.primal.growing.factor import GrowingFactor
from kernelbook.solvers.primal.growing.hinge import GrowingHinge
from kernelbook.solvers.primal.solve import solve_primal

__all__ = ["SELECT", "IncrementalPath"]

SELECT = ("most_misclassified", "best_improvement", "random")
"""The selection rules."""


class IncrementalPath:
    """The classifiers over one, two, three … functions, each made by one call of `step`.

    Parameters
    ----------
    B : (n, M) array or sparse matrix
        The basis functions at the samples, and below them at validation samples.
    G : (M, M) array or None
    P : (n, ℓ) array
        The free features at the same samples.
    problems : list of (rows, sign, C)
        The binary problems: samples, labels ±1 and penalties C_i.
    capacity : int
        How many functions at most.
    select : one of `SELECT`
    n_candidates : int or None
        For "best_improvement"; None tries all functions.
    rtol : float
        See `GrowingFactor`.
    rng : numpy.random.Generator
    only_centers : bool
        The competitor: function j is centred at sample j, and only such samples are trained on.

    Attributes
    ----------
    factor : GrowingFactor
    solutions : list of PrimalSolution
        Of the binary problems, for the present functions.
    F : (n, problems) array
        Their decision values.
    refused : list of int
        Functions that depend on those before them.
    """

    def __init__(
        self, B, G, P, problems, *, capacity, select, n_candidates, rtol, rng, only_centers=False
    ):
        self.factor = GrowingFactor(B, G, capacity, rtol)
        self.P, self.problems = P, problems
        self._select, self._rng, self._n_candidates = select, rng, n_candidates
        self.available = self.factor.squares > 0
        self.refused = []
        self._order = rng.permutation(B.shape[1]) if select == "random" else None
        self._own = None
        self._only_centers = only_centers
        self.F = np.zeros((B.shape[0], len(problems)))
        if only_centers:
            self._machines = None
        else:
            with serial_blas:
                self._machines = [GrowingHinge(P[rows], sign, C) for rows, sign, C in problems]
            self.solutions = [machine.solution for machine in self._machines]
            self.F = P @ np.array([s.coef for s in self.solutions]).T

    @serial_blas
    def step(self):
        """Add a function and solve; False if there is none that could be added."""
        found = getattr(self, "_" + self._select)()
        if found is None:
            return False
        j, x = found
        self.factor.append(j, x)
        self.available[j] = False
        X = self.factor.X
        if self._only_centers:
            self.solutions = [self._solve_at_centers(*problem) for problem in self.problems]
        else:
            pairs = zip(self._machines, self.problems, strict=True)
            self.solutions = [machine.solve(_rows(X, rows)) for machine, (rows, _, _) in pairs]
        W = np.array([s.w for s in self.solutions])
        coef = np.array([s.coef for s in self.solutions])
        # A product with a vector is faster than one with a matrix of one column.
        self.F = (X @ W.T if len(W) > 1 else (X @ W[0])[:, None]) + self.P @ coef.T
        return True

    def certificate(self):
        return Certificate.joint(s.certificate for s in self.solutions)

    def trained_on(self, rows, size):
        """A mask of those samples of a problem that the classifier of this size is trained on."""
        if not self._only_centers:
            return np.ones(rows.size, dtype=bool)
        return np.isin(rows, self.factor.chosen[:size])

    def _solve_at_centers(self, rows, sign, C):
        known = self.trained_on(rows, len(self.factor.chosen))
        X, P = self.factor.X[rows[known]], self.P[rows[known]]
        if not known.any():
            k, l = X.shape[1], P.shape[1]
            nothing = Certificate(0.0, 0.0, 0.0, 0.0)
            return PrimalSolution(np.zeros(k), np.zeros(l), np.zeros(0), 0, 0, nothing)
        return solve_primal(X, P, sign[known], C[known], rng=np.random.default_rng(0))

    # ------------------------------------------------------------------------------ the rules

    def _admit(self, j):
        """(j, its column), or None where it must be refused, for good."""
        if not self.available[j]:
            return None
        x = self.factor.column(j)
        if x is None:
            self.available[j] = False
            self.refused.append(int(j))
            return None
        return int(j), x

    def _first_admitted(self, functions):
        possible = self.available & ~self.factor.postponed()
        for j in functions:
            if possible[j] and (found := self._admit(j)) is not None:
                return found
        return None

    def margins(self):
        """For each sample the least margin y f over the problems it takes part in."""
        least = np.full(len(self.F), np.inf)
        for f, (rows, sign, _) in zip(self.F.T, self.problems, strict=True):
            least[rows] = np.minimum(least[rows], sign * f[rows])
        return least

    def _most_misclassified(self):
        margins = self.margins()
        if self._own is None:
            self._own = self._owners(np.count_nonzero(np.isfinite(margins)))
        # Equal up to rounding is equal: the first of them, on any machine.
        margins = np.round(margins[: self._own.size], 9)
        possible = self.available & ~self.factor.postponed()
        left = np.where(possible[self._own], margins, np.inf)
        while left[worst := int(np.argmin(left))] < np.inf:
            if (found := self._admit(self._own[worst])) is not None:
                return found
            left[self._own == self._own[worst]] = np.inf
        # Functions that belong to no sample
        worst = int(np.argmin(margins))
        size = self._sizes(slice(worst, worst + 1))[0]
        return self._first_admitted(np.argsort(-size, kind="stable"))

    def _owners(self, n):
        """For each of the first n samples the function that belongs to it."""
        if self._only_centers:
            return np.arange(n)
        own = np.empty(n, dtype=np.intp)
        for begin in range(0, n, 500):
            rows = slice(begin, min(begin + 500, n))
            own[rows] = np.argmax(self._sizes(rows), axis=1)
        return own

    def _sizes(self, rows):
        """|f_j(x_i)|/‖f_j‖ for some samples."""
        B = self.factor.evaluations(rows)
        squares = self.factor.squares
        return np.abs(B) / np.sqrt(np.where(squares > 0, squares, np.inf))

    def _random(self):
        return self._first_admitted(self._order)

    def _best_improvement(self):
        while True:
            pool = np.flatnonzero(self.available & ~self.factor.postponed())
            if pool.size == 0:
                return None
            if self._n_candidates is not None and self._n_candidates < pool.size:
                pool = self._rng.choice(pool, self._n_candidates, replace=False)
            candidates = [found for j in pool if (found := self._admit(j)) is not None]
            if candidates:
                return self._best_of(candidates)

    def _best_of(self, candidates):
        bounds = [self._bound(x) for _, x in candidates]
        before = self.certificate()
        best, fall = candidates[int(np.argmax(bounds))], -np.inf
        for c in np.argsort(bounds)[::-1]:
            if bounds[c] + before.gap <= fall:
                break
            X = np.column_stack([self.factor.X, candidates[c][1]])
            pairs = zip(self._machines, self.problems, strict=True)
            reached = sum(machine.objective(_rows(X, rows)) for machine, (rows, _, _) in pairs)
            if before.primal - reached > fall:
                best, fall = candidates[c], before.primal - reached
        return best

    def _bound(self, x):
        """½g², summed over the problems: the objective cannot fall by more."""
        pairs = zip(self.solutions, self.problems, strict=True)
        return sum(0.5 * (x[rows] @ s.beta) ** 2 for s, (rows, _, _) in pairs)

    def visible(self, all_samples=False):
        """How large the refused functions are at the samples, relative to x̂: see `orthonormal`.

        With `all_samples` every sample x has its translate k_x of a reproducing kernel among the
        functions.  What is left of a refused one, normalized, is then at x at most the distance of
        k_x from the span; where that is less than what can be computed, the latter is noise.
        """
        if not self.refused:
            return 0.0
        X = self.factor.X
        typical = np.sqrt(np.mean(np.einsum("ij,ij->i", X, X)))
        largest = self.factor.remainder(self.refused)
        if all_samples:
            largest = min(largest, self.factor.farthest())
        return float(largest / typical) if largest > 0 else 0.0


def _rows(X, rows):
    """X[rows]; no copy where they follow each other, as with two classes."""
    first, last = rows[0], rows[0] + rows.size
    return X[first:last] if np.array_equal(rows, np.arange(first, last)) else X[rows]
