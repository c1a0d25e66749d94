"""Grade submissions: what is new, whoever it belongs to, and then all that is written."""

from tqdm import tqdm

from kernelbook.course.assignment import Assignment, find_assignments
from kernelbook.course.assignment import names as all_names
from kernelbook.course.gradebook import Course
from kernelbook.course.grading import Grader
from kernelbook.course.intake import Submission, read
from kernelbook.course.intake.finding import find
from kernelbook.course.intake.names import printable, safe_name
from kernelbook.course.reports import tables
from kernelbook.course.reports.standing import standings
from kernelbook.course.reports.writing import write_reports

__all__ = ["collect", "grade_folder", "plan"]


def collect(course: Course, assignment: Assignment, source_) -> list[Submission]:
    """What was handed in, with its owner as the roster knows them.

    Two entries of one student are a conflict of that student alone.  Entries with different numbers
    in a learning management system are different students, whatever they are called.
    """
    known = all_names(find_assignments(assignment.folder.parent))
    others = [name for name in known if name != assignment.name]
    handed_in = find(source_, assignment.name, others)
    if not handed_in:
        raise LookupError(
            f"there are no submissions in {source_}; expected STUDENT/{assignment.name}.ipynb, or "
            "what Moodle or Canvas export"
        )
    by_identity: dict[str, list[tuple[Submission, bool]]] = {}
    for one in handed_in:
        listed, certain = course.roster.find(one.owner, assignment.name)
        who = (listed.name or listed.id, listed.identity) if listed else (None, None)
        made = read(one, assignment, *who)
        if course.roster and listed is None:
            same = course.roster.namesakes(one.owner.name)
            if len(same) > 1 and made.number:
                _name_by_number(made, f"{len(same)} students of the roster are")
            else:
                name = repr(one.owner.name)
                made.remarks.append(f"{name} is not in the roster; graded under that name")
        by_identity.setdefault(made.identity, []).append((made, certain))
    found: dict[str, Submission] = {}
    for made in _told_apart(course, assignment, by_identity):
        first = found.setdefault(made.identity, made)
        if first is made or first.digest == made.digest:
            continue
        if bool(first.file) != bool(made.file):  # text typed into Moodle has a folder of its own
            kept, other = (first, made) if first.file else (made, first)
            kept.remarks.append(f"{other.entry} was not read: {other.trouble}")
            found[made.identity] = kept
            continue
        first.cells, first.digest = [], ""
        first.trouble = (
            f"there are two submissions of {first.student}: {first.entry} and {made.entry}; "
            "keep one of them and grade this student again"
        )
    return list(found.values())


def _told_apart(course, assignment, by_identity):
    """Students of one name get identities of their own, by their numbers."""
    for identity, group in by_identity.items():
        several = len({made.number for made, _ in group if made.number}) > 1
        before = course.stored(assignment.name, identity) if several else None
        for made, certain in group:
            kept = certain or (before is not None and before.number == made.number)
            if several and made.number and not kept:
                _name_by_number(made, "several students are")
            yield made


def _name_by_number(made, who):
    made.identity = safe_name(f"{made.student}-{made.number}")
    made.remarks.append(
        f"{who} called {made.student}: graded as {made.identity}; a column 'number' in the roster, "
        f"with {made.number} for this one, or Moodle's worksheet beside the files tells them apart"
    )


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
        late = course.settings.late(assignment.name, s.time, days)
        doubt = course.settings.doubt(assignment.name, s.time, s.marked_late, late)
        said = filter(None, [s.trouble, late.words(), doubt, *s.remarks])
        lines += [f"{'':{width}}- {text}" for text in said]
    return "\n".join([*map(printable, lines), "nothing was run or written"])


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
    waiting = []
    for s in submissions.values():
        done = None if again or only else course.previous(s, assignment)
        if done is None:
            waiting.append(s)
        else:
            course.refresh(s, done, assignment.name)
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
            said = filter(None, [s.result.trouble, s.late.words(), s.doubt, *s.result.remarks])
            lines += [printable(f"{s.student}: {text}") for text in said]
    unchanged = len(submissions) - len(waiting)
    where = course.root / "reports" / f"{assignment.name}.html"
    lines.append(f"{len(waiting)} graded, {unchanged} unchanged; the class at a glance: {where}")
    return "\n".join(lines)
