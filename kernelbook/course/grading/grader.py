"""Grade submissions: one sandbox each, numbers compared with numbers outside.

A question's points are given for all of its calls or not at all; the reason that is kept names the
first call that failed, without the right answer.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from kernelbook.course.assignment import Assignment
from kernelbook.course.grading.frames import Found, read_frames, short
from kernelbook.course.grading.inputs import draw_all
from kernelbook.course.grading.results import Result, Verdict
from kernelbook.course.sandbox import HOW, Limits, Outcome, Sandbox, SandboxMissing, why_not
from kernelbook.course.submission import Submission, code, read
from kernelbook.course.values import Refused, decode, encode

__all__ = ["Grader"]


class Grader:
    """Grades submissions of one assignment; use it as a context.

    secret: a string from which all inputs are drawn.  Keep it, and the same file of the same
    student gets the same points again.
    """

    def __init__(self, assignment: Assignment, secret, *, unsafe=False, hidden=(), limits=None):
        if not unsafe and (reason := why_not()):
            raise SandboxMissing(f"{reason}; {HOW}")
        self.assignment, self.secret = assignment, secret
        # At the limit a whole submission ends; one question that hangs must not reach it.
        each = assignment.seconds
        total = assignment.total or max(20.0, 4 * each)
        self.limits = limits or Limits(seconds=each, total=total)
        self.sandbox = Sandbox(
            assignment.packages,
            assignment.provides,
            hidden=(assignment.folder.parent, *hidden),
            unsafe=unsafe,
        )

    def __enter__(self):
        self.sandbox.__enter__()
        return self

    def __exit__(self, *error):
        return self.sandbox.__exit__(*error)

    def grade(self, submission: Submission) -> Result:
        """Grade one submission; whatever it does, the answer is a Result."""
        if submission.trouble is not None:
            return self.result(submission, Outcome(trouble=submission.trouble), {}, Found())
        cases = draw_all(self.assignment, self.secret, submission.folder, submission.digest)
        cells = code(submission, self.assignment)
        outcome, found = self._run([cells], cases, self.limits)
        return self.result(submission, outcome, cases, found.get(0, Found()))

    def grade_all(self, files: Iterable[tuple[str, Path]], jobs=1) -> Iterator[Result]:
        """Results as they come; several submissions at a time, each in a sandbox of its own."""
        with ThreadPoolExecutor(jobs) as pool:
            waiting = [pool.submit(lambda s=s, p=p: self.grade(read(s, p))) for s, p in files]
            try:
                for future in as_completed(waiting):
                    yield future.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def grade_variants(self, notebooks, limits=None) -> list[dict[str, Verdict]]:
        """Verdicts for several notebooks of *trusted* code, in one sandbox, on the same inputs."""
        cases = draw_all(self.assignment, self.secret, "", "")
        outcome, found = self._run(notebooks, cases, limits or self.limits)
        if outcome.trouble:
            raise RuntimeError(f"{outcome.trouble}: {outcome.printed}")
        return [self.verdicts(cases, found.get(n, Found()), None) for n in range(len(notebooks))]

    def _run(self, notebooks, cases, limits):
        """One sandbox; it is told cells, and then inputs, and nothing else."""
        job = {"setup": self.assignment.setup, "variants": [{"cells": c} for c in notebooks]}
        questions = [
            {
                "name": q.name,
                "function": q.name,
                "calls": [[encode(a) for a in case.arguments] for case in cases[q.name]],
            }
            for q in self.assignment.questions
        ]
        outcome = self.sandbox.run(job, questions, limits)
        numbers = {number for cells in notebooks for number, _ in cells}
        return outcome, read_frames(outcome, numbers, set(cases), limits.seconds)

    def result(self, submission, outcome, cases, found) -> Result:
        return Result(
            student=submission.student,
            folder=submission.folder,
            digest=submission.digest,
            fingerprint=self.assignment.fingerprint,
            verdicts=self.verdicts(cases, found, outcome.trouble),
            trouble=outcome.trouble,
            cell_errors={f"cell {k}": v for k, v in sorted(found.cells.items())},
            printed=outcome.printed,
        )

    def verdicts(self, cases, found, trouble) -> dict[str, Verdict]:
        return {
            q.name: self.verdict(q, cases.get(q.name), found, trouble or found.ended.get(None))
            for q in self.assignment.questions
        }

    def verdict(self, question, cases, found, trouble) -> Verdict:
        if cases is None:
            return Verdict(0.0, question.points, trouble)
        for i, case in enumerate(cases):
            reason = self.failure(question, case, found, i, trouble)
            if reason:
                return Verdict(0.0, question.points, f"{case.about}: {reason}")
        return Verdict(question.points, question.points)

    def failure(self, question, case, found, i, trouble):
        frame = found.calls.get((question.name, i))
        if frame is None:
            at = f" (at {found.stage})" if found.stage else ""
            return found.ended.get(question.name) or (
                f"{trouble or 'the code ended before this was called'}{at}"
            )
        if "error" in frame:
            return short(frame["error"])
        try:
            value = decode(frame.get("value"))
        except (Refused, RecursionError) as error:
            return f"the result cannot be read: {error}"
        return question.complaint(case, value)
