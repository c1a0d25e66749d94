"""How long a reader waits: a fresh process that imports, and one that imports and fits.

Compiled code is on disk (the warm-up call sees to that); what is left is to start Python, to import
NumPy, SciPy and scikit-learn, and to load the compiled code.
"""

import subprocess
import sys

from benchmarks.harness import Case

QUESTION = "First call in a fresh process, compiled code on disk"
TARGETS = {}

IMPORT = """
import numpy as np
from kernelbook import Gaussian, GRLSRegressor, Polynomials, SVMGBClassifier
SVMGBClassifier, GRLSRegressor
X = np.random.default_rng(0).normal(size=(200, 2))
"""
PROGRAMS = {
    "import": IMPORT,
    "import and fit SVM-GB, m=200": IMPORT
    + "SVMGBClassifier(Gaussian(), Polynomials(1)).fit(X, X[:, 0] * X[:, 1] > 0)",
    "import and fit G-RLS, m=200": IMPORT
    + "GRLSRegressor(Gaussian(), Polynomials(1)).fit(X, np.abs(X[:, 0]))",
}


def cases(quick):
    for name, program in PROGRAMS.items():
        yield Case(
            name,
            lambda program=program: subprocess.run([sys.executable, "-c", program], check=True),
        )


def summary(rows):
    """What the first call adds to the import."""
    seconds = {row.case: row.seconds for row in rows}
    for name in PROGRAMS:
        if name != "import":
            more = seconds[name] - seconds["import"]
            yield f"→ {name}: {more:.2f} s more than the import; asked: below 1 s"
