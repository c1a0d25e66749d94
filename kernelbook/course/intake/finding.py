"""One file for each student, whatever a learning management system or a browser called it.

    STUDENT/grls.ipynb                                        a folder a student
    STUDENT/grls/grls.ipynb                                   nbgrader's
    STUDENT.ipynb, STUDENT.zip                                files side by side
    Jörg Müller_48213_assignsubmission_file_/grls (1).ipynb   Moodle's
    muellerjoerg_LATE_48213_917245_grls-final.ipynb           Canvas's

A folder of submissions may also be one zip file of all this, and Moodle's worksheet may lie beside
the files.  Several files that could be meant are all returned; which one counts, or that a person
has to decide, is known when they are read.
"""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from kernelbook.course.intake.names import Owner, owner, shown_file
from kernelbook.course.intake.opening import (
    Unreadable,
    file_bytes,
    ignored,
    is_notebook_name,
    zip_in_memory,
    zip_members,
)
from kernelbook.course.intake.worksheet import Line, read_worksheet

__all__ = ["HandedIn", "find", "several"]

MOST_FILES = 500  # looked at below one student's folder
MOST_MEANT = 10  # notebooks that could be meant, or zip files, of one student
DAY = 86_400.0
# That many entries of a zip file within so many seconds: the times are those of the export.
AT_ONCE, SECONDS = 3, 60.0

Reader = Callable[[], tuple[bytes, float | None]]


@dataclass
class HandedIn:
    """One student's entry: a file to read, or the reason why there is none."""

    owner: Owner
    entry: str  # the name that the learning management system gave it
    file: str = ""  # what was chosen, as it is shown
    read: Reader | None = None
    trouble: str | None = None
    remarks: list[str] = field(default_factory=list)
    rivals: list[tuple[str, Reader]] = field(default_factory=list)  # as likely to be meant
    others: list[tuple[str, Reader]] = field(default_factory=list)  # if those above are empty


@dataclass
class _File:
    name: str  # relative to the student's entry
    read: Reader

    @property
    def shown(self) -> str:
        return shown_file(self.name)


def find(source, assignment: str, others=()) -> list[HandedIn]:
    """What was handed in, by student.

    others: the names of the other assignments, whose notebooks may lie beside this one's.
    """
    source = Path(source)
    if source.is_file():
        return _find_in_zip(source, assignment, others)
    if not source.is_dir():
        raise NotADirectoryError(f"{source} is neither a folder of submissions nor a zip file")
    found: dict[str, tuple[Owner, list[_File], str | None]] = {}
    listed: dict[str, Line] = {}
    for entry in sorted(source.iterdir()):
        if entry.name.startswith(".") or ignored(entry.name):
            continue
        shown = entry.name.encode("utf-8", "replace").decode("utf-8")
        if entry.is_symlink():
            stem = shown.removesuffix(".ipynb")
            trouble = f"{shown} is a link; put the file or folder itself there"
            found[shown] = (owner(stem), [], trouble)
        elif entry.is_dir():
            found[shown] = (owner(shown), *_below(source, entry))
        elif _is_worksheet(shown):  # exported along with the files
            listed |= _worksheet(lambda p=entry: file_bytes(source, p), shown)
        else:
            _add_flat(found, shown, lambda p=entry: file_bytes(source, p))
    return _chosen(found, listed, assignment, others)


def _find_in_zip(path, assignment, others):
    """The entries of a whole export; the times are those that the export gave its files."""
    members = zip_members(lambda: open(path, "rb"), path.name)
    packed = path.stat().st_mtime
    times = [t for name, _, t in members if t is not None and not _is_worksheet(name)]
    at_once = len(times) >= AT_ONCE and max(times) - min(times) < SECONDS
    found: dict = {}
    listed: dict[str, Line] = {}
    for name, read, time in members:
        parts = PurePosixPath(name).parts
        known = None if at_once or time is None or time > packed + DAY else time
        timed = lambda read=read, time=known: (read(), time)  # noqa: E731
        if len(parts) == 1 and _is_worksheet(name):
            listed |= _worksheet(timed, name)
        elif len(parts) == 1:
            _add_flat(found, parts[0], timed)
        else:
            files = found.setdefault(parts[0], (owner(parts[0]), [], None))[1]
            files.append(_File("/".join(parts[1:]), timed))
    return _chosen(found, listed, assignment, others)


def _is_worksheet(name):
    """A table that belongs to no student: those have the student's number in their names."""
    return name.lower().endswith(".csv") and not owner(name).number


def _worksheet(read, name):
    try:
        raw, _ = read()
        return read_worksheet(raw, name)
    except (Unreadable, csv.Error):
        return {}


def _chosen(found, listed, assignment, others):
    """One notebook for each entry, with what Moodle's worksheet says of its owner."""
    chosen = []
    for entry, (whose, files, trouble) in found.items():
        if line := listed.get(whose.number):
            whose = replace(whose, known=line.known)
        made = _choose(entry, whose, files, trouble, assignment, others)
        if line and line.remark:
            made.remarks.append(line.remark)
        if line and line.time is not None and made.read is not None:
            made.read = _timed(made.read, line.time)
            made.rivals = [(name, _timed(read, line.time)) for name, read in made.rivals]
            made.others = [(name, _timed(read, line.time)) for name, read in made.others]
        chosen.append(made)
    return chosen


def _timed(read: Reader, time) -> Reader:
    return lambda: (read()[0], time)


def _add_flat(found, shown, read):
    """A file that lies beside those of others: one student's, by its name."""
    whose = owner(shown)
    if whose.number:  # several files of one student share the name in front
        entry, name = f"{whose.name}_{whose.number}", whose.rest
    else:
        entry = re.sub(r"(?i)(\.ipynb)?(\.txt|\.json|\.zip|\.html)?$", "", shown)
        whose, name = Owner(entry), shown
    # A folder of the same name is another entry, and a conflict to be told of.
    files = found.setdefault(f"{entry}/", (whose, [], None))[1]
    files.append(_File(name, read))


def _below(root, folder):
    """The files in a student's folder, three levels deep; links are not followed."""
    files, trouble, waiting, places = [], None, [(folder, 0)], 0
    while waiting and len(files) < MOST_FILES and places < MOST_FILES:
        place, depth = waiting.pop()
        places += 1
        try:
            entries = sorted(place.iterdir())
        except OSError as error:
            return files, f"{place.name} cannot be read: {error.strerror}"
        for entry in entries[:MOST_FILES]:
            if ignored(entry.name):
                continue
            name = entry.relative_to(folder).as_posix().encode("utf-8", "replace").decode("utf-8")
            if entry.is_symlink():
                if is_notebook_name(entry.name) or entry.suffix == "":
                    trouble = f"{name} is a link; put the file itself there"
            elif entry.is_dir() and not is_notebook_name(entry.name):
                if depth < 3:
                    waiting.append((entry, depth + 1))
            else:
                files.append(_File(name, lambda p=entry: file_bytes(root, p)))
    return files, trouble


def _choose(entry, whose, files, trouble, assignment, others) -> HandedIn:
    """The one notebook that is meant."""
    entry = entry.removesuffix("/")
    made = HandedIn(whose, entry, trouble=trouble)
    try:
        files = _unpacked(files, made)
    except Unreadable as error:
        made.trouble = made.trouble or str(error)
        return made
    meant, loose = _meant(files, assignment, others)
    if not meant:
        made.trouble = made.trouble or _nothing(files, assignment)
        return made
    chosen, *rivals = meant
    made.trouble = None
    made.file, made.read = chosen.shown, chosen.read
    made.rivals = [(f.shown, f.read) for f in rivals]
    made.others = [(f.shown, f.read) for f in loose[:MOST_MEANT]]
    if len(meant) > MOST_MEANT:
        made.trouble = several([f.shown for f in meant], assignment)
    plain = PurePosixPath(chosen.name).name
    if plain != f"{assignment}.ipynb" and plain.removesuffix(".ipynb") != entry and not rivals:
        made.remarks.append(f"read from {chosen.shown}")
    return made


def several(names: list[str], assignment: str) -> str:
    """What is said when a person has to decide."""
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (
        f"several notebooks could be meant: {listed}; keep only the right one, under the name "
        f"{assignment}.ipynb, and grade this student again"
    )


def _unpacked(files, made):
    """The files, those in zip files included."""
    found = [f for f in files if not f.name.lower().endswith(".zip")]
    if any(is_notebook_name(f.name) for f in found):
        return found
    zips = [f for f in files if f.name.lower().endswith(".zip")]
    if len(zips) > MOST_MEANT:
        raise Unreadable(f"there are {len(zips)} zip files; hand in the notebook itself")
    for packed in zips:
        time = packed.read()[1]
        # The times of its own files are the student's, and say nothing.
        opened = lambda p=packed: zip_in_memory(p.read()[0], p.shown)  # noqa: E731
        for name, read, _ in zip_members(opened, packed.shown):
            timed = lambda read=read, time=time: (read(), time)  # noqa: E731
            found.append(_File(f"{packed.name}/{name}", timed))
    return found


def _meant(files, assignment, others):
    """The notebooks that may be meant, the likeliest first, and those with no name we know."""
    # The shallower of two with one name first: nbgrader puts one below the other.
    notebooks = sorted(
        (f for f in files if is_notebook_name(f.name)), key=lambda f: f.name.count("/")
    )
    exact = [f for f in notebooks if PurePosixPath(f.name).name == f"{assignment}.ipynb"]
    named = [f for f in notebooks if f not in exact and _names(f.name, assignment)]
    loose = [f for f in notebooks if not any(_names(f.name, o) for o in (assignment, *others))]
    if exact:  # beside it, kernels-for-svm is the other assignment's
        named = [f for f in named if not any(_names(f.name, other) for other in others)]
    if exact or named:
        return exact + named, loose
    return loose, []


def _names(file, assignment):
    """Whether an assignment's name is a word of a file's name: grls (1), GRLS-final, hw2_grls."""
    stem = PurePosixPath(file).name.lower()
    return re.search(rf"(?<![a-z]){re.escape(assignment.lower())}(?![a-z])", stem) is not None


def _nothing(files, assignment):
    others = [shown_file(PurePosixPath(f.name).name) for f in files]
    if not others:
        return f"the folder is empty: there is no file {assignment}.ipynb"
    listed = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
    return (
        f"there is no notebook for {assignment} among the files handed in ({listed}); a notebook's "
        "name ends in .ipynb: ask for it, or rename it, and grade this student again"
    )
