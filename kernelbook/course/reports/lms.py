"""What Moodle and Canvas import as they are, and the feedback pages to hand back.

Moodle: the assignment's grading worksheet (View all submissions → Upload grading worksheet), and a
zip file of feedback (→ Upload multiple feedback files in a zip).  Both know a student by the
participant's number in the names of the folders that Moodle exported.  Where the files did not come
from Moodle's export, the general import (Grades → Import → CSV) takes the table by e-mail address.
The worksheet must say when a grade was last changed in Moodle; "-" is what Moodle writes for a
student without a grade, and keeps it from replacing one that was given there meanwhile.

Canvas: the table of Grades → Import, with the user's number from the names of the files, and the
student's id as SIS User ID from the roster.  Canvas knows an assignment by its exact title, or the
number behind it, and offers to make a new one otherwise.

Missing students have no line in either: a program that imports grades takes an empty one for zero.
"""

import io
import re
import zipfile
from pathlib import Path

from kernelbook.course.reports.standing import Standing
from kernelbook.course.reports.tables import write_csv

__all__ = ["canvas_csv", "feedback_zip", "moodle_csv"]


def moodle_csv(assignment, found: list[Standing]) -> str:
    """The grading worksheet of one assignment."""
    header = ["Identifier", "Full name", "ID number", "Email address", "Grade", "Maximum Grade"]
    header += ["Last modified (grade)", "Feedback comments"]
    rows = []
    for s in found:
        if s.has_score and s.result is not None:
            number = s.result.number
            # Moodle takes the digits at the end of an identifier for a number, whoever's it is.
            identifier = f"Participant {number}" if number and not of_canvas(s) else ""
            row = [identifier, s.shown, s.student, s.email, s.score, s.out_of]
            rows.append([*row, "-", s.late.words()])
    return write_csv(header, rows)


def canvas_csv(assignment, found: list[Standing], title: str = "") -> str:
    """The gradebook's columns, with one assignment and the line of points possible.

    title: the assignment's title in Canvas, with or without its number in brackets behind it.
    """
    title = title or f"{assignment.number}. {assignment.title}"
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]
    total = float(sum(assignment.points.values()))
    rows = [["    Points Possible", "", "", "", "", total]]
    for s in found:
        if s.has_score and s.result is not None:
            words = s.shown.split()
            name = f"{words[-1]}, {' '.join(words[:-1])}" if len(words) > 1 else s.shown
            number = s.result.number if of_canvas(s) else ""
            rows.append([name, number, s.student, s.email, "", s.score])
    return write_csv(header, rows)


def of_canvas(standing) -> bool:
    """Whether the file came from Canvas, whose names say if it was late; its number is of there."""
    return standing.result.marked_late is not None


def feedback_zip(assignment, found: list[Standing], pages: dict[str, Path]) -> bytes:
    """One folder a student, called as the learning management system called it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        taken = set()
        for s in found:
            page = pages.get(s.student)
            if page is None or s.result is None:
                continue
            folder = re.sub(r"[\x00-\x1f/\\:*?\"<>|]+", "_", s.result.entry or s.student)
            folder = re.sub(r"(?i)\.(ipynb|zip)$", "", folder).strip(". ") or s.student
            if folder in taken:
                folder = f"{folder}-{s.student}"
            taken.add(folder)
            info = zipfile.ZipInfo(f"{folder}/{assignment.name}-feedback.html")
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, page.read_text(encoding="utf-8"))
    return stream.getvalue()
