"""What students get: the master without solutions, rubrics and outputs."""

from pathlib import Path

from kernelbook.course.assignment import Assignment
from kernelbook.course.student import CODE_STUB, TEXT_STUB, without_solutions

__all__ = ["CODE_STUB", "TEXT_STUB", "release", "student_version"]


def student_version(assignment: Assignment):
    """The student's notebook, as a notebook node."""
    return without_solutions(assignment.master_path)


def release(assignment: Assignment, folder) -> Path:
    """Write FOLDER/NAME/NAME.ipynb; an existing one is replaced, because it is generated."""
    import nbformat

    path = Path(folder) / assignment.name / f"{assignment.name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(student_version(assignment)) + "\n", encoding="utf-8")
    return path
