"""Kernel learning in which some features are not penalized.

A learner here finds f = Σ λ_p φ_p + Σ c_i K(x_i, ·) and penalizes only the second sum; the
coefficients of the features φ_p that you name are free.  Everything public is importable from
here; nothing is loaded, and nothing compiled, before it is used.
"""

from importlib import import_module as _load

__version__ = "0.1.0"

_EXPORTS = {
    "kernels": [
        "Categorical",
        "Gaussian",
        "Kernel",
        "Laplacian",
        "Linear",
        "Matern",
        "Multiquadric",
        "Periodic",
        "Polyharmonic",
        "Polynomial",
        "RationalQuadratic",
        "ThinPlate",
    ],
    "conditional": ["ConditionalKernel"],
    "features": ["Constant", "Formula", "Polynomials"],
    "certificates": ["Certificate"],
    "bases": ["FunctionBasis", "GaussianBasis", "KernelBasis", "LinearBasis"],
    "bases.orthonormal": ["orthonormalize"],
    "estimators.primal_svm": ["PrimalSVMClassifier"],
    "estimators.incremental_svm": ["IncrementalSVMClassifier"],
    "estimators.grls": ["GRLSClassifier", "GRLSRegressor"],
    "estimators.grls_cv": ["GRLSClassifierCV", "GRLSRegressorCV"],
    "validation": ["RollingOrigin", "SpatialBlocks", "TimeBlocks"],
    "saving": ["load"],
    "verifier": ["Verdict", "verify"],
    "solvers.grls.tuning.settings": ["Tuning"],
    "solvers.svm.path.svm_path": ["SVMPath", "svm_path"],
    "estimators.svm": ["C_from_reg", "SVMGBClassifier", "reg_from_C"],
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
_MODULES = {*(m.partition(".")[0] for m in _EXPORTS), "datasets", "plotting"}

__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name):
    if name in _MODULE_OF:
        value = getattr(_load(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return _load(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *__all__, *_MODULES})
