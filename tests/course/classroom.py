"""A class as a grader meets it: honest work of mixed quality, damaged files, hostile submissions.

`hand_in` writes a class below a folder, spread over some assignments: what the grader reads, the
roster and the due dates.  It says of each entry what it has earned, from how the entry was made and
not from grading it.  `compared` holds that against what the grader wrote.

Among the honest are two students of one name, late ones, and one with an extension; every second
assignment comes as one zip file, as Moodle exports it, in which the members' times count.  The
hostile hand in words that want to be code, files that want to be something else, and code.
"""

import copy
import csv
import io
import json
import os
import re
import shutil
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import numpy as np

from kernelbook.course.assignment import Assignment, source

from .attacks import CODE, RETURNS
from .attacks_files import NOTEBOOKS, flooded
from .attacks_text import VECTORS, written
from .helpers import notebook, save

FORENAMES = "Ana Jörg Žofie Wei Amal Noor Ines Søren Chloé Bao Łukasz Ayşe Diego Yuki Ravi".split()
SURNAMES = "Müller O'Neill Šimůnek Zhang Haddad García Nguyễn Ångström Kaya Rossi".split()
SLOW = {"stubborn-loop", "patched-json", "deep-recursion", "fork-bomb", "thread-bomb"}
PER_DAY, LATE_HOURS = 10, {3: 20, 6: 50}  # percent; by a student's number modulo 7
EXTENDED = 3  # this student is late, too, and has an extension


@dataclass
class Expected:
    """What an entry has earned: for each question all, none, or less than all."""

    kind: str  # honest, damaged, hostile words, hostile files or hostile code
    questions: dict[str, str] = field(default_factory=dict)  # "all", "less" or "none"
    essays: int | None = None  # answers left to grade by hand; None where it does not matter
    readable: bool | None = True  # None where both would do
    identity: str | None = None  # of the roster
    days_late: int = 0


def due(index: int) -> datetime:
    """The due date of the assignment with this place in the list."""
    return datetime(2026, 3, 5, 23, 59) + timedelta(days=7 * index)


def hand_in(
    folder: Path, assignments: list[Assignment], honest=50, damaged=20, hostile=30
) -> dict[str, dict[str, Expected]]:
    """Write a class below a folder; returns what each entry has earned, by assignment and entry.

    `folder/in` then has a folder or a zip file for each assignment, `folder/course` the roster and
    the due dates.
    """
    rng = np.random.default_rng(28)
    n = len(assignments)
    expected: dict[str, dict[str, Expected]] = {a.name: {} for a in assignments}
    times: dict[tuple[str, str], datetime] = {}
    places = [folder / "in" / a.name for a in assignments]
    for place in places:
        place.mkdir(parents=True)

    def keep(index, entry, earned, time=None):
        name = assignments[index].name
        expected[name][entry] = earned
        early = due(index) - timedelta(days=1, minutes=7 * len(times))
        times[name, entry] = time or early

    lines = ["id,name,email,extension,number"]
    for k in range(honest):
        index, name = k % n, _name(k, n)
        entry = f"{name}_{48000 + k}_assignsubmission_file_"
        earned = _honest(places[index], entry, assignments[index], rng)
        earned.identity = f"s{k:03d}"
        hours = LATE_HOURS.get(k % 7, 0)
        extended = k == EXTENDED
        earned.days_late = 0 if extended else -(-hours // 24)
        time = due(index) + timedelta(hours=hours) if hours else None
        keep(index, entry, earned, time)
        lines.append(f"s{k:03d},{name},s{k:03d}@example.org,{7 if extended else ''},{48000 + k}")
    lines.append("s999,Nina Absent,absent@example.org,,49999")
    ways = list(DAMAGE.items())
    for k in range(damaged):
        way, spoil = ways[k % len(ways)]
        index = 0 if way in ONLY_IN_FOLDERS else k % n
        entry = f"damaged-{k:02d}-{way.replace(' ', '-')}"
        readable = spoil(places[index] / entry, assignments[index])
        questions = dict.fromkeys(_questions(assignments[index]), "all" if readable else "none")
        essays = len(_manual(assignments[index])) if readable else None
        keep(index, entry, Expected("damaged", questions, essays, readable))
    for k, (kind, name, make) in zip(range(hostile), _attacks(), strict=False):
        index, entry = k % n, f"hostile-{k:02d}-{name}"
        made, earned = make(assignments[index])
        save(places[index], entry, made, assignments[index].name)
        earned.kind = kind
        keep(index, entry, earned)
    for index, place in enumerate(places):
        named = {e: times[place.name, e] for e in expected[place.name]}
        _dated(place, named)
        if index % 2:
            _exported(place, named)
    course = folder / "course"
    course.mkdir()
    (course / "roster.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    dates = [f"{a.name} = {due(i).isoformat()}" for i, a in enumerate(assignments)]
    policy = ["[late]", f"percent_per_day = {PER_DAY}", "grace_minutes = 15"]
    (course / "course.toml").write_text("\n".join(["[due]", *dates, *policy]) + "\n")
    return expected


def handed_in(folder: Path, assignment: Assignment) -> Path:
    """What to grade: a folder, or the zip file of an export."""
    packed = folder / "in" / f"{assignment.name}.zip"
    return packed if packed.exists() else packed.with_suffix("")


def _dated(place, times):
    for entry, time in times.items():
        for path in (place / entry).rglob("*"):
            os.utime(path, (time.timestamp(),) * 2, follow_symlinks=False)


def _exported(place, times):
    """One zip file in place of the folder, with the times of the members."""
    with zipfile.ZipFile(place.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in place.rglob("*") if p.is_file()):
            name = path.relative_to(place).as_posix()
            info = zipfile.ZipInfo(name, times[name.partition("/")[0]].timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())
    shutil.rmtree(place)


# What came of it


def complaints(course: Path, assignment: Assignment, expected: dict[str, Expected]) -> list[str]:
    """Where the grader's results are not what was earned; empty if all is well."""
    return compared(course, assignment, expected)[0]


def compared(course: Path, assignment: Assignment, expected: dict[str, Expected]):
    """The complaints, and how much of what was due and was given, by kind and what it is."""
    found, rows = _results(course, assignment), _rows(course, assignment)
    wrong = [f"{entry}: lost" for entry in expected.keys() - found.keys()]
    wrong += [f"{entry}: was not handed in" for entry in found.keys() - expected.keys()]
    counts: Counter = Counter()
    for entry, earned in expected.items():
        counts[earned.kind, "handed in", "due"] += 1
        if entry in found:
            counts[earned.kind, "handed in", "given"] += 1
            row = rows.get(found[entry]["identity"], {})
            said = _one(course, assignment, earned, found[entry], row, counts)
            wrong += [f"{entry}: {text}" for text in said]
    if rows:
        with open(course / "roster.csv", newline="", encoding="utf-8") as stream:
            enrolled = {row["id"] for row in csv.DictReader(stream)}
        missing = {identity for identity, row in rows.items() if row["state"] == "missing"}
        due = enrolled - {earned.identity for earned in expected.values()}
        wrong += [f"{identity}: missing is wrong" for identity in missing ^ due]
    return sorted(wrong), counts


def _results(course, assignment):
    found = {}
    for path in (course / "autograded").glob(f"*/{assignment.name}/result.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        found[result["entry"]] = result
    return found


def _rows(course, assignment):
    path = course / "grades" / f"{assignment.name}.csv"
    if not path.exists():
        return {}
    with open(path, newline="", encoding="utf-8") as stream:
        return {row["student_id"]: row for row in csv.DictReader(stream)}


def _one(course, assignment, earned, result, row, counts):
    """What is wrong with one entry."""

    def count(what, wanted, given):
        counts[earned.kind, what, "due"] += wanted
        counts[earned.kind, what, "given"] += given

    readable = result["readable"]
    if earned.readable is not None:
        count("unreadable", not earned.readable, not readable)
        if readable != earned.readable:
            yield f"readable={readable}, {result['trouble']}"
    if not readable and not result["trouble"]:
        yield "unreadable without a reason"
    if earned.identity not in (None, result["identity"]):
        yield f"taken for {result['identity']}; it is {earned.identity}"
    for name, share in earned.questions.items():
        verdict = result["verdicts"][name]
        part = verdict["points"] / verdict["out_of"]
        count("full marks", share == "all", part == 1)
        count("less or nothing", share != "all", part < 1)
        right = {"all": part == 1, "less": part <= 0.75, "none": part == 0}[share]
        if not right or bool(verdict["reason"]) == (part == 1):
            yield f"{name}: {share} is due, {part:.0%} given; {verdict}"
    left = int(row.get("left_to_grade") or 0)
    if earned.essays is not None and readable:
        count("by hand", earned.essays, left)
        if left != earned.essays:
            yield f"{left} answers are left to grade by hand, not {earned.essays}"
    if readable:
        count("days late", earned.days_late, int(row.get("days_late") or 0))
        if row.get("days_late") != str(earned.days_late):
            yield f"{row.get('days_late')} days late, not {earned.days_late}"
        points = sum(float(row[n] or 0) for n in assignment.points)
        score = round(points * (1 - earned.days_late * PER_DAY / 100), 2)
        if abs(float(row["score"]) - score) > 0.011:
            yield f"the score is {row['score']}, not {score}"
    page = course / "feedback" / result["identity"] / assignment.name / f"{assignment.name}.html"
    if not page.is_file():
        yield "no page of feedback"
    elif active := _Active.of(page.read_text(encoding="utf-8")):
        yield f"the page of feedback holds {', '.join(sorted(active))}"
    shown = course / "autograded" / result["identity"] / assignment.name
    for cell in json.loads((shown / f"{assignment.name}.ipynb").read_text("utf-8"))["cells"]:
        name, text = cell["metadata"].get("nbgrader", {}).get("grade_id"), source(cell)
        if name in _manual(assignment) and cell["cell_type"] == "markdown":
            words = re.sub(r"<[^>]*>", "", text)
            if _Active.of(text) or any(w in words.lower() for w in ("<", "](", "script:")):
                yield f"{name} is shown as it was written"


class _Active(HTMLParser):
    """What of a page would do something: elements, addresses, and handlers of events."""

    INERT = ("#", "data:image/png;base64,")
    ELEMENTS = (
        *("script", "iframe", "frame", "object", "embed", "form", "input", "button", "select"),
        *("textarea", "video", "audio", "source", "link", "base", "svg", "template", "details"),
        *("marquee", "noscript", "portal", "maction"),
    )

    def __init__(self):
        super().__init__()
        self.found = set()

    def handle_starttag(self, tag, attrs):
        if tag in self.ELEMENTS:
            self.found.add(f"<{tag}>")
        for name, value in attrs:
            address = name in ("href", "src", "action", "background", "xlink:href", "srcset")
            if name.startswith("on") or (address and not (value or "").startswith(self.INERT)):
                self.found.add(f"{tag} {name}={value!r}")

    @classmethod
    def of(cls, text):
        parser = cls()
        parser.feed(text)
        return parser.found


def table(counts: Counter) -> str:
    """What was expected and what was graded: a row a kind, due and given side by side."""
    whats = ["handed in", "full marks", "less or nothing", "by hand", "days late", "unreadable"]
    kinds = list(dict.fromkeys(kind for kind, _, _ in counts))
    lines = [f"{'due / given':<16}" + "".join(f"{what:>17}" for what in whats)]
    for kind in [*kinds, "all"]:
        cells = []
        for what in whats:
            both = [
                sum(n for (k, w, s), n in counts.items() if (w, s) == (what, side) and k in of)
                for of in (kinds if kind == "all" else [kind],)
                for side in ("due", "given")
            ]
            cells.append(f"{both[0]} / {both[1]}")
        lines.append(f"{kind:<16}" + "".join(f"{cell:>17}" for cell in cells))
    return "\n".join(lines)


# How it is made


def _name(k, n):
    """The first two who get the same assignment have the same name."""
    if k in (0, n):
        return "Ann Lee"
    return f"{FORENAMES[k % len(FORENAMES)]} {SURNAMES[k // 3 % len(SURNAMES)]}-{k}"


def _questions(assignment):
    return [q.name for q in assignment.questions]


def _manual(assignment):
    return [name for name, _ in assignment.cells("manual")]


def _made(assignment, replaced):
    """The master with other sources in some cells, and without the outputs of what was there."""
    made = notebook(assignment, replaced)
    for cell in made["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"] in replaced and cell["cell_type"] == "code":
            cell["outputs"] = []
    return made


def _with_code(assignment, text, replaced):
    """The same with a cell of the student's own in front."""
    made = _made(assignment, replaced)
    cell = {"cell_type": "code", "metadata": {}, "source": text, "outputs": []}
    made["cells"].insert(2, cell | {"execution_count": None})
    return made


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
            replaced[name], earned[name] = assignment.stubs[name], "none"
    answered = [name for name in _manual(assignment) if rng.uniform() < skill]
    replaced |= {n: assignment.stubs[n] for n in _manual(assignment) if n not in answered}
    save(folder, entry, _made(assignment, replaced), assignment.name)
    return Expected("honest", earned, len(answered))


def _attacks():
    """(kind, name, function) for each: hands in, for an assignment, a notebook and its due.

    The order is such that thirty hold some of each kind.
    """
    words = [("hostile words", f"words-{k}", _in_words(k)) for k in range(6)]
    files = [("hostile files", name, _in_a_file(spoil)) for name, spoil in FILES.items()]
    names = [n for n in CODE if n not in SLOW]
    names = [*sorted(SLOW)[:2], *names[:: max(1, len(names) // 9)]][:11]
    code = [("hostile code", name, _in_a_cell(CODE[name])) for name in names]
    returned = ("always-equal", "equal-array", "nan", "pickle", "slow-clock", "endless", "nested")
    code += [("hostile code", name, _in_returns(RETURNS[name])) for name in returned]
    return [*words, *files, *code]


FILES = {
    name: NOTEBOOKS[name]
    for name in ("points-in-metadata", "strange-tags", "injection", "bottomless-json")
} | {
    "flooded": flooded,
    "damaged-cells": lambda made: json.dumps({"cells": [1] * 100_000}),
}


def _none(assignment, readable=True, essays=None):
    return Expected("", dict.fromkeys(_questions(assignment), "none"), essays, readable)


def _in_words(k):
    """All functions right; every written answer is a sixth of the words that want to be code."""

    def make(assignment):
        mine = "\n\n".join(written(n) for n in range(k, len(VECTORS), 6))
        texts = {n for n, c in assignment.cells("manual") if c["cell_type"] == "markdown"}
        made = _made(assignment, dict.fromkeys(texts, mine))
        return made, Expected(
            "", dict.fromkeys(_questions(assignment), "all"), len(_manual(assignment))
        )

    return make


def _in_a_file(spoil):
    def make(assignment):
        return spoil(_made(assignment, assignment.stubs)), _none(assignment, None)

    return make


def _in_a_cell(text):
    """A hostile cell in front of a notebook without answers."""

    def make(assignment):
        filled = text.replace("{paths!r}", "['/etc/passwd']").replace("{port}", "9")
        for token in ("{escape!r}", "{home!r}"):
            filled = filled.replace(token, "'/kernelbook-escape'")
        filled = filled.replace("{escape}", "/kernelbook-escape").replace("{marker}", "marker")
        return _with_code(assignment, filled, assignment.stubs), _none(assignment)

    return make


def _in_returns(text):
    """Hostile values, returned by every function."""

    def make(assignment):
        everywhere = "\n".join(f"{q} = lambda *a, **k: answer" for q in _questions(assignment))
        first = _questions(assignment)[0]
        any_number = text.replace("def double(x)", "def double(*x)")
        own = f"{any_number}\n{everywhere}\nif 'double' in dir(): {first} = double"
        emptied = dict.fromkeys(assignment.stubs, "")
        return _with_code(assignment, own, emptied), _none(assignment)

    return make


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


def _zipped(folder, assignment):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"work/{assignment.name}.ipynb", _text(assignment))
        archive.writestr(f"__MACOSX/._{assignment.name}.ipynb", "rubbish")
    _write(folder, stream.getvalue(), "work.zip")
    return True


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


def _below(folder, assignment):
    """Every answer in a cell of its own, below the one that was meant for it."""
    made = notebook(assignment)
    cells = []
    for cell in made["cells"]:
        tag = cell["metadata"]["nbgrader"]
        cells.append(cell)
        if tag["solution"]:
            cells.append(copy.deepcopy(cell) | {"metadata": {}, "id": f"own-{len(cells)}"})
            cell["source"] = assignment.stubs[tag["grade_id"]]
    made["cells"] = cells
    _write(folder, json.dumps(made), f"{assignment.name}.ipynb")
    return True


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
    "answers below": _below,
    "browser's copy": _as("{} (1).ipynb"),
    "final": _as("{}-final.ipynb"),
    "zip": _zipped,
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
ONLY_IN_FOLDERS = {"link", "empty"}
