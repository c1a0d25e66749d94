"""How long a chapter takes to read: 150 words of prose a minute, proofs at half that speed, and
fifteen lines of visible code a minute.

    python tools/reading_time.py                      every chapter of the book
    python tools/reading_time.py book/primal/union.ipynb

Formulas count as the words they are typed with.  Exercises and solutions are not counted: the
chapters promise "as long again" for them.  Neither are the questions under "Check yourself".
"""

import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
PROSE, PROOF, CODE = 150, 75, 15  # words, words and lines a minute
EXERCISE = re.compile(r"```\{(exercise|solution)-start\}.*?```\{\1-end\}", re.S)
CHECK = re.compile(r"^````\{admonition\} Check yourself\n.*?^````$", re.S | re.M)
PROVED = re.compile(r"```\{prf:proof\}(.*?)\n```", re.S)
NAMED = re.compile(r"\*\*About\*\* (\d+) minutes")
MARK = "\0code\0"


def cells_outside_exercises(notebook):
    """The text of the chapter, and its code cells, without exercises and their solutions."""
    pieces, code = [], []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            pieces.append(cell.source)
        elif not {"hide-input", "hide-cell"} & set(cell.metadata.get("tags", [])):
            pieces.append(f"{MARK}{len(code)}{MARK}")
            code.append(cell.source)
    text = CHECK.sub("", EXERCISE.sub("", "\n".join(pieces)))
    visible = [code[int(number)] for number in re.findall(f"{MARK}(\\d+){MARK}", text)]
    return re.sub(f"{MARK}\\d+{MARK}", "", text), visible


def minutes(notebook):
    """The time a chapter takes, in minutes."""
    text, code = cells_outside_exercises(notebook)
    proofs = sum(len(proof.split()) for proof in PROVED.findall(text))
    prose = len(PROVED.sub("", text).split())
    lines = sum(bool(line.strip()) for cell in code for line in cell.splitlines())
    return prose / PROSE + proofs / PROOF + lines / CODE


def named_minutes(notebook):
    """The time a chapter names under "Before you start", or None."""
    found = NAMED.search("\n".join(c.source for c in notebook.cells if c.cell_type == "markdown"))
    return int(found[1]) if found else None


def main(arguments):
    parts = ("foundations", "free", "primal", "computing", "evidence")
    paths = [Path(a).resolve() for a in arguments]
    paths = paths or [p for part in parts for p in sorted((ROOT / "book" / part).glob("*.ipynb"))]
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        named = named_minutes(notebook)
        print(f"{path.relative_to(ROOT)}: {minutes(notebook):.0f} minutes, names {named}")


if __name__ == "__main__":
    main(sys.argv[1:])
