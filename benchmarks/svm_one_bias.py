"""The support vector machine that everybody knows: one free feature, the constant; tol = 10⁻³."""

from sklearn.svm import SVC

from benchmarks.harness import Target
from benchmarks.problems import noisy_xor, rings, svm_cases
from kernelbook import Gaussian, SVMGBClassifier

QUESTION = "SVMGBClassifier, ℓ=1, tol 1e-3, beside SVC with a 4 GB cache"
TARGETS = {"SVC": Target(median=5.0, worst=2.5)}

SIZES = (
    [
        # data, m, d, C; the full set adds the second list
        (noisy_xor, 2000, 10, 1.0),
        (rings, 5000, 10, 10.0),
    ],
    [
        (noisy_xor, 2000, 100, 10.0),
        (noisy_xor, 5000, 10, 1.0),
        (noisy_xor, 2000, 10, 100.0),
        (noisy_xor, 5000, 10, 100.0),
        (noisy_xor, 5000, 100, 10.0),
        (rings, 5000, 10, 100.0),
        (rings, 8000, 2, 1.0),
        (noisy_xor, 8000, 10, 10.0),
        (rings, 10000, 100, 1.0),
        (noisy_xor, 20000, 10, 1.0),
        (rings, 20000, 10, 10.0),
    ],
)


def cases(quick):
    return svm_cases(SIZES[0] + ([] if quick else SIZES[1]), ours, "SVC", svc)


def ours(X, y, C, width, **options):
    model = SVMGBClassifier(Gaussian(width), C=C, **options).fit(X, y)
    return model.support_, model.dual_coef_[0], model.coef_[0]


def svc(X, y, C, width, **options):
    model = SVC(C=C, gamma=width**-2, cache_size=4000, **options).fit(X, y)
    return model.support_, model.dual_coef_[0], model.intercept_
