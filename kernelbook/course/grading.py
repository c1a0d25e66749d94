"""Grade submissions: draw the inputs once, run each submission in a sandbox, compare outside.

A question's points are given for all of its calls or not at all; the reason that is kept names the
first call that failed, without the right answer.
"""

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kernelbook.course.assignment import Assignment, Case
from kernelbook.course.sandbox import HOW, Limits, Outcome, Sandbox, SandboxMissing, why_not
from kernelbook.course.submission import Submission, code, read
from kernelbook.course.values import Refused, decode, encode

__all__ = ["Grader", "Result", "Verdict"]


@dataclass
class Verdict:
    """One question of one submission."""

    points: float
    out_of: float
    reason: str = ""  # empty when all points were earned


@dataclass
class Result:
    """One submission, graded by machine."""

    student: str
    folder: str
    digest: str
    fingerprint: str
    verdicts: dict[str, Verdict]
    trouble: str | None = None
    cell_errors: dict[str, str] = field(default_factory=dict)
    printed: str = ""

    @property
    def score(self) -> float:
        return sum(v.points for v in self.verdicts.values())

    @property
    def out_of(self) -> float:
        return sum(v.out_of for v in self.verdicts.values())

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Result":
        plain = json.loads(text)
        plain["verdicts"] = {name: Verdict(**v) for name, v in plain["verdicts"].items()}
        return cls(**plain)


class Grader:
    """Grades submissions of one assignment; use it as a context.

    secret: a string from which all inputs are drawn.  Keep it, and the same submission gets the
    same points again.
    """

    def __init__(self, assignment: Assignment, secret, *, unsafe=False, hidden=(), limits=None):
        if not unsafe and (reason := why_not()):
            raise SandboxMissing(f"{reason}; {HOW}")
        self.assignment = assignment
        # At the limit a whole submission ends; one question that hangs must not reach it.
        each = assignment.seconds
        total = assignment.total or max(20.0, 4 * each)
        self.limits = limits or Limits(seconds=each, total=total)
        self.cases: dict[str, list[Case]] = {
            q.name: q.draw(f"{secret}/{assignment.name}") for q in assignment.questions
        }
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

    def job(self, notebooks) -> dict:
        """What the sandbox is told: cells and inputs, nothing else."""
        return {
            "setup": self.assignment.setup,
            "variants": [{"cells": cells} for cells in notebooks],
            "questions": [
                {
                    "name": q.name,
                    "function": q.name,
                    "calls": [[encode(a) for a in case.arguments] for case in self.cases[q.name]],
                }
                for q in self.assignment.questions
            ],
        }

    def grade(self, submission: Submission) -> Result:
        """Grade one submission; whatever it does, the answer is a Result."""
        if submission.trouble is not None:
            return self.result(submission, Outcome(trouble=submission.trouble), {})
        job = self.job([code(submission, self.assignment)])
        outcome = self.sandbox.run(job, self.limits)
        return self.result(submission, outcome, frames(outcome).get(0, {}))

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
        """Verdicts for several notebooks of *trusted* code, in one sandbox."""
        outcome = self.sandbox.run(self.job(notebooks), limits or self.limits)
        found = frames(outcome)
        if outcome.trouble:
            raise RuntimeError(f"{outcome.trouble}: {outcome.printed}")
        return [self.verdicts(found.get(n, {}), None) for n in range(len(notebooks))]

    def result(self, submission, outcome, found) -> Result:
        errors = found.get("cells", {})
        return Result(
            student=submission.student,
            folder=submission.folder,
            digest=submission.digest,
            fingerprint=self.assignment.fingerprint,
            verdicts=self.verdicts(found, outcome.trouble),
            trouble=outcome.trouble,
            cell_errors={f"cell {k}": v for k, v in sorted(errors.items())},
            printed=outcome.printed,
        )

    def verdicts(self, found, trouble) -> dict[str, Verdict]:
        return {
            q.name: self.verdict(q, found, trouble or found.get("ended", {}).get(None))
            for q in self.assignment.questions
        }

    def verdict(self, question, found, trouble) -> Verdict:
        for i, case in enumerate(self.cases[question.name]):
            reason = self.failure(question, case, found, i, trouble)
            if reason:
                return Verdict(0.0, question.points, f"{case.about}: {reason}")
        return Verdict(question.points, question.points)

    def failure(self, question, case, found, i, trouble):
        frame = found.get("calls", {}).get((question.name, i))
        if frame is None:
            ended = found.get("ended", {}).get(question.name)
            stage = found.get("stage")
            return (
                ended
                or (f"{trouble}{f' (at {stage})' if stage else ''}" if trouble else None)
                or f"the code ended before this was called{f' (at {stage})' if stage else ''}"
            )
        if "error" in frame:
            return text(frame["error"])
        try:
            value = decode(frame.get("value"))
        except (Refused, RecursionError) as error:
            return f"the result cannot be read: {error}"
        return question.complaint(case, value)


def text(message) -> str:
    """What a sandbox said, short, and fit for a database."""
    return str(message)[:600].encode("utf-8", "replace").decode("utf-8")


def frames(outcome: Outcome) -> dict:
    """The sandbox's lines, by variant; what is not a frame is ignored.

    The first line for a call counts.  A student may write lines too; they are only answers.
    """
    found: dict = {}
    for line in outcome.lines:
        try:
            frame = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(frame, dict) or type(frame.get("variant")) is not int:
            continue
        mine = found.setdefault(frame["variant"], {"cells": {}, "calls": {}, "ended": {}})
        question = frame.get("question")
        if isinstance(frame.get("stage"), str):
            mine["stage"] = text(frame["stage"])[:60]
        elif isinstance(question, str) and type(frame.get("call")) is int:
            mine["calls"].setdefault((question, frame["call"]), frame)
        elif isinstance(frame.get("ended"), str) and isinstance(question, (str, type(None))):
            mine["ended"].setdefault(question, text(frame["ended"]))
        elif type(frame.get("cell")) is int and isinstance(frame.get("error"), str):
            mine["cells"].setdefault(frame["cell"], text(frame["error"]))
    return found
