"""Grade submissions: what is new, whoever it belongs to, and then all that is written."""

from tqdm import tqdm

from kernelbook.course.assignment import Assignment, find_assignments
from kernelbook.course.assignment import names as all_names
from kernelbook.course.gradebook import Course
from kernelbook.course.grading import Grader
from kernelbook.course.intake import Submission, read
from kernelbook.course.intake.finding import find
from kernelbook.course.reports import tables
from kernelbook.course.reports.standing import standings
from kernelbook.course.reports.writing import write_reports

__all__ = ["collect", "grade_folder", "plan"]


def collect(course: Course, assignment: Assignment, source_) -> list[Submission]:
    """What was handed in, with its owner as the roster knows them.

    Two entries of one student are a conflict of that student alone.
    """
    known = all_names(find_assignments(assignment.folder.parent))
    others = [name for name in known if name != assignment.name]
    handed_in = find(source_, assignment.name, others)
    if not handed_in:
        raise LookupError(
            f"there are no submissions in {source_}; expected STUDENT/{assignment.name}.ipynb, or "
            "what Moodle or Canvas export"
        )
    found: dict[str, Submission] = {}
    for one in handed_in:
        listed = course.roster.find(one.owner)
        who = (listed.name or listed.id, listed.identity) if listed else (None, None)
        made = read(one, assignment, *who)
        if course.roster and listed is None:
            made.remarks.append(f"{one.owner.name!r} is not in the roster; graded under that name")
        first = found.setdefault(made.identity, made)
        if first is not made and first.digest != made.digest:
            first.cells, first.digest = [], ""
            first.trouble = (
                f"there are two submissions of {first.student}: {first.entry} and {made.entry}; "
                "keep one of them and grade this student again"
            )
    return list(found.values())


def plan(course: Course, assignment: Assignment, source_, only=()) -> str:
    """What grading would do, and why; nothing is run or written."""
    lines = []
    width = 28
    for s in _chosen(collect(course, assignment, source_), only):
        done = course.previous(s, assignment)
        what = "unreadable" if s.trouble else "unchanged" if done else "to be graded"
        lines.append(f"{s.identity[: width - 1]:<{width}}{what:<14}{s.file or s.entry}")
        listed = next((r for r in course.roster.students if r.identity == s.identity), None)
        days = listed.days(assignment.name) if listed else 0.0
        late = course.settings.late(assignment.name, s.time, days).words()
        lines += [f"{'':{width}}- {text}" for text in filter(None, [s.trouble, late, *s.remarks])]
    return "\n".join([*lines, "nothing was run or written"])


def _chosen(submissions, only):
    """The students that were asked for, by id or name; all of them without an answer."""
    if not only:
        return submissions
    chosen = [s for s in submissions if {s.identity, s.student, s.entry} & set(only)]
    known = {name for s in submissions for name in (s.identity, s.student, s.entry)}
    if strange := set(only) - known:
        listed = ", ".join(sorted(s.identity for s in submissions)[:10])
        raise LookupError(
            f"no submission of {', '.join(sorted(strange))}; there are those of {listed}, …"
        )
    return chosen


def grade_folder(
    course: Course, assignment: Assignment, source_, *, jobs, again, unsafe, only=()
) -> str:
    """Grade submissions; returns the table to print."""
    submissions = {s.identity: s for s in _chosen(collect(course, assignment, source_), only)}
    course.register(assignment)
    waiting = [
        s for s in submissions.values() if again or only or not course.previous(s, assignment)
    ]
    hidden = (course.root, source_) if source_.is_dir() else (course.root,)
    with (
        Grader(assignment, course.secret, unsafe=unsafe, hidden=hidden) as grader,
        tqdm(total=len(waiting), unit="submission", disable=None) as bar,
    ):
        for result in grader.grade_all(waiting, jobs):
            course.record(assignment, submissions[result.identity], result)
            bar.update()
    write_reports(course, [assignment.name], assignment.folder.parent)
    found = standings(course, assignment)
    shown = [s for s in found if s.student in submissions or not s.handed_in]
    lines = [tables.table(shown)]
    for s in shown:
        if s.result is not None:
            said = filter(None, [s.result.trouble, s.late.words(), *s.result.remarks])
            lines += [f"{s.student}: {text}" for text in said]
    unchanged = len(submissions) - len(waiting)
    where = course.root / "reports" / f"{assignment.name}.html"
    lines.append(f"{len(waiting)} graded, {unchanged} unchanged; the class at a glance: {where}")
    return "\n".join(lines)
