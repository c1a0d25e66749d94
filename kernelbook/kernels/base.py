"""The kernel as a value: parameters, equality, evaluation, arithmetic.

Its class and its parameters determine a kernel, as digits determine a number: two kernels with
the same parameters are equal, and combining kernels copies them.  The parameters follow
scikit-learn's protocol (`get_params`, `set_params`, `clone`), so that a grid search over an
estimator reaches them as `kernel__width`.

To write a kernel, derive from `Kernel`, name the parameters in `__init__`, and supply two
methods: `_fill(X, Z)`, which returns a function that writes tiles (see `numeric.tiles`), and
`_diag(X)`.  If `__init__` takes `columns`, both get those columns only (`kernels.columns`);
`kernels.gradients` says how it gets derivatives.  For a quick trial, `FunctionKernel` wraps any
function of two arrays.
"""

import inspect
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from kernelbook.kernels import checks
from kernelbook.kernels.columns import OnColumns, check_columns, frozen
from kernelbook.kernels.gradients import Differentiable
from kernelbook.numeric.panels import Panels
from kernelbook.numeric.tiles import (
    all_finite,
    fill_block,
    fill_gram,
    fill_single,
    multiply,
    multiply_gram,
    silent,
)

__all__ = ["Kernel"]


class Kernel(OnColumns, Differentiable):
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

    _positive_diag = False  # K(x, x) > 0 for every x?
    _proven = False  # is `cpd_order` a theorem?  Otherwise learners try it on the sample.
    _thread_safe = True  # may tiles be filled by several threads at once?
    _rules: ClassVar[dict] = {}  # parameter → function (name, value) that raises

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

    def _fill_seen(self, X, Z, selected=False):
        if selected:
            seen = self._coordinates(X)
            return self._fill(seen, seen if X is Z else self._coordinates(Z))
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
        X, Z, symmetric = self._rows(X, Z)
        gram = np.empty((X.shape[0], Z.shape[0]))
        fill = self._checked_fill(X, Z)
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
        X, _, _ = self._rows(X, None)
        fill = self._checked_fill(X, X)

        def block(rows, cols, out):
            fill_block(fill, rows, cols, out)
            if rows == cols:
                np.fill_diagonal(out, self._diag_seen(X[rows]))

        return block

    def single(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        """The Gram matrix of X in single precision, in the first columns of `out`, the rest zero.

        Entries beyond 3·10³⁸ become infinite: ask `diag` first.
        """
        X, _, _ = self._rows(X, None)
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
        X = checks.rows(X, "X", self)
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
        X, Z, _ = self._rows(X, Z)
        columns = checks.coefficients(c, Z.shape[0])
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
        X, _, _ = self._rows(X, None)
        columns = checks.coefficients(c, X.shape[0])
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
        X, Z, _ = self._rows(X, Z)
        fill = self._checked_fill(X, Z)
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
        tick(X.shape[0])
        return product

    def _sums(self, X, Z, c):
        """K(X, Z) @ c for one vector by a way of the kernel's own, or None; Z may be X itself."""
        return None

    def _rows(self, X, Z):
        symmetric = Z is None or Z is X
        X = checks.rows(X, "X", self)
        if symmetric:
            return X, X, True
        Z = checks.rows(Z, "Z", self)
        checks.same_columns(X, Z)
        return X, Z, False

    def _checked_fill(self, X, Z):
        return self._checked(self._fill_seen(X, Z))

    def _checked(self, fill):
        def checked(rows, cols, out):
            with np.errstate(all="ignore"):  # an overflow is reported below, and not as a warning
                fill(rows, cols, out)
                finite = all_finite(out)
            if not finite:
                self._overflow()

        return checked

    def _overflow(self):
        raise ValueError(
            f"{self!r} is not a finite number at some of these points: it overflows. "
            f"Scale the columns to moderate size (StandardScaler), or change the kernel."
        )

    # ------------------------------------------------------------------------- parameters

    @classmethod
    def _names(cls):
        if cls.__init__ is object.__init__:
            return []
        return [p for p in inspect.signature(cls.__init__).parameters if p != "self"]

    def __setattr__(self, name, value):
        # One gate for the constructor, set_params and plain assignment; a refused value leaves the
        # parameter as it was.
        value = frozen(value)
        if name == "columns":
            check_columns(name, value)
        elif name in self._rules:
            self._rules[name](name, value)
        super().__setattr__(name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep`, also those of the kernels inside, as left__width."""
        params = {name: getattr(self, name) for name in self._names()}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Kernel):
                    params |= {f"{name}__{key}": v for key, v in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by the names that `get_params` gives; returns the kernel."""
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, inside, rest = key.partition("__")
            if name not in self._names():
                raise ValueError(
                    f"{name!r} is not a parameter of {self!r}; its parameters are {self._names()}."
                )
            if inside:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, inner in nested.items():
            if not isinstance(getattr(self, name), Kernel):
                raise ValueError(
                    f"{name!r} of {self!r} is not a kernel and has no {sorted(inner)}; "
                    f"set {name!r} itself."
                )
            getattr(self, name).set_params(**inner)
        return self

    def copy(self) -> Self:
        """An equal kernel that shares nothing with this one."""
        params = self.get_params(deep=False)
        inner = {k: v.copy() if isinstance(v, Kernel) else v for k, v in params.items()}
        return type(self)(**inner)

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return self.get_params(deep=False) == other.get_params(deep=False)

    def __hash__(self):
        return hash((type(self), *self.get_params(deep=False).values()))

    def __repr__(self):
        values = {name: plain_number(getattr(self, name)) for name in self._names()}
        if self.columns is None:
            values.pop("columns", None)
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in values.items())})"

    # ------------------------------------------------------------------------- arithmetic

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


def plain_number(value: Any) -> Any:
    """NumPy scalars as Python's, so that a kernel prints what one would type."""
    return value.item() if isinstance(value, np.generic) else value
