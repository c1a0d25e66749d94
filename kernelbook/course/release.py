"""What students get: the master without solutions, rubrics and outputs.

nbgrader's own preprocessors do the stripping, so that the released notebook is an nbgrader
notebook: locked cells are locked, checksums are there, and Validate works in JupyterLab.
"""

from pathlib import Path

from traitlets.config import Config

from kernelbook.course.assignment import Assignment

__all__ = ["CODE_STUB", "TEXT_STUB", "release", "student_version"]

CODE_STUB = '# Your code here.\nraise NotImplementedError("not written yet")'
TEXT_STUB = "*Your answer here.*"


def student_version(assignment: Assignment):
    """The student's notebook, as a notebook node."""
    import nbformat
    from nbgrader import preprocessors

    config = Config()
    config.ClearSolutions.code_stub = {"python": CODE_STUB}
    config.ClearSolutions.text_stub = TEXT_STUB
    # A rubric is part of its question's text, which is no cell that nbgrader grades.
    config.ClearMarkScheme.enforce_metadata = False
    notebook = nbformat.read(assignment.master_path, as_version=4)
    for name in (
        "LockCells",
        "ClearSolutions",
        "ClearOutput",
        "CheckCellMetadata",
        "ComputeChecksums",
        "ClearHiddenTests",
        "ClearMarkScheme",
        "ComputeChecksums",  # again: text that lost its rubric
    ):
        step = getattr(preprocessors, name)(config=config)
        notebook, _ = step.preprocess(notebook, {})
    return notebook


def release(assignment: Assignment, folder) -> Path:
    """Write FOLDER/NAME/NAME.ipynb; an existing one is replaced, because it is generated."""
    import nbformat

    path = Path(folder) / assignment.name / f"{assignment.name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(student_version(assignment)) + "\n", encoding="utf-8")
    return path
