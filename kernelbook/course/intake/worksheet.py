"""Moodle's grading worksheet, which says who a participant is and when something was handed in.

"Download grading worksheet" writes a CSV file; it may lie beside the exported folders, or in the
same zip file.  It is the only place that has the time of a submission for certain: in an export the
files' own times may be those of the export.
"""

import csv
import io
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

__all__ = ["Line", "read_worksheet"]

MOMENTS = (
    "%A, %d %B %Y, %I:%M %p",
    "%A, %B %d, %Y, %I:%M %p",
    "%A, %d %B %Y, %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
)


@dataclass(frozen=True)
class Line:
    """One participant: how else they are known, and when they handed in."""

    known: tuple[str, ...]  # e-mail address, id
    time: float | None
    remark: str = ""


def read_worksheet(raw: bytes, name: str) -> dict[str, Line]:
    """Participants by number; empty if this is some other table."""
    rows = list(csv.reader(io.StringIO(raw.decode("utf-8-sig", "replace"))))
    header, body = (rows[0], rows[1:]) if rows else ([], [])
    numbers = [re.search(r"[0-9]+$", row[0]) for row in body if row]
    if "Identifier" not in header:
        if not body or None in numbers or not any("@" in cell for row in body for cell in row):
            return {}
        remark = (
            f"{name} looks like Moodle's worksheet, in another language: its times were not read; "
            "download it with Moodle set to English"
        )
        return {found[0]: Line((), None, remark) for found in numbers if found}
    found = {}
    for row in body:
        cells = dict(zip(header, row, strict=False))
        number = re.search(r"[0-9]+$", cells["Identifier"]) if cells else None
        if number is None:
            continue
        known = tuple(filter(None, (cells.get("Email address"), cells.get("ID number"))))
        said = cells.get("Last modified (submission)", "").strip()
        time, remark = _moment(said), ""
        if time is None and said not in ("", "-"):
            remark = f"{name} says {said[:40]!r}, which is not understood as a time"
        found[number[0]] = Line(known, time, remark)
    return found


def _moment(text):
    text = " ".join(text.split())
    for form in MOMENTS:
        with suppress(ValueError, OverflowError, OSError):
            return datetime.strptime(text, form).timestamp()
    return None
