"""Find a data file: in KERNELBOOK_DATA, in the cache, or at its canonical address."""

import hashlib
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

__all__ = ["DataUnavailable", "Source", "data_file", "sha256"]

CHUNK = 1 << 16


class DataUnavailable(FileNotFoundError):
    """A data set is neither here nor to be downloaded; the message says what to do."""


class Corrupt(ValueError):
    """A data file is not what it should be."""


@dataclass(frozen=True)
class Source:
    """One data file: its folder, the names it goes by, where it comes from, how it is checked.

    Attributes
    ----------
    folder : str
        Folder of the file below KERNELBOOK_DATA and below the cache.
    names : tuple of str
        Names under which a copy is accepted; the first is the one a download gets.
    address : str or None
        Canonical address, or None where none could be verified.
    checksum : callable or None
        `checksum(path)` raises if the canonical file is damaged.  It is asked of downloads and of
        files that carry the canonical name; local copies may be repacked, and their contents are
        verified by the loaders.
    """

    folder: str
    names: tuple[str, ...]
    address: str | None = None
    checksum: Callable[[Path], None] | None = None


def cache_root() -> Path:
    return Path(platformdirs.user_cache_dir("kernelbook", appauthor=False)) / "data"


def data_file(source: Source) -> Path:
    """The path of a data file, downloaded into the cache if need be."""
    folders = []
    if named := os.environ.get("KERNELBOOK_DATA"):
        folders += [Path(named) / source.folder, Path(named)]
    folders.append(cache_root() / source.folder)
    for folder in folders:
        for name in source.names:
            path = folder / name
            if path.is_file():
                if source.checksum and name == source.names[0]:
                    source.checksum(path)
                return path
    return _download(source)


def _download(source: Source) -> Path:
    target = cache_root() / source.folder / source.names[0]
    advice = (
        f"Put {' or '.join(source.names)} into {target.parent}, or into a folder "
        f"{source.folder!r} inside the folder that the environment variable KERNELBOOK_DATA names."
    )
    if source.address is None:
        raise DataUnavailable(
            f"{source.names[0]} is not on this machine, and no address of it could be verified. "
            + advice
        )
    import pooch

    try:
        pooch.retrieve(
            source.address,
            known_hash=None,
            fname=target.name,
            path=target.parent,
            downloader=ResumingDownloader(target.with_suffix(target.suffix + ".part")),
        )
    except (OSError, urllib.error.URLError) as error:
        raise DataUnavailable(
            f"{source.names[0]} is not on this machine, and {source.address} did not give it "
            f"({error}). {advice}"
        ) from error
    if source.checksum:
        try:
            source.checksum(target)
        except Corrupt:
            target.unlink()
            raise
    return target


class ResumingDownloader:
    """A pooch downloader that keeps what it has and goes on there, with a progress bar."""

    def __init__(self, part: Path):
        self.part = part

    def __call__(self, url, output_file, pooch_object, check_only=False):
        from tqdm import tqdm

        have = self.part.stat().st_size if self.part.exists() else 0
        request = urllib.request.Request(url)
        if have:
            request.add_header("Range", f"bytes={have}-")
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            if error.code != 416:  # nothing left to send: the part is the whole
                raise
            shutil.move(self.part, output_file)
            return
        with answer:
            if answer.status != 206:  # the server starts again from the beginning
                have = 0
            total = int(answer.headers.get("Content-Length") or 0) + have
            bar = tqdm(total=total or None, initial=have, unit="B", unit_scale=True, disable=None)
            with bar, open(self.part, "ab" if have else "wb") as part:
                bar.set_description(Path(url).name)
                while chunk := answer.read(CHUNK):
                    part.write(chunk)
                    bar.update(len(chunk))
        if total and self.part.stat().st_size != total:
            raise OSError(
                f"the connection ended after {self.part.stat().st_size} of {total} bytes; "
                "run the same command again and it goes on there"
            )
        shutil.move(self.part, output_file)


def sha256(path) -> str:
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def check_sha256(expected: str) -> Callable[[Path], None]:
    def check(path):
        if (found := sha256(path)) != expected:
            raise Corrupt(f"{path} has SHA-256 {found}, not {expected}; delete it and try again.")

    return check


def check_git_blob(expected: str) -> Callable[[Path], None]:
    """Some archives are known only by the hash under which git stores them."""

    def check(path):
        h = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
        with open(path, "rb") as f:
            while chunk := f.read(CHUNK):
                h.update(chunk)
        if h.hexdigest() != expected:
            raise Corrupt(
                f"{path} has git hash {h.hexdigest()}, not {expected}; delete it and try again."
            )

    return check
