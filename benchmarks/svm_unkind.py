"""Problems nobody would tune for: imbalance, twins with flipped labels, absurd widths and C."""

from benchmarks.harness import Case, Target
from benchmarks.problems import hinge_objective, unkind
from benchmarks.svm_one_bias import ours, svc

QUESTION = "SVMGBClassifier on unkind problems, ℓ=1, tol 1e-3, beside SVC"
TARGETS = {"SVC": Target(median=5.0, worst=2.5)}


def cases(quick):
    m = 2000 if quick else 4000
    for name, (X, y, width, C) in unkind(m).items():
        yield Case(
            f"{name}, m={m}",
            lambda X=X, y=y, C=C, width=width: ours(X, y, C, width),
            {"SVC": lambda X=X, y=y, C=C, width=width: svc(X, y, C, width)},
            hinge_objective(X, y, width, C),
            {"m": m, "d": X.shape[1], "C": C, "width": width},
        )
