"""Which cell answers which question.

nbgrader's tags say so, as long as they are there.  Some editors drop them, and splitting or copying
a cell doubles them.  Then a cell is recognized by what it is: text of ours by its words, a function
by its name, a written answer or a picture by the heading above it and the order of the cells.
"""

import re

from kernelbook.course.assignment import Assignment, kind_of, source

__all__ = ["matched"]

HEADING = re.compile(r"^#+\s*Question\s+(\d+)\b", re.IGNORECASE | re.MULTILINE)


def matched(cells: list[dict], assignment: Assignment, remarks: list) -> tuple[list[dict], bool]:
    """The cells with every name that can be found, and whether something was left unmatched."""
    ours = dict(assignment.cells())
    _join_doubles(cells, ours, remarks)
    present = {c["grade_id"] for c in cells}
    expected = [n for n, c in ours.items() if kind_of(c) in ("solution", "manual")]
    missing = [n for n in expected if n not in present]
    if not missing:
        return cells, False
    _recognize_ours(cells, ours)
    functions = {n for n in missing if kind_of(ours[n]) == "solution"}
    found = _recognize_functions(cells, functions)
    found |= _recognize_answers(cells, ours, set(missing) - functions)
    if found:
        names = ", ".join(sorted(found))
        remarks.append(
            f"the notebook had lost its tags; these answers were recognized by their place: {names}"
        )
    lost = [n for n in missing if n not in found and n not in functions]
    loose = [c for c in cells if c["grade_id"] is None and _words(c["source"])]
    if lost and loose:
        remarks.append(
            f"no cell could be recognized as the answer to {', '.join(lost)}; please look at the "
            "whole notebook"
        )
        return cells, True
    return cells, False


def _words(text):
    return re.sub(r"[\s>#*_`]+", " ", text).strip()


def _join_doubles(cells, ours, remarks):
    """A written answer that was split in two is one answer; other doubles lose the name."""
    first = {}
    for cell in cells:
        name = cell["grade_id"]
        if name not in ours:
            cell["grade_id"] = None
        elif name not in first:
            first[name] = cell
        else:
            cell["grade_id"] = None
            same = cell["source"].strip() == first[name]["source"].strip()
            if kind_of(ours[name]) == "manual" and cell["source"].strip() and not same:
                _join(first[name], cell)
                remarks.append(f"the answer to {name} stood in several cells")


def _join(first, other):
    first["source"] = f"{first['source'].rstrip()}\n\n{other['source'].strip()}"
    first["outputs"] = [*_list(first["outputs"]), *_list(other["outputs"])]
    other["source"], other["outputs"] = "", []


def _list(outputs):
    return outputs if isinstance(outputs, list) else []


def _recognize_ours(cells, ours):
    """Text, set-up and checks that are still what we wrote."""
    known = {
        _words(text): n
        for n, c in ours.items()
        if kind_of(c) not in ("solution", "manual")
        for text in (source(c), source(c).split("<!-- BEGIN MARK")[0])
    }
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
    found, number, current = set(), None, {}
    for cell in cells:
        text = cell["source"]
        if cell["cell_type"] == "markdown" and (heading := HEADING.search(text)):
            number, current = heading[1], {}
            continue
        if cell["grade_id"] is not None or not text.strip():
            continue
        for name in numbers.get(number, ()):
            if ours[name]["cell_type"] != cell["cell_type"]:
                continue
            if name in current:
                _join(current[name], cell)
            else:
                cell["grade_id"], current[name] = name, cell
                found.add(name)
            break
    return found
