"""Fits that somebody has tampered with: `python -m tests.verifier.tampered 10000`.

Each is a correct fit in which one thing is changed: a number in its third digit, a support vector,
a label, a width, a claim.  A change that leaves the fit optimal, such as another weight of a sample
that has no coefficient, is no tampering: what is changed here matters to f or to the objective.
The fingerprint of the data is taken away, so that only the mathematics can tell.
"""

import sys
import warnings
from copy import deepcopy
from dataclasses import replace

import numpy as np
from tqdm import tqdm

import kernelbook as kb

KERNELS = [
    kb.Gaussian(1.0), kb.Gaussian([1.0, 2.0]), kb.Laplacian(2.0), kb.Matern(1.5, 1.5),
    kb.Matern(1.5, 2.5), kb.RationalQuadratic(1.0, 0.7), kb.Linear(), kb.Polynomial(2),
    kb.Periodic(6.0, 1.0), kb.Gaussian(1.0) + 0.3 * kb.Linear(), kb.Matern(2.0) * kb.Laplacian(1.0),
]  # fmt: skip
CONDITIONAL = [kb.ThinPlate(), kb.Polyharmonic(3), kb.Multiquadric(1.0)]
FEATURES = [None, "constant", kb.Polynomials(1), kb.Polynomials(2)]


def sample(rng, m=24):
    """X, a number and a label of three for each row, weights; noisy, so that no fit is perfect."""
    X = rng.normal(size=(m, 2))
    target = X[:, 0] + np.sin(2 * X[:, 1]) + 0.7 * rng.normal(size=m)
    labels = np.digitize(target, np.quantile(target, [0.35, 0.7]))
    weights = rng.uniform(0.5, 2.0, size=m) if rng.random() < 0.5 else None
    return X, target, labels, weights


def learner(rng):
    """A learner and which of its targets it wants: "number", 2 or 3 classes."""
    conditional = rng.random() < 0.2
    kernel = (CONDITIONAL if conditional else KERNELS)[rng.integers(3 if conditional else 11)]
    features = FEATURES[2 if conditional else rng.integers(4)]
    C, reg = 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-3, 0)
    basis = kb.KernelBasis(KERNELS[rng.integers(3)], centers=rng.normal(size=(8, 2)))
    loss = ["hinge", "squared_hinge"][rng.integers(2)]
    kind = rng.integers(8)
    return [
        lambda: (kb.SVMGBClassifier(kernel, features, C=C), 2),
        lambda: (kb.SVMGBClassifier(kernel, features, C=C, class_weight="balanced"), 3),
        lambda: (kb.SVMGBClassifier(kernel, features, C=C, multiclass="ovr"), 3),
        lambda: (kb.GRLSRegressor(kernel, features, reg=reg), "number"),
        lambda: (kb.GRLSClassifier(kernel, features, reg=reg), 3),
        lambda: (kb.GRLSRegressorCV(kernel, features), "number"),
        lambda: (kb.PrimalSVMClassifier(basis, features, C=C, loss=loss, random_state=0), 2),
        lambda: (kb.IncrementalSVMClassifier(basis, features, C=C, max_basis=6, random_state=0), 2),
    ][kind]()


def fitted(rng):
    """A fit, without its fingerprint, and the data."""
    model, kind = learner(rng)
    X, target, labels, w = sample(rng)
    y = target if kind == "number" else labels if kind == 3 else np.minimum(labels, 1)
    model.fit(X, y, w)
    del model.fingerprint_
    return model, X, y, w


# ------------------------------------------------------------------ what may be done to a fit


def _one_of(rng, array):
    """The place of a number that is not negligible; None where there is none."""
    flat = np.abs(array).ravel()
    places = np.flatnonzero(flat > 1e-3 * flat.max(initial=0.0))
    return np.unravel_index(rng.choice(places), array.shape) if places.size else None


def third_digit(name):
    def tamper(rng, model, X, y, w):
        array = np.array(getattr(model, name, np.empty(0)))
        place = _one_of(rng, array)
        if place is None:
            return None
        setattr(model, name, array)
        size = 10.0 ** np.floor(np.log10(abs(array[place])))
        array[place] += rng.choice([-1, 1]) * 0.01 * size
        return X, y, w

    tamper.__name__ = f"third digit of {name}"
    return tamper


def dropped(rng, model, X, y, w):
    place = _one_of(rng, model.dual_coef_)
    if place is None:
        return None
    model.dual_coef_[..., place[-1]] = 0.0
    return X, y, w


def swapped(rng, model, X, y, w):
    """The coefficients of two samples."""
    place = _one_of(rng, model.dual_coef_)
    if place is None:
        return None
    row = model.dual_coef_[place[:-1]]
    others = np.flatnonzero(np.abs(row - row[place[-1]]) > 0.1 * np.abs(row).max())
    if not others.size:
        return None
    row[[place[-1], other]] = row[[other := rng.choice(others), place[-1]]]
    return X, y, w


def sign(rng, model, X, y, w):
    place = _one_of(rng, model.dual_coef_)
    if place is None:
        return None
    model.dual_coef_[place] *= -1.0
    return X, y, w


def scaled(rng, model, X, y, w):
    name = "expansion_" if hasattr(model, "expansion_") else "dual_coef_"
    if not getattr(model, name).any():
        return None
    getattr(model, name)[...] *= 1.001
    return X, y, w


def labels(rng, model, X, y, w):
    """Two of them swapped."""
    i = rng.integers(len(y))
    j = rng.choice(np.flatnonzero(y != y[i]))
    y[[i, j]] = y[[j, i]]
    return X, y, w


def label(rng, model, X, y, w):
    """One is another."""
    i = rng.integers(len(y))
    y[i] = rng.choice(y[y != y[i]])
    return X, y, w


def point(rng, model, X, y, w):
    """A row with a coefficient moves."""
    place = _one_of(rng, model.dual_coef_)
    if place is None:
        return None
    i = model.support_[place[-1]] if hasattr(model, "support_") else place[-1]
    X[i] += 0.01 * rng.choice([-1, 1], size=2)
    return X, y, w


def width(rng, model, X, y, w):
    kernel = getattr(model, "kernel_", None) or model.basis_.kernel_
    if not hasattr(kernel, "width") or not model.dual_coef_.any():
        return None
    kernel.width = tuple(1.01 * np.atleast_1d(kernel.width))
    return X, y, w


def stated_width(rng, model, X, y, w):
    """The width that `repr` shows; what is fitted stays as it was."""
    owner = model if hasattr(model, "kernel_") else model.basis
    if owner.kernel is None or "width" not in owner.kernel.get_params():
        return None
    owner.kernel = deepcopy(owner.kernel)
    owner.kernel.width = tuple(1.01 * np.atleast_1d(owner.kernel.width))
    return X, y, w


def stated_features(rng, model, X, y, w):
    """The free features that `repr` shows."""
    others = [f for f in FEATURES if repr(f) != repr(model.features)]
    model.features = others[rng.integers(len(others))]
    return X, y, w


def stated_reg(rng, model, X, y, w):
    """The reg that `repr` shows."""
    if "reg" not in model.get_params():
        return None
    model.reg = 1.01 * model.reg
    return X, y, w


def dual(rng, model, X, y, w):
    """The certificate of the first problem says a larger dual objective."""
    proof = model.certificate_
    part = proof.parts[0] if proof.parts else proof
    if not part.primal > 1e-3:
        return None
    part = replace(part, dual=part.dual + 1e-3 * part.primal)
    model.certificate_ = replace(proof, parts=(part, *proof.parts[1:])) if proof.parts else part
    return X, y, w


def penalty(rng, model, X, y, w):
    """A C above all coefficients may be any: where nothing is lost, it is left alone."""
    proof = model.certificate_
    lost = [p.primal > (1 + 1e-6) * np.abs(b).sum() / 2
            for p, b in zip(proof.parts or (proof,), model.dual_coef_, strict=False)]  # fmt: skip
    if hasattr(model, "C") and not any(lost):
        return None
    name = next(n for n in ("C", "reg_", "reg") if hasattr(model, n))
    if not model.dual_coef_.any():
        return None
    setattr(model, name, getattr(model, name) * 1.01)
    return X, y, w


def claim(rng, model, X, y, w):
    """The certificate of the first problem says another objective, or a smaller gap."""
    proof = model.certificate_
    part = proof.parts[0] if proof.parts else proof
    if not part.primal > 1e-3:
        return None
    part = replace(part, primal=part.primal * (1 + rng.choice([-1, 1]) * 1e-3))
    model.certificate_ = replace(proof, parts=(part, *proof.parts[1:])) if proof.parts else part
    return X, y, w


def loose(rng, model, X, y, w):
    """A solver that stopped too early, and says nothing of it."""
    name = "expansion_" if hasattr(model, "expansion_") else "dual_coef_"
    array = getattr(model, name)
    if not array.any():
        return None
    array += 1e-4 * np.abs(array).max() * rng.normal(size=array.shape)
    return X, y, w


WAYS = [
    *map(third_digit, ("dual_coef_", "coef_", "basis_coef_", "expansion_", "intercept_")),
    dropped, swapped, sign, scaled, labels, label, point, width, stated_width, stated_features,
    stated_reg, dual, penalty, claim, loose,
]  # fmt: skip


def tampered(seed):
    """A fit as it was, and all that can be done to it: (what, the verdict before, and after)."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, X, y, w = fitted(rng)
        before = kb.verify(model, X, y, w)
        for way in WAYS:
            other = deepcopy(model)
            data = way(rng, other, X.copy(), y.copy(), w)
            if data is not None:
                what = f"seed {seed}, {way.__name__} of {model!r:.60}".replace("\n", "")
                yield what, before, kb.verify(other, *data)


def passes(before, after):
    """Whether a fit that was tampered with looks as good as it was."""
    return after.status == "proved" and after.gap < 10 * before.gap


def main(count, seed=0):
    """Try `count` of them, and print those that pass; and how many fits were not proved before."""
    tried, failures, unproved, refuted = 0, 0, 0, 0
    with tqdm(total=count) as bar:
        while tried < count:
            for what, before, after in tampered(seed):
                tried, refuted = tried + 1, refuted + (after.status == "refuted")
                bar.update()
                if passes(before, after):
                    failures += 1
                    bar.write(f"{what}\n{before}\n{after}")
            if before.status != "proved":
                unproved += 1
                bar.write(f"{what}\n{before}")
            seed += 1
    print(
        f"{tried} tampered with: {refuted} refuted, {tried - refuted - failures} downgraded, "
        f"{failures} pass; of {seed} fits {unproved} were not proved before"
    )
    return failures + unproved


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000) > 0)
