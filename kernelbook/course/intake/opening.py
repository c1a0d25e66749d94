"""The bytes of what was handed in, reached without following a link.

The path is walked down from the folder of submissions, one component at a time, and none of them
may be a link; a file with a second name elsewhere (a hard link) is refused, because it may be
somebody else's file.  Sizes are checked before anything is read.  Zip files are read in memory and
never unpacked, so a name inside one is only a name.
"""

import io
import os
import stat
import zipfile
from collections.abc import Callable
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from kernelbook.course.intake.names import shown_file

__all__ = [
    "MAX_BYTES",
    "Unreadable",
    "file_bytes",
    "ignored",
    "is_notebook_name",
    "zip_in_memory",
    "zip_members",
]

MAX_BYTES = 20 << 20
MAX_MEMBERS = 2000
IGNORED = ("__MACOSX", ".ipynb_checkpoints", ".DS_Store", ".git", ".venv", "node_modules")


class Unreadable(ValueError):
    """What was handed in cannot be read; the message names the file and the remedy."""


def file_bytes(root: Path, path: Path, limit=MAX_BYTES) -> tuple[bytes, float]:
    """The content of root/…/path, and when it was last changed."""
    shown = path.name
    with _parent(root, path) as folder:
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(path.name, flags, dir_fd=folder)
        except FileNotFoundError:
            raise Unreadable(f"there is no file {shown}") from None
        except OSError as error:
            raise Unreadable(
                f"{shown} is a link or cannot be opened ({error.strerror}); put the file itself "
                "there"
            ) from None
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        os.close(descriptor)
        raise Unreadable(f"{shown} is not an ordinary file; put a copy of the file there")
    with os.fdopen(descriptor, "rb") as stream:
        if info.st_nlink > 1:
            raise Unreadable(
                f"{shown} has a second name somewhere (a hard link); put a copy of the file there"
            )
        if info.st_size > limit:
            raise Unreadable(
                f"{shown} has {info.st_size / 2**20:.0f} MB, more than the {limit >> 20} MB that "
                "are read; clear its outputs and hand it in again"
            )
        return stream.read(limit + 1), info.st_mtime


@contextmanager
def _parent(root, path):
    """A descriptor of the folder that holds the file, below the root and without links."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in Path(path).relative_to(root).parts[:-1]:
            try:
                below = os.open(name, flags, dir_fd=folder)
            except OSError:
                raise Unreadable(
                    f"{name} is a link, not a folder; put the files themselves there"
                ) from None
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def is_notebook_name(name: str) -> bool:
    """Notebooks, and what mail programs and browsers make of their names."""
    return name.lower().endswith((".ipynb", ".ipynb.txt", ".ipynb.json", ".ipynb.html"))


def ignored(name: str) -> bool:
    """What file managers and editors leave beside the files that people mean."""
    parts = PurePosixPath(name).parts
    return any(p in IGNORED or p.startswith("._") or p.startswith(".~") for p in parts)


def zip_members(
    opened: Callable[[], BinaryIO], shown: str
) -> list[tuple[str, Callable[[], bytes], float | None]]:
    """(name, function that reads it, when it was changed) for each file in a zip file.

    opened: opens the zip file; once now, and once more for each file that is read, so that no
    content is kept in between.
    """
    try:
        with opened() as stream, zipfile.ZipFile(stream) as archive:
            infos = archive.infolist()
    except Unreadable:
        raise
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        raise Unreadable(
            f"{shown} is no zip file, or a damaged one; hand in the notebook itself"
        ) from None
    if len(infos) > MAX_MEMBERS:
        raise _too_many(shown, len(infos))

    def reader(info):
        def read():
            name = shown_file(info.filename)
            if info.file_size > MAX_BYTES:
                raise Unreadable(
                    f"{name} in {shown} has {info.file_size / 2**20:.0f} MB, more than "
                    f"the {MAX_BYTES >> 20} MB that are read; clear its outputs and hand it in "
                    "again"
                )
            # Of the others Python unpacks everything at once, whatever size is asked for.
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise Unreadable(
                    f"{name} in {shown} is packed in an unusual way; hand in the notebook itself"
                )
            try:
                with opened() as stream, zipfile.ZipFile(stream) as archive:
                    with archive.open(info) as member:
                        return member.read(MAX_BYTES + 1)
            except Exception:  # damaged, encrypted, or packed in a way that Python does not know
                raise Unreadable(
                    f"{name} in {shown} cannot be unpacked; hand in the notebook itself, "
                    "without a password"
                ) from None

        return read

    return [
        (info.filename, reader(info), _stamp(info.date_time))
        for info in infos
        if not info.is_dir() and not ignored(info.filename)
    ]


def zip_in_memory(raw: bytes, shown: str) -> BinaryIO:
    """A student's zip file, opened; one with far too many entries is not even listed."""
    if (found := raw.count(b"PK\x01\x02")) > 5 * MAX_MEMBERS:
        raise _too_many(shown, found)
    return io.BytesIO(raw)


def _too_many(shown, number):
    return Unreadable(
        f"{shown} holds {number} files, more than the {MAX_MEMBERS} that are looked at; "
        "hand in the notebook itself"
    )


def _stamp(moment):
    """A time in a zip file, which knows no time zones; None for 1980, which means "unknown"."""
    try:
        return datetime(*moment).timestamp() if moment[0] > 1980 else None
    except (ValueError, OverflowError, OSError):
        return None
