"""Bases without centres: the coordinates, and functions of your own.

Chapter: book/primal/bases
"""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array

from kernelbook.bases.base import Basis, points

__all__ = ["FunctionBasis", "LinearBasis"]


class LinearBasis(Basis):
    """The coordinates themselves, x̂ = x: a linear learner.  Sparse rows stay sparse.

    Examples
    --------
    >>> from kernelbook import LinearBasis
    >>> basis = LinearBasis().fit([[1.0, 2.0]])
    >>> basis.gram().toarray()
    array([[1., 0.],
           [0., 1.]])
    """

    orthonormal = True
    accepts_sparse = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        self.n_features_ = points(X, True).shape[1]
        return self

    def count(self) -> int | None:
        return getattr(self, "n_features_", None)

    def evaluate(self, X: Any) -> Any:
        X = points(X, True)
        if X.shape[1] != self.count():
            raise ValueError(
                f"X has {X.shape[1]} columns, and fit has seen {self.count()}: pass points "
                "of the same space."
            )
        return X

    def gram(self) -> Any:
        """The identity, as a sparse matrix: text has too many coordinates for a dense one."""
        if not hasattr(self, "n_features_"):
            raise NotFittedError("LinearBasis learns the number of coordinates in fit(X).")
        return sparse.eye_array(self.n_features_, format="csr")


class FunctionBasis(Basis):
    """Any functions, with any inner product for which you know their Gram matrix.

    Parameters
    ----------
    functions : callable or list of callables
        A function X → (n, M) array, or M functions X → (n,) array.
    gram : array of shape (M, M), or None
        ⟨f_j, f_k⟩; None says that the functions are orthonormal.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbook import FunctionBasis
    >>> waves = FunctionBasis([lambda X: np.cos(X[:, 0]), lambda X: np.sin(X[:, 0])])
    >>> waves.evaluate([[0.0], [np.pi / 2]]).round(12)
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, functions: Any, gram: Any = None) -> None:
        self.functions = functions
        self._gram = gram  # `gram` itself is a method, as of every basis

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"functions": self.functions, "gram": self._gram}

    def set_params(self, **params: Any) -> Self:
        unknown = set(params) - {"functions", "gram"}
        if unknown:
            raise ValueError(f"{sorted(unknown)} are not parameters of FunctionBasis.")
        self.functions = params.get("functions", self.functions)
        self._gram = params.get("gram", self._gram)
        return self

    @property
    def orthonormal(self) -> bool:
        """Whether G = I, so that nothing has to be orthonormalized."""
        return self._gram is None

    def evaluate(self, X: Any) -> Any:
        X = points(X)
        self._check_functions()
        if callable(self.functions):
            B = np.asarray(self.functions(X), dtype=np.float64)
        else:
            B = np.column_stack([self._column(j, f, X) for j, f in enumerate(self.functions)])
        M = B.shape[-1] if self._gram is None else self.gram().shape[0]
        if B.shape != (len(X), M):
            raise ValueError(
                f"functions returned shape {B.shape} for {len(X)} points; expected "
                f"{(len(X), M)}: a column for each function, as many as gram has."
            )
        if not np.isfinite(B).all():
            i, j = np.argwhere(~np.isfinite(B))[0]
            raise ValueError(f"function {j} is {B[i, j]} at sample {i}; it must be finite there.")
        return B

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        self._check_functions()
        points(X)
        return self

    def _check_functions(self):
        functions = self.functions
        if callable(functions):
            return
        listed = isinstance(functions, list | tuple) and len(functions) > 0
        if not listed or not all(map(callable, functions)):
            raise TypeError(
                f"functions={functions!r} must be a function X → (n, M) array, or a list of at "
                "least one function X → (n,) array, as lambda X: np.sin(X[:, 0])."
            )

    def _column(self, j, function, X):
        values = np.asarray(function(X), dtype=np.float64)
        if values.shape not in ((len(X),), (len(X), 1)):
            raise ValueError(
                f"functions[{j}]={function!r} returned shape {values.shape} for X of shape "
                f"{X.shape}; it must give one number a row, shape ({len(X)},), as "
                "lambda X: np.sin(X[:, 0]) does."
            )
        return values.reshape(len(X))

    def gram(self) -> np.ndarray:
        if self._gram is None:
            if callable(self.functions):
                raise ValueError("gram=None says orthonormal; pass gram to see it as a matrix.")
            return np.eye(len(self.functions))
        try:
            G = check_array(self._gram, dtype=np.float64, input_name="gram")
        except ValueError as error:
            raise ValueError(
                f"gram={self._gram!r:.60} must be None or a symmetric matrix of finite numbers, "
                f"the inner products of the functions: {error}"
            ) from None
        if G.shape[0] != G.shape[1] or not np.allclose(G, G.T, rtol=1e-10, atol=0.0):
            raise ValueError(f"gram must be a symmetric matrix; its shape is {G.shape}.")
        return 0.5 * (G + G.T)
