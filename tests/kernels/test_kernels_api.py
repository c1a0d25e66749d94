"""Kernels as objects: parameters, copies, what they take and what they refuse."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

import kernelbook.kernels
from kernelbook.kernels import (
    FunctionKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Polyharmonic,
    Polynomial,
    ThinPlate,
    as_kernel,
)

ALL = [
    *(Gaussian(1.3), Laplacian(0.7), Matern(1.2, 0.5), Matern(1.2, 2), Matern(1.2, np.inf)),
    *(Multiquadric(0.8), ThinPlate(), Polyharmonic(2), Polyharmonic(2.5)),
    *(Linear(), Polynomial(2, 0.0), Polynomial(3, 0.5)),
    *(Gaussian(2.0) + 0.5 * Linear(), Gaussian(2.0) * Polynomial(2, 1.0)),
    3 * (ThinPlate() + Multiquadric(2.0)),
    (Gaussian() + Linear()) * (Laplacian() + Polynomial()),
    Gaussian() + (Linear() + (Linear() * (2 * Linear()))),
]


def sample(m, d, seed=0):
    return np.random.default_rng(seed).normal(size=(m, d))


# -------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_kernels_are_values(kernel):
    X = sample(4, 2)
    for twin in (
        clone(kernel),
        kernel.copy(),
        copy.deepcopy(kernel),
        pickle.loads(pickle.dumps(kernel)),
        eval(repr(kernel), vars(kernelbook.kernels) | {"inf": np.inf}),
    ):
        assert twin is not kernel
        assert twin == kernel
        assert hash(twin) == hash(kernel)
        assert repr(twin) == repr(kernel)
        assert np.array_equal(twin(X), kernel(X))
    for other in ALL:
        assert (kernel == other) == (kernel is other)
    assert kernel != 3
    params = kernel.get_params()
    assert kernel.copy().set_params(**params) == kernel


def test_nested_parameters():
    k = Gaussian(1.0)
    s = k + 2.0 * k
    assert set(s.get_params()) == {
        *("left", "left__width", "left__columns", "right", "right__factor"),
        *("right__kernel", "right__kernel__width", "right__kernel__columns"),
    }
    s.set_params(left__width=5.0, right__kernel__width=7, right__factor=np.float64(3.0))
    assert repr(s) == "Gaussian(width=5.0) + 3.0 * Gaussian(width=7)"
    assert k == Gaussian(1.0)  # combining kernels copies them
    s.set_params(left=Matern(), left__nu=0.5)
    assert s.left == Matern(1.0, 0.5)
    assert s.set_params() is s


def test_set_params_refuses_what_the_constructor_refuses_and_changes_nothing():
    k = Gaussian(2.0)
    with pytest.raises(ValueError, match=r"width must be positive and finite; got -1\.0"):
        k.set_params(width=-1.0)
    with pytest.raises(ValueError, match="width must be positive"):
        k.width = 0
    with pytest.raises(ValueError, match=r"'size' is not a parameter of .*\['width', 'columns'\]"):
        k.set_params(size=3)
    with pytest.raises(ValueError, match=r"'width' of .* is not a kernel"):
        k.set_params(width__x=3)
    with pytest.raises(ValueError, match="not a parameter"):
        ThinPlate().set_params(exponent=4)
    assert k == Gaussian(2.0)


class _NadarayaWatson(RegressorMixin, BaseEstimator):
    def __init__(self, kernel=None):
        self.kernel = kernel

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        return self

    def predict(self, X):
        weights = self.kernel(X, self.X_)
        return weights @ self.y_ / weights.sum(axis=1)


def test_grid_search_reaches_into_kernels():
    X = np.linspace(0, 10, 80)[:, None]
    y = np.sin(X[:, 0])
    kernel = Gaussian(1.0) + Laplacian(1.0)
    grid = {"kernel__left__width": [0.3, 3.0], "kernel__right__width": [0.1, 10.0]}
    search = GridSearchCV(_NadarayaWatson(kernel), grid, cv=4).fit(X, y)
    assert search.best_params_ == {"kernel__left__width": 0.3, "kernel__right__width": 0.1}
    assert kernel == Gaussian(1.0) + Laplacian(1.0)
    search = GridSearchCV(_NadarayaWatson(), {"kernel": [Gaussian(0.3), Gaussian(9.0)]}).fit(X, y)
    assert search.best_params_ == {"kernel": Gaussian(0.3)}
    assert "kernel=Gaussian(width=0.3)" in repr(search.best_estimator_)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Gaussian(0), ValueError, "width must be positive and finite; got 0"),
        (lambda: Gaussian(-1.5), ValueError, r"got -1\.5"),
        (lambda: Laplacian(np.nan), ValueError, "width must be positive and finite; got nan"),
        (lambda: Multiquadric(np.inf), ValueError, "got inf"),
        (lambda: Gaussian("auto"), TypeError, "width must be a number; got 'auto' of type str"),
        (lambda: Gaussian(None), TypeError, "width must be a number; got None"),
        (lambda: Gaussian(True), TypeError, "got True"),
        (lambda: Gaussian(np.ones((2, 2))), TypeError, "width must be a number"),
        (lambda: Gaussian(5e-324), ValueError, "width"),
        (lambda: Matern(1.0, 0), ValueError, r"nu must be positive.* got 0\. Usual values"),
        (lambda: Matern(1.0, 51), ValueError, "at most 50 or infinite; got 51"),
        (lambda: Matern(1.0, np.nan), ValueError, "got nan"),
        (lambda: Matern(1.0, "3/2"), TypeError, "nu must be a number; got '3/2'"),
        (lambda: Matern(-1.0), ValueError, "width"),
        (lambda: Polynomial(0), ValueError, "degree must be 1, 2, 3, .* got 0"),
        (lambda: Polynomial(2.5), TypeError, r"degree must be an integer; got 2\.5"),
        (lambda: Polynomial(10**30), ValueError, "degree"),
        (
            lambda: Polynomial(2, -1.0),
            ValueError,
            r"offset must be finite and not negative; got -1",
        ),
        (lambda: Polyharmonic(0), ValueError, "exponent must be positive"),
        (lambda: Polyharmonic(1e9), ValueError, "exponent must be at most 100"),
        (lambda: FunctionKernel(3), TypeError, "function must be callable"),
        (lambda: FunctionKernel(rbf_kernel, -1), ValueError, "cpd_order must not be negative"),
        (lambda: Gaussian(gamma=1), TypeError, "gamma"),
    ],
)
def test_bad_parameters(make, error, message):
    with pytest.raises(error, match=message):
        make()


# ------------------------------------------------------------------------------------- input


@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), ThinPlate() + Linear()], ids=str)
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([1.0, 2.0], ValueError, r"X must be a 2-D array.*got shape \(2,\).*reshape\(-1, 1\)"),
        (3.0, ValueError, "X must be a 2-D array"),
        (np.zeros((2, 2, 2)), ValueError, r"got shape \(2, 2, 2\)"),
        (np.zeros((3, 0)), ValueError, "X has no columns"),
        (
            [[1.0, np.nan]],
            ValueError,
            r"X has 1 entries that are NaN or infinite \(the first is nan",
        ),
        ([[1.0, -np.inf]], ValueError, "the first is -inf"),
        ([["a", "b"]], TypeError, "X must hold real numbers; got dtype <U1"),
        ([["1", "2"]], TypeError, "X must hold real numbers"),
        ([[1j, 2.0]], TypeError, "got dtype complex128"),
        ([[None, 2.0]], TypeError, "got dtype object"),
        ([[1.0], [2.0, 3.0]], ValueError, "rows of equal length"),
        (np.ma.masked_equal([[1.0, 2.0]], 2.0), ValueError, "masked"),
        (np.array([["2020-01-01"]], "M8[D]"), TypeError, "dtype datetime64"),
    ],
)
def test_bad_rows(kernel, X, error, message):
    for evaluate in (kernel, kernel.diag):
        with pytest.raises(error, match=message):
            evaluate(X)
    with pytest.raises(error, match=message.replace("X", "Z")):
        kernel([[1.0, 2.0]], X)


def test_rows_that_do_not_belong_together():
    with pytest.raises(ValueError, match="X has 2 and Z has 3"):
        Gaussian()(np.ones((4, 2)), np.ones((4, 3)))
    for c in (np.ones(3), np.ones((3, 4)), np.ones((4, 1, 1)), 1.0):
        with pytest.raises(ValueError, match="for each of the 4 rows of Z"):
            Gaussian().matvec(np.ones((2, 2)), np.ones((4, 2)), c)
    with pytest.raises(ValueError, match="c has 1 entries that are NaN"):
        Gaussian().matvec(np.ones((2, 2)), np.ones((2, 2)), [1.0, np.nan])


@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_every_reasonable_container_works(kernel):
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).integers(-3, 4, size=(9, 3))
    expected = kernel(X.astype(float))
    frozen = X.astype(float)
    frozen.flags.writeable = False
    wide = np.zeros((18, 6))
    wide[::2, ::2] = X
    for same in (
        X.tolist(),
        X.astype(np.int8),
        X.astype(np.float32),
        X.astype(object),
        np.asfortranarray(X, dtype=float),
        wide[::2, ::2],
        frozen,
        pandas.DataFrame(X),
        X.astype(">f8"),
    ):
        assert np.array_equal(kernel(same), expected)
    assert expected.dtype == np.float64
    assert kernel(X[:0]).shape == (0, 0)
    assert kernel(X[:0], X).shape == (0, 9)
    assert kernel(X, X[:0]).shape == (9, 0)
    assert kernel.diag(X[:0]).shape == (0,)
    assert np.array_equal(kernel.matvec(X, X[:0], []), np.zeros(9))
    assert kernel.matvec(X, None, np.empty((9, 0))).shape == (9, 0)
    assert kernel.matvec(X[:0], X, np.ones(9)).shape == (0,)


def test_the_data_are_not_changed():
    for d in (2, 30):
        X = sample(20, d)
        before = X.copy()
        for kernel in ALL:
            kernel(X), kernel(X, X[:5].copy()), kernel.diag(X), kernel.matvec(X, X, X)
        assert np.array_equal(X, before)


SPARSE = [
    Linear(),
    Polynomial(1, 0.0),
    Polynomial(3, 0.5),
    Linear() + 2 * Polynomial(2),
    Linear() * Polynomial(3, 0.1),
]


@pytest.mark.parametrize("kernel", SPARSE, ids=str)
@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array", "csc_array", "coo_matrix"])
def test_sparse_rows(kernel, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.1)
    Z, c = X[:7] * 2, rng.normal(size=7)
    S, T = getattr(sparse, kind)(X), getattr(sparse, kind)(Z)
    G = kernel(S)
    assert type(G) is np.ndarray
    assert np.array_equal(G, G.T)
    assert np.array_equal(np.diag(G), kernel.diag(S))
    tight = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(G, kernel(X), **tight)
    for A, B in ((S, T), (S, Z), (X, T)):
        np.testing.assert_allclose(kernel(A, B), kernel(X, Z), **tight)
        np.testing.assert_allclose(kernel.matvec(A, B, c), kernel(X, Z) @ c, **tight)
    assert kernel.accepts_sparse
    assert kernel(S[:0] if kind.startswith("csr") else S.tocsr()[:0]).shape == (0, 0)


def test_sparse_rows_that_are_refused():
    S = sparse.csr_matrix(np.eye(3))
    for kernel in (Gaussian(), ThinPlate(), Linear() + Gaussian(), 2 * Laplacian()):
        assert not kernel.accepts_sparse
        with pytest.raises(TypeError, match=r"needs dense rows, and X is a sparse csr_matrix"):
            kernel(S)
    with pytest.raises(ValueError, match="X has 1 entries that are NaN"):
        Linear()(sparse.csr_matrix(np.diag([1.0, np.nan])))
    with pytest.raises(TypeError, match="real numbers"):
        Linear()(sparse.csr_matrix(np.eye(2) * 1j))


# ------------------------------------------------------------------------- other people's kernels


def test_a_function_as_a_kernel():
    X, Z, c = sample(300, 3), sample(40, 3, seed=1), sample(40, 1, seed=2)[:, 0]
    k = FunctionKernel(rbf_kernel)
    np.testing.assert_allclose(k(X, Z), rbf_kernel(X, Z), rtol=1e-13)
    np.testing.assert_allclose(k.matvec(X, Z, c), rbf_kernel(X, Z) @ c, rtol=1e-12, atol=1e-13)
    assert np.array_equal(k(X), k(X).T)
    np.testing.assert_allclose(k.diag(X), 1.0)
    np.testing.assert_allclose((k + Linear())(X, Z), rbf_kernel(X, Z) + X @ Z.T, rtol=1e-12)
    assert clone(k) == k == pickle.loads(pickle.dumps(k))
    assert not k.strictly_pd
    assert FunctionKernel(rbf_kernel, cpd_order=2).cpd_order == 2


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda X, Z: X @ Z.T + np.arange(len(Z)), ValueError, "is not symmetric"),
        (lambda X, Z: np.ones(len(X)), ValueError, r"returned shape \(3,\).*shape \(3, 3\)"),
        (lambda X, Z: np.full((len(X), len(Z)), "a"), TypeError, "must return real numbers"),
        (lambda X, Z: np.full((len(X), len(Z)), np.nan), ValueError, "not a finite number"),
    ],
)
def test_functions_that_are_no_kernels(function, error, message):
    with pytest.raises(error, match=message):
        FunctionKernel(function)(sample(3, 2))


def test_as_kernel():
    assert as_kernel(None, 9) == Gaussian(3.0)
    k = ThinPlate()
    assert as_kernel(k, 2) is k
    assert as_kernel(rbf_kernel, 2) == FunctionKernel(rbf_kernel)
    assert np.allclose(as_kernel(RBF(2.0), 2)([[0.0], [1.0]])[0, 1], np.exp(-1 / 8))
    for wrong in ("rbf", "precomputed", 3, [1]):
        with pytest.raises(TypeError, match="kernel must be None, a kernel such as Gaussian"):
            as_kernel(wrong, 2)
    with pytest.raises(TypeError, match=r"Gaussian is a class: write kernel=Gaussian\("):
        as_kernel(Gaussian, 2)


def test_functions_that_are_asymmetric_between_tiles_only():
    """Rows 0–255 against the rest: each block on the diagonal is symmetric by itself."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(256, 1)) - 9, rng.normal(size=(44, 1)) + 9])

    def tilted(A, B):
        return np.exp(-((A - B.T) ** 2) / 100) * np.where((A > 0) & (B.T < 0), 2.0, 1.0)

    for kernel in (FunctionKernel(tilted), Gaussian() + FunctionKernel(tilted)):
        with pytest.raises(ValueError, match=r"is not symmetric.*\(K\(x, z\) \+ K\(z, x\)\) / 2"):
            kernel(X)
    mended = FunctionKernel(lambda A, B: (tilted(A, B) + tilted(B, A).T) / 2)
    np.testing.assert_array_equal(mended(X), mended.function(X, X))


def test_functions_that_look_at_other_rows():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for function in (
        lambda A, B: A @ B.T * len(A),
        lambda A, B: (A - A.mean(0)) @ (B - B.mean(0)).T,
    ):
        with pytest.raises(ValueError, match="looks at other rows"):
            FunctionKernel(function)(X)


def test_functions_of_two_rows_are_told_how_to_become_kernels():
    X = np.random.default_rng(0).normal(size=(5, 2))
    remedy = r"FunctionKernel\(lambda X, Z: np\.array\(\[\[f\(x, z\) for z in Z\] for x in X\]\)\)"

    def dot(x, z):
        return float(np.exp(-np.sum((x - z) ** 2)))

    with pytest.raises(ValueError, match=remedy):
        FunctionKernel(dot)(X)
    with pytest.raises(ValueError, match="not aligned") as caught:
        FunctionKernel(np.dot)(X)
    assert "raised inside the kernel function" in caught.value.__notes__[0]
    right = FunctionKernel(lambda X, Z: np.array([[dot(x, z) for z in Z] for x in X]))
    np.testing.assert_allclose(right(X), Gaussian(1.0)(X))


def test_the_widest_matern():
    X = np.array([[0.0], [1e300]])
    np.testing.assert_array_equal(Matern(1.7e308, np.inf)(X), np.ones((2, 2)))
    width = 1.5e308
    np.testing.assert_allclose(Matern(width, np.inf)([[0.0]], [[2.0**1000]]), 1.0)


@pytest.mark.parametrize(
    ("kernel", "proven"),
    [
        (Gaussian() + 2.0 * Linear(), True),
        (Matern() * Polynomial(), True),
        (FunctionKernel(np.add), False),
        (Gaussian() + FunctionKernel(np.add), False),
        (2.0 * (Gaussian() * FunctionKernel(np.add)), False),
        (Kernel(), False),
    ],
)
def test_whose_definiteness_is_a_theorem(kernel, proven):
    assert kernel._proven == proven
