"""Hidden inputs: drawn anew for each student and each attempt, and the same again when asked.

The seed is a keyed hash of the assignment, the question, the student and the digest of the file,
with the course's secret as the key.  So one student's inputs say nothing of another's; whatever a
submission reveals of its inputs is of no use to the next one, whose digest differs; and a contested
grade can be computed again from the file.
"""

import hashlib
import hmac

import numpy as np

from kernelbook.course.assignment import LIMIT, Assignment, Case, Question, copies

__all__ = ["draw", "draw_all"]


def draw(question: Question, secret: str, *attempt: str) -> list[Case]:
    """The calls of one question.  Their order is drawn, too: it must not tell the answers."""
    message = "\0".join((question.name, *attempt)).encode("utf-8", "replace")
    digest = hmac.new(secret.encode(), message, hashlib.sha256).digest()
    rng = np.random.default_rng(int.from_bytes(digest, "big"))
    cases = [
        Case(about, tuple(arguments), question.reference(*copies(arguments)), LIMIT in marks)
        for about, arguments, *marks in question.cases(rng)
    ]
    return [cases[k] for k in rng.permutation(len(cases))]


def draw_all(assignment: Assignment, secret, student, digest) -> dict[str, list[Case]]:
    """The calls of all questions, for one student and one file."""
    return {q.name: draw(q, secret, assignment.name, student, digest) for q in assignment.questions}
