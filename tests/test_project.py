"""The house rules that a file can prove: dependencies, the lock, the environment's messages."""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from click.testing import CliRunner

from tests.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DIRECT = [
    re.match(r"[A-Za-z0-9_.-]+", requirement).group()
    for group in [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    for requirement in group
]
LOCK = (ROOT / "requirements.txt").read_text()


@pytest.mark.parametrize("name", DIRECT)
def test_each_dependency_is_locked_and_says_why_it_is_here(name):
    assert re.search(rf"^{re.escape(name)}==", LOCK, re.MULTILINE)
    table = (ROOT / "CONTRIBUTING.md").read_text().split("## Dependencies")[1]
    assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", table)


def test_the_lock_is_exact_and_names_no_address():
    lines = [line for line in LOCK.splitlines() if line and not line.lstrip().startswith("#")]
    pins = [line.removesuffix(" \\") for line in lines if "--hash=sha256:" not in line]
    assert all(re.match(r"[A-Za-z0-9_.\[\],-]+==[^ ;]+( ;.*)?$", line) for line in pins)
    assert "://" not in LOCK


def test_the_lock_satisfies_the_ranges():
    from packaging.requirements import Requirement

    locked = dict(re.findall(r"^([A-Za-z0-9_.-]+)==([^ ;\n]+)", LOCK, re.MULTILINE))
    for group in [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]:
        for requirement in map(Requirement, group):
            assert requirement.specifier.contains(locked[requirement.name], prereleases=True)


def environment(code):
    """Run tools/environment.py with something about the machine changed first."""
    program = f"import sys; sys.path.insert(0, 'tools'); import environment as e; {code}; e.main()"
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def test_an_old_python_is_one_clear_sentence():
    done = environment("sys.version_info = (3, 9, 1)")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "Python 3.11 or newer is needed" in done.stderr


def fake(tmp_path, stamp):
    """Point the set-up at an environment of our own, never at the real one."""
    where = f"e.VENV = {str(tmp_path)!r}; e.PYTHON = '/bin/false'; e.STAMP = e.VENV + '/stamp'"
    return f"{where}; open(e.STAMP, 'w').write({stamp})"


def test_a_failed_install_ends_in_one_clear_sentence(tmp_path):
    done = environment(fake(tmp_path, "'an older lock'"))
    assert done.returncode == 1
    assert (
        done.stderr.strip().splitlines()[-1].startswith("kernelbook: could not install uv; check")
    )
    assert "Traceback" not in done.stderr


def test_a_second_run_of_the_set_up_does_nothing(tmp_path):
    done = environment(fake(tmp_path, "e.digest()"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_command_teaches():
    from kernelbook.cli import main

    top = CliRunner().invoke(main, ["--help"])
    assert top.exit_code == 0
    assert "info" in top.output
    course = CliRunner().invoke(main, ["course", "--help"])
    assert "..." not in top.output.split("Commands:")[1] + course.output.split("Commands:")[1]
    shown = CliRunner().invoke(main, ["info"])
    assert shown.exit_code == 0
    assert "numba" in shown.output


def test_the_package_shows_its_names_and_no_others():
    import kernelbook

    shown = {name for name in dir(kernelbook) if not name.startswith("__")}
    assert set(kernelbook.__all__) - {"__version__"} <= shown
    for name in shown - set(kernelbook.__all__):
        assert getattr(kernelbook, name).__name__ == f"kernelbook.{name}"


def test_the_package_is_found_beside_a_folder_of_its_name(tmp_path):
    """A clone is called kernelbook too: a script next to it must not import the empty folder."""
    (tmp_path / "kernelbook").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", "from kernelbook import Gaussian"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_the_version_is_written_once():
    import kernelbook

    files = [ROOT / name for name in ("pyproject.toml", "CITATION.cff", "kernelbook/__init__.py")]
    found = [p.name for p in files if re.search(r'version\w* ?[=:] ?"?\d', p.read_text(), re.I)]
    assert [name for name in found if name != "CITATION.cff"] == ["__init__.py"]
    assert "\nversion:" not in (ROOT / "CITATION.cff").read_text()
    assert kernelbook.__version__ in (ROOT / "CHANGELOG.md").read_text()


def test_a_commit_runs_what_make_lint_runs():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [hook["entry"] for repo in hooks for hook in repo["hooks"]] == ["make lint"]


def test_hosted_ci_runs_the_oldest_and_the_newest_python():
    job = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]["test"]
    versions = [c.split()[-1] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert job["strategy"]["matrix"]["python"] == [versions[0], versions[-1]]
    assert job["steps"][-1] == {"run": ".ci/run"}


def test_the_citation_is_complete():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)


def test_warm_compiles_with_a_bar(monkeypatch):
    from kernelbook import warm
    from kernelbook.cli import main

    made = []
    monkeypatch.setattr(warm, "steps", lambda: iter([("a", lambda: made.append(1))] * 3))
    done = CliRunner().invoke(main, ["warm"])
    assert done.exit_code == 0, done.output
    assert made == [1, 1, 1]
    assert "3 fits made" in done.output
