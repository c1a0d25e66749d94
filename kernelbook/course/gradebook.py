"""Scores in nbgrader's own gradebook, and the notebooks that formgrader shows.

A course is a folder laid out as nbgrader expects it:

    gradebook.db                           all scores, by machine and by hand
    autograded/STUDENT/NAME/NAME.ipynb     what formgrader opens for manual grading
    autograded/STUDENT/NAME/result.json    what the machine found
    feedback/STUDENT/NAME/NAME.html        what the student gets
    source/NAME, submitted/STUDENT/NAME    empty: by them formgrader finds what there is to show
    grading-secret                         from which hidden inputs are drawn; never hand it out

The notebooks under autograded/ are opened in the instructor's browser, so they are made anew: text
and rubrics come from the master, a student's answers come without anything a browser would run, and
of the outputs only text and PNG pictures remain.
"""

import base64
import binascii
import os
import re
import secrets
from contextlib import contextmanager
from pathlib import Path

from kernelbook.course.assignment import Assignment, kind_of, source
from kernelbook.course.grading import Result
from kernelbook.course.submission import Submission

__all__ = ["Course", "write_atomically"]

SHOWN = 20_000  # characters of text shown of one output
PICTURE = 2 << 20


def write_atomically(path: Path, text: str):
    """The old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8", errors="replace")
    os.replace(temporary, path)


@contextmanager
def schema_version_known():
    """nbgrader starts the command `alembic` to learn the version of its own tables.

    That command may not be on the PATH, and takes seconds; the library behind it does neither.
    """
    from alembic.script import ScriptDirectory
    from nbgrader import api
    from nbgrader.dbutil import ALEMBIC_DIR

    version, before = ScriptDirectory(ALEMBIC_DIR).get_current_head(), api.get_alembic_version
    api.get_alembic_version = lambda: version
    try:
        yield
    finally:
        api.get_alembic_version = before


class Course:
    """A course's folder and gradebook; use it as a context."""

    def __init__(self, root):
        self.root = Path(root).resolve()

    def __enter__(self):
        try:
            from nbgrader.api import Gradebook
        except ImportError:
            raise RuntimeError(
                "the gradebook needs nbgrader; install it with pip install 'kernelbook[course]'"
            ) from None
        self.root.mkdir(parents=True, exist_ok=True)
        path = self.root / "gradebook.db"
        if not path.exists():  # made aside, so that an interruption leaves no half of one
            half = self.root / f".gradebook.{os.getpid()}"
            with schema_version_known():
                Gradebook(f"sqlite:///{half}", "kernelbook").close()
            os.replace(half, path)
        self.gradebook = Gradebook(f"sqlite:///{path}", "kernelbook")
        return self

    def __exit__(self, *_):
        self.gradebook.close()

    @property
    def secret(self) -> str:
        """Made once: without it nobody can know the hidden inputs, with it grades repeat."""
        path = self.root / "grading-secret"
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as stream:
                stream.write(secrets.token_hex(32))
        return path.read_text().strip()

    def place(self, kind, folder, name) -> Path:
        return self.root / kind / folder / name

    def register(self, assignment: Assignment):
        """Tell the gradebook what there is to grade; doing it again changes nothing."""
        book, name = self.gradebook, assignment.name
        book.update_or_create_assignment(name)
        book.update_or_create_notebook(name, name)
        for identity, cell in assignment.cells():
            tag = cell["metadata"]["nbgrader"]
            where = (identity, name, name)
            if tag["grade"]:
                book.update_or_create_grade_cell(
                    *where, max_score=tag["points"], cell_type=cell["cell_type"]
                )
            if tag["solution"]:
                book.update_or_create_solution_cell(*where)
            book.update_or_create_source_cell(
                *where, cell_type=cell["cell_type"], source=source(cell), locked=tag["locked"]
            )

    def previous(self, submission: Submission, assignment: Assignment) -> Result | None:
        """What was found for exactly this file and these checks, if anything was."""
        path = self.place("autograded", submission.folder, assignment.name) / "result.json"
        try:
            result = Result.from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        same = (result.digest, result.fingerprint) == (submission.digest, assignment.fingerprint)
        graded = self._recorded(assignment.name, submission.folder)
        return result if same and graded and submission.trouble is None else None

    def _recorded(self, name, folder):
        from nbgrader.api import MissingEntry

        try:
            return self.gradebook.find_submission(name, folder)
        except MissingEntry:
            return None

    def record(self, assignment: Assignment, submission: Submission, result: Result, stubs: dict):
        """Keep a result: scores, then the notebook for formgrader, then the record itself."""
        book, name, student = self.gradebook, assignment.name, result.folder
        changed = self._changed_answers(assignment, submission)
        book.update_or_create_student(student, last_name=result.student)
        with book.db.no_autoflush:
            self._complete(book.update_or_create_submission(name, student))
        for question, verdict in result.verdicts.items():
            grade = book.find_grade(f"{question}-check", name, name, student)
            grade.auto_score, grade.needs_manual_grade = verdict.points, False
            comment = book.find_comment(question, name, name, student)
            comment.auto_comment = verdict.reason or None
        answers = {c["grade_id"]: c["source"] for c in submission.cells}
        for identity, _ in assignment.cells("manual"):
            grade = book.find_grade(identity, name, name, student)
            answer = answers.get(identity, "").strip()
            if answer in ("", stubs[identity].strip()):
                grade.auto_score, grade.needs_manual_grade = 0.0, False
            elif grade.manual_score is None or identity in changed:
                grade.auto_score, grade.needs_manual_grade = None, True
        book.db.commit()
        import nbformat

        folder = self.place("autograded", student, name)
        shown = shown_notebook(assignment, submission, result)
        write_atomically(folder / f"{name}.ipynb", nbformat.writes(shown) + "\n")
        write_atomically(folder / "result.json", result.to_json())
        for place in (self.root / "source" / name, self.place("submitted", student, name)):
            place.mkdir(parents=True, exist_ok=True)

    def _complete(self, submission):
        """Places for the points of questions that were added since this was graded first."""
        from nbgrader.api import Comment, Grade

        (notebook,) = submission.notebooks
        graded = {grade.cell_id for grade in notebook.grades}
        commented = {comment.cell_id for comment in notebook.comments}
        for cell in notebook.notebook.grade_cells:
            if cell.id not in graded:
                self.gradebook.db.add(Grade(cell_id=cell.id, notebook=notebook))
        for cell in notebook.notebook.solution_cells:
            if cell.id not in commented:
                self.gradebook.db.add(Comment(cell_id=cell.id, notebook=notebook))
        self.gradebook.db.commit()

    def _changed_answers(self, assignment, submission):
        """Answers graded by hand that differ from those of the last grading."""
        import json

        path = self.place("autograded", submission.folder, assignment.name)
        try:
            old = json.loads((path / f"{assignment.name}.ipynb").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return set()
        before = {
            c["metadata"].get("nbgrader", {}).get("grade_id"): source(c) for c in old["cells"]
        }
        return {
            c["grade_id"]
            for c in submission.cells
            if c["grade_id"] in before
            and harmless(c["source"], c["cell_type"]) != before[c["grade_id"]]
        }

    def scores(self, assignment: Assignment) -> list[dict]:
        """One row a student: points by question, what was commented, what is left to grade."""
        rows = []
        for submission in self.gradebook.assignment_submissions(assignment.name):
            (notebook,) = submission.notebooks
            # Only questions that the master still has.
            grades = {g.name: g for g in notebook.grades if g.name in assignment.points}
            if set(grades) != set(assignment.points):
                continue  # of an older master, and not graded since
            rows.append(
                {
                    "student": submission.student.id,
                    "shown": submission.student.last_name or submission.student.id,
                    "score": float(sum(g.score for g in grades.values())),
                    "max_score": float(sum(g.max_score for g in grades.values())),
                    "points": {n: float(g.score) for n, g in grades.items()},
                    "out_of": {n: float(g.max_score) for n, g in grades.items()},
                    "to_grade": sorted(n for n, g in grades.items() if g.needs_manual_grade),
                    "comments": {c.name: c.comment or "" for c in notebook.comments},
                }
            )
        return sorted(rows, key=lambda row: row["student"])


def harmless(text: str, cell_type: str) -> str:
    """A student's text, unable to become a tag or a script where it is rendered as Markdown."""
    if cell_type != "markdown":
        return text
    text = re.sub(r"<(?=[A-Za-z/!?])", "< ", text)  # "< b" is no tag, and in formulas no difference
    return re.sub(r"(?i)\b(javascript|vbscript|data|file)(\s*):", r"\1\2 :", text)


def shown_notebook(assignment: Assignment, submission: Submission, result: Result):
    """The notebook that formgrader shows."""
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

    ours = dict(assignment.cells())
    checks = {f"{name}-check": verdict for name, verdict in result.verdicts.items()}
    cells, seen = [], set()

    def add(cell_type, text, tag=None, outputs=()):
        cell = new_code_cell(text) if cell_type == "code" else new_markdown_cell(text)
        cell["id"] = f"cell-{len(cells)}"
        if tag:
            cell.metadata["nbgrader"] = dict(tag)
        if cell_type == "code":
            cell.outputs = list(outputs)
        cells.append(cell)

    def verdict_output(identity):
        verdict = checks.get(identity)
        if verdict is None:
            return []
        text = f"{verdict.points:g} of {verdict.out_of:g} points. {verdict.reason}\n"
        return [new_output("stream", name="stdout", text=text)]

    def add_ours(identity):
        cell = ours[identity]
        outputs = verdict_output(identity)
        add(cell["cell_type"], source(cell), cell["metadata"]["nbgrader"], outputs)

    for cell in submission.cells:
        identity = cell["grade_id"]
        if identity not in ours or identity in seen:
            kind = "code" if cell["cell_type"] == "code" else "markdown"
            add(kind, harmless(cell["source"], kind), None, safe_outputs(cell))
            continue
        seen.add(identity)
        if kind_of(ours[identity]) in ("solution", "manual"):
            kind = ours[identity]["cell_type"]
            tag = ours[identity]["metadata"]["nbgrader"]
            add(kind, harmless(cell["source"], kind), tag, safe_outputs(cell))
        else:
            add_ours(identity)
    for identity in ours:
        if identity not in seen:
            if kind_of(ours[identity]) in ("solution", "manual"):
                tag = ours[identity]["metadata"]["nbgrader"]
                add(ours[identity]["cell_type"], "(not handed in)", tag)
            else:
                add_ours(identity)
    notebook = new_notebook(cells=cells)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
    }
    return notebook


def safe_outputs(cell):
    """Text and PNG pictures; no HTML, no scripts, no widgets, nothing large."""
    from nbformat.v4 import new_output

    kept = []
    outputs = cell.get("outputs")
    for output in outputs[:50] if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        data = data if isinstance(data, dict) else {}
        picture = data.get("image/png")
        text = output.get("text", data.get("text/plain"))
        if isinstance(text, list) and all(isinstance(t, str) for t in text):
            text = "".join(text)
        if isinstance(picture, str) and is_png(picture):
            clean = {"image/png": picture.replace("\n", "")}
            kept.append(new_output("display_data", data=clean))
        elif isinstance(text, str):
            kept.append(new_output("stream", name="stdout", text=text[:SHOWN]))
    return kept


def is_png(text: str) -> bool:
    if len(text) > PICTURE:
        return False
    try:
        return base64.b64decode(text.replace("\n", ""), validate=True)[:8] == b"\x89PNG\r\n\x1a\n"
    except (binascii.Error, ValueError):
        return False
