"""Run every notebook and compare what it prints with what is stored (nbval), after checking that
there is something to compare.

nbval skips a cell that was never executed: a notebook without outputs would pass and prove nothing.
So the stored notebook itself is checked first.  Exit status 0 means that every code cell of every
notebook ran and printed exactly the committed text.
"""

import os
import sys
from pathlib import Path

# nbformat validates with jsonschema, which would build a grammar of international addresses: two
# seconds of every start, for a check that no notebook's schema asks for.
sys.modules.setdefault("rfc3987_syntax", None)

import nbformat  # noqa: E402
import pytest  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from run_notebooks import ROOT, notebooks  # noqa: E402


def complaints(path):
    """What is wrong with a stored notebook before anything is run."""
    notebook = nbformat.read(path, as_version=4)
    code = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    for number, cell in enumerate(code, 1):
        where = f"{path}: code cell {number}"
        tags = cell.metadata.get("tags", [])
        if cell.execution_count is None:
            yield f"{where} has never been executed; use `make run`"
        elif cell.execution_count != number:
            yield f"{where} was executed out of order; use `make run`"
        if any(o.output_type == "error" for o in cell.outputs) and "raises-exception" not in tags:
            yield f"{where} stores an error"
        if {"nbval-skip", "nbval-ignore-output", "skip-execution"} & set(tags):
            yield f"{where} is tagged to escape the check: {tags}"
        if any("image/png" in o.get("data", {}) for o in cell.outputs):
            figure = cell.metadata.get("mystnb", {})
            if not figure.get("image", {}).get("alt"):
                yield f"{where} draws a figure without alt text"
            exercise = ROOT / "assignments" in Path(path).resolve().parents  # no page has a number
            if not exercise and not figure.get("figure", {}).get("caption"):
                yield f"{where} draws a figure without a caption"


def main(arguments):
    paths = [Path(a).resolve() for a in arguments] or notebooks()
    for path in paths:
        if not path.is_file():
            sys.exit(f"{path} is not a file; name a notebook, or none for all of them")
    found = [line for path in paths for line in complaints(path)]
    if found:
        sys.exit("\n".join(found))
    # Outside the checkout nbval calls the cells of every notebook alike, and pytest-xdist would run
    # those of one notebook for all.
    inside = all(path.is_relative_to(ROOT) for path in paths)
    nbval = [
        *("-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT)),
        *("--nbval", "--nbval-current-env", "--nbval-cell-timeout", "300"),
        *("--nbval-sanitize-with", str(ROOT / "tools" / "nbval_sanitize.cfg")),
        *(["-n", "2", "--dist", "loadfile"] if len(paths) > 1 and inside else []),
    ]
    os.chdir(ROOT)
    return pytest.main([*nbval, *map(str, paths)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
