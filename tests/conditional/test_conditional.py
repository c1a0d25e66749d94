"""The conditional kernel: every property of A (8)–(16) = B (10)–(18), and anchor invariance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from scipy.interpolate import RBFInterpolator
from sklearn.preprocessing import KernelCenterer

from kernelbook import papers
from kernelbook.conditional import ConditionalKernel
from kernelbook.features import Polynomials
from kernelbook.kernels import Gaussian, Laplacian, Linear, Multiquadric, Polyharmonic, ThinPlate
from tests.naive import conditional as naive

LINEAR = Polynomials(1)
CASES = {
    "gaussian": (Gaussian(1.5), LINEAR),
    "thin plate": (ThinPlate(), LINEAR),
    "thin plate, quadratic": (ThinPlate(), Polynomials(2)),
    "multiquadric": (Multiquadric(), "constant"),
    "cubic, own function": (
        Polyharmonic(3),
        lambda X: np.column_stack([X[:, 0] - X[:, 1], np.ones(len(X)), X[:, 0], np.sin(X[:, 1])]),
    ),
    "no feature": (Laplacian(), None),
}
CHOICES = ["sample", "least-squares", "virtual"]


def plane(seed=0, m=20):
    return np.random.default_rng(seed).normal(size=(m, 2))


@pytest.fixture(params=list(CASES))
def case(request):
    return CASES[request.param]


# ------------------------------------------------------- the kernels, entry by entry and as a whole


@pytest.mark.interpreted
def test_H_and_K_are_the_double_sums_of_the_papers(case):
    kernel, features = case
    X = plane(m=12)
    space = ConditionalKernel(kernel, features).fit(X)

    def phi(x):
        return space.features_.transform(x[None])[0]

    def k(x, z):
        return kernel(x[None], z[None])[0, 0]

    Z = plane(1, 5)
    for ours, theirs in [(space.H, naive.conditional), (space.K, naive.reproducing)]:
        expected = [[theirs(k, phi, space.anchors_, x, z) for z in Z] for x in X]
        np.testing.assert_allclose(ours(X, Z), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("anchors", CHOICES)
def test_gram_diagonal_and_product_agree(case, anchors):
    X, Z, rng = plane(m=300), plane(1, 280), np.random.default_rng(2)  # more than a tile
    space = ConditionalKernel(*case, anchors).fit(X)
    for k in (space.H, space.K):
        G = k(X)
        np.testing.assert_array_equal(G, G.T)
        np.testing.assert_allclose(k(X, X.copy()), G, atol=1e-8)
        np.testing.assert_allclose(k.diag(X), np.diag(G), atol=1e-12)
        c = rng.normal(size=(280, 2))
        np.testing.assert_allclose(k.matvec(X, Z, c), k(X, Z) @ c, atol=1e-6)


def test_the_properties_of_the_papers(case):
    kernel, features = case
    X = plane(3, 15)
    space = ConditionalKernel(kernel, features).fit(X)
    a, l, Z = space.anchors_, space.n_free_, plane(4, 10)
    E = space.cardinal(Z)
    np.testing.assert_allclose(space.cardinal(a), np.eye(l), atol=1e-11)  # A (11)
    np.testing.assert_allclose(space.K(Z) - space.H(Z), E @ E.T, atol=1e-11)  # A (8)
    np.testing.assert_allclose(space.K(Z, a), E, atol=1e-10)  # A (12)
    np.testing.assert_allclose(space.H(Z, a), 0, atol=1e-10)  # A (14)
    # The inner product of H_K is ⟨K_x, K_z⟩ = K(x, z).  With φ'_p = K_{a_p} and
    # H_x = K_x − Σφ'_p(x)K_{a_p} the other properties are statements on one matrix, that of K.
    K = space.K(np.vstack([a, Z]))
    cardinal, h = np.eye(l + 10)[:l], np.hstack([-E, np.eye(10)])
    np.testing.assert_allclose(cardinal @ K @ cardinal.T, np.eye(l), atol=1e-10)  # A (13)
    np.testing.assert_allclose(h @ K @ cardinal.T, 0, atol=1e-10)  # A (15)
    np.testing.assert_allclose(h @ K @ h.T, space.H(Z), atol=1e-9)  # A (16)


@pytest.mark.parametrize("anchors", CHOICES)
@pytest.mark.parametrize("name", ["gaussian", "thin plate", "multiquadric"])
def test_strictly_definite_off_the_anchors(name, anchors):
    kernel, features = CASES[name]
    X = plane(5, 18)
    space = ConditionalKernel(kernel, features, anchors).fit(X)
    off = plane(6, 15)
    assert np.linalg.eigvalsh(space.H(off))[0] > 1e-6
    assert np.linalg.eigvalsh(space.K(np.vstack([off, X[:5]])))[0] > 1e-7
    assert space.K.strictly_pd
    assert space.K.cpd_order == space.H.cpd_order == 0
    if kernel.cpd_order:  # unlike Φ itself
        assert np.linalg.eigvalsh(kernel(off))[0] < -1e-3


def test_H_is_singular_where_the_papers_overlook_it():
    X = plane(7)
    space = ConditionalKernel(ThinPlate(), LINEAR).fit(X)
    assert not space.H.strictly_pd  # it vanishes at the anchors,
    assert np.linalg.matrix_rank(space.H(X), tol=1e-9) == len(X) - 3
    space = ConditionalKernel(Linear(), LINEAR).fit(X)  # and with a linear kernel everywhere
    np.testing.assert_allclose(space.H(X), 0, atol=1e-12)
    assert not space.K.strictly_pd
    assert ConditionalKernel(Gaussian(), LINEAR, "virtual").fit(X).H.strictly_pd
    assert ConditionalKernel(Gaussian(), None).fit(X).H.strictly_pd


@given(seed=st.integers(0, 10**6), m=st.integers(4, 25), name=st.sampled_from(list(CASES)))
@settings(max_examples=60, deadline=None)
def test_always_positive_semidefinite(seed, m, name):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m + 10, 2)) * 10.0 ** rng.uniform(-2, 2)
    space = ConditionalKernel(*CASES[name], CHOICES[seed % 3]).fit(X)
    points = np.vstack([X[: m // 2], rng.normal(size=(m, 2)) * np.abs(X).max()])
    for k in (space.H, space.K):
        eigenvalues = np.linalg.eigvalsh(k(points))
        assert eigenvalues[0] > -1e-9 * max(eigenvalues[-1], np.abs(space.kernel_(points)).max())


# ---------------------------------------------------------------------------- independent oracles


@pytest.mark.parametrize(
    ("name", "kernel", "degree"),
    [
        ("gaussian", Gaussian(1.0), 1),
        ("thin_plate_spline", ThinPlate(), 1),
        ("cubic", Polyharmonic(3), 2),
        ("multiquadric", Multiquadric(), 0),
        ("linear", Polyharmonic(1), 1),
    ],
)
def test_interpolation_through_H_is_scipys(name, kernel, degree):
    X, new = plane(8, 30), plane(9, 50)
    y = np.sin(X[:, 0]) + X[:, 1]
    space = ConditionalKernel(kernel, Polynomials(degree)).fit(X)
    anchor = (X[:, None] == space.anchors_[None]).all(-1).any(1)
    y_at = {tuple(x): v for x, v in zip(X, y, strict=True)}
    a = np.array([y_at[tuple(x)] for x in space.anchors_])
    rest = X[~anchor]
    c = np.linalg.solve(space.H(rest), y[~anchor] - space.cardinal(rest) @ a)
    scipy = RBFInterpolator(X, y, kernel=name, degree=degree, epsilon=1.0)
    np.testing.assert_allclose(space.function(a, c, rest)(new), scipy(new), atol=1e-7)


def test_brownian_motion_is_minus_the_distance_seen_from_zero():
    t = np.linspace(0.1, 3, 8)[:, None]
    space = ConditionalKernel(Polyharmonic(1), "constant", anchors=np.zeros((1, 1)))
    np.testing.assert_allclose(space.H(t) / 2, np.minimum(t, t.T), atol=1e-15)


def test_least_squares_on_the_constant_is_kernel_centring():
    X, Z = plane(10), plane(11, 7)
    space = ConditionalKernel(Gaussian(), "constant", "least-squares").fit(X)
    centerer = KernelCenterer().fit(Gaussian()(X))
    np.testing.assert_allclose(space.H(X), centerer.transform(Gaussian()(X)), atol=1e-14)
    np.testing.assert_allclose(space.H(Z, X), centerer.transform(Gaussian()(Z, X)), atol=1e-14)
    np.testing.assert_allclose(space.cardinal(Z), np.ones((7, 1)), atol=1e-14)


def test_least_squares_is_a_projection_on_the_sample(case):
    X = plane(12, 25)
    space = ConditionalKernel(*case, "least-squares").fit(X)
    P = space.features_.transform(X)
    M = np.eye(25) - P @ np.linalg.pinv(P) if P.size else np.eye(25)
    np.testing.assert_allclose(space.H(X), M @ space.kernel_(X) @ M, atol=1e-9)
    E = space.cardinal(X)
    np.testing.assert_allclose(E.T @ E / 25, np.eye(space.n_free_), atol=1e-12)


def test_virtual_points_of_a_definite_kernel():
    X = plane(13, 15)
    space = ConditionalKernel(Gaussian(), LINEAR, "virtual").fit(X)
    P, gram = space.features_.transform(X), Gaussian()(X)
    np.testing.assert_allclose(space.H(X), gram + P @ P.T, atol=1e-14)
    np.testing.assert_allclose(space.K(X), gram + 2 * P @ P.T, atol=1e-14)
    np.testing.assert_array_equal(space.cardinal(X), P)
    assert space.anchors_ is None
    # What the papers' formulas give with the v's as the first samples, on the extended domain.
    H, E = papers.split(*papers.virtual_gram(gram, P))
    np.testing.assert_allclose(space.H(X), H, atol=1e-14)
    np.testing.assert_array_equal(E, P.T)
    K = np.block([[np.eye(3), E], [E.T, H + E.T @ E]])  # of v_1 … v_3, x_1 … x_15
    h = np.hstack([-P, np.eye(15)])
    np.testing.assert_allclose(h @ K @ h.T, H, atol=1e-13)  # A (16)
    np.testing.assert_allclose(h @ K[:, :3], 0, atol=1e-14)  # A (15)


def test_virtual_points_do_not_ask_for_independent_features():
    X = plane(14, 15)

    def twice(X):
        return np.column_stack([X[:, 0], X[:, 0]])

    space = ConditionalKernel(Gaussian(), twice, "virtual").fit(X)
    np.testing.assert_allclose(space.H(X), Gaussian()(X) + 2 * np.outer(X[:, 0], X[:, 0]))


def test_virtual_functionals_of_a_conditional_kernel():
    X, Z = plane(15, 20), plane(16, 9)
    real = ConditionalKernel(ThinPlate(), LINEAR).fit(X)
    space = ConditionalKernel(ThinPlate(), LINEAR, "virtual").fit(X)
    P = space.features_.transform(Z)
    np.testing.assert_allclose(space.H(Z), real.H(Z), atol=1e-11)
    np.testing.assert_allclose(space.K(Z), real.H(Z) + P @ P.T, atol=1e-11)
    # μ_p(φ_q) = δ_pq, and K_μp = φ_p: the features are orthonormal in K.
    mu, a = space.functionals_.W, space.anchors_
    np.testing.assert_allclose(mu @ space.features_.transform(a), np.eye(3), atol=1e-13)
    np.testing.assert_allclose(space.K(Z, a) @ mu.T, P, atol=1e-11)
    np.testing.assert_allclose(mu @ space.K(a) @ mu.T, np.eye(3), atol=1e-11)


# ------------------------------------------------------------------------------------ functions


@pytest.mark.parametrize("anchors", CHOICES)
def test_inner_products_reproduce(case, anchors):
    X, rng = plane(17), np.random.default_rng(18)
    space = ConditionalKernel(*case, anchors).fit(X)
    alpha, beta, Z, W = rng.normal(size=4), rng.normal(size=3), plane(19, 4), plane(20, 3)
    f = sum((a * space.representer(z) for a, z in zip(alpha, Z, strict=True)), space.function())
    g = sum((b * space.representer(w) for b, w in zip(beta, W, strict=True)), space.function())
    np.testing.assert_allclose(f(X), space.K(X, Z) @ alpha, atol=1e-10)
    assert f.inner(g) == pytest.approx(alpha @ space.K(Z, W) @ beta, abs=1e-9)
    assert f.inner(space.representer(X[0])) == pytest.approx(f(X[:1])[0], abs=1e-9)
    assert f.norm**2 == pytest.approx(f.inner(f), rel=1e-9)
    assert f.norm**2 == pytest.approx(f.free.norm**2 + f.penalized.norm**2, rel=1e-9)
    assert f.free.inner(f.penalized) == f.free.seminorm == 0.0
    np.testing.assert_allclose((f - 2 * g)(X), f(X) - 2 * g(X), atol=1e-10)
    np.testing.assert_allclose((f.free + f.penalized)(X), f(X), atol=1e-12)


def dual_seminorm(kernel, P, Z, f):
    """sup Σc_if(z_i) over Pᵀc = 0, cᵀΦc ≤ 1: |f| with no anchors in its definition."""
    N = linalg.null_space(P.T) if P.size else np.eye(len(P))
    return np.sqrt(f @ N @ np.linalg.solve(N.T @ kernel(Z) @ N, N.T @ f))


@pytest.mark.parametrize("name", ["gaussian", "thin plate", "multiquadric", "cubic, own function"])
def test_the_seminorm_is_a_supremum_without_anchors(name):
    kernel, features = CASES[name]
    X, rng = plane(21, 14), np.random.default_rng(22)
    for anchors in ("sample", "least-squares"):
        space = ConditionalKernel(kernel, features, anchors).fit(X)
        f = space.function(rng.normal(size=space.n_free_), rng.normal(size=8), X[:8])
        P = space.features_.transform(X)
        assert f.seminorm == pytest.approx(dual_seminorm(kernel, P, X, f(X)), rel=1e-6)
        assert dual_seminorm(kernel, P[4:], X[4:], f(X[4:])) < f.seminorm  # fewer points see less


@pytest.mark.parametrize("name", ["gaussian", "thin plate", "multiquadric", "cubic, own function"])
def test_a_function_keeps_its_values_and_seminorm_in_other_spaces(name):
    kernel, features = CASES[name]
    X, new, rng = plane(23), plane(24), np.random.default_rng(25)
    home = ConditionalKernel(kernel, features).fit(X)
    f = home.function(rng.normal(size=home.n_free_), rng.normal(size=8), X[-8:])
    lam, c, points = f.plain()
    P = home.features_.transform(points)
    np.testing.assert_allclose(P.T @ c, 0, atol=1e-10)
    values = kernel(new, points) @ c + home.features_.transform(new) @ lam
    np.testing.assert_allclose(f(new), values, atol=1e-9)
    norms = []
    others = [rng.normal(size=(home.n_free_, 2)) for _ in range(3)]
    for anchors in [*CHOICES, *others]:
        space = ConditionalKernel(kernel, features, anchors).fit(X)
        g = space.solution(lam, c, points)
        np.testing.assert_allclose(g(new), f(new), atol=1e-7)
        assert g.seminorm == pytest.approx(f.seminorm, rel=1e-7)
        norms.append(g.norm)
        back = home.solution(*g.plain())
        assert (back - f).norm == pytest.approx(0, abs=1e-5 * f.norm)
    assert np.ptp(norms) > 0.01 * f.norm  # while the norm does depend on the anchors


# ----------------------------------------------------------- T2: the solution has no anchors in it


def solve(loss, space, X, new, y, reg):
    """Minimize over all functions Σaφ' + ΣcH on both point sets; from scratch, by `naive`."""
    both = np.vstack([X, new])
    R, F = naive.root(space.H(both)), space.cardinal(both)
    return getattr(naive, loss)(R, F, y, reg)


@pytest.mark.parametrize("loss", ["squared_loss", "hinge_loss"])
@pytest.mark.parametrize("name", ["gaussian", "thin plate", "multiquadric"])
def test_the_solution_does_not_depend_on_the_anchors(name, loss):
    kernel, features = CASES[name]
    X, new, rng = plane(26, 24), plane(27, 6), np.random.default_rng(28)
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=24) > 0, 1.0, -1.0)
    reg, both = 0.02, np.vstack([X, new])
    reference = ConditionalKernel(kernel, features).fit(X)
    P = reference.features_.transform(both)
    # The anchor-free form: Σc_iΦ(x_i, ·) + Σλ_pφ_p with Pᵀc = 0.
    f, best, seminorm2, _, _ = getattr(naive, loss)(
        naive.root_of_constrained(kernel(both), P), P, y, reg
    )
    l, norms = reference.n_free_, []
    for anchors in [*CHOICES, X[:l], X[5 : 5 + l], rng.normal(size=(l, 2))]:
        space = ConditionalKernel(kernel, features, anchors).fit(X)
        f_a, best_a, seminorm2_a, _, lam = solve(loss, space, X, new, y, reg)
        assert best_a == pytest.approx(best, rel=1e-7)
        assert seminorm2_a == pytest.approx(seminorm2, rel=1e-4)
        np.testing.assert_allclose(f_a, f, atol=1e-4)
        norms.append(np.sqrt(seminorm2_a + lam @ lam))
    assert np.ptp(norms) > 0.01


@given(
    seed=st.integers(0, 10**6),
    log_reg=st.floats(-3, 1),
    name=st.sampled_from(["gaussian", "thin plate", "multiquadric"]),
)
@settings(max_examples=30, deadline=None)
def test_random_anchors_one_solution(seed, log_reg, name):
    kernel, features = CASES[name]
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(15, 2)), rng.normal(size=(4, 2))
    y, reg = rng.normal(size=15), 10.0**log_reg
    results = []
    for _ in range(2):
        l = 1 if features == "constant" else 3
        space = ConditionalKernel(kernel, features, rng.normal(size=(l, 2))).fit(X)
        if space.condition_ > 100:
            return
        results.append(solve("squared_loss", space, X, new, y, reg))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-5)
    assert results[0][1] == pytest.approx(results[1][1], rel=1e-7, abs=1e-12)
    assert results[0][2] == pytest.approx(results[1][2], rel=1e-4, abs=1e-10)


def test_a_space_keeps_copies_and_its_kernels_are_snapshots():
    rng = np.random.default_rng(5)
    X, new = rng.normal(size=(30, 2)), rng.normal(size=(4, 2))
    kernel, anchors = Gaussian(1.0), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for choice in (anchors, "sample", "least-squares"):
        data = X.copy()
        space = ConditionalKernel(kernel, Polynomials(1), choice).fit(data)
        K = space.K
        before = K(new)
        data *= 3
        if choice is anchors:
            anchors += 1
        kernel.width = 9.0
        np.testing.assert_array_equal(space.K(new), before)
        space.fit(X[:10] * 3 + 1)
        np.testing.assert_array_equal(K(new), before)
        kernel.width = 1.0
