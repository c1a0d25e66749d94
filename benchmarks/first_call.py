"""How long a reader waits: a fresh process that imports, and one that imports and fits.

Compiled code is on disk, Numba's and Python's own (the warm-up call sees to that); what is left is
to start Python, to import NumPy, SciPy, scikit-learn (which imports pandas, where there is one) and
Numba, and to load the compiled code.  "its dependencies" is the import of those four alone, which
nobody who builds on them can do without; "import" comes with everything a fit needs.
"""

import os
import subprocess
import sys
import tempfile
from functools import partial

from benchmarks.harness import Case, Target

QUESTION = "First call in a fresh process, compiled code on disk"
TARGETS = {"its dependencies": Target(median=0.5)}

DEPENDENCIES = "import numba, numpy, scipy.linalg, scipy.sparse, sklearn.base, sklearn.metrics"
IMPORT = """
import numpy as np
from kernelbook import Gaussian, GRLSRegressor, Polynomials, SVMGBClassifier
SVMGBClassifier, GRLSRegressor
X = np.random.default_rng(0).normal(size=(200, 2))
"""
PEAK = """
import os
status = open("/proc/self/status").read() if os.path.exists("/proc/self/status") else "VmHWM: nan"
print(status.partition("VmHWM:")[2].split()[0])
"""
PROGRAMS = {
    "import": IMPORT,
    "import and fit SVM-GB, m=200": IMPORT
    + "SVMGBClassifier(Gaussian(), Polynomials(1)).fit(X, X[:, 0] * X[:, 1] > 0)",
    "import and fit G-RLS, m=200": IMPORT
    + "GRLSRegressor(Gaussian(), Polynomials(1)).fit(X, np.abs(X[:, 0]))",
}


def cases(quick):
    with tempfile.TemporaryDirectory() as folder:
        for name, program in PROGRAMS.items():
            peers = {"its dependencies": partial(run, DEPENDENCIES, folder)}
            yield Case(
                name,
                partial(run, program, folder),
                peers if name == "import" else {},
                peak=lambda call: call(),
            )


def run(program, folder):
    """Run it, with Python's compiled code in `folder`; returns its peak in megabytes, or NaN.

    The process reads its own peak: what the system tells a parent includes the parent's, which
    the child was a copy of for a moment.
    """
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", program + PEAK], env=environment, check=True, capture_output=True
    )
    return float(done.stdout.split()[-1]) / 1024


def summary(rows):
    """What the first call adds to the import."""
    seconds = {row.case: row.seconds for row in rows}
    for name in PROGRAMS:
        if name != "import":
            more = seconds[name] - seconds["import"]
            yield f"→ {name}: {more:.2f} s more than the import; asked: below 1 s"
