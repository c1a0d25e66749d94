"""A class as a grader meets it: honest work of mixed quality, damaged files, hostile code.

`hand_in` writes submissions of one assignment into a folder and says of each what it has earned.
The expectations come from how a submission was made, not from grading it.
"""

import copy
import io
import json
import os
import zipfile
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np

from kernelbook.course.assignment import Assignment, source
from kernelbook.course.release import CODE_STUB, TEXT_STUB

from .attacks import CODE, RETURNS
from .helpers import notebook, save, with_code

FORENAMES = "Ana Jörg Žofie Wei Amal Noor Ines Søren Chloé Bao Łukasz Ayşe Diego Yuki Ravi".split()
SURNAMES = "Müller O'Neill Šimůnek Zhang Haddad García Nguyễn Ångström Kaya Rossi".split()
SLOW = {"stubborn-loop", "patched-json", "deep-recursion", "fork-bomb", "thread-bomb"}


@dataclass
class Expected:
    """What an entry has earned: for each question all, none, or less than all."""

    kind: str  # honest, damaged or hostile
    questions: dict[str, str] = field(default_factory=dict)  # "all", "less" or "none"
    essays: int = 0  # answers that somebody has to grade by hand
    readable: bool = True


def hand_in(folder: Path, assignment: Assignment, honest=50, damaged=20, hostile=30):
    """Write a class below a folder; returns what each entry has earned, by entry."""
    rng = np.random.default_rng(28)
    expected = {}
    for k in range(honest):
        entry = f"{_name(k)}_{48000 + k}_assignsubmission_file_"
        expected[entry] = _honest(folder, entry, assignment, rng)
    ways = list(DAMAGE.items())
    for k in range(damaged):
        (way, spoil), entry = ways[k % len(ways)], f"damaged-{k:02d}-{ways[k % len(ways)][0]}"
        readable = spoil(folder / entry.replace(" ", "-"), assignment)
        questions = dict.fromkeys(_questions(assignment), "all" if readable else "none")
        essays = len(_manual(assignment)) if readable else 0
        expected[entry.replace(" ", "-")] = Expected("damaged", questions, essays, readable)
        assert way
    for k, (name, made) in zip(range(hostile), _attacks(assignment), strict=False):
        entry = f"hostile-{k:02d}-{name}"
        save(folder, entry, made, assignment.name)
        expected[entry] = Expected("hostile", dict.fromkeys(_questions(assignment), "none"))
    return expected


def complaints(course: Path, assignment: Assignment, expected: dict[str, Expected]) -> list[str]:
    """Where the grader's results are not what was earned; empty if all is well."""
    found = {}
    for path in (course / "autograded").glob(f"*/{assignment.name}/result.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        found[result["entry"]] = result | {"folder": path.parent}
    wrong = [f"{entry}: lost" for entry in expected.keys() - found.keys()]
    wrong += [f"{entry}: nobody handed this in" for entry in found.keys() - expected.keys()]
    for entry in expected.keys() & found.keys():
        result, earned = found[entry], expected[entry]
        if result["readable"] != earned.readable or not (earned.readable or result["trouble"]):
            wrong.append(f"{entry}: readable={result['readable']}, {result['trouble']}")
        for name, share in earned.questions.items():
            verdict = result["verdicts"][name]
            part = verdict["points"] / verdict["out_of"]
            right = {"all": part == 1, "less": part <= 0.75, "none": part == 0}[share]
            if not right or bool(verdict["reason"]) == (part == 1):
                wrong.append(f"{entry}, {name}: {share} is due, {part:.0%} given; {verdict}")
        page = course / "feedback" / result["identity"] / assignment.name
        if not (page / f"{assignment.name}.html").is_file():
            wrong.append(f"{entry}: no page of feedback")
    return sorted(wrong)


def _name(k):
    return f"{FORENAMES[k % len(FORENAMES)]} {SURNAMES[k // 3 % len(SURNAMES)]}-{k}"


def _questions(assignment):
    return [q.name for q in assignment.questions]


def _manual(assignment):
    return [name for name, _ in assignment.cells("manual")]


def _honest(folder, entry, assignment, rng):
    """Some questions right, some with a plausible mistake, some not answered."""
    mistakes = import_module(f".wrong.{assignment.name}", __package__).WRONG
    good = {name: source(cell) for name, cell in assignment.cells("solution")}
    skill, replaced, earned = rng.uniform(0.3, 1), {}, {}
    for name in _questions(assignment):
        luck = rng.uniform()
        if luck < skill:
            earned[name] = "all"
        elif luck < skill + 0.6 * (1 - skill):
            old, new = mistakes[name][rng.integers(len(mistakes[name]))]
            replaced[name], earned[name] = good[name].replace(old, new), "less"
        else:
            replaced[name], earned[name] = CODE_STUB, "none"
    answered = [name for name in _manual(assignment) if rng.uniform() < skill]
    for name, cell in assignment.cells("manual"):
        if name not in answered:
            replaced[name] = TEXT_STUB if cell["cell_type"] == "markdown" else CODE_STUB
    save(folder, entry, notebook(assignment, replaced), assignment.name)
    return Expected("honest", earned, len(answered))


def _attacks(assignment):
    """Hostile cells in front of a notebook without answers, and hostile values returned by it."""
    undone = dict.fromkeys(_questions(assignment), CODE_STUB)
    undone |= dict.fromkeys(_manual(assignment), TEXT_STUB)
    names = [n for n in CODE if n not in SLOW]
    names = [*sorted(SLOW)[:3], *names[:: max(1, len(names) // 19)]][:22]
    for name in names:
        text = CODE[name].replace("{paths!r}", "['/etc/passwd']").replace("{port}", "9")
        for token in ("{escape!r}", "{home!r}"):
            text = text.replace(token, "'/kernelbook-escape'")
        text = text.replace("{escape}", "/kernelbook-escape").replace("{marker}", "marker")
        yield name, with_code(assignment, text, replace=undone)
    for name in ("always-equal", "equal-array", "nan", "lazy", "pickle", "slow-clock", "endless"):
        everywhere = "\n".join(f"{q} = lambda *a, **k: answer" for q in _questions(assignment))
        first = _questions(assignment)[0]
        text = f"{RETURNS[name]}\n{everywhere}\nif 'double' in dir(): {first} = double"
        yield name, with_code(assignment, text, replace=dict.fromkeys(undone, ""))
    for name in ("sleeper", "huge-array", "infinity", "nested"):
        everywhere = "\n".join(f"{q} = lambda *a, **k: answer" for q in _questions(assignment))
        yield name, with_code(assignment, f"{RETURNS[name]}\n{everywhere}", replace=undone)


# Damage.  Each writes one entry from the whole solution and says whether it can be read.


def _write(folder, content, name):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def _text(assignment):
    return json.dumps(notebook(assignment), ensure_ascii=False)


def _as(name="{}.ipynb", change=lambda text: text, readable=True):
    def spoil(folder, assignment):
        _write(folder, change(_text(assignment)), name.format(assignment.name))
        return readable

    return spoil


def _zipped(text, name="grls.ipynb"):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"work/{name}", text)
        archive.writestr(f"__MACOSX/._{name}", "rubbish")
    return stream.getvalue()


def _without_tags(text):
    made = json.loads(text)
    for cell in made["cells"]:
        cell["metadata"] = {}
    return json.dumps(made)


def _old_format(text):
    made = json.loads(text)
    cells = [c | {"input": c["source"]} for c in made["cells"]]
    return json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]})


def _curly(text):
    made = json.loads(text)
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = source(cell).replace('"""', "\u201c\u201c\u201c", 1)
            cell["source"] = cell["source"].replace('"""', "\u201d\u201d\u201d", 1)
    return json.dumps(made)


def _windows(text):
    made = json.loads(text)
    for cell in made["cells"]:
        cell["source"] = source(cell).replace("\n", "\r\n")
    return json.dumps(made, indent=1).replace("\n", "\r\n")


def _two(folder, assignment):
    other = copy.deepcopy(notebook(assignment))
    other["cells"] = other["cells"][:-1]
    _write(folder, _text(assignment), f"{assignment.name}-a.ipynb")
    _write(folder, json.dumps(other), f"{assignment.name}-b.ipynb")
    return False


def _link(folder, assignment):
    folder.mkdir(parents=True)
    os.symlink("/etc/passwd", folder / f"{assignment.name}.ipynb")
    return False


def _empty(folder, assignment):
    folder.mkdir(parents=True)
    return False


DAMAGE = {
    "no tags": _as(change=_without_tags),
    "browser's copy": _as("{} (1).ipynb"),
    "final": _as("{}-final.ipynb"),
    "zip": _as("work.zip", _zipped),
    "byte-order mark": _as(change=lambda text: b"\xef\xbb\xbf" + text.encode()),
    "utf-16": _as(change=lambda text: text.encode("utf-16")),
    "windows": _as(change=_windows),
    "quotes": _as(change=_curly),
    "old format": _as(change=_old_format),
    "another name": _as("homework.ipynb"),
    "txt": _as("{}.ipynb.txt"),
    "deeper": _as("{}.ipynb"),
    "two": _two,
    "link": _link,
    "empty": _empty,
    "cut off": _as(change=lambda text: text[: len(text) // 2], readable=False),
    "pdf": _as("{}.pdf", lambda text: b"%PDF-1.7\n" + text.encode(), readable=False),
    "blank": _as(change=lambda text: "", readable=False),
    "binary": _as(change=lambda text: bytes(range(256)) * 9, readable=False),
    "no cells": _as(change=lambda text: '{"cells": null}', readable=False),
}
