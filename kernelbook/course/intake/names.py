"""Who a file belongs to: names as file systems, Moodle and Canvas spell them."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass

__all__ = ["Owner", "folded", "owner", "printable", "safe_name", "shown_file"]

# Jörg Müller_48213_assignsubmission_file_        (a folder, or in front of a file's name)
MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<id>[0-9]+)_assignsubmission_(?:file|onlinetext)_?(?P<rest>.*)", re.DOTALL
)
# muellerjoerg_LATE_48213_917245_grls-1.ipynb
CANVAS = re.compile(
    r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<id>[0-9]+)_(?P<file>[0-9]+)_(?P<rest>.+)", re.DOTALL
)


@dataclass(frozen=True)
class Owner:
    """Whose file it is, as far as its name tells.

    number: the participant's number in Moodle or the user's number in Canvas, for their imports.
    rest: the file's own name, where the owner's name stands in front of it.
    late: what Canvas says of it; None if nobody says anything.
    known: the e-mail address and the id that Moodle's worksheet has for the number.
    """

    name: str
    number: str = ""
    rest: str = ""
    late: bool | None = None
    known: tuple[str, ...] = ()


def owner(text: str) -> Owner:
    """What the name of a folder or file says; plain names are the owner's own.

    A name that both systems could have made is nobody's: in one of them it is a student's idea.
    """
    if MOODLE.fullmatch(text) and CANVAS.fullmatch(text):
        return Owner(text)
    if found := MOODLE.fullmatch(text):
        return Owner(found["name"].strip(), found["id"], found["rest"])
    if found := CANVAS.fullmatch(text):
        return Owner(found["name"].strip(), found["id"], found["rest"], found["late"] is not None)
    return Owner(text)


def folded(name: str) -> str:
    """A name without case, accents, order of its words, and what stands between them."""
    name = name.replace("ß", "ss").replace("ø", "o").replace("Ø", "O").replace("ł", "l")
    plain = unicodedata.normalize("NFKD", name).casefold()
    words = re.findall(r"[^\W_]+", "".join(c for c in plain if not unicodedata.combining(c)))
    return "".join(sorted(words))


def printable(text: str) -> str:
    """Text without what a terminal obeys."""
    return "".join(c if c.isprintable() else "?" for c in text)


def shown_file(name: str, most: int = 120) -> str:
    """A file's name to be shown; of a long one the end, which says what kind of file it is."""
    name = printable(name)
    return name if len(name) <= most else f"…{name[-most:]}"


def safe_name(student: str) -> str:
    """A folder's name for a student: unchanged if harmless, else cleaned and made unique."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}", student):
        return student
    plain = unicodedata.normalize("NFKD", student).encode("ascii", "ignore").decode()
    clean = re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-")[:40] or "student"
    digest = hashlib.sha256(unicodedata.normalize("NFC", student).encode("utf-8", "replace"))
    return f"{clean}-{digest.hexdigest()[:8]}"
