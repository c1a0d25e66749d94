"""A kernel for categories: equal, or not.

K(x, z) = 1 if x = z and 0 otherwise is positive definite: on any points its Gram matrix is a block
of ones for each category.  As a Gaussian process it gives each category an intercept of its own,
all independent and of the same variance: the *random effects* of mixed models.  Where the constant
is among the free features, the exchangeable kernel (1 − ρ)K + ρ gives the same functions of the
same seminorm, up to the factor 1 − ρ: a common intercept is free anyway.

With others it makes the models that people write down:

    Matern() + Categorical(columns="site")              one curve, shifted by site
    Matern(columns="t") * Categorical(columns="site")   a curve for each site
    Matern(columns="t") + 0.1 * (Matern(columns="t") * Categorical(columns="site"))
                                                        a common curve, and how sites depart from it
"""

from typing import Any, ClassVar

import numpy as np

from kernelbook.kernels.base import Kernel

__all__ = ["Categorical"]


class Categorical(Kernel):
    """K(x, z) = 1 if x and z agree in all columns that the kernel sees, and otherwise 0.

    Categories are numbers here, and only compared with each other; a category that the sample does
    not have is predicted by the rest of the model.

    Parameters
    ----------
    columns : int, str or list of those, optional
        The columns that the kernel sees; by default all.

    Examples
    --------
    >>> from kernelbook import Categorical
    >>> Categorical(columns=0)([[1.0, 5.0], [1.0, 6.0], [2.0, 5.0]])
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    _proven = True
    _has_gradient = True
    _positive_diag = True
    _rules: ClassVar[dict] = {}

    def __init__(self, columns: Any = None) -> None:
        self.columns = columns

    @property
    def strictly_pd(self) -> bool:
        """As for `Kernel`; only of all columns, since two rows may agree in some."""
        return self.columns is None

    def _fill(self, X, Z):
        def fill(rows, cols, out):
            out[...] = X[rows, 0, None] == Z[None, cols, 0]
            for k in range(1, X.shape[1]):
                out *= X[rows, k, None] == Z[None, cols, k]

        return fill

    def _diag(self, X):
        return np.ones(len(X))

    def _gradient_x(self, X, Z):
        return np.zeros((X.shape[1], len(X), len(Z)))

    def _jet(self, X):
        return np.ones(len(X)), np.zeros(X.T.shape), np.zeros(X.T.shape)
