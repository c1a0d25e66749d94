"""How long a reader waits: a fresh process that imports, and one that imports and fits.

Compiled code is on disk, Numba's and Python's own (the warm-up call sees to that); what is left is
to start Python, to import NumPy, SciPy, scikit-learn (which imports pandas, where there is one) and
Numba, and to load the compiled code.  "its dependencies" is the import of those four alone, which
any program that builds on them needs; "import" comes with everything a fit needs.  The first fit
itself is timed by the process that makes it: the imports around it cannot blur that number.

"empty cache" is the very first fit after an installation, which compiles what it needs.  Its limit
is in seconds of the processors: compiling runs on one core, and other programs may be running.
"""

import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from statistics import median

from benchmarks.harness import Case, Target

QUESTION = "First call in a fresh process, compiled code on disk"
TARGETS = {"its dependencies": Target(median=0.5)}
LIMIT, COLD_LIMIT = 1.0, 6.0
COLD = ", empty cache"

DEPENDENCIES = "import numba, numpy, scipy.linalg, scipy.sparse, sklearn.base, sklearn.metrics"
IMPORT = """
import numpy as np
from kernelbook import Gaussian, GRLSRegressor, Polynomials, SVMGBClassifier
from kernelbook import IncrementalSVMClassifier, PrimalSVMClassifier
SVMGBClassifier, GRLSRegressor
X = np.random.default_rng(0).normal(size=(200, 2))
"""
FITS = {
    "import": "",
    "import and fit SVM-GB, m=200": "SVMGBClassifier(Gaussian(), Polynomials(1)).fit("
    "X, X[:, 0] * X[:, 1] > 0)",
    "import and fit G-RLS, m=200": "GRLSRegressor(Gaussian(), Polynomials(1)).fit("
    "X, np.abs(X[:, 0]))",
}
FITS |= {
    name + COLD: FITS[name]
    for name in ("import and fit SVM-GB, m=200", "import and fit G-RLS, m=200")
} | {
    f"import and fit {name}, m=200{COLD}": f"{learner}().fit(X, X[:, 0] * X[:, 1] > 0)"
    for name, learner in (
        ("primal SVM", "PrimalSVMClassifier"),
        ("incremental SVM", "IncrementalSVMClassifier"),
    )
}
TIMED = """
import os, time
_begin = time.perf_counter(), time.process_time()
{fit}
_spent = time.perf_counter() - _begin[0], time.process_time() - _begin[1]
_status = open("/proc/self/status").read() if os.path.exists("/proc/self/status") else "VmHWM: nan"
print(_status.partition("VmHWM:")[2].split()[0], *_spent)
"""


def cases(quick):
    with tempfile.TemporaryDirectory() as folder:
        for name, fit in FITS.items():
            if quick and name != "import and fit SVM-GB, m=200":  # a fresh process takes seconds
                continue
            facts = {}
            peers = {"its dependencies": partial(run, DEPENDENCIES, folder)}
            yield Case(
                name,
                partial(run, IMPORT, folder, fit, facts, cold=name.endswith(COLD)),
                {} if fit else peers,
                facts=facts,
                peak=lambda megabytes: megabytes,
            )


def run(program, folder, fit="", facts=None, cold=False):
    """Run it in a fresh interpreter, with Python's compiled code in `folder`.

    If `cold`, Numba has compiled nothing yet.

    Returns its peak in megabytes, or NaN.  It reads that itself: what the system tells a parent
    includes the parent's peak, which the child was a copy of for a moment.  To `facts` goes what
    the first `fit` took, in seconds of the clock and of the processors, one number for each run.
    """
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as empty:
        if cold:
            environment["NUMBA_CACHE_DIR"] = empty
        done = subprocess.run(
            [sys.executable, "-c", program + TIMED.format(fit=fit)],
            env=environment,
            check=True,
            capture_output=True,
        )
    peak, clock, processors = map(float, done.stdout.split()[-3:])
    if fit and facts is not None:
        facts.setdefault("fit_seconds", []).append(round(clock, 3))
        facts.setdefault("fit_cpu_seconds", []).append(round(processors, 3))
    return peak / 1024


def summary(rows):
    """What the first fit takes; with a full cache the first run, which may compile, is left out."""
    for row in rows:
        facts = json.loads(row.facts)
        if "fit_seconds" in facts:
            cold = row.case.endswith(COLD)
            seconds, processors = (
                median(facts[name][not cold :] or facts[name])
                for name in ("fit_seconds", "fit_cpu_seconds")
            )
            limit, spent = (COLD_LIMIT, processors) if cold else (LIMIT, seconds)
            yield (
                f"→ {row.case}: the fit takes {seconds:.2f} s ({processors:.2f} s of processors); "
                f"asked: below {limit:g} s{' of processors' * cold}: "
                f"{'reached' if spent < limit else 'NOT reached'}"
            )
