"""All that is written after grading, into the course's folder.

grades/NAME.csv, grades/all.csv        tables
grades/NAME-moodle.csv, -canvas.csv    to import
feedback/STUDENT/NAME/NAME.html        a page for each student
return/NAME.zip                        the same pages, to upload
reports/NAME.html, NAME-similar.csv    for the lecturer
"""

from kernelbook.course.assignment import Assignment, find_assignments, kind_of, load, source
from kernelbook.course.assignment import names as all_names
from kernelbook.course.gradebook import Course, write_atomically, write_bytes_atomically
from kernelbook.course.release import student_version
from kernelbook.course.reports import lms, tables
from kernelbook.course.reports.classpage import class_page
from kernelbook.course.reports.similarity import MOST_CODE, pairs
from kernelbook.course.reports.standing import Standing, standings
from kernelbook.course.showing.page import page

__all__ = ["write_one", "write_reports"]


def write_reports(course: Course, names=(), assignments=None) -> str:
    """Tables, exports and pages from the gradebook as it is now; returns the lines to print."""
    graded = {a.name for a in course.gradebook.assignments}
    if unknown := set(names) - graded:
        raise LookupError(f"{', '.join(sorted(unknown))}: nothing was graded yet")
    known = set(all_names(find_assignments(assignments)))
    if strange := set(names) - known:
        raise LookupError(f"there is no assignment {', '.join(sorted(strange))}")
    loaded = sorted((load(n, assignments) for n in graded & known), key=lambda a: a.number)
    lines, everything = [], {}
    for assignment in loaded:
        found = everything[assignment.name] = standings(course, assignment)
        if not names or assignment.name in names:
            write_one(course, assignment, found)
            lines += [f"{assignment.number}. {assignment.title}", tables.table(found), ""]
    write_atomically(course.root / "grades" / "all.csv", tables.course_csv(everything))
    return "\n".join([*lines, f"tables: {course.root / 'grades'}"])


def write_one(course: Course, assignment: Assignment, found: list[Standing]):
    """Everything about one assignment."""
    name, root = assignment.name, course.root
    released = {
        c.metadata.nbgrader.grade_id: source(c)
        for c in student_version(assignment).cells
        if c.cell_type == "code" and kind_of(c) == "solution"
    }
    pages, code = {}, {}
    for s in found:
        if s.result is None:
            continue
        cells = course.handed_in(name, s.student)
        path = course.place("feedback", s.student, name) / f"{name}.html"
        write_atomically(path, page(assignment, s, cells))
        pages[s.student] = path
        mine = [c for c in cells if c["grade_id"] in released]
        code[s.student] = {c["grade_id"]: c["source"][:MOST_CODE] for c in mine}
    similar = pairs(code, released)
    rows = [
        [p.first, p.second, p.question, round(p.share, 3), float(p.runs), float(p.group)]
        for p in similar
    ]
    header = ["student", "student", "question", "share", "runs_in_common", "group"]
    grades, reports = root / "grades", root / "reports"
    title = course.settings.canvas.get(name, "")
    write_atomically(grades / f"{name}.csv", tables.assignment_csv(assignment, found))
    write_atomically(grades / f"{name}-moodle.csv", lms.moodle_csv(assignment, found))
    write_atomically(grades / f"{name}-canvas.csv", lms.canvas_csv(assignment, found, title))
    write_atomically(reports / f"{name}-similar.csv", tables.write_csv(header, rows))
    write_atomically(reports / f"{name}.html", class_page(assignment, found, similar))
    packed = lms.feedback_zip(assignment, found, pages)
    write_bytes_atomically(root / "return" / f"{name}.zip", packed)
