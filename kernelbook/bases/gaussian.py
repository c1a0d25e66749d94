"""Gaussians of several widths in L₂: paper C, section 3.1, and its two readings.

Chapter: book/primal/bases
"""

from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist

from kernelbook.bases.base import CenteredBasis, points

__all__ = ["GaussianBasis"]


class GaussianBasis(CenteredBasis):
    """Gaussians of any widths, of norm one in L₂(ℝᵈ), with the inner product of L₂.

    f_{z,σ}(x) = (2/πσ²)^(d/4) exp(−‖x−z‖²/σ²), and with two centres and two widths

        ⟨f, f'⟩ = (2σσ'/(σ²+σ'²))^(d/2) exp(−‖z−z'‖²/(σ²+σ'²))

    (C 3.1 with γ = 1/σ²).  How does a *sample* x enter?  Functions in L₂ have no values at points,
    and the two readings that C treats as one differ:

    - `reading="evaluation"`: as the numbers f_j(x), C's definition.  In the orthonormal basis the
      equivalent kernel is BG⁻¹Bᵀ.
    - `reading="inner_product"`: as the element f_x = Σ_a f_{x,σ_a}, one Gaussian at x for each of
      the widths, by its inner products ⟨f_x, f_j⟩.  The equivalent kernel is Σ_ab ⟨f_{x,σ_a},
      f_{x',σ_b}⟩, projected to the span: for one width the Gaussian kernel exp(−‖x−x'‖²/2σ²), for
      two k₁₁ + 2k₁₂ + k₂₂.  A new point has no centre from which it could take a width of its own,
      so all centres must share theirs.

    Parameters
    ----------
    centers : "data", "subset", "kmeans" or array of shape (M, d)
        As for `KernelBasis`.
    widths : float or array
        A number: one width for all.  An array (M, q) or (1, q): q Gaussians at each centre.  A
        list of numbers means, at centres which are given as an array, one width for each centre,
        and at centres which are still to come from the data, all these widths at every centre.
    reading : "evaluation" or "inner_product"
    n_centers, random_state
        As for `KernelBasis`.

    Attributes
    ----------
    centers_ : array of shape (M, d)
    widths_ : array of shape (M, q)
        The functions are ordered by width first: all centres with their first width, then the
        second.

    Examples
    --------
    >>> from kernelbook import GaussianBasis
    >>> basis = GaussianBasis(centers=[[0.0], [1.0]], widths=1.0)
    >>> basis.gram().round(4)  # inner products in L₂
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    def __init__(
        self,
        centers: Any = "data",
        widths: Any = 1.0,
        reading: str = "evaluation",
        n_centers: int | None = 100,
        random_state: Any = None,
    ) -> None:
        self.centers = centers
        self.widths = widths
        self.reading = reading
        self.n_centers = n_centers
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        X = points(X)
        self.centers_ = self._resolve(X, sample_weight)
        self.widths_ = self._broadcast(len(self.centers_))
        self._common()
        return self

    def _broadcast(self, n):
        """`widths` as an (n, q) array."""
        try:
            widths = np.asarray(self.widths, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"widths={self.widths!r:.60} must be a positive number, a list or an array of them."
            ) from None
        given = not isinstance(self.centers, str)
        if widths.ndim == 1:
            if given and widths.size != n:
                raise ValueError(
                    f"widths has {widths.size} entries for {n} given centres; pass one for each, "
                    f"or all {widths.size} at every centre as an array of shape (1, {widths.size})."
                )
            if not given and widths.size == n > 1:
                raise ValueError(
                    f"widths has {n} entries, as many as there are centres, which could mean one "
                    "for each centre or all at every centre: pass shape (M, 1) or (1, M)."
                )
            widths = widths[:, None] if given else widths[None, :]
        elif widths.ndim == 0:
            widths = widths.reshape(1, 1)
        if widths.ndim != 2 or widths.shape[0] not in (1, n) or widths.size == 0:
            raise ValueError(
                f"widths has shape {widths.shape}; it must be a number, a list, or an array of "
                f"shape (1, q) or ({n}, q)."
            )
        if not (np.isfinite(widths).all() and (widths > 0).all()):
            raise ValueError(f"widths must be positive and finite, not {self.widths!r}.")
        return np.broadcast_to(widths, (n, widths.shape[1])).copy()

    def _resolved(self):
        """Centres, and the widths as (M, q)."""
        centers = self._centers_now()
        widths = self.widths_ if hasattr(self, "widths_") else self._broadcast(len(centers))
        return centers, widths

    def _common(self):
        """Check the reading; for inner products, the widths that all centres share."""
        if self.reading == "evaluation":
            return None
        if self.reading != "inner_product":
            raise ValueError(
                f"reading={self.reading!r} is not known; use 'evaluation' or 'inner_product'."
            )
        _, widths = self._resolved()
        if (widths != widths[0]).any():
            raise ValueError(
                "reading='inner_product' needs the same widths at every centre: a new point "
                "enters as Gaussians of these widths and has no centre to take others from."
            )
        return widths[0]

    def count(self) -> int:
        return self._resolved()[1].size

    def evaluate(self, X: Any) -> np.ndarray:
        X = points(X)
        centers, widths = self._resolved()
        common = self._common()
        if X.shape[1] != centers.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} columns and the centres {centers.shape[1]}: pass points "
                "of the same space."
            )
        blocks = []
        for sigma in widths.T:
            if common is None:
                blocks.append(_gaussian_values(X, centers, sigma))
            else:
                products = (_gaussian_products(X, s, centers, sigma) for s in common)
                blocks.append(sum(products))
        return np.hstack(blocks)

    def gram(self) -> np.ndarray:
        centers, widths = self._resolved()
        every = np.vstack([centers] * widths.shape[1])
        sigma = widths.T.ravel()
        gram = _gaussian_products(every, sigma[:, None], every, sigma)
        return 0.5 * (gram + gram.T)

    def represent(self, beta: np.ndarray) -> np.ndarray | None:
        at_data = isinstance(self.centers, str) and self.centers == "data"
        if self.reading == "evaluation" or not at_data:
            return None
        return np.concatenate([beta] * self.widths_.shape[1])


def _squared_distances(X, Z, unit):
    """‖x−z‖²/unit², scaled before squaring so that tiny and huge data keep their digits."""
    with np.errstate(over="ignore"):
        X, Z = X / unit, Z / unit
        if not (np.isfinite(X).all() and np.isfinite(Z).all()):
            raise ValueError(
                f"some points lie more than 1e308 widths ({unit:.3g}) from the origin, too far for "
                "floating point. Scale or centre the columns, or use larger widths."
            )
        return cdist(X, Z, "sqeuclidean")


def _gaussian_values(X, centers, sigma):
    """f_j(x_i) for Gaussians of width σ_j; through logarithms, as (2/πσ²)^(d/4) may be huge."""
    unit = float(np.exp(np.mean(np.log(sigma))))
    ratio = sigma / unit
    log_size = 0.25 * X.shape[1] * (np.log(2 / np.pi) - 2 * np.log(sigma))
    if log_size.max() > 350:  # squares must stay finite too
        raise ValueError(
            f"a Gaussian of width {sigma[np.argmax(log_size)]:.3g} and norm one in L₂(ℝᵈ), "
            f"d={X.shape[1]}, is e^{log_size.max():.0f} high: too much for floating point. Scale "
            "the columns up, or use reading='inner_product' or KernelBasis."
        )
    with np.errstate(under="ignore", over="ignore"):
        exponent = log_size - _squared_distances(X, centers, unit) / ratio**2
        return np.exp(exponent)


def _gaussian_products(X, s, Z, sigma):
    """⟨f_{x,s}, f_{z,σ}⟩ in L₂ for every x in X and z in Z."""
    unit = float(np.exp(np.mean(np.log(sigma))))
    s, sigma = np.asarray(s) / unit, sigma / unit
    with np.errstate(all="ignore"):
        # 2sσ/(s²+σ²) = 2/(s/σ + σ/s) survives widths that differ by any factor.
        ratio = s / sigma
        size = np.exp(0.5 * X.shape[1] * np.log(2.0 / (ratio + 1.0 / ratio)))
        return size * np.exp(-_squared_distances(X, Z, unit) / (s * s + sigma * sigma))
