"""What a kernel is: a value (`kernels.parameters`) that can be evaluated, added and multiplied.

Combining kernels copies them.

To write a kernel, derive from `Kernel`, name the parameters in `__init__`, and supply two
methods: `_fill(X, Z)`, which returns a function that writes tiles (see `numeric.tiles`), and
`_diag(X)`.  If `__init__` takes `columns`, both get those columns only (`kernels.columns`);
`kernels.gradients` says how it gets derivatives.  For a quick trial, `FunctionKernel` wraps any
function of two arrays.
"""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from kernelbook.kernels.checks import check_callable
from kernelbook.kernels.columns import numbered, selected
from kernelbook.kernels.gradients import Differentiable
from kernelbook.kernels.parameters import Parameters
from kernelbook.numeric.arrays import as_coefficients, as_matrix, as_rows
from kernelbook.numeric.panels import Panels
from kernelbook.numeric.tiles import (
    fill_block,
    fill_gram,
    fill_single,
    multiply,
    multiply_gram,
    require_finite,
    silent,
)

__all__ = ["Kernel"]


class Kernel(Parameters, Differentiable):
    """A symmetric function K(x, z) of two rows, and what is known of its definiteness.

    Attributes
    ----------
    cpd_order : int
        0 if K is positive definite: cᵀKc ≥ 0 for the Gram matrix K of any points and any c.
        q > 0 if K is conditionally positive definite of order q: the same for those c that
        annihilate all polynomials of degree less than q at the points, Σ c_i p(x_i) = 0.
        Learners then need these polynomials among their free features.
    strictly_pd : bool
        Whether cᵀKc > 0, for distinct points and all c ≠ 0 which `cpd_order` admits.  False
        also where this is not known.
    accepts_sparse : bool
        Whether rows may be SciPy sparse.

    Examples
    --------
    A kernel of one's own needs `_fill` and `_diag`:

    >>> import numpy as np
    >>> from kernelbook import Kernel
    >>> class Cosine(Kernel):
    ...     # K(x, z) = cos(x − z) for one column
    ...     def _fill(self, X, Z):
    ...         def fill(rows, cols, out):
    ...             out[...] = np.cos(X[rows] - Z[cols].T)
    ...         return fill
    ...     def _diag(self, X):
    ...         return np.ones(len(X))
    >>> Cosine()([[0.0], [np.pi]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    cpd_order = 0
    strictly_pd = False
    accepts_sparse = False

    _called_elsewhere: ClassVar[dict] = {
        "active_dims": "it is called columns here",
        "length_scale_bounds": "bounds belong to the search, "
        "tune=Tuning(bounds={'width': (low, high)})",
        "noise": "noise belongs to the learner: tune='reml' finds it, and reg sets it",
        "nugget": "noise belongs to the learner: tune='reml' finds it, and reg sets it",
        "outputscale": "multiply the kernel, 2.0 * kernel; the scale of a single one is estimated",
        "sill": "multiply the kernel, 2.0 * kernel; the scale of a single one is estimated",
        "variance": "multiply the kernel, 2.0 * kernel; the scale of a single one is estimated",
    }

    _positive_diag = False  # K(x, x) > 0 for every x?
    _proven = False  # is `cpd_order` a theorem?  Otherwise learners try it on the sample.
    _thread_safe = True  # may tiles be filled by several threads at once?

    def __init_subclass__(cls, **options):
        """What is known of a class is known of its formula: a subclass starts without it."""
        super().__init_subclass__(**options)
        for known in ("_proven", "_has_gradient"):
            if known not in vars(cls):
                setattr(cls, known, False)

    __array_ufunc__ = None  # np.float64(2) * kernel is the kernel's business, not NumPy's

    # ---------------------------------------------------------------- what a kernel supplies

    def _fill(self, X, Z):
        """The function fill(rows, cols, out) that writes K(X[rows], Z[cols]) into `out`."""
        raise NotImplementedError(f"{type(self).__name__} must define _fill(X, Z)")

    def _diag(self, X):
        """The vector of K(x, x) over the rows of X."""
        raise NotImplementedError(f"{type(self).__name__} must define _diag(X)")

    # ------------------------------------- the same, of the columns that are seen in whole rows

    def _seen(self, X):
        return X if self.columns is None else selected(self, X)

    def _both_seen(self, X, Z):
        """The same of X and Z; one array where both are one."""
        seen = self._seen(X)
        return (seen, seen) if X is Z else (seen, self._seen(Z))

    def _fill_seen(self, X, Z):
        return self._fill(*self._both_seen(X, Z))

    def _diag_seen(self, X):
        return self._diag(self._seen(X))

    def _matvec_seen(self, X, Z, c):
        return self._matvec(*self._both_seen(X, Z), c)

    # ------------------------------------------------------------------------- evaluation

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """The matrix of K(x_i, z_j), float64.

        Without Z this is the Gram matrix of X: exactly symmetric, its diagonal exactly `diag(X)`.

        Parameters
        ----------
        X : array-like of shape (m, d)
        Z : array-like of shape (n, d), optional
        """
        X, Z = self._rows(X, Z)
        gram, symmetric = np.empty((X.shape[0], Z.shape[0])), X is Z
        fill = require_finite(self._fill_seen(X, Z), self._overflow)
        fill_gram(
            fill, gram, symmetric=symmetric, parallel=self._thread_safe, dimensions=X.shape[1]
        )
        if symmetric:
            np.fill_diagonal(gram, self._diag_seen(X))
        return gram

    def blocks(self, X: Any) -> Callable[[slice, slice, np.ndarray], None]:
        """The function block(rows, cols, out) that writes K(X[rows], X[cols]) into `out`.

        For callers that need parts of the Gram matrix: X is checked once.  `rows` and `cols` are
        slices with start and stop, `out` is C-contiguous; with the same slice twice, `out` is
        exactly symmetric, its diagonal exactly `diag(X[rows])`.
        """
        X, _ = self._rows(X)
        fill = self._checked(self._fill_seen(X, X))

        def block(rows, cols, out):
            fill_block(fill, rows, cols, out)
            if rows == cols:
                np.fill_diagonal(out, self._diag_seen(X[rows]))

        return block

    def single(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        """The Gram matrix of X in single precision, in the first columns of `out`, the rest zero.

        Entries beyond 3·10³⁸ become infinite: ask `diag` first.
        """
        X, _ = self._rows(X)
        m = X.shape[0]
        gram = np.empty((m, m), dtype=np.float32) if out is None else out
        fill_single(self._fill_single(self._seen(X)), gram, parallel=self._thread_safe)
        gram[:, m:] = 0.0  # not first: the first thread to touch a page waits for it, alone
        gram[np.arange(m), np.arange(m)] = self._diag_seen(X)
        return gram

    def exponents(self, X: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """(Z, s) with log₂ K(x_i, x_j) = z_i·z_j + s_i + s_j, or None; Gaussians have them."""
        return self._exponents(self._seen(X))

    def _exponents(self, X):
        return None

    def _fill_single(self, X):
        """A function fill(rows, cols, tile, out): K in `out`, float32; `tile` is to work in."""
        fill = self._checked(self._fill(X, X))

        def rounded(rows, cols, tile, out):
            fill(rows, cols, tile)
            with np.errstate(over="ignore"):
                out[...] = tile

        return rounded

    def diag(self, X: Any) -> np.ndarray:
        """K(x_i, x_i) for every row, without the matrix."""
        self._require_dense(X=X)
        X = as_matrix(X, "X")
        with np.errstate(over="ignore", invalid="ignore"):
            diag = self._diag_seen(X)
        if not np.isfinite(diag).all():
            self._overflow()
        return diag

    def matvec(self, X: Any, Z: Any, c: Any) -> np.ndarray:
        """K(X, Z) @ c, tile by tile: the m×n matrix is never in memory.

        Parameters
        ----------
        X : array-like of shape (m, d)
        Z : array-like of shape (n, d), or None for X
        c : array-like of shape (n,) or (n, k)

        Returns
        -------
        ndarray of shape (m,) or (m, k)
        """
        self._require_dense(X=X, Z=Z)
        X, Z = as_rows(X, Z)
        columns = as_coefficients(c, Z.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):
            product = self._matvec_seen(X, Z, columns)
        if not np.isfinite(product).all():
            self._overflow()
        return product[:, 0] if np.ndim(c) == 1 else product

    def gram_matvec(self, X: Any, c: Any, tick: Callable[[int], None] = silent) -> np.ndarray:
        """K(X, X) @ c: each pair of rows is computed once.

        Parameters
        ----------
        X : array-like of shape (m, d)
        c : array-like of shape (m,) or (m, k)
        tick : callable, optional
            tick(rows) as the product proceeds.

        Returns
        -------
        ndarray of shape (m,) or (m, k)
        """
        self._require_dense(X=X)
        if tick is not silent:
            check_callable("tick", tick)
        X = as_matrix(X, "X")
        columns = as_coefficients(c, X.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):
            product = self._gram_matvec(self._seen(X), columns, tick)
        if not np.isfinite(product).all():
            self._overflow()
        return product[:, 0] if np.ndim(c) == 1 else product

    def panels(self, X: Any, Z: Any = None, tick: Callable[[int], None] = silent) -> Panels:
        """K(X, Z) for passes that see some rows of it at a time, without the matrix.

        Parameters
        ----------
        X : array-like of shape (m, d)
        Z : array-like of shape (n, d), or None for X
        tick : callable, optional
            tick(rows) as a pass proceeds.

        Returns
        -------
        Panels
        """
        if tick is not silent:
            check_callable("tick", tick)
        X, Z = self._rows(X, Z)
        fill = self._checked(self._fill_seen(X, Z))
        return Panels(fill, X.shape[0], Z.shape[0], parallel=self._thread_safe, tick=tick)

    def _matvec(self, X, Z, c):
        sums = self._sums(X, Z, c[:, 0]) if c.shape[1] == 1 else None
        if sums is not None:
            return sums[:, None]
        fill = self._checked(self._fill(X, Z))
        return multiply(fill, X.shape[0], c, parallel=self._thread_safe)

    def _gram_matvec(self, X, c, tick):
        sums = self._sums(X, X, c[:, 0]) if c.shape[1] == 1 else None
        if sums is not None:
            product = sums[:, None]
        elif type(self)._matvec is not Kernel._matvec:  # a faster way than tiles, as for x·z
            product = self._matvec(X, X, c)
        else:
            fill = self._checked(self._fill(X, X))
            return multiply_gram(fill, c, parallel=self._thread_safe, tick=tick)
        if tick is not silent:
            tick(X.shape[0])
        return product

    def _sums(self, X, Z, c):
        """K(X, Z) @ c for one vector by a way of the kernel's own, or None; Z may be X itself."""
        return None

    def _rows(self, X, Z=None):
        self._require_dense(X=X, Z=Z)
        return as_rows(X, Z)

    def _require_dense(self, **arrays):
        if self.accepts_sparse:
            return
        for name, X in arrays.items():
            if sparse.issparse(X):
                raise TypeError(
                    f"{type(self).__name__} needs dense rows, and {name} is a sparse "
                    f"{type(X).__name__} of shape {X.shape}. Pass {name}.toarray(), or use the "
                    f"kernels Linear or Polynomial, which take sparse rows."
                )

    def _checked(self, fill):
        return require_finite(fill, self._overflow)

    def _overflow(self):
        raise ValueError(
            f"{self!r} is not a finite number at some of these points: it overflows. "
            f"Scale the columns to moderate size (StandardScaler), or change the kernel."
        )

    # ------------------------------------------------------------------------------ copies

    def copy(self) -> Self:
        """An equal kernel that shares nothing with this one."""
        twin = object.__new__(type(self))
        for name, value in vars(self).items():
            vars(twin)[name] = value.copy() if isinstance(value, Kernel) else value
        return twin

    def bound(self, names: Sequence[str] | None) -> Self:
        """A copy whose columns are numbers.

        Parameters
        ----------
        names : sequence of str, or None
            The column names of a data frame, in order; None for a matrix, which has none.

        Examples
        --------
        >>> from kernelbook import Matern
        >>> Matern(300.0, columns=["x", "y"]).bound(["dist", "x", "y"])
        Matern(width=300.0, nu=1.5, columns=(1, 2))
        """
        if names is not None and (isinstance(names, str) or not hasattr(names, "__len__")):
            raise TypeError(f"names={names!r} must be the list of column names, or None.")
        kernel = self.copy()
        kernel._bind(None if names is None else [str(name) for name in names])
        return kernel

    def _bind(self, names):
        for inner in vars(self).values():
            if isinstance(inner, Kernel):
                inner._bind(names)
        if self.columns is not None:
            self.columns = numbered(self, names)

    def far_origin(self, X: Any, P: np.ndarray) -> np.ndarray | None:
        """Where the origin is to be moved for a sample X with the free features P; here nowhere.

        See `Linear.far_origin`.
        """
        return None

    def required_polynomials(self) -> list[tuple[int, Any]]:
        """(degree, columns) of the polynomials that must be free beside this kernel.

        Nothing for kernels of order 0; one pair for each other term of a sum.  Columns are numbers,
        or None for all.
        """
        return [(self.cpd_order - 1, self.columns)] if self.cpd_order else []

    # -------------------------------------------------------------------------- arithmetic

    def __add__(self, other):
        from kernelbook.kernels.algebra import Sum

        if isinstance(other, Kernel):
            return Sum(self.copy(), other.copy())
        raise TypeError(
            f"cannot add {other!r} to a kernel: a constant belongs to the free features "
            f"(Constant) or into Polynomial(degree=1, offset=…)."
        )

    def __radd__(self, other):
        if isinstance(other, int) and other == 0:  # so that sum([k, l, …]) works
            return self.copy()
        return self.__add__(other)

    def __mul__(self, other):
        from kernelbook.kernels.algebra import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self.copy(), other.copy())
        if isinstance(other, Real):
            return Scaled(other, self.copy())
        raise TypeError(f"cannot multiply a kernel by {other!r}: use a number >= 0 or a kernel.")

    __rmul__ = __mul__

    def __neg__(self):
        raise ValueError(
            f"-({self!r}) is not a kernel: the negative of a positive definite function is "
            f"negative definite. Scale kernels by numbers >= 0."
        )

    def __sub__(self, other):
        raise ValueError(
            "the difference of two kernels is not positive definite in general, so it is not a "
            "kernel here. Add kernels, or wrap a function you know: FunctionKernel(function)."
        )

    __rsub__ = __sub__
