"""Slips: answers that are wrong in a way the master foresaw.

A slip is a function, like the reference: what one gets with γ instead of mγ, say.  A wrong answer
that equals a slip on the hidden inputs gets its hint.  The hint says where the slip is explained;
it gives nothing away about the inputs.
"""

import numpy as np

from kernelbook.course.assignment import Question, copies
from kernelbook.course.values import compare

__all__ = ["hint"]


def hint(question: Question, cases, values) -> str | None:
    """The hint of the first slip that explains all answers; values are decoded or None."""
    for slip in question.slips:
        if _explains(slip, question, cases, values):
            return slip.hint
    return None


def _explains(slip, question, cases, values):
    """Every answer is the slip's, and on some call that is not the right answer."""
    told_apart = False
    for case, value in zip(cases, values, strict=True):
        try:
            with np.errstate(all="ignore"):
                theirs = slip.function(*copies(case.arguments))
        except Exception:  # a slip need not be defined for every input
            continue
        if value is None or not _equal(question, value, theirs):
            return False
        told_apart = told_apart or question.complaint(case, _plain(theirs)) is not None
    return told_apart


def _equal(question, value, theirs):
    try:
        if question.canonical is not None:
            value, theirs = question.canonical(value), question.canonical(theirs)
        return compare(value, theirs, max(question.rtol, 1e-7), question.atol) is None
    except Exception:  # `canonical` does not foresee every value
        return False


def _plain(value):
    """A slip's result as it would have come out of the sandbox."""
    if isinstance(value, (list, tuple)):
        return tuple(_plain(v) for v in value)
    return np.asarray(value) if not isinstance(value, (str, bool)) else value
