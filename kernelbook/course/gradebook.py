"""Scores in nbgrader's own gradebook, and the notebooks that formgrader shows.

A course is a folder laid out as nbgrader expects it:

    gradebook.db                           all scores, by machine and by hand
    autograded/STUDENT/NAME/NAME.ipynb     what formgrader opens for manual grading
    autograded/STUDENT/NAME/result.json    what the machine found
    autograded/STUDENT/NAME/handed-in.json the cells it was found in
    feedback/STUDENT/NAME/NAME.html        what the student gets
    grades/, return/, reports/             tables, pages to hand back, pages for the lecturer
    course.toml, roster.csv                due dates and the class, written by the lecturer
    source/NAME, submitted/STUDENT/NAME    empty: by them formgrader finds what there is to show
    grading-secret                         from which hidden inputs are drawn; never hand it out

The notebooks under autograded/ are opened in the instructor's browser, so nothing in them is as a
student wrote it; `showing.notebook` makes them.
"""

import json
import os
import re
import secrets
from contextlib import contextmanager
from pathlib import Path

from kernelbook.course.assignment import Assignment, source
from kernelbook.course.grading import Result
from kernelbook.course.intake import Submission
from kernelbook.course.intake.roster import Roster
from kernelbook.course.settings import Settings
from kernelbook.course.showing.notebook import shown_notebook

__all__ = ["Course", "write_atomically", "write_bytes_atomically"]


def write_atomically(path: Path, text: str):
    """The old file or the new one, never half of one."""
    write_bytes_atomically(path, text.encode("utf-8", "replace"))


def write_bytes_atomically(path: Path, data: bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    os.replace(temporary, path)


def shown_name(name: str) -> str:
    """A student's name as pages show it: letters of any language, and nothing a browser reads."""
    return re.sub(r"[^\w .,'@+-]+", " ", name)[:80].strip()


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
    """A course's folder and gradebook; use it as a context.

    keep: whether anything is written; without it, and without a gradebook, one in memory serves.
    """

    def __init__(self, root, keep=True):
        self.root, self.keep = Path(root).resolve(), keep

    def __enter__(self):
        try:
            from nbgrader.api import Gradebook
        except ImportError:
            raise RuntimeError(
                "the gradebook needs nbgrader; install it with pip install 'kernelbook[course]'"
            ) from None
        self.roster = Roster.read(self.root / "roster.csv")
        self.settings = Settings.read(self.root / "course.toml")
        path = self.root / "gradebook.db"
        if not self.keep and not path.exists():
            with schema_version_known():
                self.gradebook = Gradebook("sqlite://", "kernelbook")
            return self
        self.root.mkdir(parents=True, exist_ok=True)
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
        """Made once: without it the hidden inputs cannot be known, with it grades repeat."""
        path = self.root / "grading-secret"
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as stream:
                stream.write(secrets.token_hex(32))
        return path.read_text().strip()

    def stored(self, name, student) -> Result | None:
        """What the machine found in a student's last graded version."""
        path = self.place("autograded", student, name) / "result.json"
        try:
            return Result.from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError):
            return None

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
        result = self.stored(assignment.name, submission.identity)
        if result is None:
            return None
        same = (result.digest, result.fingerprint) == (submission.digest, assignment.fingerprint)
        graded = self._recorded(assignment.name, submission.identity)
        return result if same and graded and submission.trouble is None else None

    def refresh(self, submission: Submission, result: Result, name: str):
        """What is known beside the file's content: it may change while the file does not."""
        before = result.to_json()
        result.file, result.entry, result.number = (
            submission.file,
            submission.entry,
            submission.number,
        )
        result.student, result.remarks = submission.student, submission.remarks
        result.time, result.marked_late = submission.time, submission.marked_late
        if result.to_json() != before:
            path = self.place("autograded", submission.identity, name) / "result.json"
            write_atomically(path, result.to_json())

    def _recorded(self, name, folder):
        from nbgrader.api import MissingEntry

        try:
            return self.gradebook.find_submission(name, folder)
        except MissingEntry:
            return None

    def record(self, assignment: Assignment, submission: Submission, result: Result):
        """Keep a result: scores, then the notebook for formgrader, then the record itself."""
        book, name, student = self.gradebook, assignment.name, result.identity
        changed = self._changed_answers(assignment, submission)
        book.update_or_create_student(student, last_name=shown_name(result.student))
        with book.db.no_autoflush:
            self._complete(book.update_or_create_submission(name, student))
        for question, verdict in result.verdicts.items():
            grade = book.find_grade(f"{question}-check", name, name, student)
            if result.readable:
                grade.auto_score, grade.needs_manual_grade = verdict.points, False
            else:  # never a silent zero: somebody has to look
                grade.auto_score, grade.needs_manual_grade = None, grade.manual_score is None
            comment = book.find_comment(question, name, name, student)
            comment.auto_comment = " ".join(filter(None, (verdict.reason, verdict.hint))) or None
        answers = {c["grade_id"]: c["source"] for c in submission.cells}
        for identity, _ in assignment.cells("manual"):
            grade = book.find_grade(identity, name, name, student)
            answer = answers.get(identity, "").strip()
            left = answer in ("", assignment.stubs[identity].strip())
            if left and not result.by_hand:
                grade.auto_score, grade.needs_manual_grade = 0.0, False
            elif grade.manual_score is None or identity in changed:
                grade.auto_score, grade.needs_manual_grade = None, True
        book.db.commit()
        import nbformat

        folder = self.place("autograded", student, name)
        shown = shown_notebook(assignment, submission.cells, result.verdicts)
        write_atomically(folder / f"{name}.ipynb", nbformat.writes(shown) + "\n")
        write_atomically(folder / "handed-in.json", json.dumps(submission.cells))
        write_atomically(folder / "result.json", result.to_json())
        for place in (self.root / "source" / name, self.place("submitted", student, name)):
            place.mkdir(parents=True, exist_ok=True)

    def graded_points(self, name) -> dict[str, dict]:
        """By student: points, maxima, what is left to grade by hand, comments."""
        found = {}
        for submission in self.gradebook.assignment_submissions(name):
            (notebook,) = submission.notebooks
            found[submission.student.id] = {
                "shown": submission.student.last_name or submission.student.id,
                "points": {g.name: float(g.score) for g in notebook.grades},
                "out_of": {g.name: float(g.max_score) for g in notebook.grades},
                "to_grade": sorted(g.name for g in notebook.grades if g.needs_manual_grade),
                "comments": {c.name: c.manual_comment or "" for c in notebook.comments},
            }
        return found

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

    def handed_in(self, name, folder) -> list[dict]:
        """The cells of the last graded version."""
        path = self.place("autograded", folder, name) / "handed-in.json"
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []

    def _changed_answers(self, assignment, submission):
        """Answers that differ from those of the last grading."""
        before = {
            c["grade_id"]: c["source"] for c in self.handed_in(assignment.name, submission.identity)
        }
        return {
            c["grade_id"]
            for c in submission.cells
            if c["grade_id"] in before and c["source"] != before[c["grade_id"]]
        }
