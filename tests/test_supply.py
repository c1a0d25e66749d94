"""What is installed is what was locked, and what that is can be read and audited."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import lock
import sbom

PACKAGES = lock.locked()


def test_the_lock_has_the_hashes_of_every_package():
    assert len(PACKAGES) > 100
    assert all(package.hashes for package in PACKAGES)
    assert {len(h) for package in PACKAGES for h in package.hashes} == {64}


def test_an_install_demands_the_hashes_and_builds_nothing():
    text = (ROOT / "tools" / "environment.py").read_text()
    assert text.count('"--require-hashes", "--only-binary", ":all:"') == 2
    assert '"--no-build-isolation"' in text
    assert "--generate-hashes" in (ROOT / "Makefile").read_text()


def test_uv_is_fetched_with_its_own_hashes(tmp_path):
    code = f"import environment as e; e.VENV = {str(tmp_path)!r}; print(e.locked('uv'))"
    path = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT / "tools", text=True)
    (only,) = lock.locked(Path(path.strip()).read_text())
    assert only == next(package for package in PACKAGES if package.name == "uv")


UNPICKLED = {
    "kernelbook/cli.py": "`kernelbook verify`, and only with --trust-pickle",
    "kernelbook/numeric/jit.py": "the user's own cache of compiled code, in a folder of theirs",
}


def test_no_pickle_is_loaded_that_a_stranger_may_have_written():
    wanted = re.compile(r"pickle\.loads?\(|joblib\.load\(|allow_pickle=True")
    found = [
        str(path.relative_to(ROOT))
        for folder in ("kernelbook", "tools", "assignments")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if wanted.search(path.read_text())
    ]
    assert set(found) <= set(UNPICKLED), "say in UNPICKLED whose pickle it is, or read plain data"


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "kernelbook-9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "kernelbook-9.9.dist-info/METADATA",
            "Metadata-Version: 2.4\nName: kernelbook\nVersion: 9.9\nLicense-Expression: MIT\n"
            "Requires-Dist: numpy>=2.0\nRequires-Dist: cvxopt>=1.3; extra == 'reference'\n",
        )
    return path


def test_the_bill_of_materials_names_every_package_and_what_is_required(wheel):
    sbom.main(wheel.parent)
    bill = json.loads(wheel.with_suffix(".cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert len(bill["metadata"]["component"]["hashes"][0]["content"]) == 64
    scopes = {part["name"]: part["scope"] for part in bill["components"]}
    assert set(scopes) == {package.name for package in PACKAGES}
    assert (scopes["numpy"], scopes["cvxopt"]) == ("required", "optional")
    (numpy,) = bill["dependencies"][0]["dependsOn"]
    assert numpy.startswith("pkg:pypi/numpy@")


def audit(database):
    done = subprocess.run(
        [sys.executable, "tools/audit.py"], cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"KERNELBOOK_ADVISORIES": str(database)},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def advisory(name, **entry):
    package = {"package": {"ecosystem": "PyPI", "name": name}}
    return {"id": f"TEST-{name}", "summary": "made up", "affected": [package | entry]}


def ranges(**events):
    listed = [{key: value} for key, value in events.items()]
    return {"ranges": [{"type": "ECOSYSTEM", "events": listed}]}


def test_an_audit_finds_locked_versions_by_number_and_by_range(tmp_path):
    versions = {package.name: package.version for package in PACKAGES}
    made_up = [
        advisory("NumPy", versions=["0.1", versions["numpy"]]),
        advisory("scipy", **ranges(introduced="0", fixed="9999")),
        advisory("numba", **ranges(introduced="0", last_affected=versions["numba"])),
        advisory("click", **ranges(introduced="0", fixed=versions["click"])),
        advisory("tqdm", **ranges(introduced="0", last_affected="0.1")),
        advisory("not-in-the-lock", **ranges(introduced="0")),
        advisory("pip", **ranges(introduced="0")) | {"withdrawn": "2020-01-01T00:00:00Z"},
    ]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for item in made_up:
            archive.writestr(f"{item['id']}.json", json.dumps(item))
            (tmp_path / f"{item['id']}.json").write_text(json.dumps(item))
    for database in (tmp_path, tmp_path / "all.zip"):
        code, said = audit(database)
        assert code == 1
        assert [line.split(":")[0].split()[0] for line in said.splitlines()[:-1]] == [
            "numpy", "numba", "scipy",
        ]  # fmt: skip
        assert "3 known vulnerabilities" in said


def test_an_audit_that_finds_nothing_and_one_without_a_database(tmp_path):
    assert audit(tmp_path)[0] == 0
    for missing in ("", tmp_path / "nowhere.zip"):
        code, said = audit(missing)
        assert (code, said.count("\n")) == (2, 1)
        assert "nothing was checked" in said
