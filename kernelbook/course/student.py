"""A master notebook without solutions, rubrics and outputs.

nbgrader's own preprocessors do the stripping, so that the released notebook is an nbgrader
notebook: locked cells are locked, checksums are there, and Validate works in JupyterLab.
"""

from pathlib import Path

from traitlets.config import Config

__all__ = ["CODE_STUB", "TEXT_STUB", "without_solutions"]

CODE_STUB = '# Your code here.\nraise NotImplementedError("not written yet")'
TEXT_STUB = "*Your answer here.*"


def without_solutions(master: Path):
    """The student's notebook, as a notebook node."""
    import nbformat
    from nbgrader import preprocessors

    config = Config()
    config.ClearSolutions.code_stub = {"python": CODE_STUB}
    config.ClearSolutions.text_stub = TEXT_STUB
    # A rubric is part of its question's text, which is no cell that nbgrader grades.
    config.ClearMarkScheme.enforce_metadata = False
    notebook = nbformat.read(master, as_version=4)
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
