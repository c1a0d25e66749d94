"""The bill of materials of the wheels in a folder: what they are, and what the lock lists.

CycloneDX 1.5, as JSON, next to each wheel.  Built from the lock alone, so the same lock and wheel
give the same file: no time, no name of a machine.  A package is `required` if the wheel needs it to
be imported, `optional` if an extra does or a tool of the project.
"""

import hashlib
import json
import re
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

from lock import locked


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(wheel):
    """The metadata of a wheel, and the names it requires without any extra."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    plain = [r for r in metadata.get_all("Requires-Dist", []) if "extra ==" not in r]
    return metadata, {canonical(re.match(r"[\w.-]+", r).group()) for r in plain}


def component(package, required):
    parts = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{package.name}@{package.version}",
        "name": package.name,
        "version": package.version,
        "purl": f"pkg:pypi/{package.name}@{package.version}",
        "scope": "required" if required else "optional",
        "properties": [{"name": "file:sha256", "value": h} for h in package.hashes],
    }
    if package.marker:
        parts["properties"].insert(0, {"name": "marker", "value": package.marker})
    return parts


def bill(wheel, packages):
    """The bill of materials of one wheel."""
    metadata, direct = requirements(wheel)
    digest = hashlib.sha256(Path(wheel).read_bytes()).hexdigest()
    this = f"pkg:pypi/{metadata['Name']}@{metadata['Version']}"
    parts = [component(p, canonical(p.name) in direct) for p in packages]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": this,
                "name": metadata["Name"],
                "version": metadata["Version"],
                "purl": this,
                "licenses": [{"expression": metadata["License-Expression"]}],
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
        },
        "components": parts,
        "dependencies": [
            {
                "ref": this,
                "dependsOn": [p["bom-ref"] for p in parts if p["scope"] == "required"],
            }
        ],
    }


def main(folder):
    for wheel in sorted(Path(folder).glob("*.whl")):
        path = wheel.with_suffix(".cdx.json")
        path.write_text(json.dumps(bill(wheel, locked()), indent=1) + "\n")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1])
