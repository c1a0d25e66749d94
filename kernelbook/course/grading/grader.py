"""Grade submissions: one sandbox each, numbers compared with numbers outside.

How much of a question's points an answer earns is said in `credit`; the reason that is kept names
the first call that failed, without the right answer.  Questions that ask for one's own work are
called in a second sandbox, which lacks the package that would do it.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass

from kernelbook.course.assignment import Assignment, source
from kernelbook.course.grading.credit import ABOUT, credit, lacks
from kernelbook.course.grading.frames import Found, read_frames, short
from kernelbook.course.grading.hints import hint
from kernelbook.course.grading.inputs import draw_all
from kernelbook.course.grading.results import Result, Verdict
from kernelbook.course.intake import Submission, code
from kernelbook.course.sandbox import HOW, Limits, Sandbox, SandboxMissing, why_not
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
        # At the last limit a whole submission ends; questions that hang must not reach it.
        each, asked = assignment.seconds, len(assignment.questions)
        self.limits = limits or Limits(
            seconds=each, computing=max(20.0, 4 * each), total=max(60.0, 3 * each * (asked + 2))
        )
        # Questions by the packages they must do without.
        self.groups: dict[tuple, list] = {}
        for question in assignment.questions:
            self.groups.setdefault(question.without, []).append(question)
        self.sandboxes = {
            without: Sandbox(
                assignment.packages,
                assignment.provides,
                hidden=(assignment.folder.parent, *hidden),
                absent=without,
                unsafe=unsafe,
            )
            for without in self.groups
        }

    def __enter__(self):
        with ExitStack() as stack:
            for sandbox in self.sandboxes.values():
                stack.enter_context(sandbox)
            self.closing = stack.pop_all()
        return self

    def __exit__(self, *error):
        return self.closing.__exit__(*error)

    def grade(self, submission: Submission) -> Result:
        """Grade one submission; whatever it does, the answer is a Result."""
        result = Result(
            student=submission.student,
            identity=submission.identity,
            digest=submission.digest,
            fingerprint=self.assignment.fingerprint,
            verdicts={},
            file=submission.file,
            entry=submission.entry,
            number=submission.number,
            time=submission.time,
            marked_late=submission.marked_late,
            remarks=submission.remarks,
            trouble=submission.trouble,
            readable=submission.trouble is None,
            unmatched=submission.unmatched,
        )
        if submission.trouble is not None:
            for q in self.assignment.questions:
                result.verdicts[q.name] = Verdict(0.0, q.points, submission.trouble)
            return result
        cases = draw_all(self.assignment, self.secret, submission.identity, submission.digest)
        cells = code(submission, self.assignment)
        for without in self.groups:
            outcome, found = self._run([cells], cases, self.limits, without)
            mine = found.get(0, Found())
            result.verdicts |= self.verdicts(cases, mine, outcome.trouble, without)
            if without == () or len(self.groups) == 1:
                result.trouble, result.printed = outcome.trouble, outcome.printed
                result.cell_errors = {f"cell {k}": v for k, v in sorted(mine.cells.items())}
        order = [q.name for q in self.assignment.questions]
        result.verdicts = {name: result.verdicts[name] for name in order}
        return result

    def grade_all(self, submissions: Iterable[Submission], jobs=1) -> Iterator[Result]:
        """Results as they come; several submissions at a time, each in a sandbox of its own."""
        with ThreadPoolExecutor(jobs) as pool:
            waiting = [pool.submit(self.grade, s) for s in submissions]
            try:
                for future in as_completed(waiting):
                    yield future.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def grade_variants(self, notebooks, limits=None) -> list[dict[str, Verdict]]:
        """Verdicts for several notebooks of *trusted* code, on the same inputs."""
        cases = draw_all(self.assignment, self.secret, "", "")
        verdicts: list[dict] = [{} for _ in notebooks]
        for without in self.groups:
            outcome, found = self._run(notebooks, cases, limits or self.limits, without)
            if outcome.trouble:
                raise RuntimeError(f"{outcome.trouble}: {outcome.printed}")
            for n, mine in enumerate(verdicts):
                mine |= self.verdicts(cases, found.get(n, Found()), None, without)
        return verdicts

    def _run(self, notebooks, cases, limits, without):
        """One sandbox; it is told cells, and then inputs, and nothing else."""
        asked = self.groups[without]
        checks = {name: source(cell) for name, cell in self.assignment.cells("check")}
        job = {
            "setup": self.assignment.setup,
            "variants": [{"cells": c} for c in notebooks],
            "checks": {q.name: checks.get(f"{q.name}-check", "") for q in asked},
        }
        questions = [
            {
                "name": q.name,
                "function": q.name,
                "calls": [[encode(a) for a in case.arguments] for case in cases[q.name]],
            }
            for q in asked
        ]
        outcome = self.sandboxes[without].run(job, questions, limits)
        numbers = {number for cells in notebooks for number, _ in cells}
        return outcome, read_frames(outcome, numbers, set(cases), limits.seconds)

    def verdicts(self, cases, found, trouble, without) -> dict[str, Verdict]:
        trouble = trouble or found.ended.get(None)
        return {
            q.name: self.verdict(q, cases[q.name], found, trouble) for q in self.groups[without]
        }

    def verdict(self, question, cases, found, trouble) -> Verdict:
        answers = [self.answer(question, case, found, i, trouble) for i, case in enumerate(cases)]
        failed = [(c, a) for c, a in zip(cases, answers, strict=True) if a.reason]
        if not failed:
            return Verdict(question.points, question.points)
        told = hint(question, cases, [a.value for a in answers]) or ""
        points = 0.0
        if not told:
            missing = [a.missing for a in answers]
            points = credit(question.points, missing, [c.limit for c in cases])
        # The worst first: a call that is wrong altogether says more than one that lacks digits.
        case, answer = min(failed, key=lambda pair: pair[1].missing is not None)
        reason = f"{case.about}: {answer.reason}"
        return Verdict(points, question.points, reason, told, found.checks.get(question.name, ""))

    def answer(self, question, case, found, i, trouble) -> "Answer":
        frame = found.calls.get((question.name, i))
        if frame is None:
            at = f" (at {found.stage})" if found.stage else ""
            return Answer(
                found.ended.get(question.name)
                or f"{trouble or 'the code ended before this was called'}{at}"
            )
        if "error" in frame:
            return Answer(short(frame["error"]))
        try:
            value = decode(frame.get("value"))
        except (Refused, RecursionError) as error:
            return Answer(f"the result cannot be read: {error}")
        complaint = question.complaint(case, value)
        if complaint is None:
            return Answer(None, "", value)
        lacking = lacks(question, case, value)
        return Answer(f"{ABOUT[lacking]}: {complaint}" if lacking else complaint, lacking, value)


@dataclass
class Answer:
    """One call: why it is wrong (None if it is not), what it lacks, and the value."""

    reason: str | None
    missing: str | None = None
    value: object = None
