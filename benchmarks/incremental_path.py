"""A classifier for each of 200 sizes: by the growing factor and warm starts, or each from nothing.

The peers solve on the same nested spaces.  "fresh solves" are `PrimalSVMClassifier` with the same
centres and tolerance; "SVC" gets each space as a precomputed kernel.  "one full solve" is the
machine over all functions at once: the path should take less than ten times as long, so its ratio
should be above 0.1.  Quick, it is 10 sizes and no SVC.  The objectives are those of the last size;
the full solve, over a larger space, has none that would be a measure for ours.
"""

import numpy as np
from sklearn.svm import SVC

from benchmarks.harness import Case, Target
from benchmarks.problems import noisy_xor, rings
from kernelbook import Gaussian, IncrementalSVMClassifier, KernelBasis, PrimalSVMClassifier

QUESTION = "IncrementalSVMClassifier, step by step, beside fresh solves and one full one"
TARGETS = {
    "fresh solves": Target(median=20.0),
    "SVC": Target(median=20.0),
    "one full solve": Target(median=0.1, worst=0.1),
}


def cases(quick):
    steps = 10 if quick else 200
    problems = [(noisy_xor, 10, 10.0), *([] if quick else [(noisy_xor, 2, 1.0), (rings, 10, 1.0)])]
    for data, d, C in problems:
        X, y = data(2000, d)
        basis = KernelBasis(Gaussian(d**0.5))
        path = IncrementalSVMClassifier(basis, C=C, max_basis=steps)
        centers = X[path.fit(X, y).selected_]
        problem = {"X": X, "y": y, "C": C, "kernel": basis.kernel}
        peers = {
            "fresh solves": lambda p=problem, z=centers: [fresh(z[:k], **p) for k in sizes(z)][-1],
            "SVC": lambda p=problem, z=centers: [svc(z[:k], **p) for k in sizes(z)][-1],
            "one full solve": lambda p=problem: full(**p),
        }
        if quick:
            del peers["SVC"]
        yield Case(
            f"{data.__name__} n=2000 d={d} C={C:g} {steps} steps",
            lambda path=path, X=X, y=y: path.fit(X, y).path_[-1].objective,
            peers,
            lambda answer, y=y, C=C: objective(answer, y, C),
            {"n": 2000, "d": d, "C": C, "steps": steps},
        )


def sizes(centers):
    return range(1, len(centers) + 1)


def fresh(centers, X, y, C, kernel):
    basis = KernelBasis(kernel, centers=centers)
    return PrimalSVMClassifier(basis, C=C, tol=1e-6).fit(X, y).certificate_.primal


def full(X, **problem):
    fresh(X, X, **problem)


def svc(centers, X, y, C, kernel):
    """The equivalent kernel B G⁻¹ Bᵀ of the space, and SVC as it comes."""
    k = len(centers)
    factor = np.linalg.cholesky(kernel(centers) + 1e-12 * np.eye(k))
    x = np.linalg.solve(factor, kernel(centers, X)).T
    return x, SVC(C=C, kernel="precomputed", cache_size=4000).fit(x @ x.T, y)


def objective(answer, y, C):
    """½‖w‖² + C Σ (1 − yf)₊: what our learners say and prove; of SVC it is computed."""
    if answer is None:
        return float("nan")
    if isinstance(answer, float):
        return answer
    x, model = answer
    w = x[model.support_].T @ model.dual_coef_[0]
    return 0.5 * w @ w + C * np.maximum(0.0, 1.0 - y * (x @ w + model.intercept_)).sum()
