"""20 Newsgroups, WebKB's "4 universities" and the 7 sectors: texts and labels from their archives.

The archives are tar files of one message or page a member, the label in the member's path.  They
are read in memory.  A message starts with headers, of which `Newsgroups:` *is* the label, and a
page with a MIME header: everything before the first empty line is dropped.  Of pages the mark-up
is dropped too.
"""

import html
import re
import tarfile

import numpy as np
from sklearn.utils import Bunch

from kernelbook.datasets._fetch import Corrupt, Source, check_git_blob, data_file

__all__ = ["load_7sectors", "load_newsgroups", "load_webkb", "read_archive"]

LARGEST = 1 << 30  # bytes of text; the largest of these archives holds 46 MB

NEWSGROUPS = Source(
    "20newsgroups",
    ("20news-19997.tar.gz", "20_newsgroups_19997.tar.gz"),
    "http://qwone.com/~jason/20Newsgroups/20news-19997.tar.gz",
)
WEBKB = Source(
    "webkb",
    ("webkb-data.gtar.gz", "webkb.tar.gz"),
    "http://www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-20/www/data/webkb-data.gtar.gz",
    check_git_blob("5c0baacaa965cb0298ea30582a1e7ac280ebb0eb"),
)
SECTORS = Source("7sectors", ("7sectors.tar.gz",))

WEBKB_COUNTS = {
    "course": 930,
    "department": 182,
    "faculty": 1124,
    "other": 3764,
    "project": 504,
    "staff": 137,
    "student": 1641,
}
# The full list has 4,582 pages; known copies lack ten financial pages and one of healthcare.
SECTOR_COUNTS = {
    "basic.materials": {949},
    "energy": {355},
    "financial": {954, 964},
    "healthcare": {399, 400},
    "technology": {1099},
    "transportation": {515},
    "utilities": {300},
}
SUBSETS = {"comp": 5, "rec": 4, "sci": 4, "talk": 4}


def read_archive(path):
    """Yield (member's path parts, bytes) of every regular file of a tar archive, in name order."""
    with tarfile.open(path) as archive:
        members = sorted((m for m in archive if m.isfile()), key=lambda m: m.name)
        if sum(m.size for m in members) > LARGEST:
            raise Corrupt(
                f"{path} unpacks to more than {LARGEST >> 20} MiB; it is not this data set."
            )
        # Reading in the order of the file on disk is far faster than seeking back and forth.
        texts = {}
        for member in sorted(members, key=lambda m: m.offset):
            texts[member.name] = archive.extractfile(member).read()
    for member in members:
        yield tuple(p for p in member.name.split("/") if p not in ("", ".")), texts[member.name]


def without_header(raw: bytes) -> str:
    """The text behind the first empty line."""
    text = raw.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n")
    return text.partition("\n\n")[2]


def without_markup(page: str) -> str:
    """A page's words: no scripts, no comments, no tags; entities decoded."""
    page = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>|<!--.*?-->", " ", page)
    return html.unescape(re.sub(r"(?s)<[^>]*>", " ", page))


def _bunch(texts, labels, names, filenames):
    names = sorted(names)
    return Bunch(
        data=texts,
        target=np.array([names.index(label) for label in labels]),
        target_names=names,
        filenames=filenames,
    )


def load_newsgroups(subset=None):
    """The original 19,997 messages of 20 newsgroups, or the subset comp, rec, sci or talk.

    Returns
    -------
    Bunch with `data` (list of str, headers dropped), `target`, `target_names`, `filenames`.
    """
    if subset is not None and subset not in SUBSETS:
        raise ValueError(f"subset={subset!r} is not known; pass one of {sorted(SUBSETS)} or None.")
    path = data_file(NEWSGROUPS)
    texts, labels, filenames = [], [], []
    counts = {}
    for parts, raw in read_archive(path):
        group = parts[-2] if len(parts) >= 2 else ""
        counts[group] = counts.get(group, 0) + 1
        if subset is None or group.split(".")[0] == subset:
            texts.append(without_header(raw))
            labels.append(group)
            filenames.append("/".join(parts[-2:]))
    expected = dict.fromkeys(counts, 1000) | {"soc.religion.christian": 997}
    if len(counts) != 20 or counts != expected:
        raise Corrupt(f"{path}: expected 19,997 messages in 20 groups, got {sum(counts.values())}.")
    return _bunch(texts, labels, set(labels), filenames)


def load_webkb():
    """The 8,282 pages of seven kinds that four universities (and others) had in 1997.

    Returns
    -------
    Bunch with `data` (list of str, mark-up dropped), `target`, `target_names`, `filenames`.
    """
    path = data_file(WEBKB)
    rows = [(parts, raw) for parts, raw in read_archive(path) if len(parts) >= 3]
    labels = [parts[-3] for parts, _ in rows]
    counts = {label: labels.count(label) for label in set(labels)}
    if counts != WEBKB_COUNTS:
        raise Corrupt(f"{path}: expected 8,282 pages in 7 classes, got {counts}.")
    return _pages(rows, labels, counts)


def load_7sectors():
    """About 4,580 company pages of seven economic sectors (paper B counts 4,573).

    Returns
    -------
    Bunch with `data` (list of str, mark-up dropped), `target`, `target_names`, `filenames`.
    """
    path = data_file(SECTORS)
    rows = []
    for parts, raw in read_archive(path):
        sector = next((p for p in parts[:-1] if p.removesuffix(".sector") in SECTOR_COUNTS), None)
        if sector is not None:
            rows.append((parts, raw, sector.removesuffix(".sector")))
    labels = [row[2] for row in rows]
    counts = {label: labels.count(label) for label in SECTOR_COUNTS}
    if any(counts[label] not in allowed for label, allowed in SECTOR_COUNTS.items()):
        raise Corrupt(f"{path}: expected 4,571 to 4,582 pages in 7 sectors, got {counts}.")
    return _pages([row[:2] for row in rows], labels, counts)


def _pages(rows, labels, names):
    texts = [without_markup(without_header(raw)) for _, raw in rows]
    return _bunch(texts, labels, names, ["/".join(parts[1:]) for parts, _ in rows])
