"""Question 8 of assignment 2: what the solution claims is true, and the book does not print it."""

import json
import re

import numpy as np
import pytest
from scipy import linalg

from kernelbook.course.assignment import load, source

from .helpers import ASSIGNMENTS, ROOT

GRLS = load("grls", ASSIGNMENTS)
REFERENCE = {q.name: q.reference for q in GRLS.questions}


class Problem:
    """H, E and y at random, and the minimum of the functional with the weight rho."""

    def __init__(self, seed, reg=0.3, rho=0.0):
        rng = np.random.default_rng(seed)
        self.l, n = 2, 5
        self.m, self.reg, self.rho = self.l + n, reg, rho
        root = rng.normal(size=(n, n))
        self.H, self.E = root @ root.T + np.eye(n), rng.normal(size=(n, self.l))
        self.y = rng.normal(size=self.m)
        self.y1, self.y2 = self.y[: self.l], self.y[self.l :]
        self.K = np.block([[np.eye(self.l), np.zeros((self.l, n))], [self.E, self.H]])
        self.s = self.m * reg
        self.D = linalg.block_diag(self.m * rho * np.eye(self.l), self.s * self.H)
        self.c_block = self.H + self.s * np.eye(n)

    def split(self, z):
        return z[: self.l], z[self.l :]

    def minimum(self):
        return self.split(linalg.solve(self.K.T @ self.K + self.D, self.K.T @ self.y))

    def value(self, lam, c):
        residual = self.y - self.K @ np.concatenate([lam, c])
        return residual @ residual / self.m + self.reg * c @ self.H @ c + self.rho * lam @ lam

    def printed(self):
        return REFERENCE["printed_solution"](self.H, self.E, self.y1, self.y2, self.reg)


@pytest.mark.parametrize("rho", [0.0, 0.2])
def test_the_slip_with_a_penalty_on_the_features(rho):
    p = Problem(1, rho=rho)
    lam, c = p.minimum()
    shrink = 1 + p.m * rho
    np.testing.assert_allclose(shrink * lam, p.y1 + p.s * p.E.T @ c)
    np.testing.assert_allclose(p.c_block @ c, p.y2 - p.E @ lam)
    lam, c = p.split(linalg.solve(p.K @ p.K + p.D, p.K @ p.y))
    np.testing.assert_allclose(shrink * lam, p.y1)
    also = p.m * rho * linalg.solve(p.H, p.E @ lam)
    np.testing.assert_allclose(p.c_block @ c, p.y2 - p.E @ lam + also)
    # B's second equation is right for rho = 0 alone, its first never.
    assert np.allclose(p.c_block @ c, p.y2 - p.E @ lam) == (rho == 0)
    assert not np.allclose(lam, p.minimum()[0])


def test_the_printed_matrix_is_not_symmetric_and_a_minimizers_is():
    p = Problem(2)
    n = len(p.H)
    inverse = linalg.inv(p.c_block)
    printed = np.block([[np.eye(p.l), np.zeros((p.l, n))], [p.s * inverse @ p.E, p.H @ inverse]])
    np.testing.assert_allclose(printed @ p.y, p.K @ np.concatenate(p.printed()))
    assert not np.allclose(printed, printed.T)
    minimizers = p.K @ linalg.solve(p.K.T @ p.K + p.D, p.K.T)
    np.testing.assert_allclose(minimizers @ p.y, p.K @ np.concatenate(p.minimum()))
    np.testing.assert_allclose(minimizers, minimizers.T, atol=1e-12)


def test_the_excess_is_the_formula_and_of_the_second_order():
    p = Problem(3)
    _, c = p.minimum()
    felt = p.E.T @ c
    form = np.eye(p.l) + p.s * p.E.T @ linalg.solve(p.c_block, p.E)
    excess = p.value(*p.printed()) - p.value(*p.minimum())
    np.testing.assert_allclose(excess, p.m * p.reg**2 * felt @ form @ felt)
    assert excess > 0.01 * p.value(*p.minimum())
    small = Problem(3, reg=1e-5)
    c0 = linalg.solve(small.H, small.y2 - small.E @ small.y1)
    excess = small.value(*small.printed()) - small.value(*small.minimum())
    first = small.E.T @ c0
    np.testing.assert_allclose(excess / small.reg**2, small.m * first @ first, rtol=1e-2)
    least = small.value(*small.minimum()) / small.reg
    np.testing.assert_allclose(least, c0 @ small.H @ c0, rtol=1e-2)


def test_the_book_does_not_print_the_solution():
    """The formulas that earn the points occur in no chapter, in the book's notation or in ours."""
    answer = dict(GRLS.cells("manual"))["slip"]
    asked = dict(GRLS.cells("text"))["slip-text"]
    rubric = source(asked).split("BEGIN MARK SCHEME")[1]
    formulas = {bare(f) for f in re.findall(r"\$([^$]+)\$", rubric + source(answer))}
    long = {f for f in formulas if len(f) > 30}
    assert len(long) > 12
    book = ""
    for path in (ROOT / "book").rglob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        book += "\n".join(source(c) for c in cells if c["cell_type"] == "markdown")
    book = bare(book)
    # What the book has is B's second equation, in two forms.
    known = {r"(H+sI)\tildec=y_2-E\tilde\lambda", r"y_2-E\tilde\lambda-H\tildec=s\tildec"}
    assert {f for f in long if f in book} <= known


def bare(text):
    """A formula without what makes no difference: spaces, bold letters, m gamma for s."""
    text = re.sub(r"\\[,;!]|\\mathbf|\\bigl?|\\bigr|\s", "", text)
    return text.replace(r"m\gamma", "s").replace(r"\gammam", "s").replace(r"E^\top", "E")
