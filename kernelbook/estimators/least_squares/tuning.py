"""`tune`: the parameters of a G-RLS learner are chosen on its sample before it is fitted."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kernelbook.estimators.least_squares.progress import tuning_bar
from kernelbook.numeric.memory import room_for_gram
from kernelbook.solvers.grls.tuning.search import SCREEN_ROWS, tune
from kernelbook.solvers.grls.tuning.settings import MAX_ROWS, as_tuning

__all__ = ["tune_learner"]

STEPS = 25  # what a search takes, usually

_ADVICE = "Tuning(max_rows=...) searches on part of the sample."


def tune_learner(learner: Any, sample: Any, Y: np.ndarray) -> None:
    """Set `kernel_`, `reg_` and `tuning_` of a learner; `sample` has P, Y a column per output."""
    settings, m = as_tuning(learner.tune), len(Y)
    assert settings is not None
    kernel = None if learner._pairwise else learner.kernel_
    shift = learner._origin_shift(sample)
    X = sample.X if shift is None else sample.X - shift.origin
    rows = min(m, settings.max_rows or MAX_ROWS)
    free = 1 + (0 if kernel is None else len(kernel.tunable()))
    work = settings.starts * STEPS * min(rows, SCREEN_ROWS) ** 3 + (STEPS + 4 * free) * rows**3
    arrays = X, sample.P, Y, learner.reg_, sample.w, settings
    rng = check_random_state(0 if learner.random_state is None else learner.random_state)
    with room_for_gram(rows, 3, _ADVICE), tuning_bar(learner.verbose, work) as tick:
        chosen, learner.reg_, learner.tuning_ = tune(kernel, *arrays, rng, tick)
    if kernel is not None:
        learner.kernel_ = chosen
