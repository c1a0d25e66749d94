"""An overview: one line an assignment, for `kernelbook course`."""

from pathlib import Path

from kernelbook.course.assignment import Assignment
from kernelbook.course.gradebook import Course
from kernelbook.course.reports.standing import standings

__all__ = ["overview"]


def overview(root: Path, assignments: list[Assignment]) -> str:
    """The table; without a gradebook, what there is to hand out."""
    there = (root / "gradebook.db").exists()
    header = ("assignment", "points", "due", "handed in", "missing", "by hand", "mean")
    widths = (14, 8, 12, 11, 9, 9, 8)
    lines = ["".join(f"{h:<{w}}" if not k else f"{h:>{w}}" for k, (h, w) in _with(header, widths))]
    with Course(root, keep=there) as book:
        graded = {a.name for a in book.gradebook.assignments} if there else set()
        for assignment in assignments:
            due = book.settings.due.get(assignment.name)
            row = [assignment.name, f"{sum(assignment.points.values()):g}"]
            row += [f"{due:%d %b %Y}" if due else "–"]
            if assignment.name in graded:
                found = standings(book, assignment)
                scored = [s.score for s in found if s.has_score]
                handed_in = sum(s.handed_in for s in found)
                row += [f"{handed_in} of {len(found)}" if book.roster else f"{handed_in}"]
                row += [f"{sum(s.missing for s in found)}" if book.roster else "–"]
                row += [f"{sum(bool(s.to_grade) for s in found)}"]
                row += [f"{sum(scored) / len(scored):.1f}" if scored else "–"]
            else:
                row += ["–"] * 4
            lines.append(
                "".join(f"{c:<{w}}" if not k else f"{c:>{w}}" for k, (c, w) in _with(row, widths))
            )
    where = root if there else f"{root} has no gradebook yet: kernelbook course grade NAME FOLDER"
    return "\n".join([*lines, str(where)])


def _with(cells, widths):
    return enumerate(zip(cells, widths, strict=True))
