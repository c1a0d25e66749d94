"""Submissions on disk: found, read with suspicion, and taken apart into cells.

A file that cannot be read is a submission too: it gets no points and a reason.  Links are not
followed, sizes are checked before anything is read, and names of students become names of folders
only after everything but plain letters is gone.
"""

import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from kernelbook.course.assignment import Assignment, kind_of

__all__ = ["MAX_BYTES", "Submission", "Unreadable", "find", "read", "safe_name"]

MAX_BYTES = 20 << 20


class Unreadable(ValueError):
    """The file is no notebook, or none that should be opened."""


@dataclass
class Submission:
    """One student's notebook."""

    student: str  # as it is shown
    path: Path
    digest: str = ""
    cells: list = field(default_factory=list)
    trouble: str | None = None

    @property
    def folder(self) -> str:
        return safe_name(self.student)


def safe_name(student: str) -> str:
    """A folder's name for a student: unchanged if harmless, else cleaned and made unique."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}", student):
        return student
    clean = re.sub(r"[^A-Za-z0-9]+", "-", student).strip("-")[:40] or "student"
    return f"{clean}-{hashlib.sha256(student.encode('utf-8', 'replace')).hexdigest()[:8]}"


def find(folder, assignment: str) -> list[tuple[str, Path]]:
    """(student, file) for each of the three usual layouts, in order of the students.

    STUDENT/NAME.ipynb, STUDENT/NAME/NAME.ipynb (nbgrader's) or STUDENT.ipynb.  A student's folder
    without the notebook is listed too, with the file that should be there.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder of submissions")
    found = []
    for entry in sorted(folder.iterdir()):
        shown = entry.name.encode("utf-8", "replace").decode("utf-8")
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink():
            deep = entry / assignment / f"{assignment}.ipynb"
            flat = entry / f"{assignment}.ipynb"
            found.append((shown, deep if _there(deep) and not _there(flat) else flat))
        elif entry.suffix == ".ipynb" or entry.is_symlink():
            found.append((shown.removesuffix(".ipynb"), entry))
    return found


def _there(path):
    return os.path.lexists(path)


def load_bytes(path: Path, limit=MAX_BYTES) -> bytes:
    """The bytes of an ordinary file of moderate size, reached without following links."""
    if path.parent.is_symlink() or path.parent.parent.is_symlink():
        raise Unreadable("the submission is a link, not a file")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise Unreadable(f"there is no file {path.name}") from None
    except OSError as error:
        raise Unreadable(f"the file cannot be opened: {error.strerror}") from None
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        os.close(descriptor)
        raise Unreadable("the submission is not an ordinary file")
    with os.fdopen(descriptor, "rb") as stream:
        if info.st_size > limit:
            raise Unreadable(
                f"the file has {info.st_size / 2**20:.0f} MB, more than the {limit >> 20} MB that "
                "are read; clear its outputs and hand it in again"
            )
        return stream.read(limit + 1)


def read(student: str, path: Path) -> Submission:
    """A submission, readable or not; never an exception for what a student wrote."""
    submission = Submission(student, path)
    try:
        raw = load_bytes(path)
        submission.digest = hashlib.sha256(raw).hexdigest()
        submission.cells = _cells(raw)
    except Unreadable as error:
        submission.trouble = str(error)
    return submission


def _cells(raw: bytes):
    try:
        notebook = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the file is not a notebook: {str(error)[:100]}") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("the file is not a notebook: it has no list of cells")
    plain = []
    for cell in cells:
        if not isinstance(cell, dict):
            raise Unreadable("the file is not a notebook: a cell is not an object")
        text = cell.get("source", "")
        if isinstance(text, list) and all(isinstance(line, str) for line in text):
            text = "".join(text)
        if not isinstance(text, str) or cell.get("cell_type") not in ("code", "markdown", "raw"):
            raise Unreadable("the file is not a notebook: a cell has no text or no type")
        plain.append(
            {"cell_type": cell["cell_type"], "source": text, "grade_id": _grade_id(cell)}
            | {"outputs": cell.get("outputs", [])}
        )
    return plain


def _grade_id(cell):
    metadata = cell.get("metadata")
    tag = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = tag.get("grade_id") if isinstance(tag, dict) else None
    return name if isinstance(name, str) else None


def code(submission: Submission, assignment: Assignment) -> list[tuple[int, str]]:
    """The code to run, with the numbers of its cells: all of it but what is ours or drawn.

    Set-up cells come from the master and public checks are not needed; pictures are looked at by
    people.  So cells that carry one of those names are left out, whatever they contain now.
    """
    ours = {name for name, cell in assignment.cells() if kind_of(cell) != "solution"}
    return [
        (number, cell["source"])
        for number, cell in enumerate(submission.cells, 1)
        if cell["cell_type"] == "code" and cell["grade_id"] not in ours and cell["source"].strip()
    ]
