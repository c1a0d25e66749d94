"""Whole folders: grade what is new, keep what is done, write what people read."""

from tqdm import tqdm

from kernelbook.course import report
from kernelbook.course.assignment import Assignment, find_assignments, load, source
from kernelbook.course.assignment import names as all_names
from kernelbook.course.gradebook import Course, write_atomically
from kernelbook.course.grading import Grader, Result
from kernelbook.course.release import student_version
from kernelbook.course.showing.page import page
from kernelbook.course.submission import find, read

__all__ = ["grade_folder", "write_reports"]


def grade_folder(course: Course, assignment: Assignment, folder, *, jobs, again, unsafe) -> str:
    """Grade a folder of submissions; returns the table to print."""
    files = find(folder, assignment.name)
    if not files:
        raise LookupError(
            f"there are no submissions in {folder}; expected STUDENT/{assignment.name}.ipynb"
        )
    course.register(assignment)
    stubs = {
        c.metadata.nbgrader.grade_id: source(c)
        for c in student_version(assignment).cells
        if "nbgrader" in c.metadata
    }
    paths, waiting, done = {}, [], 0
    for student, path in files:
        submission = read(student, path)
        if submission.folder in paths:
            raise LookupError(
                f"two submissions belong to {student!r}: {paths[submission.folder]} and {path}"
            )
        paths[submission.folder] = path
        if not again and course.previous(submission, assignment):
            done += 1
        else:
            waiting.append((student, path))
    hidden = (course.root, folder)
    with (
        Grader(assignment, course.secret, unsafe=unsafe, hidden=hidden) as grader,
        tqdm(total=len(waiting), unit="submission", disable=None) as bar,
    ):
        for result in grader.grade_all(waiting, jobs):
            submission = read(result.student, paths[result.folder])
            course.record(assignment, submission, result, stubs)
            bar.update()
    write_reports(course, [assignment.name], assignment.folder.parent)
    rows = course.scores(assignment)
    reasons = [f"{s}: {r}" for s, r in troubles(course, assignment, paths)]
    text = report.table([r for r in rows if r["student"] in paths])
    note = f"{len(waiting)} graded, {done} unchanged; {course.root / 'gradebook.db'}"
    return "\n".join([text, *reasons, note])


def troubles(course, assignment, paths):
    """Submissions that could not be run to their end, and why."""
    for folder in paths:
        result = stored(course, folder, assignment.name)
        if result and result.trouble:
            yield folder, result.trouble


def stored(course: Course, folder, name) -> Result | None:
    path = course.place("autograded", folder, name) / "result.json"
    try:
        return Result.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_reports(course: Course, names=(), assignments=None) -> str:
    """CSV tables and feedback pages from the gradebook as it is now."""
    graded = {a.name for a in course.gradebook.assignments}
    if unknown := set(names) - graded:
        raise LookupError(f"{', '.join(sorted(unknown))}: nothing was graded yet")
    lines, tables = [], {}
    known = set(all_names(find_assignments(assignments)))
    if strange := set(names) - known:
        raise LookupError(f"there is no assignment {', '.join(sorted(strange))}")
    loaded = sorted((load(n, assignments) for n in graded & known), key=lambda a: a.number)
    for assignment in loaded:
        name = assignment.name
        rows = tables[name] = course.scores(assignment)
        if names and name not in names:
            continue
        for row in rows:
            result = stored(course, row["student"], name)
            if result is None:
                continue
            handed_in = course.handed_in(name, row["student"])
            path = course.place("feedback", row["student"], name) / f"{name}.html"
            write_atomically(path, page(assignment, row, result, handed_in))
        write_atomically(
            course.root / "grades" / f"{name}.csv", report.assignment_csv(assignment, rows)
        )
        lines += [f"{assignment.number}. {assignment.title}", report.table(rows), ""]
    write_atomically(course.root / "grades" / "all.csv", report.course_csv(tables))
    return "\n".join([*lines, f"tables: {course.root / 'grades'}"])
