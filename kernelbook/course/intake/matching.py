"""Which cell answers which question.

nbgrader's tags say so, as long as they are there.  Some editors drop them, and splitting or copying
a cell doubles them.  Then a cell is recognized by what it is: text of ours by its words, a function
by its name, a written answer or a picture by the heading above it and the order of the cells.

Where the tags are there and a cell was left as it was handed out, the answer may stand in a cell of
the student's own below it, or in the question's text.  It is taken for the answer if it stands
under the same heading; if that does not settle it, somebody has to look.
"""

import re
from collections import Counter

from kernelbook.course.assignment import Assignment, kind_of, source

__all__ = ["matched", "untouched"]

HEADING = re.compile(r"^#+\s*Question\s+(\d+)\b", re.IGNORECASE | re.MULTILINE)
DRAWS = re.compile(
    r"\b(?:plt|pyplot|pylab|ax|axes|fig)\b|\.(?:plot|semilog[xy]|loglog|imshow|scatter|contour\w*)\("
)
# Code that functions in other cells may need: it must go on running where it stands.
DEFINES = re.compile(r"^(?:async\s+def|def|class|import|from(?!\s+matplotlib))\b", re.MULTILINE)
PLOTTING = re.compile(r"^import\s+matplotlib.*$", re.MULTILINE)
NEW_WORDS = 5  # in the text of a question, that make an answer


def matched(cells: list[dict], assignment: Assignment, remarks: list) -> tuple[list[dict], bool]:
    """The cells with every name that can be found, and whether something was left unmatched."""
    ours, stubs = dict(assignment.cells()), assignment.stubs
    _join_doubles(cells, ours, remarks)
    present = {c["grade_id"] for c in cells}
    expected = [n for n, c in ours.items() if kind_of(c) in ("solution", "manual")]
    missing = [n for n in expected if n not in present]
    _recognize_ours(cells, ours)
    functions = {n for n in missing if kind_of(ours[n]) == "solution"}
    found = _recognize_functions(cells, functions)
    found |= _recognize_answers(cells, ours, set(missing) - functions)
    if found:
        names = ", ".join(sorted(found))
        remarks.append(
            f"the notebook had lost its tags; these answers were recognized by their place: {names}"
        )
    _functions_elsewhere(cells, ours, stubs)
    doubtful = _answers_elsewhere(cells, ours, stubs, remarks)
    lost = [n for n in missing if n not in found and n not in functions]
    loose = [c for c in cells if c["grade_id"] is None and _words(c["source"])]
    if lost and loose:
        remarks.append(
            f"no cell could be recognized as the answer to {', '.join(lost)}; please look at the "
            "whole notebook"
        )
    elif doubtful:
        remarks.append(
            f"nothing stands where {', '.join(doubtful)} should be answered, but something does in "
            "other cells; please look at the whole notebook"
        )
    return cells, bool((lost and loose) or doubtful)


def untouched(cells: list[dict], assignment: Assignment) -> bool:
    """Whether every cell is as it was handed out, or empty."""
    ours = dict(assignment.cells())
    known = {*_known(ours), *(_words(text) for text in assignment.stubs.values()), ""}
    return all(_words(cell["source"]) in known for cell in cells)


def _words(text):
    return re.sub(r"[\s>#*_`]+", " ", text).strip()


def _join_doubles(cells, ours, remarks):
    """A written answer that was split in two is one answer; other doubles lose the name."""
    named: dict = {}
    for cell in cells:
        name = cell["grade_id"]
        if name not in ours:
            cell["grade_id"] = None
        else:
            named.setdefault(name, []).append(cell)
    for name, (first, *others) in named.items():
        parts, seen = [first], {first["source"].strip(), ""}
        for cell in others:
            cell["grade_id"] = None
            if kind_of(ours[name]) == "manual" and cell["source"].strip() not in seen:
                seen.add(cell["source"].strip())
                parts.append(cell)
        if len(parts) > 1:
            _join(parts)
            remarks.append(f"the answer to {name} stood in several cells")


def _join(cells):
    """All of them in the first; at once, since there may be thousands."""
    text = "\n\n".join(c["source"].strip() for c in cells if c["source"].strip())
    outputs = [o for c in cells for o in _list(c["outputs"])]
    for cell in cells:
        cell["source"], cell["outputs"] = "", []
    cells[0]["source"], cells[0]["outputs"] = text, outputs


def _list(outputs):
    return outputs if isinstance(outputs, list) else []


def _known(ours):
    """The words of what is ours, with and without its rubric, and its name."""
    return {
        _words(text): n
        for n, c in ours.items()
        if kind_of(c) not in ("solution", "manual")
        for text in (source(c), source(c).split("<!-- BEGIN MARK")[0])
    }


def _recognize_ours(cells, ours):
    """Text, set-up and checks that are still what we wrote."""
    known = _known(ours)
    taken = {c["grade_id"] for c in cells}
    for cell in cells:
        name = known.get(_words(cell["source"]))
        if cell["grade_id"] is None and name is not None and name not in taken:
            cell["grade_id"] = name
            taken.add(name)


def _recognize_functions(cells, missing):
    """A function by its definition: the last one counts, as it does when the cells run."""
    found = set()
    for cell in reversed(cells):
        if cell["cell_type"] != "code" or cell["grade_id"] is not None:
            continue
        for name in re.findall(r"^(?:async\s+)?def\s+(\w+)\s*\(", cell["source"], re.MULTILINE):
            if name in missing and name not in found:
                cell["grade_id"] = name
                found.add(name)
                break
    return found


def _recognize_answers(cells, ours, missing):
    """What stands below a question's heading, is of the right kind and is nothing else."""
    numbers, number = {}, None
    for name, cell in ours.items():
        if cell["cell_type"] == "markdown" and (heading := HEADING.search(source(cell))):
            number = heading[1]
        if name in missing:
            numbers.setdefault(number, []).append(name)
    parts: dict = {}
    for cell, number in zip(cells, _sections(cells), strict=True):
        text = cell["source"]
        if cell["cell_type"] == "markdown" and HEADING.search(text):
            continue
        if cell["grade_id"] is not None or not text.strip():
            continue
        for name in numbers.get(number, ()):
            # Code that does not draw is run, and a picture's is not.
            if ours[name]["cell_type"] == cell["cell_type"] and (
                cell["cell_type"] != "code" or _draws(cell)
            ):
                parts.setdefault(name, []).append(cell)
                break
    for name, answer in parts.items():
        answer[0]["grade_id"] = name
        _join(answer)
    return set(parts)


def _functions_elsewhere(cells, ours, stubs):
    """A function written in a cell of its own, while the one that was handed out is untouched."""
    untouched = {
        c["grade_id"]: c
        for c in cells
        if c["grade_id"] in ours
        and kind_of(ours[c["grade_id"]]) == "solution"
        and _words(c["source"]) in ("", _words(stubs[c["grade_id"]]))
    }
    for name in _recognize_functions(cells, set(untouched)):
        untouched[name]["grade_id"] = None


def _answers_elsewhere(cells, ours, stubs, remarks):
    """Answers beside cells that were left as they were; the names of those nobody can be sure of.

    Text under the question's heading is the answer; so is code that draws, for a picture.  Other
    code there, and text or pictures that stand anywhere else, are for somebody to look at.
    """
    manual = [n for n, c in ours.items() if kind_of(c) == "manual"]
    known = {*_known(ours), *(_words(text) for text in stubs.values()), ""}
    own = {n: c for c in cells if (n := c["grade_id"]) in manual}
    bare = {n for n in manual if n not in own or _words(own[n]["source"]) in known}
    if not bare:
        return []
    sections, questions = _sections(cells), _sections(ours.values())
    asked = dict(zip(ours, questions, strict=True))
    below: dict = {}  # by heading: the student's own cells, and what they wrote into our text
    for cell, number in zip(cells, sections, strict=True):
        name = cell["grade_id"]
        if name is None and _words(cell["source"]) not in known:
            below.setdefault(number, []).append(cell)
        elif name in ours and kind_of(ours[name]) == "text" and (more := _added(cell, ours[name])):
            made = {"cell_type": "markdown", "source": more, "outputs": []}
            below.setdefault(number, []).append(made)
    doubtful = []
    for name in [n for n in manual if n in bare]:
        drawn, here = ours[name]["cell_type"] == "code", below.get(asked[name], [])
        theirs = [c for c in here if _is_answer(c, drawn)]
        if theirs and name in own:
            own[name]["source"] = ""
            _join([own[name], *theirs])
            below[asked[name]] = [c for c in here if c["source"]]
            remarks.append(f"the answer to {name} stood in a cell of its own")
            continue
        everywhere = [c for group in below.values() for c in group]
        code = any(c["cell_type"] == "code" for c in here)
        if theirs or code or _anywhere(cells, everywhere, drawn):
            doubtful.append(name)
    return doubtful


def _sections(cells):
    """For each cell the number in the question's heading above it; None where there is none."""
    found, number = [], None
    for cell in cells:
        if cell["cell_type"] == "markdown" and (heading := HEADING.search(source(cell))):
            number = heading[1]
        found.append(number)
    return found


def _added(cell, ours):
    """The lines that a student wrote into a text of ours, if they can be an answer."""
    known = Counter(_words(source(ours)).split())
    if sum((Counter(_words(cell["source"]).split()) - known).values()) < NEW_WORDS:
        return ""
    lines = {_words(line) for line in source(ours).splitlines()}
    return "\n".join(t for t in cell["source"].splitlines() if _words(t) not in lines)


def _is_answer(cell, drawn):
    """Whether a cell under a question's heading can be nothing but the answer to it."""
    if not drawn:
        return cell["cell_type"] != "code"
    code = PLOTTING.sub("", cell["source"])
    return cell["cell_type"] == "code" and _draws(cell) and not DEFINES.search(code)


def _anywhere(cells, own, drawn):
    """Whether something of the kind stands in the notebook at all."""
    if drawn:
        return any(map(_draws, own)) or any(map(_shows, cells))
    return any(
        c["cell_type"] != "code" and len(_words(c["source"]).split()) >= NEW_WORDS for c in own
    )


def _draws(cell):
    return _shows(cell) or (cell["cell_type"] == "code" and bool(DRAWS.search(cell["source"])))


def _shows(cell):
    """Whether there is a picture among the outputs."""
    outputs = [o for o in _list(cell["outputs"]) if isinstance(o, dict)]
    return any(isinstance(o.get("data"), dict) and "image/png" in o["data"] for o in outputs)
