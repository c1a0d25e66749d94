"""How much of a question's points an answer earns.

    every value right, in the right form                                   all points
    right, but in another shape than asked (a column for a vector)         three quarters
    right, but for limit cases (a single sample, a singular matrix)        three quarters
    right to some digits, not to all, where the master says how many       a half
    two of these at once                                                   a half
    anything else                                                          nothing

A limit case is marked by the master.  The right form alone earns nothing, nor does a limit case
alone: what is rewarded is an answer that is right and lacks something.  Where several answers are
right a judge decides about each call, and only limit cases can be lost separately.
"""

import math

import numpy as np

from kernelbook.course.assignment import Question
from kernelbook.course.values import compare

__all__ = ["ABOUT", "credit", "lacks"]

ABOUT = {
    "shape": "the numbers are right, but in another shape",
    "digits": "the result is nearly right: too few digits are",
}


def lacks(question: Question, case, value) -> str | None:
    """What a wrong value lacks: "shape", "digits", or None for everything."""
    if question.judge is not None:
        return None
    answer = case.answer
    if isinstance(answer, (str, bool, type(None))) or np.asarray(_first(answer)).dtype.kind != "f":
        return None
    shaped = _in_shape_of(answer, value)
    if shaped is None:
        return None
    same_form = compare(value, answer, 0.0, math.inf) is None
    if compare(shaped, answer, question.rtol, question.atol) is None:
        return None if same_form else "shape"
    if same_form and question.nearly > question.rtol:
        close = compare(value, answer, question.nearly, question.atol) is None
        return "digits" if close else None
    return None


def _first(answer):
    return answer[0] if isinstance(answer, (list, tuple)) and answer else answer


def _in_shape_of(answer, value):
    """The value with axes of length one added or removed; None where that does not do it."""
    if isinstance(answer, (list, tuple)):
        if not isinstance(value, tuple) or len(value) != len(answer):
            return None
        parts = [_in_shape_of(a, v) for a, v in zip(answer, value, strict=True)]
        return None if any(p is None for p in parts) else tuple(parts)
    try:
        want, got = np.asarray(answer), np.asarray(value)
    except ValueError:
        return None
    if got.dtype.kind not in "bif" or got.size != want.size:
        return None
    slim = [tuple(n for n in shape if n != 1) for shape in (got.shape, want.shape)]
    return got.reshape(want.shape) if slim[0] == slim[1] else None


def credit(points: float, missing: list[str | None], limits: list[bool]) -> float:
    """The points for a question.

    missing: for each call "" if it is right, what it lacks, or None if it is wrong altogether.
    limits: whether the call is a limit case.
    """
    ordinary = [m for m, limit in zip(missing, limits, strict=True) if not limit]
    lacking = {m for m in missing if m}
    if not ordinary or None in ordinary:
        return 0.0
    lost = len(lacking) + any(m is None for m, limit in zip(missing, limits, strict=True) if limit)
    share = (1.0, 0.75, 0.5)[min(lost, 2)]
    if "digits" in lacking:
        share = min(share, 0.5)
    return round(4 * share * points) / 4 if share < 1 else points
