"""The regularization path in C against exhaustion, cvxopt, SVC, linear programming and by hand."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.svm import SVC

from kernelbook import svm_path
from kernelbook.solvers.svm.multipliers import hard_margin_multipliers
from tests.naive import svm as naive_svm
from tests.naive import svm_path as naive
from tests.samples.path import KERNELS, between, features, gaussian, sample

# -- by hand -----------------------------------------------------------------------------------


@pytest.mark.interpreted
def test_two_points_by_hand():
    """x = ±1 with a bias: α = min(C, ½)."""
    x = np.array([-1.0, 1.0])
    path = svm_path(np.outer(x, x), np.ones((2, 1)), x, C_max=10.0)
    assert path.C == pytest.approx([0.0, 0.5, 10.0], abs=1e-15)
    assert path(0.25)[0] == pytest.approx([-0.25, 0.25], abs=1e-15)
    assert path(7.0)[0] == pytest.approx([-0.5, 0.5], abs=1e-15)
    assert path(7.0)[1] == pytest.approx([0.0], abs=1e-15)


@pytest.mark.interpreted
def test_four_points_by_hand():
    """x = 0, 1, 2, 3 with labels − + − +, bias free: all at C until f = ±1 at the ends, C = 1/3."""
    x, y = np.arange(4.0), np.array([-1.0, 1.0, -1.0, 1.0])
    path = svm_path(np.outer(x, x), np.ones((4, 1)), y, C_max=1.0)
    assert path.C == pytest.approx([0.0, 1 / 3, 1.0], abs=1e-15)
    # Then the inner two stay at C, and 3(α₁ + …) keeps f(3) − f(0) = 2: w = 2/3.
    for C in (0.5, 0.9):
        beta, lam = path(C)
        assert x @ beta == pytest.approx(2 / 3, abs=1e-14)
        assert y * beta == pytest.approx([(2 / 3 + C) / 3, C, C, (2 / 3 + C) / 3], abs=1e-14)
        assert lam == pytest.approx([-1.0], abs=1e-14)


@pytest.mark.interpreted
def test_no_feature_starts_with_everybody_at_the_bound():
    X, y = sample(12, 0)
    K = gaussian(X)
    path = svm_path(K, None, y, C_max=5.0)
    assert path.C[1] == pytest.approx(1 / (y * (K @ y)).max(), rel=1e-13)
    assert np.array_equal(path(0.5 * path.C[1])[0], 0.5 * path.C[1] * y)


# -- against other solvers ---------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize("l", [0, 1, 2])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_exhaustion(kernel, l):
    """Every face of the box, for six samples, at and between all breakpoints."""
    X, y = sample(6, 3 + l)
    K, P = KERNELS[kernel](X), features(X, l)
    path = svm_path(K, P, y, C_max=20.0)
    for C in between(path.C)[:9]:
        value, beta = naive_svm.every_face(K, P, y, C)
        ours = path(C)[0]
        assert 0.5 * ours @ K @ ours - y @ ours == pytest.approx(value, abs=1e-10)
        assert K @ ours == pytest.approx(K @ beta, abs=1e-8)


@pytest.mark.parametrize("l", [0, 1, 2, 3])
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_cvxopt(kernel, l):
    """Objective and Φβ at and between breakpoints; and the bare conditions of optimality."""
    pytest.importorskip("cvxopt")
    if kernel == "thin plate" and l != 3:
        pytest.skip("thin plates need the linear features")
    X, y = sample(40, 10 + l)
    K, P = KERNELS[kernel](X), features(X, l)
    path = svm_path(K, P, y, C_max=50.0)
    assert path.n_restarts == 0
    assert path.kkt.max() < (1e-8 if kernel == "wide" else 1e-10)
    assert (np.diff(path.C) > 0).all()
    M = np.eye(40) - P @ np.linalg.pinv(P)
    rng = np.random.default_rng(0)
    for C in rng.choice(between(path.C), 12):
        upper = np.full(40, C)
        beta, lam = path(C)
        assert naive.kkt_violation(K, P, y, upper, beta, lam) < 1e-9 * (1 + C)
        other, value = naive.qp(K, P, y, upper)
        assert 0.5 * beta @ K @ beta - y @ beta <= value + 1e-8 * (1 + abs(value))
        assert M @ K @ beta == pytest.approx(M @ K @ other, abs=2e-4)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_svc(kernel):
    """ℓ = 1 is the standard machine: decision values of SVC, where its bias is unique.

    LIBSVM keeps the kernel in single precision, which costs it digits whatever its tolerance.
    """
    X, y = sample(60, 5)
    K, P = KERNELS[kernel](X), np.ones((60, 1))
    path = svm_path(K, P, y, C_max=100.0)
    checked = 0
    for low, high, size in list(zip(path.C, path.C[1:], path.elbow_size, strict=False))[::3]:
        if size == 0 or high - low < 1e-12 * high:  # two events in one: nobody need be free there
            continue
        C = 0.3 * low + 0.7 * high
        beta, lam = path(C)
        model = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, y)
        assert K @ beta + lam == pytest.approx(model.decision_function(K), abs=2e-6 * (1 + C))
        checked += 1
    assert checked > 5


def test_breakpoints_are_where_the_support_changes():
    """Independent solves in the middle of each piece find its places; neighbours never agree."""
    pytest.importorskip("cvxopt")
    X, y = sample(25, 8)
    K, P = gaussian(X), np.ones((25, 1))
    path = svm_path(K, P, y, C_max=10.0)
    places = []
    for low, high in pairwise(path.C):
        C = 0.5 * (low + high)
        piece = next(p for p in path.pieces if p.low <= C <= p.high)
        alpha = y * naive.qp(K, P, y, np.full(25, C))[0] / C
        place = np.digitize(alpha, [1e-4, 1 - 1e-4])
        ours = np.where(piece.at_C, 2, 0)
        ours[piece.elbow] = 1
        inner = y[piece.elbow] * piece.beta(C) / C
        clear = np.setdiff1d(np.arange(25), piece.elbow[(inner < 1e-3) | (inner > 1 - 1e-3)])
        assert np.array_equal(place[clear], ours[clear])
        places.append(ours)
    assert all((a != b).any() for a, b in pairwise(places))


def test_affine_between_breakpoints():
    X, y = sample(50, 2)
    path = svm_path(gaussian(X), features(X, 3), y, C_max=10.0)
    for low, high in zip(path.C[:-1], path.C[1:], strict=True):
        (a, p), (m, q), (b, r) = (path(C) for C in (low, 0.5 * (low + high), high))
        # At a breakpoint the solution is that of the next piece, so this is continuity as well.
        assert m == pytest.approx(0.5 * (a + b), abs=1e-8)
        assert q == pytest.approx(0.5 * (p + r), abs=1e-7) or path.elbow_size.min() < 3


def test_shapes_and_certificate():
    X, y = sample(30, 4)
    K, P = gaussian(X), features(X, 3)
    path = svm_path(K, P, y, C_max=5.0)
    k = path.C.size
    assert path.beta.shape == (k, 30)
    assert path.lam.shape == (k, 3)
    assert path.kkt.shape == path.elbow_size.shape == (k - 1,)
    certificate = path.certificate(1.2345)
    assert 0 <= certificate.gap < 1e-10 * certificate.primal
    assert certificate.kkt < 1e-10
    assert certificate.constraint < 1e-12
    assert "pieces" in repr(path)


# -- the start ---------------------------------------------------------------------------------


@pytest.mark.parametrize("l", [1, 2, 3])
@pytest.mark.parametrize("balance", ["balanced", "few positive", "one positive"])
def test_start_solves_the_features_only_program(balance, l):
    """β/C as C → 0: a solution of the linear program of T11, and among those of least θᵀΦθ."""
    pytest.importorskip("cvxopt")
    rng = np.random.default_rng(l)
    n = 24
    X = rng.normal(size=(n, 2))
    positive = {"balanced": n // 2, "few positive": 5, "one positive": 1}[balance]
    y = np.where(rng.permutation(n) < positive, 1.0, -1.0)
    K, P = gaussian(X), features(X, l)
    path = svm_path(K, P, y, C_max=1.0)
    C = 0.5 * path.C[1]
    theta = path(C)[0] / C
    assert path(0.1 * C)[0] / (0.1 * C) == pytest.approx(theta, abs=1e-12)
    bounds = [(min(label, 0.0), max(label, 0.0)) for label in y]
    program = linprog(-y, A_eq=P.T, b_eq=np.zeros(P.shape[1]), bounds=bounds)
    assert y @ theta == pytest.approx(-program.fun, abs=1e-9)
    # min θᵀΦθ over the optimal face: the same QP with a huge linear term, by another solver.
    other = naive.qp(1e-5 * K, P, y, np.ones(n))[0]
    assert theta @ K @ theta == pytest.approx(other @ K @ other, rel=1e-3, abs=1e-8)


def test_features_that_separate_leave_nothing_to_the_kernel():
    """T3: β = 0 for every C, and λ is the hard-margin machine of the features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.sign(X[:, 0])
    X[:, 0] += 0.2 * y
    P = np.hstack([np.ones((30, 1)), X])
    path = svm_path(gaussian(X), P, y, C_max=1e3)
    for C in (0.0, 1e-6, 1.0, 1e3):
        beta, lam = path(C)
        assert np.abs(beta).max() < 1e-12
        Q = np.linalg.qr(P)[0]
        assert P @ lam == pytest.approx(Q @ hard_margin_multipliers(Q, y, np.ones(30)), abs=1e-6)


def test_one_class():
    """Nothing to learn: with a bias β = 0; without, the machine that pushes f up to 1."""
    X, _ = sample(10, 0)
    K, y = gaussian(X), np.ones(10)
    assert np.abs(svm_path(K, np.ones((10, 1)), y, C_max=10.0).beta).max() < 1e-12
    path = svm_path(K, None, y, C_max=10.0)
    assert path.kkt.max() < 1e-10
    assert (K @ path(10.0)[0] > 1 - 1e-9).all()


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gram": np.eye(3)}, "gram has shape"),
        ({"gram": np.triu(np.ones((4, 4)))}, "not symmetric"),
        ({"gram": np.full((4, 4), np.nan)}, "gram has entries"),
        ({"gram": -np.eye(4)}, "not positive semidefinite"),
        ({"P": np.ones(4)}, "P has shape"),
        ({"P": np.full((4, 1), np.inf)}, "P has entries"),
        ({"y": np.array([0.0, 1.0, 1.0, 0.0])}, "y must be"),
        ({"C_max": 0.0}, "C_max must be"),
        ({"C_max": np.inf}, "C_max must be"),
        ({"sample_weight": np.array([1.0, 0.0, 1.0, 1.0])}, "sample_weight must"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {
        "gram": np.eye(4),
        "P": np.ones((4, 1)),
        "y": np.array([1.0, -1.0, 1.0, -1.0]),
        "C_max": 1.0,
    } | change
    with pytest.raises(ValueError, match=message):
        svm_path(**arguments)


def test_outside_the_path():
    path = svm_path(np.eye(2), None, np.array([1.0, -1.0]), C_max=2.0)
    for C in (-0.1, 2.1, np.nan):
        with pytest.raises(ValueError, match="not on the path"):
            path(C)


def test_the_arguments_are_left_alone():
    X, y = sample(15, 0)
    K, P = gaussian(X), np.ones((15, 1))
    before = K.copy(), P.copy(), y.copy()
    for array in (K, P, y):
        array.flags.writeable = False
    svm_path(K, P, y, C_max=1.0)
    assert all(np.array_equal(a, b) for a, b in zip(before, (K, P, y), strict=True))


# -- what the path says of itself ----------------------------------------------------------------


@pytest.mark.parametrize("C_max", [1e3, 1e9, 1e12])
def test_the_violation_of_the_path_is_that_of_its_certificates(C_max):
    """`kkt` once was that of a projected Gram matrix, and at a huge C said nothing of Φβ."""
    for kernel in (gaussian, lambda X: X @ X.T):
        X, y = sample(30, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = svm_path(kernel(X), np.ones((30, 1)), y, C_max=C_max)
        for C in 10.0 ** np.linspace(0, np.log10(C_max), 7):
            piece = min(np.searchsorted(path.C, C, side="right") - 1, path.kkt.size - 1)
            # A certificate adds the largest breaches upwards and downwards.
            assert path.certificate(C).kkt <= 4 * path.kkt[piece] + 1e-12


def test_far_along_the_path_what_is_small_beside_C_is_not_nothing():
    """β = 100 is 1e-10 of C = 1e12, and was once put to zero for that, at every C of its piece."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    noise = 0.5 * rng.normal(size=30)
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 0.7 + noise > 0, 1.0, -1.0)
    with pytest.warns(UserWarning, match="rounding"):
        far = svm_path(gaussian(X), np.ones((30, 1)), y, C_max=1e12)
    near = svm_path(gaussian(X), np.ones((30, 1)), y, C_max=1e6)
    for C in (1e4, 1e6):
        assert far.certificate(C).kkt < 1e-8
        assert far(C)[0] == pytest.approx(near(C)[0], rel=1e-6, abs=1e-6)


def test_the_caller_may_change_his_arrays():
    X, y = sample(20, 1)
    gram, P, w = gaussian(X), np.ones((20, 1)), np.ones(20)
    path = svm_path(gram, P, y, C_max=10.0, sample_weight=w)
    before = path.certificate(2.0)
    gram[:], P[:], y[:], w[:] = 0.0, 7.0, 1.0, 3.0
    assert path.certificate(2.0) == before
