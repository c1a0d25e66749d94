"""What requirements.txt says: each package, its version, where it is needed, its files' hashes."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Locked(NamedTuple):
    name: str
    version: str
    marker: str  # of the platforms that need it; empty for all
    hashes: tuple  # sha256 of each of its files


def locked(text=None):
    """The packages of the lock, in its order."""
    text = (ROOT / "requirements.txt").read_text() if text is None else text
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            pin, *hashes = line.split("--hash=sha256:")
            name, version, marker = re.match(r"([^=\s]+)==([^ ;]+)(?: ?; ?(.*))?", pin).groups()
            found.append(
                Locked(name, version, (marker or "").strip(), tuple(h.strip() for h in hashes))
            )
    return found
