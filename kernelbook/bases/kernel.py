"""Translates of a kernel: the basis in which the primal learner is the kernel machine.

Chapter: book/primal/bases
"""

from typing import Any, Self

import numpy as np

from kernelbook.bases.base import Basis, CenteredBasis, numbered, points
from kernelbook.kernels import Kernel, as_kernel

__all__ = ["KernelBasis"]


class KernelBasis(CenteredBasis):
    """Translates k(z_j, ·) of a kernel, with the inner product of its own Hilbert space.

    There ⟨k_z, k_z'⟩ = k(z, z').  With centres at the data B = G = K, so the primal learner is the
    kernel machine itself; with fewer centres it is the kernel machine on a subspace (Nyström).

    Parameters
    ----------
    kernel : Kernel, callable or None
        A positive definite kernel; None is the Gaussian of width √d.
    centers : "data", "subset", "kmeans" or array of shape (M, d)
        All samples; `n_centers` of them at random; as many cluster centres; or the points given.
    n_centers : int
        For "subset" and "kmeans".
    random_state : int, RandomState instance or None
        For "subset" and "kmeans".

    Attributes
    ----------
    kernel_ : Kernel
    centers_ : array of shape (M, d)

    Examples
    --------
    >>> from kernelbook import Gaussian, KernelBasis
    >>> basis = KernelBasis(Gaussian(1.0), centers=[[0.0], [1.0]])
    >>> basis.evaluate([[0.0], [1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        centers: Any = "data",
        n_centers: int | None = 100,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.centers = centers
        self.n_centers = n_centers
        self.random_state = random_state

    @property
    def accepts_sparse(self) -> bool:
        """Whether the kernel takes SciPy sparse rows."""
        return getattr(self.kernel, "accepts_sparse", False)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        X = points(X, self.accepts_sparse)
        self.centers_ = self._resolve(X, sample_weight)
        self.kernel_ = self._positive_definite(X.shape[1])
        return self

    def _positive_definite(self, d):
        kernel = as_kernel(self.kernel, d).copy()
        if kernel.cpd_order > 0:
            raise ValueError(
                f"{kernel!r} is only conditionally positive definite: its translates have no inner "
                "product of their own. Use SVMGBClassifier, which takes such kernels."
            )
        return kernel

    def _kernel_now(self, d):
        return self.kernel_ if hasattr(self, "kernel_") else self._positive_definite(d)

    def evaluate(self, X: Any) -> Any:
        centers = self._centers_now()
        X = points(X, self.accepts_sparse)
        return self._kernel_now(centers.shape[1])(X, centers)

    def gram(self) -> np.ndarray:
        centers = self._centers_now()
        return self._kernel_now(centers.shape[1])(centers)

    def combine(self, X: Any, c: np.ndarray) -> np.ndarray:
        centers = self._centers_now()
        X = points(X, self.accepts_sparse)
        return self._kernel_now(centers.shape[1]).matvec(X, centers, c)

    def take(self, functions: np.ndarray) -> Basis:
        centers = self._centers_now()
        part = KernelBasis(self.kernel, centers[numbered(functions, centers.shape[0])])
        part.centers_, part.kernel_ = part.centers, self._kernel_now(part.centers.shape[1])
        return part

    def represent(self, beta: np.ndarray) -> np.ndarray | None:
        at_data = isinstance(self.centers, str) and self.centers == "data"
        return beta if at_data else None
