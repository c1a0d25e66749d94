"""Parameters by the names that other libraries give them: each gets our word for it."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

import kernelbook as kb

X = np.random.default_rng(0).normal(size=(7, 2))


@pytest.mark.parametrize(
    ("kernel", "word", "value", "ours", "theirs"),
    [
        (kb.Gaussian, "gamma", 0.7, "width=1/√gamma", lambda: pairwise.rbf_kernel(X, gamma=0.7)),
        (kb.Gaussian, "length_scale", 0.7, "width=√2·length_scale", lambda: gp.RBF(0.7)(X)),
        (kb.Matern, "length_scale", 0.7, "width=length_scale", lambda: gp.Matern(0.7)(X)),
        (kb.Matern, "lengthscale", 0.7, "width=lengthscale", lambda: gp.Matern(0.7)(X)),
        (kb.Laplacian, "lengthscale", 0.7, "width=lengthscale", lambda: gp.Matern(0.7, nu=0.5)(X)),
        (
            kb.RationalQuadratic,
            "length_scale",
            0.7,
            "width=√2·length_scale",
            lambda: gp.RationalQuadratic(0.7)(X),
        ),
    ],
)
def test_the_word_and_its_translation(kernel, word, value, ours, theirs):
    with pytest.raises(TypeError, match=f"{kernel.__name__} has no parameter '{word}'.*{ours}"):
        kernel(**{word: value})
    with pytest.raises(ValueError, match=ours):
        kernel().set_params(**{word: value})
    formula = ours.removeprefix("width=").replace("√2", "2**0.5").replace("√gamma", "gamma**0.5")
    width = eval(formula.replace("·", "*"), {word: value})
    np.testing.assert_allclose(kernel(width=width)(X), theirs(), atol=1e-14)


def test_periodic_is_exp_sine_squared():
    with pytest.raises(TypeError, match="width=√2·length_scale"):
        kb.Periodic(length_scale=0.7)
    ours = kb.Periodic(period=1.3, width=2**0.5 * 0.7)(X[:, :1])
    theirs = gp.ExpSineSquared(length_scale=0.7, periodicity=1.3)(X[:, :1])
    np.testing.assert_allclose(ours, theirs, atol=1e-14)


@pytest.mark.parametrize(
    ("learner", "word", "said"),
    [
        (kb.GRLSRegressor, "alpha", "reg·m"),
        (kb.SVMGBClassifier, "gamma", r"kernel=Gaussian\(width=1/√gamma\)"),
        (kb.SVMGBClassifier, "fit_intercept", "features=None"),
        (kb.PrimalSVMClassifier, "length_scale", "√2·length_scale"),
        (kb.GRLSClassifierCV, "degree", "Polynomial"),
        (kb.GRLSRegressorCV, "reg", "regs="),
        (kb.SVMGBClassifier, "alpha", "C multiplies the errors"),
        (kb.GRLSRegressor, "nugget", "nugget divided by the partial sill, .*tune='reml'"),
        (kb.GRLSRegressor, "C", "reg, the smaller the closer"),
        (kb.GRLSClassifier, "range", r"kernel=Matern\(width=range, nu=0.5\)"),
        (kb.SVMGBClassifier, "lengthscale", "√2·lengthscale"),
        (kb.GRLSRegressor, "sigma", "√2·sigma"),
        (kb.GRLSRegressor, "formula", r"features='1 \+ x"),
        (kb.GRLSRegressor, "n_restarts_optimizer", r"Tuning\(starts="),
    ],
)
def test_learners_translate_too(learner, word, said):
    with pytest.raises(TypeError, match=f"{learner.__name__} has no parameter '{word}': .*{said}"):
        learner(**{word: 1})
    with pytest.raises(ValueError, match=said):
        learner().set_params(**{word: 1})


def test_other_words_are_refused_as_python_does():
    with pytest.raises(
        TypeError, match=r"Gaussian\(\) got an unexpected keyword argument 'colour'"
    ):
        kb.Gaussian(colour=1)


@pytest.mark.parametrize(
    ("kernel", "word", "said"),
    [
        (kb.Gaussian, "variance", r"2\.0 \* kernel"),
        (kb.Matern, "nugget", "tune='reml'"),
        (kb.Matern, "range", r"width=√\(2·nu\)·range"),
        (kb.Gaussian, "active_dims", "columns"),
        (kb.Periodic, "lengthscale", "√2·lengthscale"),
        (kb.RationalQuadratic, "length_scale_bounds", r"Tuning\(bounds="),
    ],
)
def test_words_of_kriging_and_gaussian_processes(kernel, word, said):
    with pytest.raises(TypeError, match=f"{kernel.__name__} has no parameter '{word}': .*{said}"):
        kernel(**{word: 1})
