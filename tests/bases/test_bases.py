"""Bases: values, inner products, centres, the two readings."""

import pickle

import numpy as np
import pytest
from scipy import integrate, sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from kernelbook.bases import FunctionBasis, GaussianBasis, KernelBasis, LinearBasis, as_basis
from kernelbook.bases.orthonormal import orthonormalize
from kernelbook.kernels import Gaussian, Linear, Matern, Polynomial, ThinPlate
from tests.naive.primal import gaussian_product_by_quadrature

METHODS = ["cholesky", "gram-schmidt", "eigen"]


def points(seed=0, n=30, d=2):
    return np.random.default_rng(seed).normal(size=(n, d))


# ------------------------------------------------------------------------------ kernel basis


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(width=1.3), Polynomial(degree=2)])
def test_translates_at_the_data_have_their_kernel_matrix_twice(kernel):
    X, Z = points(), points(1, 7)
    basis = KernelBasis(kernel).fit(X)
    assert np.abs(basis.evaluate(X) - kernel(X)).max() < 1e-12 * np.abs(kernel(X)).max()
    assert np.array_equal(basis.gram(), kernel(X))
    assert np.array_equal(basis.evaluate(Z), kernel(Z, X))
    c = points(2, 30, 1)[:, 0]
    assert np.allclose(basis.combine(Z, c), kernel(Z, X) @ c, rtol=1e-12)
    assert np.array_equal(basis.represent(c), c)


def test_the_default_kernel_is_the_librarys():
    X = points(d=4)
    assert KernelBasis().fit(X).kernel_ == Gaussian(2.0)
    assert isinstance(as_basis(None), KernelBasis)


def test_a_conditionally_positive_definite_kernel_has_no_translates_here():
    with pytest.raises(ValueError, match="conditionally"):
        KernelBasis(ThinPlate()).fit(points())


# ---------------------------------------------------------------------------------- centres


def test_centres_are_the_data_a_subset_clusters_or_given():
    X = points(n=40)
    data = KernelBasis().fit(X)
    assert np.array_equal(data.centers_, X)
    X[0] = 99.0
    assert data.centers_[0, 0] != 99.0, "the caller's array may change"
    X = points(n=40)
    subset = KernelBasis(centers="subset", n_centers=7, random_state=1).fit(X)
    assert subset.centers_.shape == (7, 2)
    assert all((X == z).all(axis=1).any() for z in subset.centers_)
    again = clone(subset).fit(X)
    assert np.array_equal(again.centers_, subset.centers_)
    clusters = GaussianBasis("kmeans", n_centers=5, random_state=0).fit(X)
    assert clusters.centers_.shape == (5, 2)
    assert GaussianBasis("kmeans", n_centers=99, random_state=0).fit(X[:8]).centers_.shape[0] == 8
    assert subset.represent(np.ones(40)) is None


def test_given_centres_need_no_fit():
    Z, X = points(1, 6), points()
    K, G = KernelBasis(Gaussian(1.0), Z), GaussianBasis(Z, 0.5)
    assert np.allclose(K.evaluate(X), rbf_kernel(X, Z, 1.0))
    assert K.gram().shape == G.gram().shape == (6, 6)
    assert np.array_equal(G.evaluate(X), clone(G).fit(X).evaluate(X))
    assert orthonormalize(G).evaluate(X).shape == (30, 6)


def test_centres_that_cannot_be_are_refused():
    X = points()
    with pytest.raises(NotFittedError, match="fit"):
        KernelBasis().evaluate(X)
    with pytest.raises(ValueError, match="3 columns"):
        KernelBasis(centers=points(d=3)).fit(X)
    with pytest.raises(ValueError, match="'grid'"):
        GaussianBasis("grid").fit(X)
    for bad in (0, 2.5, True):
        with pytest.raises(ValueError, match="n_centers"):
            KernelBasis(centers="kmeans", n_centers=bad).fit(X)


# --------------------------------------------------------------------------- Gaussians in L₂


@pytest.mark.parametrize(
    ("z", "s", "z2", "s2"),
    [
        ([0.0], 1.0, [0.0], 1.0),
        ([0.3], 0.5, [-0.4], 0.5),
        ([0.3], 0.5, [1.4], 2.0),
        ([0.0, 1.0], 1.0, [0.5, -0.5], 1.0),
        ([0.0, 1.0], 0.3, [0.5, 0.7], 1.7),
    ],
)
def test_the_closed_inner_product_is_the_integral(z, s, z2, s2):
    G = GaussianBasis(np.array([z, z2]), [s, s2]).gram()
    assert abs(G[0, 1] - gaussian_product_by_quadrature(z, s, z2, s2, 1200)) < 1e-10
    assert np.array_equal(G.diagonal(), [1.0, 1.0])


def test_a_gaussian_of_width_sigma_has_norm_one_and_variance_half_sigma_squared():
    sigma = 0.8
    f = GaussianBasis(np.zeros((1, 1)), sigma)

    def value(t):
        return f.evaluate([[t]])[0, 0]

    assert abs(integrate.quad(lambda t: value(t) ** 2, -9, 9)[0] - 1) < 1e-12
    mass = integrate.quad(value, -9, 9)[0]
    variance = integrate.quad(lambda t: t * t * value(t), -9, 9)[0] / mass
    assert abs(variance - sigma**2 / 2) < 1e-12  # C 3.1 says "unit covariance": 1/(2γ), γ = 1/σ²


def test_values_follow_the_definition():
    X, Z = points(n=5), points(1, 3)
    widths = np.array([[0.5, 2.0], [1.0, 3.0], [0.2, 0.9]])
    B = GaussianBasis(Z, widths).evaluate(X)
    for a in range(2):
        for j in range(3):
            for i in range(5):
                s = widths[j, a]
                expected = (2 / (np.pi * s**2)) ** (2 / 4) * np.exp(
                    -np.sum((X[i] - Z[j]) ** 2) / s**2
                )
                assert abs(B[i, 3 * a + j] - expected) < 1e-14


def test_how_widths_are_read():
    X, Z = points(), points(1, 4)
    assert GaussianBasis(Z, 2.0).gram().shape == (4, 4)
    assert GaussianBasis(Z, [1.0, 2.0, 3.0, 4.0]).gram().shape == (4, 4)
    assert GaussianBasis(Z, [[1.0, 2.0]]).gram().shape == (8, 8)
    assert GaussianBasis("data", [1.0, 2.0]).fit(X).gram().shape == (60, 60)
    assert GaussianBasis("data", np.ones((30, 3))).fit(X).widths_.shape == (30, 3)
    with pytest.raises(ValueError, match="one for each"):
        GaussianBasis(Z, [1.0, 2.0]).gram()
    with pytest.raises(ValueError, match=r"\(M, 1\)"):
        GaussianBasis("data", np.ones(30)).fit(X)
    with pytest.raises(ValueError, match="shape"):
        GaussianBasis(Z, np.ones((3, 2))).gram()
    for bad in (0.0, -1.0, np.nan, [np.inf] * 4):
        with pytest.raises(ValueError, match="positive and finite"):
            GaussianBasis(Z, bad).gram()


def test_wild_units_keep_their_digits():
    X, Z = points(), points(1, 4)
    for scale in (1e-300, 1e-160, 1e160, 1e290):
        G = GaussianBasis(scale * Z, [scale * 1.0, scale * 2.0, scale * 0.5, scale * 1.0])
        H = GaussianBasis(Z, [1.0, 2.0, 0.5, 1.0])
        assert np.allclose(G.gram(), H.gram(), rtol=1e-12)
        if scale > 1:
            continue
        inner = GaussianBasis(scale * Z, scale, "inner_product")
        assert np.allclose(
            inner.evaluate(scale * X),
            GaussianBasis(Z, 1.0, "inner_product").evaluate(X),
            rtol=1e-12,
        )
    with pytest.raises(ValueError, match="too much for floating point"):
        GaussianBasis(np.zeros((1, 400)), 0.01).evaluate(np.zeros((1, 400)))
    with pytest.raises(ValueError, match="more than 1e308 widths"):
        GaussianBasis(Z, 1e-300, "inner_product").evaluate(1e300 * X)


# ------------------------------------------------------------------------------- two readings


def equivalent_kernel(basis, X, Z):
    e = orthonormalize(basis)
    return e.evaluate(X) @ e.evaluate(Z).T


def test_inner_products_of_equal_widths_are_the_gaussian_kernel_of_half_gamma():
    X, Z, sigma = points(), points(1, 9), 0.6
    basis = GaussianBasis(widths=sigma, reading="inner_product").fit(X)
    for A in (X, Z):  # γ/2 = 1/(2σ²)
        assert (
            np.abs(equivalent_kernel(basis, A, X) - rbf_kernel(A, X, 0.5 / sigma**2)).max() < 1e-9
        )
    # Off the sample both arguments are projected to the span: only then it is another kernel.
    assert np.abs(equivalent_kernel(basis, Z, Z) - rbf_kernel(Z, Z, 0.5 / sigma**2)).max() > 1e-3


def test_values_are_another_reading():
    X, sigma = points(), 0.6
    basis = GaussianBasis(widths=sigma).fit(X)
    B, G = basis.evaluate(X), basis.gram()
    K = equivalent_kernel(basis, X, X)
    assert np.abs(K - B @ np.linalg.solve(G, B.T)).max() < 1e-8 * np.abs(K).max()
    half = rbf_kernel(X, X, 0.5 / sigma**2)
    best = np.sum(K * half) / np.sum(half * half)  # "up to constant scaling", the best constant
    assert np.linalg.norm(K - best * half) / np.linalg.norm(K) > 0.3


def test_far_apart_the_readings_agree_on_the_sample_up_to_a_constant():
    X, sigma = 100.0 * points(), 0.6
    K = equivalent_kernel(GaussianBasis(widths=sigma).fit(X), X, X)
    inner = equivalent_kernel(GaussianBasis(widths=sigma, reading="inner_product").fit(X), X, X)
    assert np.abs(K / (2 / (np.pi * sigma**2)) - inner).max() < 1e-12


def test_two_widths_by_inner_products_are_a_sum_of_kernels():
    X, Z, (s, t) = points(), points(1, 9), (0.4, 1.5)
    basis = GaussianBasis(widths=[s, t], reading="inner_product").fit(X)
    amplitude = 2 * s * t / (s * s + t * t)

    def k(A, B):
        r2 = np.sum((A[:, None] - B) ** 2, axis=2)
        mixed = amplitude * np.exp(-r2 / (s * s + t * t))
        return np.exp(-r2 / (2 * s * s)) + 2 * mixed + np.exp(-r2 / (2 * t * t))

    for A in (X, Z):
        assert np.abs(equivalent_kernel(basis, A, X) - k(A, X)).max() < 1e-8
    c = points(3, 30, 1)[:, 0]
    assert np.abs(basis.combine(Z, basis.represent(c)) - k(Z, X) @ c).max() < 1e-12


def test_a_reading_must_make_sense():
    Z = points(1, 4)
    with pytest.raises(ValueError, match="same widths"):
        GaussianBasis(Z, [1.0, 2.0, 1.0, 1.0], "inner_product").evaluate(Z)
    with pytest.raises(ValueError, match="reading='values'"):
        GaussianBasis(Z, 1.0, "values").evaluate(Z)
    assert GaussianBasis("data").fit(Z).represent(np.ones(4)) is None


def test_in_l2_the_evaluation_kernel_grows_without_limit():
    """L₂ has no point values: sup f(0)²/‖f‖² over growing spans tends to infinity (C 3.1)."""
    Z = np.linspace(-1, 1, 9)[:, None]
    values = [
        equivalent_kernel(GaussianBasis(Z, 2.0**-k), np.zeros((1, 1)), np.zeros((1, 1)))[0, 0]
        for k in range(1, 9)
    ]
    assert np.all(np.diff(values) > 0)
    assert values[-1] > 50 * values[0]


# ------------------------------------------------------------------------------- other bases


def test_the_linear_basis_is_the_coordinates_and_keeps_sparse_rows_sparse(monkeypatch):
    S = sparse.random(20, 50_000, 0.01, format="csr", random_state=0)
    monkeypatch.setattr(sparse.csr_matrix, "toarray", None)
    monkeypatch.setattr(sparse.csr_array, "toarray", None)
    basis = LinearBasis().fit(S)
    B = orthonormalize(basis).evaluate(S)
    assert sparse.issparse(B)
    assert B.nnz == S.nnz
    assert basis.gram().shape == (50_000, 50_000)
    assert basis.gram().nnz == 50_000
    with pytest.raises(NotFittedError):
        LinearBasis().gram()


def test_functions_with_a_gram_matrix_of_your_own():
    X = np.random.default_rng(0).uniform(-1, 1, size=(40, 1))
    # 1, x, x² on [−1, 1] with ∫fg: orthonormalized, they are the Legendre polynomials.
    G = np.array([[2, 0, 2 / 3], [0, 2 / 3, 0], [2 / 3, 0, 2 / 5]])
    listed = FunctionBasis(
        [lambda X: np.ones(len(X)), lambda X: X[:, 0], lambda X: X[:, 0] ** 2], G
    )

    def powers(X):
        """The arithmetic of the list: x ** [0, 1, 2] rounds x² differently on some processors."""
        return np.hstack([np.ones_like(X), X, X**2])

    stacked = FunctionBasis(powers, gram=G)
    assert np.array_equal(listed.evaluate(X), stacked.evaluate(X))
    legendre = np.column_stack(
        [np.polynomial.legendre.Legendre.basis(k)(X[:, 0]) * np.sqrt(k + 0.5) for k in range(3)]
    )
    for method in METHODS:
        x = orthonormalize(stacked, method).evaluate(X)
        assert np.abs(x @ x.T - legendre @ legendre.T).max() < 1e-13
    orthonormal = FunctionBasis(powers)
    assert orthonormal.orthonormal
    assert np.array_equal(orthonormalize(orthonormal).evaluate(X), stacked.evaluate(X))
    assert np.array_equal(FunctionBasis([np.ravel], None).gram(), [[1.0]])


def test_function_bases_say_what_is_wrong():
    X = points()
    with pytest.raises(ValueError, match="symmetric"):
        FunctionBasis(lambda X: X, [[1.0, 0.5], [0.0, 1.0]]).gram()
    with pytest.raises(ValueError, match=r"shape \(30, 2\)"):
        FunctionBasis(lambda X: X, np.eye(3)).evaluate(X)
    with pytest.raises(ValueError, match="function 1 is inf at sample 0"):
        FunctionBasis(lambda X: np.column_stack([X[:, 0], np.full(len(X), np.inf)])).evaluate(X)
    basis = FunctionBasis(len, np.eye(2))
    assert clone(basis).get_params()["functions"] is len
    assert np.array_equal(clone(basis).gram(), np.eye(2))
    assert basis.set_params(gram=None).orthonormal
    with pytest.raises(ValueError, match="inner"):
        basis.set_params(inner=None)


def test_as_basis_refuses_what_is_none():
    for bad, word in ((Gaussian(), "neither"), (KernelBasis, "class"), ("data", "neither")):
        with pytest.raises(TypeError, match=word):
            as_basis(bad)


@pytest.mark.parametrize(
    "basis",
    [
        KernelBasis(Gaussian(2.0), "subset", 5, 0),
        GaussianBasis("kmeans", [0.5, 1.0], "inner_product", 5, 0),
        LinearBasis(),
    ],
)
def test_bases_behave_like_parameters(basis):
    X = points()
    copy = clone(basis)
    assert repr(copy) == repr(basis)
    fitted = copy.fit(X)
    assert not hasattr(basis, "centers_")
    other = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(other.evaluate(X), fitted.evaluate(X))


def test_nested_parameters_are_reachable():
    basis = KernelBasis(Gaussian(2.0)).set_params(kernel__width=3.0)
    assert basis.kernel == Gaussian(3.0)


def test_a_sparse_kernel_basis():
    S = sparse.random(20, 30, 0.3, format="csr", random_state=0)
    basis = KernelBasis(Linear()).fit(S)
    assert np.allclose(basis.evaluate(S), (S @ S.T).toarray())
