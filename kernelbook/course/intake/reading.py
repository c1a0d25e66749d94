"""A notebook's cells out of bytes, whatever an editor, a browser or a mail program did to them.

A byte-order mark, Windows line ends, another encoding and the old notebook format are read; what is
no notebook is refused in words that name the file and say what to do.
"""

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from kernelbook.course.assignment import Assignment, kind_of, source
from kernelbook.course.intake.finding import HandedIn, several
from kernelbook.course.intake.matching import matched, untouched
from kernelbook.course.intake.names import safe_name
from kernelbook.course.intake.opening import Unreadable
from kernelbook.course.showing.outputs import Budget, kept_outputs

__all__ = ["Submission", "code", "read"]

TYPOGRAPHIC = re.compile(
    "[\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2212\u2013\u00a0\u200b]"
)

# More than any honest notebook has, and little enough for a hundred of them to be in memory.
CELLS = 5_000
CHARACTERS = 4_000_000
MEMBERS = 1_000_000  # lists and objects in a file
REMARKS, REMARK = 50, 300
DAMAGED = "damaged"


@dataclass
class Submission:
    """One student's notebook."""

    student: str  # as it is shown
    identity: str  # the student's id, also a folder's name
    file: str = ""
    entry: str = ""
    number: str = ""
    digest: str = ""
    cells: list = field(default_factory=list)
    trouble: str | None = None  # why it cannot be read
    remarks: list[str] = field(default_factory=list)
    unmatched: bool = False  # answers that belong to no question: somebody has to look
    time: float | None = None  # when it was handed in
    marked_late: bool | None = None  # by Canvas


def read(handed_in: HandedIn, assignment: Assignment, student=None, identity=None) -> Submission:
    """A submission, readable or not; never an exception for what a student wrote."""
    student = student or handed_in.owner.name
    made = Submission(
        student,
        identity or safe_name(handed_in.owner.name),
        handed_in.file,
        handed_in.entry,
        handed_in.owner.number,
        remarks=list(handed_in.remarks),
        trouble=handed_in.trouble,
        marked_late=handed_in.owner.late,
    )
    if handed_in.trouble is not None or handed_in.read is None:
        return made
    try:
        made.file, chosen = _meant(handed_in, assignment, made.remarks)
        raw, made.time = chosen()
        made.digest = hashlib.sha256(raw).hexdigest()
        cells = cells_of(raw, made.file, made.remarks)
        made.cells, made.unmatched = matched(cells, assignment, made.remarks)
    except Unreadable as error:
        made.trouble = str(error)[: 2 * REMARK]
    except OSError as error:
        made.trouble = f"{made.file} cannot be read ({error.strerror}); copy it and grade again"
    if len(made.remarks) > REMARKS:
        more = len(made.remarks) - REMARKS
        made.remarks[REMARKS:] = [f"and {more} more remarks of this kind"]
    made.remarks[:] = [r if len(r) <= REMARK else f"{r[:REMARK]} …" for r in made.remarks]
    return made


def _meant(handed_in, assignment, remarks):
    """The notebook to grade, of those that may be meant.

    Copies with the same answers are one, and those without any answer are set aside.  Where two are
    left, a person decides: neither a name nor a time says which of them a student means.
    """
    first = (handed_in.file, handed_in.read)
    meant = [first, *handed_in.rivals]
    if len(meant) == 1 and not handed_in.others:
        return first
    answers = [_answers(read, shown, assignment) for shown, read in meant]
    if not any(answers) and handed_in.others:
        meant += handed_in.others
        answers += [_answers(read, shown, assignment) for shown, read in handed_in.others]
    chosen = {}
    for one, key in zip(meant, answers, strict=True):
        if key:
            chosen.setdefault(key, one)
    if len(chosen) > 1:
        names = [shown for (shown, _), key in zip(meant, answers, strict=True) if key]
        raise Unreadable(several(names, assignment.name))
    shown, read = next(iter(chosen.values()), first)
    if chosen and not all(answers):
        empty = [name for (name, _), key in zip(meant, answers, strict=True) if not key]
        remarks[:] = [r for r in remarks if r != f"read from {first[0]}"]
        remarks.append(f"read from {shown}; without any answer: {', '.join(empty[:3])}")
    elif len(meant) > 1 and PurePosixPath(shown).name != f"{assignment.name}.ipynb":
        remarks.append(f"read from {shown}")
    return shown, read


def _answers(read, shown, assignment):
    """A digest of what a notebook answers; None if it is still the one that was handed out."""
    raw, _ = read()
    try:
        cells = cells_of(raw, shown, [])
        matched(cells, assignment, [])
    except Unreadable:  # somebody has to see it
        return hashlib.sha256(raw).hexdigest()
    if untouched(cells, assignment):
        return None
    manual = {name for name, _ in assignment.cells("manual")}
    told = [
        (c["source"].strip(), c["outputs"] if c["grade_id"] in manual else [])
        for c in cells
        if c["source"].strip()
    ]
    return hashlib.sha256(json.dumps(told, default=str).encode()).hexdigest()


def cells_of(raw: bytes, shown: str, remarks: list) -> list[dict]:
    """Plain cells: type, text, outputs, nbgrader's name if there is one."""
    notebook = _parsed(_text(raw, shown, remarks), shown)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    if cells is None and isinstance(sheets, list):
        remarks.append("the notebook is in an old format, from before 2015")
        cells = [c for s in sheets if isinstance(s, dict) for c in s.get("cells", ())]
    if not isinstance(cells, list):
        raise Unreadable(
            f"{shown} is not a notebook: it has no list of cells; save it in JupyterLab and hand "
            "it in again"
        )
    if len(cells) > CELLS:
        raise Unreadable(
            f"{shown} has {len(cells)} cells, more than the {CELLS} that are read; hand in the "
            "notebook as it was handed out, with your answers"
        )
    plain = [_plain(cell) for cell in cells]
    if damaged := [n for n, c in enumerate(plain, 1) if c["cell_type"] == DAMAGED]:
        remarks.append(f"{_cells(damaged)}: no text or no type; left out")
        for n in damaged:
            plain[n - 1]["cell_type"] = "raw"
    if (size := sum(len(c["source"]) for c in plain)) > CHARACTERS:
        raise Unreadable(
            f"{shown} has {size / 1e6:.0f} million characters in its cells, outputs not counted, "
            f"more than the {CHARACTERS // 10**6} million that are read; take out what is not "
            "yours and hand it in again"
        )
    # Of outputs only what can be shown is kept: a class's notebooks are in memory together.
    budget = Budget(text=2 * Budget.text, pictures=2 * Budget.pictures, pixels=2 * Budget.pixels)
    for cell in plain:
        cell["outputs"] = kept_outputs(cell, budget)
    odd = [n for n, c in enumerate(plain, 1) if c["cell_type"] == "code" and _typographic(c)]
    if odd:
        remarks.append(
            f"typographic quotes or dashes, as a word processor makes them, in the code of "
            f"{_cells(odd)}: read as plain ones where Python understands nothing else"
        )
    return plain


def _typographic(cell):
    return TYPOGRAPHIC.search(cell["source"]) is not None


def _cells(numbers):
    more = f" and {len(numbers) - 10:,} more" if len(numbers) > 10 else ""
    return f"cell{'s' * (len(numbers) > 1)} " + ", ".join(map(str, numbers[:10])) + more


def _text(raw, shown, remarks):
    if raw[:4] == b"PK\x03\x04":
        raise Unreadable(f"{shown} is a zip file by another name; name it .zip, or unpack it")
    if raw[:5] == b"%PDF-":
        raise Unreadable(f"{shown} is a PDF; hand in the notebook, whose name ends in .ipynb")
    if not raw.strip():
        raise Unreadable(f"{shown} is empty; save the notebook and hand it in again")
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if raw.startswith(mark):
            remarks.append("the file was in UTF-16")
            return raw.decode(encoding, "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if raw.lstrip()[:1] != b"{":
            raise Unreadable(
                f"{shown} is not a notebook but some other kind of file; hand in the file whose "
                "name ends in .ipynb"
            ) from None
        remarks.append(f"the file is not in UTF-8 (byte {error.start}): read as Windows-1252")
        return raw.decode("cp1252", "replace")


def _parsed(text, shown):
    if text.count("[") + text.count("{") > MEMBERS:  # small text can unpack to large memory
        raise Unreadable(
            f"{shown} has more than {MEMBERS} brackets; clear its outputs and hand it in again"
        )
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        if text.lstrip()[:1] == "<":
            raise Unreadable(
                f"{shown} is a web page, not a notebook; use Download in JupyterLab, not Save page"
            ) from None
        where = getattr(error, "pos", None)
        cut = where is not None and where >= len(text.rstrip()) - 1
        cut = cut or "Unterminated" in str(error)
        why = "it ends too early" if cut else f"it is damaged ({str(error)[:80]})"
        raise Unreadable(
            f"{shown} is not a notebook: {why}; save it in JupyterLab and hand it in again"
        ) from None


def _plain(cell):
    made = {"cell_type": DAMAGED, "source": "", "grade_id": None, "outputs": []}
    if not isinstance(cell, dict):
        return made
    text = cell.get("source", cell.get("input", ""))
    if isinstance(text, list) and all(isinstance(line, str) for line in text):
        text = "".join(text)
    kind = cell.get("cell_type")
    if not isinstance(text, str) or kind not in ("code", "markdown", "raw", "heading"):
        return made
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    kind = "markdown" if kind == "heading" else kind
    outputs = cell.get("outputs", [])
    return {"cell_type": kind, "source": text, "grade_id": _grade_id(cell), "outputs": outputs}


def _grade_id(cell):
    metadata = cell.get("metadata")
    tag = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = tag.get("grade_id") if isinstance(tag, dict) else None
    return name if isinstance(name, str) else None


def code(submission: Submission, assignment: Assignment) -> list[tuple[int, str]]:
    """The code to run, with the numbers of its cells: all of it but what is ours or drawn.

    Set-up cells come from the master, public checks are not needed, pictures are looked at by
    people.  A set-up or check cell that was changed is the student's, and runs.
    """
    ours = {name: cell for name, cell in assignment.cells() if kind_of(cell) != "solution"}
    # A function that was not written is run first: it must not replace one written above it.
    untouched = {text.strip() for text in assignment.stubs.values()}
    chosen = [
        (number, cell["source"])
        for number, cell in enumerate(submission.cells, 1)
        if cell["cell_type"] == "code"
        and cell["source"].strip()
        and not _left_out(cell, ours.get(cell["grade_id"]))
    ]
    return sorted(chosen, key=lambda one: one[1].strip() not in untouched)


def _left_out(cell, ours):
    if ours is None:
        return False
    return kind_of(ours) == "manual" or cell["source"].strip() == source(ours).strip()
