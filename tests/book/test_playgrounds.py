"""The playgrounds' JavaScript against the library, on shared cases, to 1e-6; no browser needed."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from kernelbook import (
    ConditionalKernel,
    Gaussian,
    GaussianBasis,
    GRLSRegressor,
    GRLSRegressorCV,
    Polynomials,
    PrimalSVMClassifier,
    SVMGBClassifier,
    papers,
)
from tests.paths import ROOT

HERE = ROOT / "tests" / "playgrounds"
NODE = shutil.which("node")
TOL = 1e-6
sys.path.insert(0, str(ROOT / "book" / "_ext"))

needs_node = pytest.mark.skipif(NODE is None, reason="no node: the playgrounds' modules need one")

GRID = np.linspace(0, 10, 41)
XS, YS = np.linspace(-2, 2, 9), np.linspace(-1.5, 1.5, 7)
PLANE = np.array([[x, y] for y in YS for x in XS])


def radial(X):
    return np.column_stack([np.ones(len(X)), (X**2).sum(axis=1)])


FEATURES = {
    "bias": "constant",
    "linear": Polynomials(1),
    "quadratic": Polynomials(2),
    "radial": radial,
}


def points(X, y, name="y"):
    columns = ("x", "y", name) if X.shape[1] == 2 else ("x", name)
    return [
        dict(zip(columns, map(float, row), strict=True)) for row in np.column_stack([X, y]).tolist()
    ]


def regression_cases(rng):
    for m, width, reg, degree in [
        (25, 0.5, 1e-2, 2),
        (25, 2.0, 1e-4, 0),
        (40, 1.0, 1e-3, 3),
        (12, 5.0, 1.0, 1),
        (200, 0.7, 1e-2, 4),
        (9, 1.0, 0.1, -1),
    ]:
        X = rng.uniform(0, 10, (m, 1))
        y = np.abs(5 - X[:, 0]) + 0.5 * rng.standard_normal(m)
        settings = dict(width=width, reg=reg, degree=degree, at=3.3, printed=True)
        yield dict(
            kind="regression", points=points(X, y), settings=settings, grid=GRID.tolist(), X=X, y=y
        )


def classification_cases(rng):
    for m, features, width, C in [
        (40, "bias", 0.5, 10.0),
        (40, "linear", 0.5, 1.0),
        (60, "quadratic", 0.3, 100.0),
        (60, "radial", 1.0, 10.0),
        (200, "linear", 0.4, 10.0),
        (15, "quadratic", 0.5, 1.0),
    ]:
        X = rng.uniform((-2, -1.5), (2, 1.5), (m, 2))
        separable = m == 15  # a circle: quadratic features do it alone, and λ is the rule's
        side = np.hypot(*X.T) - 1 if separable else np.sin(2 * X[:, 0]) + X[:, 1]
        noise = 0.0 if separable else 0.3
        y = np.where(side + noise * rng.standard_normal(m) > 0, 1.0, -1.0)
        moved = X.copy()
        moved[0] += 0.05
        yield dict(
            kind="classification",
            points=points(X, y, "label"),
            before=points(moved, y, "label") if m > 40 else None,
            settings=dict(features=features, width=width, C=C),
            xs=XS.tolist(),
            ys=YS.tolist(),
            X=X,
            y=y,
        )


def basis_cases(rng):
    for m, M, degree, C in [
        (20, 2, 0, 10.0),
        (30, 6, 1, 1.0),
        (40, 12, 2, 100.0),
        (25, 5, 0, 10.0),
    ]:
        X = rng.uniform(0, 10, (m, 1))
        y = np.where(np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(m) > 0, 1.0, -1.0)
        centers, widths = X[:M], rng.uniform(0.3, 2.5, M)
        yield dict(
            kind="basis",
            points=points(X, y),
            functions=points(centers, widths),
            settings=dict(C=C, degree=degree),
            grid=GRID.tolist(),
            X=X,
            y=y,
            centers=centers,
            widths=widths,
        )


def anchor_cases(rng):
    for degree, anchors, width, reg in [
        (0, [4.0], 2.0, 1e-2),
        (1, [1.0, 8.5], 1.0, 1e-3),
        (2, [0.5, 6.0, 7.0], 3.0, 1e-1),
    ]:
        X = rng.uniform(0, 10, (20, 1))
        y = np.abs(5 - X[:, 0]) + 0.5 * rng.standard_normal(20)
        yield dict(
            kind="anchors",
            points=points(X, y),
            anchors=[dict(x=a, y=0.0) for a in anchors],
            settings=dict(width=width, reg=reg, degree=degree),
            grid=GRID.tolist(),
            X=X,
            y=y,
        )


@pytest.fixture(scope="module")
def answered():
    """Every case with what the JavaScript says, from one process."""
    rng = np.random.default_rng(0)
    makers = (regression_cases, classification_cases, basis_cases, anchor_cases)
    cases = [case for make in makers for case in make(rng)]
    return list(zip(cases, answers(cases), strict=True))


def answers(cases):
    """What the JavaScript says to the cases, arrays left out."""
    plain = [{k: v for k, v in c.items() if not isinstance(v, np.ndarray)} for c in cases]
    done = subprocess.run(
        [NODE, str(HERE / "cases.mjs")],
        input=json.dumps(plain),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)


def of_kind(answered, kind):
    return [(c, a) for c, a in answered if c["kind"] == kind]


def assert_close(a, b, scale=1.0):
    np.testing.assert_allclose(a, b, rtol=TOL, atol=TOL * scale)


@needs_node
def test_regression_is_grls_ridge_and_the_printed_formula(answered):
    for case, js in of_kind(answered, "regression"):
        X, y, s = case["X"], case["y"], case["settings"]
        kernel = Gaussian(s["width"])
        features = Polynomials(s["degree"]) if s["degree"] >= 0 else None
        at = np.append(GRID, s["at"])[:, None]
        model = GRLSRegressorCV(kernel, features, regs=[s["reg"]]).fit(X, y)
        ridge = GRLSRegressorCV(kernel, None, regs=[s["reg"]]).fit(X, y)
        assert_close(js["objective"], model.certificate_.primal)
        assert_close([*js["free"], js["at"]], model.predict(at))
        assert_close([*js["ridge"], js["atRidge"]], ridge.predict(at))
        assert_close(js["loo"], np.mean(model.loo_errors_**2))
        assert_close(js["looRidge"], np.mean(ridge.loo_errors_**2))
        if features is None:
            assert js["wrong"] is None
            continue
        P = features.fit(GRID[:, None]).transform(X)
        l, gram = P.shape[1], kernel(X)
        H, E = papers.split(gram, P)
        lam, c = papers.b26_27_printed(H, E, y, s["reg"])
        assert_close(js["objectiveWrong"], papers.b22(H, E, y, s["reg"], lam, c))
        e = papers.cardinal(features.transform(at), P[:l])
        E2 = papers.cardinal(P[l:], P[:l])
        h = papers.conditional(
            kernel(at, X[l:]), kernel(at, X[:l]), gram[l:, :l], gram[:l, :l], e, E2
        )
        assert_close([*js["wrong"], js["atWrong"]], e @ lam + h @ c)


@needs_node
def test_classification_is_svmgb(answered):
    for case, js in of_kind(answered, "classification"):
        s = case["settings"]
        model = SVMGBClassifier(Gaussian(s["width"]), FEATURES[s["features"]], C=s["C"])
        model.fit(case["X"], case["y"])
        f = np.add(js["free"], js["kernel"])
        assert_close(js["primal"], model.certificate_.primal)
        assert_close(f, model.decision_function(PLANE))
        assert_close(js["values"], model.decision_function(case["X"]))
        assert js["supportVectors"] == len(model.support_)
        assert js["errors"] == np.sum(case["y"] * model.decision_function(case["X"]) <= 0)
        assert 0 <= js["gap"] <= 1e-8 * (js["primal"] + s["C"])
        # The split into parts, too: the kernel is positive definite, so it is determined.
        kernel_part = model.kernel_(PLANE, case["X"][model.support_]) @ model.dual_coef_[0]
        assert_close(js["kernel"], kernel_part)


@needs_node
def test_the_separable_case_is_among_them(answered):
    kinds = [js["supportVectors"] for _, js in of_kind(answered, "classification")]
    assert 0 in kinds
    assert max(kinds) > 10


@needs_node
def test_basis_functions_are_the_primal_machine(answered):
    for case, js in of_kind(answered, "basis"):
        s = case["settings"]
        basis = GaussianBasis(case["centers"], case["widths"])
        model = PrimalSVMClassifier(basis, Polynomials(s["degree"]), C=s["C"], tol=1e-9)
        model.fit(case["X"], case["y"])
        assert_close(js["primal"], model.certificate_.primal)
        f = model.decision_function(GRID[:, None])
        assert_close(js["f"], f, scale=np.abs(f).max())
        assert js["kept"] == model.orthonormal_.rank
        values = case["y"] * model.decision_function(case["X"])
        values[: len(case["centers"])] = np.inf
        chosen = np.flatnonzero(case["X"][:, 0] == js["next"])
        assert values[chosen[0]] <= values.min() + TOL  # several may be equally wrong


@needs_node
def test_anchors_are_the_conditional_kernel(answered):
    grid = GRID[:, None]
    for case, js in of_kind(answered, "anchors"):
        X, s = case["X"], case["settings"]
        anchors = np.array([[a["x"]] for a in case["anchors"]])
        kernel, features = Gaussian(s["width"]), Polynomials(s["degree"])
        model = GRLSRegressor(kernel, features, reg=s["reg"]).fit(X, case["y"])
        space = ConditionalKernel(kernel, features, anchors).fit(X)
        f = space.solution(model.coef_, model.dual_coef_, X)
        assert_close(js["E"], space.cardinal(grid))
        assert_close(js["H"], space.H(grid))
        assert_close(js["K"], space.K(grid))
        assert_close(js["f"], model.predict(grid))
        assert_close(js["objective"], model.certificate_.primal)
        assert_close(js["lam"], f.a)
        assert_close(js["norm"], f.norm)
        assert_close(js["seminorm"], f.seminorm)
        assert js["moved"] < 1e-9


@needs_node
@pytest.mark.parametrize("modules", ["modules.test.mjs", "solving.test.mjs"])
def test_the_modules_pass_their_own_tests(modules):
    done = subprocess.run(
        [NODE, "--test", str(HERE / modules)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "# fail 0" in done.stdout


# ---------------------------------------------------------------------------------- the bundle


@pytest.mark.parametrize("folder", ["_playgrounds", "_live"])
def test_the_bundle_is_one_classic_script(tmp_path, folder):
    from bundling import bundle

    script = bundle(ROOT / "book" / folder)
    assert not [line for line in script.splitlines() if line.startswith(("import", "export"))]
    assert script.count("modules.main = ") == 1
    if NODE:
        path = tmp_path / "bundle.js"
        path.write_text(script, encoding="utf-8")
        subprocess.run([NODE, "--check", str(path)], check=True, timeout=60)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"main": 'import thing from "./other.mjs";\n'}, "cannot join 'import thing"),
        ({"main": "export default 3;\n"}, "cannot join 'export default"),
        (
            {"main": 'import { a } from "./b.mjs";\n', "b": 'import { c } from "./main.mjs";\n'},
            "main → b → main import each other",
        ),
    ],
)
def test_what_the_bundle_cannot_join_is_an_error(tmp_path, files, message):
    from bundling import bundle
    from sphinx.errors import ExtensionError

    for name, text in files.items():
        (tmp_path / f"{name}.mjs").write_text(text, encoding="utf-8")
    with pytest.raises(ExtensionError, match=message):
        bundle(tmp_path)
