"""Is a locked version known to be vulnerable?  The lock against a database of advisories.

The database is a zip file or a folder of advisories in the OSV format, as osv.dev publishes for
PyPI (`PyPI/all.zip`).  `KERNELBOOK_ADVISORIES` names it; nothing is fetched, so that the answer
does not depend on who answers.  Ends with 0 if nothing is known, 1 if something is, and 2, in one
sentence, if there is no database: then nothing has been checked.
"""

import json
import os
import sys
import zipfile
from pathlib import Path

from lock import locked
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

NO_DATABASE = (
    "audit: nothing was checked.  KERNELBOOK_ADVISORIES={!r} is no database of advisories; name a "
    "zip file or a folder of advisories in the OSV format, such as PyPI/all.zip of osv.dev."
)


def advisories(source):
    """The advisories of a zip file or a folder, one after the other."""
    if source.is_dir():
        for path in sorted(source.rglob("*.json")):
            yield json.loads(path.read_text())
    else:
        with zipfile.ZipFile(source) as archive:
            for name in sorted(n for n in archive.namelist() if n.endswith(".json")):
                yield json.loads(archive.read(name))


def affects(entry, version):
    """Whether an `affected` entry of an advisory is about this version."""
    if version in entry.get("versions", ()):
        return True
    ranges = [r for r in entry.get("ranges", ()) if r["type"] == "ECOSYSTEM"]
    return any(_within(Version(version), r["events"]) for r in ranges)


def _within(version, events):
    inside = False
    for event in events:  # in ascending order, by the format
        for kind, bound in event.items():
            try:
                bound = Version(bound)
            except InvalidVersion:
                continue
            if kind == "introduced" and version >= bound:
                inside = True
            elif (kind == "fixed" and version >= bound) or (
                kind == "last_affected" and version > bound
            ):
                inside = False
    return inside


def findings(source, packages):
    """(package, identifier, summary) of every advisory that is about a locked version."""
    pinned = {canonicalize_name(p.name): p for p in packages}
    for advisory in advisories(source):
        if advisory.get("withdrawn"):
            continue
        for entry in advisory.get("affected", ()):
            about = entry.get("package", {})
            package = pinned.get(canonicalize_name(about.get("name", "")))
            if about.get("ecosystem") == "PyPI" and package and affects(entry, package.version):
                yield package, advisory["id"], advisory.get("summary", "")
                break


def main():
    name = os.environ.get("KERNELBOOK_ADVISORIES", "")
    source, packages = Path(name), locked()
    if not name or not (source.is_dir() or zipfile.is_zipfile(source)):
        print(NO_DATABASE.format(name), file=sys.stderr)
        return 2
    found = list(findings(source, packages))
    for package, identifier, summary in found:
        print(f"{package.name} {package.version}: {identifier}  {summary}")
    print(f"audit: {len(packages)} packages of the lock, {len(found)} known vulnerabilities")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
