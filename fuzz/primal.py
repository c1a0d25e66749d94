"""Machines in a basis: translates at the samples make them the kernel machine."""

from itertools import pairwise

import numpy as np

from fuzz.oracles import LD, hinge_optimum
from fuzz.problems import draw, log_uniform
from fuzz.svm import labels
from kernelbook import IncrementalSVMClassifier, KernelBasis, PrimalSVMClassifier

PAIRS = (
    ("hinge", "dcd"),
    ("squared_hinge", "dcd"),
    ("squared_hinge", "newton"),
    ("hinge", "pegasos"),
)


def batch(rng):
    """PrimalSVMClassifier: every loss and solver, all translates or some."""
    p = draw(rng, largest=60, cpd=False)
    loss, solver = PAIRS[rng.integers(len(PAIRS))]
    y01, C = labels(rng, p), log_uniform(rng, -3, 2)
    n = len(p.X) if rng.random() < 0.6 else int(rng.integers(1, len(p.X)))
    centers = p.X[rng.permutation(len(p.X))[:n]]
    p.text += f" {loss} {solver} C={C:.1e} centers={n}"
    basis = KernelBasis(p.kernel, centers)
    model = PrimalSVMClassifier(basis, p.features, C=C, loss=loss, solver=solver, random_state=0)
    yield p.text, lambda: model.fit(p.X, y01, sample_weight=p.w)
    yield from judged(p, centers, y01, C, model, loss == "squared_hinge")


def judged(p, centers, y01, C, model, squared=False):
    """The objective as it is claimed, and the best in the span of these translates."""
    kept = p.w > 0
    X, y, box = p.X[kept], np.where(y01[kept] == 1, 1.0, -1.0), C * p.w[kept]
    f = model.decision_function(X).astype(LD)
    slack = np.maximum(1 - y * f, 0)
    loss = (box * (slack**2 if squared else slack)).sum()
    w = model.basis_coef_[0].astype(LD)
    primal, proof = w @ w / 2 + loss, model.certificate_
    if abs(primal - proof.primal) > 1e-6 * (1 + primal + box.sum() * 1e-3) + proof.gap:
        yield f"the objective is {float(primal):.9g}, and {proof.primal:.9g} is claimed"
    G = np.asarray(p.matrix(centers, centers), float)
    B = np.asarray(p.matrix(X, centers), float)
    values, vectors = np.linalg.eigh(G)
    if values.min() < 1e-9 * values.max():
        return  # which functions depend on the others is a matter of rounding
    features = B @ (vectors / np.sqrt(values))
    best = hinge_optimum(features @ features.T, p.columns(X), y, box, squared)
    if np.isfinite(best) and primal > best + proof.gap + 1e-5 * abs(best) + 1e-9:
        yield f"the objective is {float(primal):.9g}, and {best:.9g} can be had"
    if np.isfinite(best) and primal < best - 1e-5 * abs(best) - 1e-9 * box.sum():
        yield f"the objective is {float(primal):.9g}, below the least one, {best:.9g}"


def growing(rng):
    """IncrementalSVMClassifier: its last step is the optimum over the functions it has chosen."""
    p = draw(rng, largest=50, cpd=False)
    y01, C = labels(rng, p), log_uniform(rng, -2, 2)
    rule = str(rng.choice(["most_misclassified", "best_improvement", "random"]))
    n = int(rng.integers(1, 8))
    p.text += f" {rule} max_basis={n} C={C:.1e}"
    basis = KernelBasis(p.kernel, p.X)
    model = IncrementalSVMClassifier(
        basis, p.features, C=C, max_basis=n, select=rule, random_state=0
    )
    yield p.text, lambda: model.fit(p.X, y01, sample_weight=p.w)
    steps = [step.objective for step in model.path_]
    if any(b > a * (1 + 1e-6) + 1e-9 for a, b in pairwise(steps)):
        yield f"the objectives {steps} do not fall"
    yield from judged(p, p.X[model.selected_], y01, C, model)
