"""A kernel as a value: its class and its parameters determine it, as digits determine a number.

Two kernels with the same parameters are equal.  The parameters follow scikit-learn's protocol
(`get_params`, `set_params`, `clone`), so that a grid search over an estimator reaches them as
`kernel__width`.
"""

import inspect
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, Self

import numpy as np

from kernelbook.kernels.columns import check_columns, frozen

__all__ = ["Parameters", "plain_number", "require_known", "translate_parameters"]


_OPEN = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


def translate_parameters(
    cls: Any, names: Iterable[str], error: type[Exception] = TypeError
) -> None:
    """An error for a parameter that is called otherwise here, with our word for it.

    `cls._called_elsewhere` has what other libraries call our parameters, and what to write.
    """
    takes = inspect.signature(cls.__init__).parameters
    if cls.__init__ is not object.__init__ and any(p.kind in _OPEN for p in takes.values()):
        return  # a constructor that takes any word hands it on
    for name in names:
        if name in cls._called_elsewhere and name not in takes:
            raise error(f"{cls.__name__} has no parameter {name!r}: {cls._called_elsewhere[name]}.")


def require_known(cls: Any, args: Sequence[Any], names: Iterable[str]) -> None:
    """An error for a parameter that there is not, as Python has it, but of the class that was
    called, whichever class has `__init__`; and with the parameters that there are.
    """
    init = cls.__init__
    takes = [] if init is object.__init__ else list(inspect.signature(init).parameters.values())[1:]
    if any(p.kind in _OPEN for p in takes):
        return
    known = [p.name for p in takes]
    listed = f"its parameters are {', '.join(known)}" if known else "it has no parameters"
    if len(args) > len(known):
        raise TypeError(
            f"{cls.__name__}() takes {len(known)} arguments at most, and {len(args)} were given; "
            f"{listed}."
        )
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 1)
            meant = f"did you mean {close[0]!r}?  I{listed[1:]}" if close else listed
            raise TypeError(
                f"{cls.__name__}() got an unexpected keyword argument {name!r}; {meant}."
            )


class Parameters:
    """Named parameters, checked whenever they are set; some may be such objects themselves."""

    columns: Any = None
    _rules: ClassVar[dict] = {}  # parameter → function (name, value) that raises
    _called_elsewhere: ClassVar[dict] = {}  # another library's parameter → what to write here

    @classmethod
    def _names(cls):
        if cls.__init__ is object.__init__:
            return []
        return [p for p in inspect.signature(cls.__init__).parameters if p != "self"]

    def __new__(cls, *args, **kwargs):
        translate_parameters(cls, kwargs)
        require_known(cls, args, kwargs)
        return super().__new__(cls)

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
                if isinstance(value, Parameters):
                    params |= {f"{name}__{key}": v for key, v in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by the names that `get_params` gives; returns the kernel."""
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, inside, rest = key.partition("__")
            if name not in self._names():
                translate_parameters(type(self), [name], ValueError)
                raise ValueError(
                    f"{name!r} is not a parameter of {self!r}; its parameters are {self._names()}."
                )
            if inside:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, inner in nested.items():
            if not isinstance(getattr(self, name), Parameters):
                raise ValueError(
                    f"{name!r} of {self!r} is not a kernel and has no {sorted(inner)}; "
                    f"set {name!r} itself."
                )
            getattr(self, name).set_params(**inner)
        return self

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


def plain_number(value: Any) -> Any:
    """NumPy scalars as Python's, so that a kernel prints what one would type."""
    return value.item() if isinstance(value, np.generic) else value
