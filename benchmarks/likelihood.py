"""Choosing widths and noise by likelihood, beside scikit-learn's Gaussian process.

Both fit the same model: a Matérn kernel with one width for each of two columns, noise, and no free
features, so that both likelihoods are the same.  Both start once, from the same values; ours first
searches on 400 of the rows if there are more, and goes on to Newton steps and standard errors,
which scikit-learn's does not give.  The objective is minus the log-likelihood of the parameters
that were found, computed here for both.
"""

import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.gaussian_process.kernels import Matern as SklearnMatern

from benchmarks.harness import Case, Target
from kernelbook import GRLSRegressor, Matern, Tuning
from kernelbook.solvers.grls.tuning.search import criteria_at

QUESTION = "GRLSRegressor(tune='ml'), two widths and the noise, beside GaussianProcessRegressor"
TARGETS = {"GaussianProcessRegressor": Target(median=5.0)}

START = (1.0, 1.0)


def sample(m):
    """A surface with two scales, and noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (m, 2))
    y = np.sin(2 * X[:, 0]) + np.cos(X[:, 1]) + 0.3 * rng.normal(size=m)
    return X, y


def cases(quick):
    for m in (150,) if quick else (1000, 2000, 4000):
        X, y = sample(m)
        none = np.empty((m, 0))

        def ours(X=X, y=y, m=m):
            settings = Tuning("ml", starts=1, max_rows=m)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = GRLSRegressor(Matern(START), None, reg=0.1 / m, tune=settings).fit(X, y)
            return model.kernel_.width, model.reg_ * m

        def sklearn(X=X, y=y):
            kernel = ConstantKernel(1.0) * SklearnMatern(START, nu=1.5) + WhiteKernel(0.1)
            found = GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y).kernel_
            noise = found.k2.noise_level / found.k1.k1.constant_value
            return tuple(found.k1.k2.length_scale), noise

        def objective(answer, X=X, y=y, m=m, none=none):
            width, noise = answer
            return -criteria_at(Matern(width), X, none, y[:, None], noise / m)["ml"]

        peers = {"GaussianProcessRegressor": sklearn}
        yield Case(f"m={m} d=2", ours, peers, objective=objective, facts={"m": m, "d": 2})
