"""Numbers in, numbers out: what may cross the boundary, and when two values agree.

The grader reads what a hostile process may have written.  So nothing is unpickled, no object is
built from a name, sizes are checked before memory is taken, and whatever is not plain becomes
`Refused`.
"""

import base64
import binascii
import math

import numpy as np

__all__ = ["Refused", "compare", "decode", "encode"]

DTYPES = {"|b1": 1, "<i8": 8, "<f8": 8}


class Refused(ValueError):
    """What came out of the sandbox is not a plain value."""


def encode(x):
    """An argument for the sandbox: numbers, strings, lists and arrays."""
    if isinstance(x, np.ndarray):
        kind = {"b": "|b1", "i": "<i8", "u": "<i8", "f": "<f8"}[x.dtype.kind]
        raw = np.ascontiguousarray(x, dtype=kind).tobytes()
        return {
            "dtype": kind,
            "shape": list(x.shape),
            "data": base64.b64encode(raw).decode("ascii"),
        }
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, (list, tuple)):
        return [encode(item) for item in x]
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    raise TypeError(f"a check passes a {type(x).__name__}; only plain values cross the boundary")


def decode(x):
    """A returned value, as Python numbers, strings, tuples and arrays."""
    if isinstance(x, dict):
        if set(x) == {"items"} and isinstance(x["items"], list):
            return tuple(decode(item) for item in x["items"])
        return _array(x)
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    raise Refused(f"a {type(x).__name__} is not a plain value")


def _array(x):
    if set(x) != {"dtype", "shape", "data"}:
        raise Refused("an object that is neither a list nor an array")
    dtype, shape, data = x["dtype"], x["shape"], x["data"]
    if not isinstance(dtype, str) or dtype not in DTYPES or not isinstance(data, str):
        raise Refused("an array of a type that does not cross the boundary")
    if not isinstance(shape, list) or len(shape) > 8:
        raise Refused("an array without a proper shape")
    if not all(type(n) is int and 0 <= n <= 10**9 for n in shape):
        raise Refused("an array without a proper shape")
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Refused("an array whose data cannot be read") from None
    if len(raw) != math.prod(shape) * DTYPES[dtype]:
        raise Refused("an array whose size is not that of its data")
    return np.frombuffer(raw, dtype=dtype).reshape(shape)


def compare(value, reference, rtol=1e-8, atol=1e-10) -> str | None:
    """None if the value agrees with the reference, else one sentence that gives nothing away."""
    if isinstance(reference, (list, tuple)):
        if not isinstance(value, tuple):
            return f"{len(reference)} values are expected; {_kind(value)} was returned"
        if len(value) != len(reference):
            return f"{len(reference)} values are expected; {len(value)} were returned"
        for k, (v, r) in enumerate(zip(value, reference, strict=True), 1):
            if complaint := compare(v, r, rtol, atol):
                return f"value {k} of {len(reference)}: {complaint}"
        return None
    if isinstance(reference, str) or reference is None:
        return None if type(value) is type(reference) and value == reference else "wrong answer"
    want = np.asarray(reference)
    try:
        got = np.asarray(value)
    except ValueError:
        got = np.asarray(None)
    if got.dtype.kind not in "bif":
        return f"numbers are expected; {_kind(value)} was returned"
    if got.shape != want.shape:
        return f"the shape is {got.shape}, but {want.shape} is expected"
    if want.dtype.kind == "b":
        if not np.isin(got, (0, 1)).all():
            return "True and False are expected"
        wrong = int((got.astype(bool) != want).sum())
        return f"{wrong} of {want.size} answers are wrong" if wrong else None
    got, want = got.astype(float), want.astype(float)
    if not np.isfinite(got).all():
        return "the result contains NaN or infinity"
    if not got.size:
        return None
    scale = float(np.abs(want).max())
    error = float(np.abs(got - want).max())
    if error <= atol + rtol * scale:
        return None
    return f"the result is off by {error / scale if scale else error:.1e} of its size"


def _kind(value):
    return "nothing" if value is None else f"a {type(value).__name__}"
