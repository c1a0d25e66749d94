"""All that the Fourier solver needs of the data: sums over the samples, whose size is not m.

With F_sj = e^(2πi⟨jh,x_s⟩), D = diag w, the feature matrix P and the targets Y, these are

    FᴴDF,  FᴴDP,  FᴴDY,  PᵀDP,  PᵀDY,  the squares of Y,  Σw,  m.

FᴴDF is Toeplitz: its entry (j, k) is t_{j−k}, t_j = Σ_s w_s e^(−2πi⟨jh,x_s⟩), so that one
non-uniform fast Fourier transform (NUFFT) at double size gives it, and one more each column of P
and Y.

**They add up.**  The statistics of two sets of samples are the sum of theirs.  So data may come in
chunks, in any order, from any number of machines.

**What must be fixed before the first sample** is the box (and so the grid), and a `Frame`:
a change of basis PA in which the features are about orthonormal, so that PᵀDP, whose condition is
the square of that of P, loses no digits to a clumsy basis; and λ₀, a first guess at λ, so that
targets far from zero do not drown what the features leave of them.  Both are taken from a pilot
sample; neither has any influence on the solution but by rounding.

**Units.**  Squares of y below 10⁻¹⁵⁰ or above 10¹⁵⁰ do not exist, nor do those of such weights.
Where the pilot is that small or large the frame has a unit for them, a power of two; samples that
do not fit it are refused, by `Statistics.check_finite`.

**Two for one.**  The transform of a real vector is Hermitian, ĝ_{−j} = conj ĝ_j; so one complex
transform of a + ib gives â and b̂.  The first of them shares the transform of w.

Chapter: book/computing/beyond

References
----------
Barnett, Magland & af Klinteberg, *A parallel non-uniform fast Fourier transform library based on
an "exponential of semicircle" kernel*, SIAM J. Scientific Computing 41 (2019).
"""

from dataclasses import dataclass, fields

import numpy as np

from kernelbook.numeric.linalg import power_of_two
from kernelbook.numeric.threads import n_threads, parallel_for
from kernelbook.numeric.tiles import slices
from kernelbook.solvers.grls.fourier.grid import Grid

__all__ = [
    "Frame",
    "Statistics",
    "chunk_rows",
    "make_frame",
    "map_row_blocks",
    "nufft",
    "statistics",
]

_PILOT = 2000
_PART = 2**15  # rows worth a thread of their own
_LARGEST = "column_max", "y_max"


def nufft():
    """The module finufft, or an error that says how to get it."""
    try:
        import finufft
    except ImportError as error:
        raise ImportError(
            "solver='fourier' needs non-uniform fast Fourier transforms: install finufft, or "
            "kernelbook[scale]."
        ) from error
    return finufft


@dataclass(frozen=True)
class Frame:
    """What is fixed before the first sample is counted.

    Attributes
    ----------
    grid : Grid
    basis : (ℓ, ℓ) array
        A, invertible; the statistics are those of the features PA.
    offset : (ℓ, k) array
        λ₀; the statistics are those of the targets Y − Pλ₀.
    eps : float
        The relative accuracy of the NUFFTs.
    y_unit, w_unit : (k,) array, float
        The statistics are those of Y/y_unit (from which Pλ₀ is taken) and w/w_unit.
    """

    grid: Grid
    basis: np.ndarray
    offset: np.ndarray
    eps: float
    y_unit: np.ndarray
    w_unit: float

    def __eq__(self, other):
        return (
            isinstance(other, Frame)
            and np.array_equal(self.basis, other.basis)
            and np.array_equal(self.offset, other.offset)
            and np.array_equal(self.y_unit, other.y_unit)
            and self.w_unit == other.w_unit
            and np.array_equal(self.grid.period, other.grid.period)
            and np.array_equal(self.grid.sqrt_weights, other.grid.sqrt_weights)
        )

    __hash__ = None  # type: ignore[assignment]


def make_frame(grid, P, Y, w, eps, largest=None) -> Frame:
    """The frame of a pilot sample: P, Y, w of some rows; eps, the accuracy of the kernel.

    `largest` is the largest |Y| of all samples, a number for each column, where it is known.
    """
    if largest is None:
        largest = np.abs(Y).max(axis=0, initial=0.0)
    y_unit, w_unit = _unit(largest), float(_unit(w.max(initial=0.0)))
    step = max(1, len(P) // _PILOT)
    P, Y, w = P[::step], Y[::step] / y_unit, w[::step] / w_unit
    l = P.shape[1]
    size = np.abs(P).max(axis=0, initial=0.0)
    size[size == 0] = 1.0
    root = np.sqrt(w / max(w.max(initial=0.0), 1e-300))[:, None]
    basis, offset = np.diag(1.0 / size), np.zeros((l, Y.shape[1]))
    if l and len(P):
        U, s, Vt = np.linalg.svd(root * (P / size), full_matrices=False)
        if s[0] > 0 and len(s) == l:
            # Directions the pilot does not know keep a length of their own: A stays invertible.
            s = np.maximum(s / np.sqrt(len(P)), 1e-6)
            basis = (Vt.T / s) / size[:, None]
            kept = s > 1e-4 * s[0]
            offset = basis[:, kept] @ (U[:, kept].T @ (root * Y)) / np.sqrt(len(P))
    return Frame(grid, basis, offset, float(np.clip(eps / 20, 1e-14, 1e-5)), y_unit, w_unit)


def _unit(largest):
    """1, but a power of two for numbers whose squares would not be numbers."""
    moderate = (largest == 0) | ((largest > 1e-100) & (largest < 1e100))
    return np.where(moderate, 1.0, power_of_two(largest))


@dataclass(frozen=True)
class Statistics:
    """The sums, in the frame's basis of features, for the frame's remainder of the targets.

    Attributes
    ----------
    symbol : complex array of shape (4J_1+1, …, 2J_d+1)
        t_j for |j_k| ≤ 2J_k, the half with j_d ≥ 0.
    FY, FP : (k, n) and (ℓ, n) complex arrays
        FᴴDY and FᴴDP, transposed, at the frequencies `Grid.frequencies`.
    PP, PY : (ℓ, ℓ) and (ℓ, k) arrays
    YY : (k,) array
        Σ w_i (Y − Pλ₀)².
    raw : (k,) array
        Σ w_i Y².
    column_max, y_max : (ℓ,) and (k,) arrays
        The largest |φ_p(x_i)| and |Y|; of two sets of samples, the larger.
    total : float
        W = Σw, in units of the frame's w_unit.
    m : int
        How many samples.
    """

    symbol: np.ndarray
    FY: np.ndarray
    FP: np.ndarray
    PP: np.ndarray
    PY: np.ndarray
    YY: np.ndarray
    raw: np.ndarray
    column_max: np.ndarray
    y_max: np.ndarray
    total: float
    m: int

    def __add__(self, other):
        if isinstance(other, int) and other == 0:  # the sum of no samples
            return self
        if not isinstance(other, Statistics):
            return NotImplemented
        sums = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
        }
        most = {name: np.maximum(getattr(self, name), getattr(other, name)) for name in _LARGEST}
        return Statistics(**sums | most)

    def __radd__(self, other):
        return self + other

    def check_finite(self):
        """An error where the sums have overflowed, or squares of y have underflowed."""
        for field in fields(self):
            if not np.isfinite(getattr(self, field.name)).all():
                raise ValueError(
                    "the sums over the samples overflow: scale y, sample_weight or the features."
                )
        # Residuals are differences of squares, which need all their digits.
        if np.any((self.y_max > 0) & (self.y_max < 1e-130)) or not self.total > 1e-130:
            raise ValueError(
                "y or sample_weight are so small beside the first samples that sums of squares "
                "underflow: scale them."
            )


def chunk_rows(grid):
    """How many rows to transform at once: enough to pay for the FFTs, few enough for memory."""
    fine = np.prod(4.0 * grid.max_frequency + 1)
    return int(np.clip(4 * fine, 2**17, 2**20))


def statistics(frame, X, Y, w, P) -> Statistics:
    """The statistics of samples in memory; they should be a chunk (`chunk_rows`) at most.

    Parameters
    ----------
    frame : Frame
    X : (m, d) array
        Points of the grid's box.
    Y : (m, k) array
    w : (m,) array of numbers ≥ 0
    P : (m, ℓ) array
    """
    with np.errstate(over="ignore", invalid="ignore"):
        Y, w = Y / frame.y_unit, w / frame.w_unit
        raw, y_max = w @ (Y * Y), np.abs(Y).max(axis=0, initial=0.0)
        Y = Y - P @ frame.offset
        column_max = np.abs(P).max(axis=0, initial=0.0)
        P = P @ frame.basis
        wY, wP = w[:, None] * Y, w[:, None] * P
        columns = np.concatenate([wY, wP], axis=1).T
        symbol, transformed = _transforms(frame, X, w, columns)
        return Statistics(
            symbol=symbol,
            FY=transformed[: Y.shape[1]],
            FP=transformed[Y.shape[1] :],
            PP=wP.T @ P,
            PY=wP.T @ Y,
            YY=np.einsum("ik,ik->k", wY, Y),
            raw=raw,
            column_max=column_max,
            y_max=y_max,
            total=float(w.sum()),
            m=len(X),
        )


def map_row_blocks(task, m):
    """[task(rows), ...] for the rows shared out to threads of ours; NUFFTs themselves take one.

    Threads of OpenMP would hang in a process that forks after it has used them.
    """
    parts = slices(0, m, max(_PART, -(-m // n_threads())))
    found = [None] * len(parts)

    def one(i):
        found[i] = task(parts[i])

    parallel_for(one, len(parts))
    return found


def _transforms(frame, X, w, columns):
    """(t_j) at double size, half of it, and Σ_i g_i e^(−2πi⟨jh,x_i⟩) for each row g of columns."""
    parts = map_row_blocks(lambda r: _part(frame, X[r], w[r], columns[:, r]), len(X))
    if not parts:
        return _part(frame, X, w, columns)
    return sum(symbol for symbol, _ in parts), sum(sums for _, sums in parts)


def _part(frame, X, w, columns):
    grid = frame.grid
    double = tuple(int(n) for n in 4 * grid.max_frequency + 1)
    if len(X) == 0:
        return np.zeros((*double[:-1], double[-1] // 2 + 1), complex), np.zeros(
            (len(columns), len(grid.frequencies)), complex
        )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # of this thread
        return _transformed(frame, grid.angles(X), w, columns, double)


def _transformed(frame, angles, w, columns, double):
    """The symbol at double size, and the transforms of the columns."""
    grid, d = frame.grid, len(angles)
    out = np.zeros((len(columns), len(grid.frequencies)), complex)
    columns, units = _same_size(columns, w)

    # 1. w and the first column in one transform at double size: â = (ĝ + ĝ*)/2, ib̂ = (ĝ − ĝ*)/2.
    strengths = w + 1j * columns[0] if len(columns) else w.astype(complex)
    sums = _nufft(frame, double, angles, strengths[None])[0]
    mirrored = np.conj(sums[(slice(None, None, -1),) * d])
    half = (Ellipsis, slice(double[-1] // 2, None))
    symbol = (sums[half] + mirrored[half]) / 2
    if len(columns):
        out[0] = _at((sums - mirrored) / 2j, grid.frequencies, 2 * grid.max_frequency)

    # 2. The other columns in pairs, each in one transform.
    pairs = _pair_columns(columns[1:])
    if len(pairs):
        sums = _nufft(frame, grid.box, angles, pairs)
        out[1:] = _split_pairs(sums, grid)[: len(columns) - 1]
    out *= units[:, None]
    return symbol, out


def _same_size(columns, w):
    """The columns in units in which all are as long as w: in a sum a + ib the smaller of the two
    would get the errors of the larger.  A column of zeros has the unit 0, and its transform, which
    is the rounding of its companion, becomes 0.
    """
    lengths = np.linalg.norm(columns, axis=1)
    ordinary = (lengths > 0) & np.isfinite(lengths)
    units = np.where(ordinary, lengths, 1.0) / (np.linalg.norm(w) or 1.0)
    return columns / units[:, None], np.where(lengths == 0, 0.0, units)


def _nufft(frame, box, angles, strengths):
    """Σ_i g_i e^(−2πi⟨jh,x_i⟩) in a box of frequencies, for each row g of `strengths`."""
    plan = nufft().Plan(1, box, len(strengths), frame.eps, isign=-1, nthreads=1)
    plan.setpts(*angles)
    sums = plan.execute(strengths if len(strengths) > 1 else strengths[0])
    return sums.reshape(len(strengths), *box)


def _pair_columns(columns):
    """Real rows a, b, c, … as complex rows a + ib, c + i…, the last one alone."""
    if len(columns) % 2:
        columns = np.concatenate([columns, np.zeros((1, columns.shape[1]))])
    return np.ascontiguousarray(columns[0::2] + 1j * columns[1::2])


def _split_pairs(sums, grid):
    """The transforms of a, b, c, … at the frequencies of the grid, from those of the pairs."""
    K, J = grid.frequencies, grid.max_frequency
    plus = np.array([_at(s, K, J) for s in sums])
    minus = np.array([np.conj(_at(s, -K, J)) for s in sums])
    both = np.stack([(plus + minus) / 2, (plus - minus) / 2j], axis=1)
    return both.reshape(-1, len(K))


def _at(centred, K, J):
    """The entries of an array of frequencies −J … J at the frequencies K."""
    return centred[tuple((K + J).T)]
