"""Classification with free features: thin plates, and few basis functions.

**Thin plates.**  A polyharmonic kernel r^b or r² log r has no width.  It is only conditionally
positive definite, so a machine with it *must* leave polynomials free: with the constant alone
r² log r is no kernel.  Shift and rotate the data, and nothing changes; multiply them by s, and Φ
changes by the factor s^b and terms in the free polynomials, so C/s^b gives the same f.  Only C has
to be chosen.  `accuracy` compares, on five sets, with C (and the width, if there is one) by five
folds inside the training part; `moved` counts the predictions that change when the data move.

**Few basis functions** (`budget`): M Gaussians at random samples, with and without free 1, x₁, x₂,
inside the rectangle the samples come from and in a frame around it.
"""

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_moons
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelbook import (
    GaussianBasis,
    Polyharmonic,
    Polynomials,
    PrimalSVMClassifier,
    SVMGBClassifier,
    ThinPlate,
)

__all__ = ["SETS", "accuracy", "budget", "coast", "moved"]

CS = 10.0 ** np.arange(-3, 4)
WIDTHS = 2.0 ** np.arange(-2, 4)
BUDGET_CS = (0.1, 10.0, 1000.0)
BUDGET_WIDTH = 0.8


def coast(m, seed, frame=1.0):
    """Land and sea: an oblique border with a bay and a cape; `frame` enlarges the rectangle."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-frame, frame, (m, 2)) * [2.0, 1.5]
    border = 0.6 * X[:, 0]
    for sign, at in ((1, -1.0), (-1, 1.0)):
        border += 1.1 * sign * np.exp(-(((X[:, 0] - at) / 0.45) ** 2))
    return X, np.where(X[:, 1] - border + 0.12 * rng.standard_normal(m) > 0, 1.0, -1.0)


SETS = {
    "coast": lambda: coast(400, 0),
    "moons": lambda: make_moons(400, noise=0.25, random_state=0),
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
}


def machines(d):
    """Name → (classifier, grid)."""
    gammas = {"gamma": list(1 / (d * WIDTHS**2))}
    plates = {
        "r, constant free": SVMGBClassifier(Polyharmonic(1), "constant"),
        "r² log r, linear free": SVMGBClassifier(ThinPlate(), Polynomials(1)),
        "r³, linear free": SVMGBClassifier(Polyharmonic(3), Polynomials(1)),
    }
    return {
        "SVC, linear": (SVC(kernel="linear"), {"C": list(CS)}),
        "SVC, Gaussian": (SVC(), {"C": list(CS)} | gammas),
        "SVC, Gaussian, gamma='scale'": (SVC(), {"C": list(CS)}),
        **{name: (model, {"C": list(CS)}) for name, model in plates.items()},
    }


def accuracy(cell):
    """One split of one set: half for training, everything chosen there."""
    X, y = SETS[cell["set"]]()
    splits = StratifiedShuffleSplit(1, train_size=cell["train"], random_state=cell["seed"])
    ((train, test),) = splits.split(X, y)
    scaler = StandardScaler().fit(X[train])
    X, X_test = scaler.transform(X[train]), scaler.transform(X[test])
    folds = StratifiedKFold(5, shuffle=True, random_state=cell["seed"])
    rows = []
    for name, (model, grid) in machines(X.shape[1]).items():
        search = GridSearchCV(model, grid, cv=folds).fit(X, y[train])
        rows.append({"method": name, "accuracy": float(search.score(X_test, y[test]))})
        rows[-1]["C"] = search.best_params_["C"]
    return rows


def moved(cell):
    """Predictions on new points that change when all data are shifted, rotated, multiplied."""
    X, y = coast(200, cell["seed"])
    new = coast(1000, cell["seed"] + 1)[0]
    angle, s = 0.7, 1000.0
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    maps = {
        "shift": (lambda Z: Z + np.array([1000.0, -500.0]), 1.0),
        "rotation": (lambda Z: Z @ turn.T, 1.0),
        "scale": (lambda Z: s * Z, s),
        "units of x₁": (lambda Z: Z * [10.0, 1.0], 1.0),
    }
    plates = SVMGBClassifier(ThinPlate(), Polynomials(1), C=10.0)
    models = {
        "r² log r, linear free": (plates, 2),
        "SVC, Gaussian, gamma fixed": (SVC(C=10.0, gamma=1.0), 0),
        "SVC, Gaussian, gamma='scale'": (SVC(C=10.0), 0),
        "SVC, linear": (SVC(kernel="linear", C=10.0), 2),
        "SVC, thin plate": (SVC(kernel=ThinPlate(), C=10.0, max_iter=100_000), 2),
    }
    rows = []
    for name, (model, power) in models.items():
        before = clone(model).fit(X, y).predict(new)
        for kind, (mapped, factor) in maps.items():
            C = model.C / factor**power
            after = clone(model).set_params(C=C).fit(mapped(X), y).predict(mapped(new))
            rows.append({"method": name, "change": kind, "moved": float(np.mean(after != before))})
    return rows


def budget(cell):
    """Error with M Gaussians, inside and in the frame, for features 1 and 1, x₁, x₂."""
    X, y = coast(cell["size"], cell["seed"])
    inside = coast(2000, cell["seed"] + 1)
    outside = coast(4000, cell["seed"] + 2, frame=2.0)
    beyond = np.any(np.abs(outside[0]) > [2.0, 1.5], axis=1)
    folds = StratifiedKFold(5, shuffle=True, random_state=cell["seed"])
    basis = GaussianBasis("subset", BUDGET_WIDTH, n_centers=cell["functions"], random_state=0)
    rows = []
    for name, features in (("constant free", "constant"), ("linear free", Polynomials(1))):
        machine = PrimalSVMClassifier(basis, features)
        search = GridSearchCV(machine, {"C": list(BUDGET_CS)}, cv=folds).fit(X, y)
        rows.append({"method": name, "C": search.best_params_["C"]})
        rows[-1]["error_inside"] = float(1 - search.score(*inside))
        rows[-1]["error_outside"] = float(1 - search.score(outside[0][beyond], outside[1][beyond]))
    return rows
