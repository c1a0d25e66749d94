"""The wheel is enough: installed in an empty environment it imports, fits and answers."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest

from tests.paths import ROOT

FIT = """
import numpy as np
import kernelbook
from kernelbook import Gaussian, GRLSRegressor, Polynomials, SVMGBClassifier

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(30, 2))
f = GRLSRegressor(Gaussian(0.5), Polynomials(1), reg=1e-3).fit(X, X[:, 0] + X[:, 1] ** 2)
g = SVMGBClassifier(Gaussian(0.5), Polynomials(1)).fit(X, np.sign(X[:, 0]))
assert f.certificate_.relative_gap < 1e-6 and g.certificate_.relative_gap < 1e-3
assert f.predict(X).shape == g.predict(X).shape == (30,)
print(kernelbook.__file__)
"""


def run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=300, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_package_its_types_and_its_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / "kernelbook").rglob("*.py")}
    assert modules | {"kernelbook/py.typed"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    others = [n for n in names if not n.startswith(("kernelbook/", "kernelbook-"))]
    assert others == []
    for line in ("Requires-Python: >=3.11", "Classifier: Typing :: Typed", "Provides-Extra: plot"):
        assert line in metadata


def test_both_learners_fit_from_the_wheel_in_an_empty_environment(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    # The dependencies are those of this environment: nothing is fetched.  A path file that is
    # found through another one is not read, so the editable install is not seen.
    with open(os.path.join(purelib, "dependencies.pth"), "w") as file:
        file.write(sysconfig.get_path("purelib") + "\n")
    run(
        *(sys.executable, "-m", "uv", "pip", "install", "-q", "--offline", "--no-deps"),
        *("--python", python, wheel),
    )
    # Interpreted: whether the code compiles is for other tests, and takes half a minute.
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    where = run(python, "-I", "-c", FIT, cwd=tmp_path, env=environment).strip()
    assert where.startswith(purelib)
    command = python.with_name("kernelbook")
    assert "numba" in run(command, "info", cwd=tmp_path, env=environment)
