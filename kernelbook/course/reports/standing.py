"""Where each student stands in one assignment.

`missing` is not zero: a student of the roster who handed in nothing has no score.  `unreadable` has
none either, until somebody has looked; nor has `unclear`, one of several students of a name under
which something was handed in, until the roster tells them apart.
"""

from dataclasses import dataclass, field

from kernelbook.course.assignment import Assignment
from kernelbook.course.gradebook import Course
from kernelbook.course.grading import Result
from kernelbook.course.settings import Late

__all__ = ["Standing", "standings"]

GRADED, OPEN, MISSING, UNREADABLE = "graded", "to grade", "missing", "unreadable"
UNCLEAR = "unclear"


@dataclass
class Standing:
    """One student, one assignment."""

    student: str
    shown: str
    state: str
    email: str = ""
    earned: float = 0.0  # before anything is taken off
    out_of: float = 0.0
    late: Late = field(default_factory=Late)
    doubt: str = ""  # whether it was late
    points: dict[str, float] = field(default_factory=dict)  # by gradable cell
    each: dict[str, float] = field(default_factory=dict)  # the most, by gradable cell
    to_grade: list[str] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)
    result: Result | None = None

    @property
    def score(self) -> float:
        """What counts: the points after the late policy."""
        return round(self.earned * (1 - self.late.share), 2)

    @property
    def handed_in(self) -> bool:
        return self.state not in (MISSING, UNCLEAR)

    @property
    def missing(self) -> bool:
        return self.state == MISSING

    @property
    def has_score(self) -> bool:
        return self.state in (GRADED, OPEN)


def standings(course: Course, assignment: Assignment) -> list[Standing]:
    """All who handed in, and all of the roster who did not."""
    found, names = [], assignment.points
    enrolled = {s.identity: s for s in course.roster.students}
    unclear: set[str] = set()
    for student, graded in course.graded_points(assignment.name).items():
        if not set(names) <= set(graded["points"]):
            continue  # of an older master, and not graded since
        result = course.stored(assignment.name, student)
        listed = enrolled.pop(student, None)
        if listed is None and result is not None:
            unclear |= {s.identity for s in course.roster.namesakes(result.student)}
        days = listed.days(assignment.name) if listed else 0.0
        time, marked = (result.time, result.marked_late) if result else (None, None)
        late = course.settings.late(assignment.name, time, days)
        left = [n for n in graded["to_grade"] if n in names]
        state = OPEN if left else GRADED
        if left and result is not None and not result.readable:
            state = UNREADABLE
        found.append(
            Standing(
                student,
                (listed and listed.name) or (result.student if result else graded["shown"]),
                state,
                listed.email if listed else "",
                sum(graded["points"][n] for n in names),
                sum(graded["out_of"][n] for n in names),
                late,
                course.settings.doubt(assignment.name, time, marked, late) if result else "",
                {n: graded["points"][n] for n in names},
                {n: graded["out_of"][n] for n in names},
                left,
                graded["comments"],
                result,
            )
        )
    found = _latest(found, {s.identity for s in course.roster.students})
    total = float(sum(names.values()))
    for identity, student in enrolled.items():
        state = UNCLEAR if identity in unclear else MISSING
        made = Standing(identity, student.name or student.id, state, student.email)
        made.out_of = total
        found.append(made)
    return sorted(found, key=lambda s: s.student)


def _latest(found, listed):
    """Without those who were graded under another name until the roster knew them."""
    now = {s.result.entry: s for s in found if s.result and s.student in listed}
    kept = []
    for s in found:
        known = now.get(s.result.entry) if s.result and s.student not in listed else None
        if known is None:
            kept.append(s)
        elif set(s.to_grade) != set(known.to_grade):
            words = f"was graded as {s.student} before: points given by hand there are not here"
            known.doubt = "; ".join(filter(None, [known.doubt, words]))
    return kept
