"""The class: who they are, and how long they have.

`roster.csv` in the course's folder has one line a student.  Its columns, of which only the first is
needed, in any order: id, name, email, extension, number.  An extension is a number of days (3), or
days for single assignments (grls:7 svm:2).  The number is the one in the names of exported files:
Canvas's of the user (48213), or Moodle's, which gives each assignment numbers of its own
(grls:48213 svm:50177).  It tells two students of one name apart.
"""

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path

from kernelbook.course.intake.names import Owner, folded, safe_name

__all__ = ["Roster", "RosterError", "Student"]


class RosterError(ValueError):
    """A roster that cannot be used; the message names the line and the remedy."""


@dataclass(frozen=True)
class Student:
    """One line of the roster."""

    id: str
    name: str = ""
    email: str = ""
    extension: dict[str, float] = field(default_factory=dict)  # by assignment; "" for all
    number: dict[str, str] = field(default_factory=dict)  # by assignment; "" for all

    @property
    def identity(self) -> str:
        return safe_name(self.id)

    def number_in(self, assignment: str) -> str:
        """The number in the names of exported files; empty if it is not known."""
        return self.number.get(assignment, self.number.get("", ""))

    def days(self, assignment: str) -> float:
        """How many days later than the others this student may hand in."""
        return self.extension.get(assignment, self.extension.get("", 0.0))


class Roster:
    """Students by id, e-mail address and name."""

    def __init__(self, students=()):
        self.students = list(students)
        self._by_key: dict[str, list[Student]] = {}
        for student in self.students:
            keys = {student.id.casefold(), student.identity.casefold(), student.email.casefold()}
            keys |= {student.email.partition("@")[0].casefold(), folded(student.name)}
            keys |= _joined(student.name)
            for key in keys - {""}:
                self._by_key.setdefault(key, []).append(student)

    def __bool__(self):
        return bool(self.students)

    def find(self, owner: Owner, assignment: str = "") -> tuple[Student | None, bool]:
        """The student a file belongs to, and whether more than a name says so.

        None if nobody, or more than one, is known by that name.
        """
        for student in self.students if owner.number else ():
            if student.number_in(assignment) == owner.number:
                return student, True
        for key in (k.casefold() for k in owner.known):
            if len(found := self._by_key.get(key, ())) == 1:
                return found[0], True
        for named in _keys(owner.name):
            if len(found := self._by_key.get(named, ())) == 1:
                other = owner.number and found[0].number_in(assignment)
                return (None if other else found[0]), False
        return None, False

    def namesakes(self, name: str) -> list[Student]:
        """The students who are known by that name."""
        for key in _keys(name):
            if found := self._by_key.get(key):
                return found
        return []

    @classmethod
    def read(cls, path: Path) -> "Roster":
        """The roster in a file; an empty one if there is none."""
        if not path.exists():
            return cls()
        raw = path.read_bytes()
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = raw.decode("cp1252", "replace")
        first = text.partition("\n")[0]
        separator = max(",;\t", key=first.count)
        rows = csv.DictReader(io.StringIO(text), delimiter=separator)
        names = {(n or "").strip().lower().replace("-", ""): n for n in rows.fieldnames or ()}
        if "id" not in names:
            raise RosterError(
                f"{path} has no column 'id' (found: {', '.join(names) or 'nothing'}); its first "
                "line should be id,name,email,extension"
            )
        students: list[Student] = []
        seen: dict[str, int] = {}
        for number, row in enumerate(rows, 2):
            get = lambda name, row=row: (row.get(names.get(name, "")) or "").strip()  # noqa: E731
            if not get("id"):
                continue
            if get("id") in seen:
                raise RosterError(
                    f"{path}, line {number}: the id {get('id')!r} is already in line "
                    f"{seen[get('id')]}, too; each student needs an id of their own"
                )
            seen[get("id")] = number
            where = f"{path}, line {number}"
            extension = _extension(get("extension"), where)
            numbers = _numbers(get("number"), where)
            for other in students:
                if both := other.number.items() & numbers.items():
                    raise RosterError(
                        f"{where}: {other.id} has the number {next(iter(both))[1]}, too; correct "
                        "one of them"
                    )
            students.append(Student(get("id"), get("name"), get("email"), extension, numbers))
        return cls(students)


def _keys(name):
    return name.casefold(), safe_name(name).casefold(), folded(name)


def _joined(name):
    """A name as Canvas writes it: last name first, in one word, ü as u, ue or nothing."""
    words = re.findall(r"[^\W_]+", name)
    joined = "".join([*words[-1:], *words[:-1]]).casefold()
    spelled = joined.translate(str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa"}))
    return {folded(joined), folded(spelled), joined.encode("ascii", "ignore").decode()}


def _extension(text, where):
    found = {}
    for part in text.replace(",", " ").split():
        name, _, days = part.rpartition(":")
        try:
            found[name] = float(days)
        except ValueError:
            raise RosterError(
                f"{where}: extension={text!r} is not understood; write a number of days (3), or "
                "days for single assignments (grls:7 svm:2)"
            ) from None
    return found


def _numbers(text, where):
    found = {}
    for part in text.replace(",", " ").split():
        name, _, number = part.rpartition(":")
        if not re.fullmatch(r"[0-9]+", number):
            raise RosterError(
                f"{where}: number={text!r} is not understood; write Canvas's number (48213), or "
                "Moodle's for each assignment (grls:48213 svm:50177)"
            )
        found[name] = number
    return found
