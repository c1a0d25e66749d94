"""A G-RLS fit by sums over blocks of rows: the method's part, and the learner's.

All fits by sums go the same way, in a `BlockFit`:

1. `begin`: check some first rows, choose the method;
2. `freeze`: fix what must be the same for every block: the box, the features, the classes, and the
   method's own frame (Fourier's grid, or Nyström's centres);
3. `sums` of each block, added up;
4. `finish`: solve, once.
"""

from copy import copy
from itertools import product

import numpy as np
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, get_tags

from kernelbook.bases.centers import check_rule, choose_centers, given_centers
from kernelbook.estimators.least_squares.learner import N_CENTERS, columns
from kernelbook.estimators.least_squares.progress import solving_bar
from kernelbook.features import (
    Constant,
    FunctionFeatures,
    NoFeatures,
    Polynomials,
    as_features,
    check_count,
    check_order,
    evaluate,
    like,
    take_rows,
)
from kernelbook.numeric.memory import room_for
from kernelbook.numeric.tiles import silent, slices
from kernelbook.solvers.grls.fourier import solve as fourier
from kernelbook.solvers.grls.fourier import sums as fourier_sums
from kernelbook.solvers.grls.fourier.grid import design
from kernelbook.solvers.grls.methods import choose
from kernelbook.solvers.grls.nystrom import sums as nystrom_sums
from kernelbook.solvers.grls.nystrom.basis import CenterBasis

__all__ = ["ABSENT", "BlockFit", "FourierSums"]

_PILOT = 2000
_ROW_BLOCK = 2**20
_POOL = 10  # rows drawn from blocks for each centre that a rule chooses among them
_FOURIER_ROOM = (
    "solver='fourier' needs {} for its transforms",
    "take a larger reg or tol, a wider or smoother kernel, fewer outputs, or solver='nystrom'.",
)
ABSENT = "sample_weight is zero for every sample; at least one must be positive."


class FourierSums:
    """What `solver="fourier"` does with blocks.

    Both classes of this kind have the same methods: `default_box` where none is given, `frame` from
    what is known before the sums, `rows` to sum at once, `sums` of some rows that `check` accepts,
    the number of `observations`, and `solve`.
    """

    draws = 0

    def __init__(self, learner, facts, grid=None):
        self.kernel, self.eps, self._grid = learner.kernel_, facts.kernel_accuracy(), grid

    def default_box(self):
        return None

    def frame(self, box, rows, pilot, P, Y, largest, evaluate_features):
        grid = self._grid or design(self.kernel, *box, self.eps)
        with room_for(fourier.bytes_needed(grid, Y.shape[1] + P.shape[1]), *_FOURIER_ROOM):
            return fourier_sums.make_frame(grid, P, Y, pilot.w, self.eps, largest)

    def rows(self, frame):
        return fourier_sums.chunk_rows(frame.grid)

    def sums(self, frame, X, P, Y, w):
        return fourier_sums.statistics(frame, X, Y, w, P)

    def check(self, frame, X):
        """An error for rows outside the box."""
        outside = frame.grid.outside(X)
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            box = np.c_[frame.grid.low, frame.grid.high].tolist()
            raise ValueError(
                f"row {row} of the chunk, {X[row].tolist()}, is outside the box {box}: all samples "
                "must be inside.  Give bounds that hold them all, and fit again."
            )

    def observations(self, frame, sums):
        return sums.total * frame.w_unit

    def solve(self, learner, frame, sums, probe):
        system = fourier.System(frame, sums, learner.reg_)
        with solving_bar(learner.verbose) as tick:
            return system.solve(learner.tol, tick, learner.max_iter)


class CenterSums:
    """What `solver="nystrom"` does with blocks."""

    def __init__(self, learner, facts, grid=None):
        self.kernel, self.reg, self.rule = learner.kernel_, learner.reg_, learner.centers
        self.n = N_CENTERS if learner.n_centers is None else learner.n_centers
        self.random_state, self.draws = learner.random_state, 0
        if isinstance(self.rule, str):
            check_rule(self.rule, self.n)
            self.draws = self.n * (1 if self.rule == "uniform" else _POOL)
        else:
            self.rule = given_centers(self.rule, facts.d)

    def default_box(self):
        if isinstance(self.rule, str):
            return None
        return self.rule.min(axis=0), self.rule.max(axis=0)

    def frame(self, box, rows, pilot, P, Y, largest, evaluate_features):
        centers = self.rule
        if isinstance(centers, str):  # the rows were drawn in proportion to their weights
            options = np.ones(len(rows)), self.random_state, self.kernel, self.reg
            centers, _ = choose_centers(self.rule, rows, self.n, *options)
        P = evaluate_features(like(pilot.given, centers))
        check_order(P, centers, self.kernel)
        return CenterBasis(self.kernel, centers, P if self.kernel.cpd_order else None)

    def rows(self, frame):
        return _ROW_BLOCK

    def sums(self, frame, X, P, Y, w):
        return nystrom_sums.statistics(frame, X, P, Y, w)

    def check(self, frame, X):
        """Any row will do."""

    def observations(self, frame, sums):
        return sums.total

    def solve(self, learner, frame, sums, probe):
        return nystrom_sums.solve(sums, frame, learner.reg_, probe)


_SUMS = {"fourier": FourierSums, "nystrom": CenterSums}


class BlockFit:
    """One fit by sums over blocks; see the module's text.  Dask sends it to where the blocks are.

    Attributes
    ----------
    learner : StreamingLearner
    plan : FourierSums or CenterSums
    frame : object
        What the plan has fixed.
    outputs : tuple
        The shape of a row of targets.
    total : Statistics
        The sums of all blocks, when it is finished.  A learner keeps the finished fit, without
        itself in it, to add chunks.
    """

    def __init__(self, learner, classes=None):
        self.learner, self.classes = learner, classes

    def begin(self, X, y, w, number=None):
        """Check the first rows that there are, and choose the method."""
        learner = self.learner
        self.pilot = learner._block(X, y, w, True, number)
        learner._fit_kernel(self.pilot.X, self.pilot.w)
        facts = learner._facts(self.pilot.X, collection=True)
        method, grid = choose(learner.solver, facts, learner._methods)
        self.set_plan(_SUMS[method.name](learner, facts, grid))

    def set_plan(self, plan):
        self.plan = plan
        self.features = self.learner.features, repr(as_features(self.learner.features))

    def wants(self):
        """Whether to survey the data, whether for labels, how many rows to draw, and seeds."""
        labels = is_classifier(self.learner) and self.classes is None
        needed = labels or self.learner.bounds is None or self.plan.draws > 0

        def seeds(blocks):
            if not self.plan.draws:
                return [0] * blocks
            random = check_random_state(self.plan.random_state)
            return random.randint(2**31 - 1, size=blocks).tolist()

        return needed, labels, self.plan.draws, seeds

    def freeze(self, survey):
        """Fix box, classes, features and frame, from the survey and the first rows."""
        learner = self.learner
        box = learner._box() or (survey and (survey.low, survey.high)) or self.plan.default_box()
        if is_classifier(learner):
            learner._learn_classes(survey.labels if self.classes is None else self.classes)
        learner.features_ = fitted_to_box(learner.features, box, self.pilot.given)
        Y = learner._targets_of(self.pilot.y)
        self.fix(box, None if survey is None else survey.rows, self.pilot, Y)

    def fix(self, box, rows, pilot, Y, largest=None):
        """Fix the frame; kernel, features and classes of the learner are."""
        learner = self.learner
        P = evaluate(learner.features_, pilot.given)
        learner._n_free = P.shape[1]
        some = slice(None, None, max(1, len(P) // _PILOT))
        self.outputs, self.probe, self.P = Y.shape[1:], pilot.X[some], P[some]
        self.frame = self.plan.frame(
            *(box, rows, pilot, P, columns(Y), largest), learner._features_at
        )

    def sums(self, X, y, w):
        """The sums over a block; 0 if it has no rows of positive weight."""
        block = self.learner._block(X, y, w, reset=False)
        return self.sums_of(block, self.learner._targets_of(block.y))

    def sums_of(self, sample, Y, tick=silent):
        """The sums over a sample that has been checked, part by part."""
        if Y.shape[1:] != self.outputs:
            raise ValueError(
                f"y of this chunk has shape {Y.shape}, and the first one had rows of shape "
                f"{self.outputs}: all chunks must have the same outputs."
            )
        sums, Y = 0, columns(Y)
        if len(Y):
            self.plan.check(self.frame, sample.X)
        for rows in slices(0, len(Y), self.plan.rows(self.frame)):
            P = self.learner._features_at(take_rows(sample.given, rows))
            sums = sums + self.plan.sums(self.frame, sample.X[rows], P, Y[rows], sample.w[rows])
            tick(rows.stop - rows.start)
        return sums

    def finish(self, sums):
        """Solve; the learner keeps the solution, and what it takes to go on."""
        if isinstance(sums, int):
            raise ValueError(ABSENT)
        observations = self.plan.observations(self.frame, sums)
        check_count(self.P.shape[1], sums.m, observations)
        learner = self.learner
        solution = self.plan.solve(learner, self.frame, sums, self.probe)
        learner._keep(solution, self.outputs, observations, self.P)
        if solution.solver == "nystrom":
            learner.centers_, learner.full_gap_ = self.frame.centers, None
        else:
            learner.n_modes_ = self.frame.grid.modes
            learner.kernel_error_ = float(fourier.kernel_error(self.frame))
        learner._blocks = kept = copy(self)
        kept.learner, kept.pilot, kept.total = None, None, sums

    def resumed(self, learner):
        """The fit, ready for more blocks."""
        fit = copy(self)
        fit.learner = learner
        return fit


def fitted_to_box(features, box, given):
    """A feature map fitted without the data: scaled to the box, or fitted before."""
    fresh = as_features(features)
    own = Polynomials, Constant, NoFeatures, FunctionFeatures, FrozenEstimator
    if not isinstance(fresh, own) and get_tags(fresh).requires_fit:
        raise ValueError(
            f"features={features!r} learns from data, and the data come in chunks: fit it "
            "on a sample first and pass sklearn.frozen.FrozenEstimator(features)."
        )
    corners = np.array(list(product(*zip(*box, strict=True))))
    return fresh.fit(like(given, corners), None)
