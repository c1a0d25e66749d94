"""Leave-one-out residuals, plain and standardized, from one factorization.

With c = Gy the residual of y_i against the fit without i is c_i/G_ii (`solvers.grls.loo_path`), its
variance s/G_ii, and so c_i/√(s G_ii) has variance one: the **standardized** residual.  The same
with the scale of the fit without i,

    s₍₋ᵢ₎ = (yᵀGy − c_i²/G_ii) / (n − w_i),      n = W − rank P,

is the **studentized** one.

*Without weights it has Student's distribution with n − 1 degrees of freedom, exactly*, if the data
are normal with this kernel and ρ: in coordinates in which Q₂ᵀAQ₂ becomes the identity, Q₂ᵀy is n
independent normal variables z of variance s, c_i = vᵀz and G_ii = ‖v‖² for one vector v; so
c_i²/G_ii is the square of a coordinate of z, and yᵀGy the sum of all n squares.

What is left out is a row, with all of its weight.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["LeaveOneOut", "leave_one_out"]


@dataclass(frozen=True)
class LeaveOneOut:
    """Residuals of every sample against the fit without it; (m,) or (m, k) arrays.

    All but the leverage, which is 1 there, are NaN where they are undefined: where a combination of
    the features vanishes on all other samples and not on this one.

    Attributes
    ----------
    residual : y_i − f⁽⁻ⁱ⁾(x_i)
    std : its standard deviation, the noise of y_i included
    standardized : residual / std, with the scale of the whole sample
    studentized : the same with the scale of the sample without i: without weights Student's t with
        n − 1 degrees of freedom, if kernel and ρ are right and were not chosen on this sample
    leverage : (m,) array, ∂f(x_i)/∂y_i; their sum is the effective number of parameters
    """

    residual: np.ndarray
    std: np.ndarray
    standardized: np.ndarray
    studentized: np.ndarray
    leverage: np.ndarray


def leave_one_out(
    c: np.ndarray,
    diagonal: np.ndarray,
    noise_share: np.ndarray,
    scale: np.ndarray,
    free: float,
    weights: np.ndarray,
) -> LeaveOneOut:
    """From c = Gy, (m, k), and the diagonal of G.

    Parameters
    ----------
    c : (m, k) array
    diagonal : (m,) array
        G_ii.
    noise_share : (m,) array
        ρG_ii/w_i = 1 − leverage.
    scale : (k,) array
        yᵀGy/free.
    free : float
        n = W − rank P.
    weights : (m,) array
        How many observations each row is.
    """
    defined = noise_share > 1e-12
    g = np.where(defined, diagonal, np.nan)[:, None]
    residual, own = c / g, c * c / g
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = (free - weights)[:, None]
        others = np.maximum(free * scale - own, 0.0) / np.where(rest > 0, rest, np.nan)
        std = np.sqrt(scale / g)
        return LeaveOneOut(
            residual, std, residual / std, residual / np.sqrt(others / g), 1.0 - noise_share
        )
