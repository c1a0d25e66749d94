"""How far a reader must walk: the files that one fit passes through, and how often it changes file.

Functions are counted where Python calls them, compiled ones too, and not what they call inside.  In
a process of its own and on one thread, where the numbers are the same every time.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.paths import ROOT

FITS = {
    "svm": ("kb.SVMGBClassifier(kb.Gaussian(1.0), kb.Polynomials(1))", "value > 0"),
    "grls": ("kb.GRLSRegressor(kb.Gaussian(1.0), kb.Polynomials(1))", "value"),
}
WALKS = """
import json, sys
import numpy as np
import kernelbook as kb

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
value = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=400)

def walk(learner, targets):
    model, y, files = eval(learner), eval(targets), []
    def visit(frame, event, _):
        _, inside, name = frame.f_code.co_filename.rpartition("/kernelbook/")
        if event in ("call", "return") and inside and files[-1:] != [name]:
            files.append(name)
    model.fit(X, y)  # compiled
    sys.setprofile(visit)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    return files

print(json.dumps({name: walk(*fit) for name, fit in json.loads(sys.argv[1]).items()}))
"""


@pytest.fixture(scope="module")
def walks():
    environment = os.environ | {"NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WALKS, json.dumps(FITS)]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(("fit", "switches"), [("svm", 99), ("grls", 110)])
def test_a_fit_passes_through_few_files(walks, fit, switches):
    """These numbers may only fall."""
    files = [name for name in walks[fit] if not name.startswith("numeric/")]
    assert len(set(files)) <= 12, sorted(set(files))
    assert len(walks[fit]) <= switches, "\n".join(walks[fit])
