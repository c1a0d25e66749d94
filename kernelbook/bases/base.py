"""What a basis offers, and where its centres come from."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state

from kernelbook.numeric.arrays import explained

__all__ = ["Basis", "CenteredBasis", "Selection", "numbered", "points"]


class Basis(BaseEstimator):
    """M functions and their inner products; see the module's text."""

    orthonormal = False
    """Whether G = I already, so that nothing has to be orthonormalized."""

    accepts_sparse = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Resolve whatever depends on the sample, such as centres at the data."""
        return self

    def count(self) -> int | None:
        """M, after `fit`; None where only `evaluate` can tell."""
        return None

    def evaluate(self, X: Any) -> Any:
        """B, an (n, M) matrix: sample i as the basis function j sees it."""
        raise NotImplementedError

    def gram(self) -> Any:
        """G, the (M, M) matrix of inner products."""
        raise NotImplementedError

    def combine(self, X: Any, c: np.ndarray) -> np.ndarray:
        """Σ_j c_j f_j at the samples: B @ c."""
        B = self.evaluate(X)
        with explained(f"a number for each of the {B.shape[1]} basis functions", c=c):
            return B @ c

    def represent(self, beta: np.ndarray) -> np.ndarray | None:
        """The c with Σ_j c_j f_j = Σ_i β_i k_i, where k_i is the element that sample i of `fit` is.

        None where samples are not elements of the span, as when they enter by values in L₂.
        """
        return None

    def take(self, functions: np.ndarray) -> "Basis":
        """The basis of some of these functions, by their numbers, in that order."""
        return Selection(self, numbered(functions, self.count()))


class Selection(Basis):
    """Some of the functions of a basis."""

    def __init__(self, basis: Basis, functions: np.ndarray) -> None:
        self.basis = basis
        self.functions = functions

    @property
    def orthonormal(self) -> bool:
        return self.basis.orthonormal

    @property
    def accepts_sparse(self) -> bool:
        return self.basis.accepts_sparse

    def evaluate(self, X: Any) -> Any:
        return self.basis.evaluate(X)[:, self.functions]

    def gram(self) -> Any:
        return self.basis.gram()[self.functions][:, self.functions]


class CenteredBasis(Basis):
    """A basis with one or more functions at each of a set of centres."""

    def count(self) -> int | None:
        return self._centers_now().shape[0]

    def _resolve(self, X, sample_weight):
        """The centres that the parameter `centers` means for the sample X."""
        if not isinstance(self.centers, str):
            centers = self._given()
            if centers.shape[1] != X.shape[1]:
                raise ValueError(
                    f"centers has {centers.shape[1]} columns and X has {X.shape[1]}; a centre must "
                    "be a point of the same space."
                )
            return centers
        if self.centers == "data":
            return X.copy()  # the caller may change X after the fit
        n = self.n_centers
        if self.centers not in ("subset", "kmeans"):
            raise ValueError(
                f"centers={self.centers!r} is not known; use 'data', 'subset', 'kmeans' or an "
                "array with one centre a row."
            )
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n_centers must be an integer ≥ 1, not {n!r}.")
        if self.centers == "subset":
            rng = check_random_state(self.random_state)
            return X[np.sort(rng.permutation(X.shape[0])[:n])]
        # More clusters than points cannot be had; as many as points are the points.
        model = KMeans(min(n, X.shape[0]), n_init=4, random_state=self.random_state)
        return model.fit(X, sample_weight=sample_weight).cluster_centers_

    def _given(self):
        if not sparse.issparse(self.centers) and np.ndim(self.centers) != 2:
            what, shape = type(self).__name__, np.shape(self.centers)
            hint = ""
            if isinstance(self.centers, Integral):
                hint = f"  For {self.centers} cluster centres: centers='kmeans', n_centers=…"
            elif shape == ():
                hint = f"  A width is not a centre: {what}(widths=…) or a kernel's width."
            raise ValueError(
                f"centers={self.centers!r} of {what} must be 'data', 'subset', 'kmeans', or an "
                f"array with one centre a row, of shape (M, d), not {shape}.{hint}"
            )
        return check_array(
            self.centers, accept_sparse="csr", dtype=np.float64, input_name="centers"
        )

    def _centers_now(self):
        """The centres: fitted, or as given, in which case no fit is needed."""
        if hasattr(self, "centers_"):
            return self.centers_
        if isinstance(self.centers, str):
            raise NotFittedError(
                f"{type(self).__name__} with centers={self.centers!r} takes its centres from the "
                "data: call fit(X) first."
            )
        return self._given()


def numbered(functions: Any, count: int | None) -> np.ndarray:
    """The numbers of some of `count` basis functions, or of some that nobody has counted."""
    numbers = np.asarray(functions)
    if (
        numbers.ndim != 1
        or numbers.dtype.kind not in "iu"
        or (numbers < 0).any()
        or (count is not None and (numbers >= count).any())
    ):
        most = "" if count is None else f" to {count - 1}"
        raise ValueError(
            f"functions={functions!r:.60} must be the numbers of basis functions, from 0{most}."
        )
    return numbers


def points(X: Any, accept_sparse: bool = False) -> Any:
    """X as finite float64 rows."""
    what = "rows of finite numbers, one sample a row" + ", dense" * (not accept_sparse)
    with explained(what, X=X):
        X = check_array(X, accept_sparse="csr" if accept_sparse else False, dtype=np.float64)
    return sparse.csr_array(X) if sparse.issparse(X) else X
