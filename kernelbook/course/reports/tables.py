"""Tables of scores: CSV for spreadsheets, lines for the terminal."""

import csv
import io

from kernelbook.course.reports.standing import Standing

__all__ = ["assignment_csv", "course_csv", "table", "write_csv"]


def safe_cell(value) -> str:
    """Text for a spreadsheet, unable to become a formula there."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    if text == "-":
        return text
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") else text


def write_csv(header, rows) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow([safe_cell(h) for h in header])
    writer.writerows([safe_cell(v) for v in row] for row in rows)
    return stream.getvalue()


def assignment_csv(assignment, found: list[Standing]) -> str:
    """One assignment: a row a student, a column a question.  What is missing is empty, not 0."""
    names = list(assignment.points)
    header = ["student_id", "name", "state", "score", "max_score", "percent", "days_late"]
    header += ["taken_off", "left_to_grade", "file", *names]
    rows = []
    for s in found:
        row = [s.student, s.shown, s.state]
        if s.has_score:
            taken = round(s.earned - s.score, 2)
            percent = round(100 * s.score / s.out_of, 1)
            row += [s.score, s.out_of, percent, float(s.late.days), taken, float(len(s.to_grade))]
        else:
            row += [None, s.out_of, None, None, None, float(len(s.to_grade))]
        row += [s.result.file if s.result else ""]
        rows.append(row + [s.points.get(n) if s.has_score else None for n in names])
    return write_csv(header, rows)


def course_csv(tables: dict[str, list[Standing]]) -> str:
    """All assignments: a row a student, a column an assignment, the total."""
    most = {name: max((s.out_of for s in found), default=0.0) for name, found in tables.items()}
    students = sorted({s.student: s.shown for found in tables.values() for s in found}.items())
    score = {(s.student, n): s.score for n, found in tables.items() for s in found if s.has_score}
    header = ["student_id", "name", *(f"{n} ({most[n]:g})" for n in tables), "total", "missing"]
    body = []
    for student, shown in students:
        points = [score.get((student, name)) for name in tables]
        there = [p for p in points if p is not None]
        total = float(sum(there)) if there else None
        body.append([student, shown, *points, total, float(len(points) - len(there))])
    return write_csv(header, body)


def table(found: list[Standing]) -> str:
    """One line a student, for the terminal."""
    lines = [f"{'student':<28}{'score':>8}{'of':>6}{'late':>6}{'by hand':>9}  state"]
    for s in found:
        name = "".join(c if c.isprintable() else "?" for c in s.student)[:27]
        score = f"{s.score:g}" if s.has_score else "–"
        late = f"{s.late.days} d" if s.late.days else "–"
        left = f"{len(s.to_grade)}" if s.to_grade else "–"
        lines.append(f"{name:<28}{score:>8}{s.out_of:>6g}{late:>6}{left:>9}  {s.state}")
    return "\n".join(lines)
