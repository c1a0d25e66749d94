"""Tables of scores: for a learning management system, and for the terminal."""

import csv
import io

__all__ = ["assignment_csv", "course_csv", "table"]


def cell(value) -> str:
    """Text for a spreadsheet, unable to become a formula there."""
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") else text


def write(header, rows) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow([cell(h) for h in header])
    writer.writerows([cell(v) for v in row] for row in rows)
    return stream.getvalue()


def assignment_csv(assignment, rows) -> str:
    """One assignment: a row a student, a column a question."""
    names = list(assignment.points)
    header = ["student_id", "name", "score", "max_score", "percent", "left_to_grade", *names]
    return write(
        header,
        [
            [r["student"], r["shown"], r["score"], r["max_score"]]
            + [round(100 * r["score"] / r["max_score"], 1), float(len(r["to_grade"]))]
            + [r["points"][n] for n in names]
            for r in rows
        ],
    )


def course_csv(tables: dict[str, list[dict]]) -> str:
    """All assignments: a row a student, a column an assignment, the total."""
    most = {name: max((r["max_score"] for r in rows), default=0.0) for name, rows in tables.items()}
    students = sorted({r["student"]: r["shown"] for rows in tables.values() for r in rows}.items())
    score = {(r["student"], name): r["score"] for name, rows in tables.items() for r in rows}
    header = ["student_id", "name", *(f"{n} ({most[n]:g})" for n in tables), "total"]
    body = []
    for student, shown in students:
        points = [score.get((student, name), 0.0) for name in tables]
        body.append([student, shown, *points, float(sum(points))])
    return write(header, body)


def table(rows) -> str:
    """One line a student, for the terminal."""
    lines = [f"{'student':<32}{'score':>8}{'of':>7}{'  left to grade by hand'}"]
    for r in rows:
        name = "".join(c if c.isprintable() else "?" for c in r["student"])[:31]
        left = f"{len(r['to_grade'])}" if r["to_grade"] else "-"
        lines.append(f"{name:<32}{r['score']:>8g}{r['max_score']:>7g}  {left}")
    return "\n".join(lines)
