"""Kernels: functions K(x, z) that measure how similar two points are.

**Positive definite.**  A symmetric K is positive definite if cᵀKc = Σ c_i c_j K(x_i, x_j) ≥ 0 for
all points x_i and numbers c_i.  Then, and only then, there is a Hilbert space of functions in
which K(x, ·) represents the value at x: f(x) = ⟨f, K(x, ·)⟩ (Moore–Aronszajn), so that
cᵀKc = ‖Σ c_i K(x_i, ·)‖² is the squared norm of a function.  Learning with a kernel is choosing
a function of small norm in that space.

**Conditionally positive definite**, of order q: the same, but only for those c that annihilate
the polynomials of degree less than q, Σ c_i p(x_i) = 0.  The space then has a *semi*norm that
vanishes on such polynomials.  This is the case the library is made for: features that are not
penalized.  A learner that uses a kernel of order q must have those polynomials among its free
features.

    >>> from kernelbook.kernels import Gaussian, Linear, ThinPlate
    >>> k = Gaussian(width=2.0) + 0.5 * Linear()
    >>> k([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 3.    ]])
    >>> k.cpd_order, ThinPlate().cpd_order
    (0, 2)

| kernel | K(x, z), r = ‖x−z‖ | order |
|---|---|---|
| `Gaussian(width)` | exp(−r²/width²) | 0 |
| `Laplacian(width)` | exp(−r/width) | 0 |
| `Matern(width, nu)` | Bessel; between the two above | 0 |
| `RationalQuadratic(width, alpha)` | (1 + r²/(alpha·width²))^(−alpha) | 0 |
| `Periodic(period, width)` | exp(−(2 sin(πr/period)/width)²) | 0 |
| `Categorical()` | 1 if x = z, else 0 | 0 |
| `Linear()` | x·z | 0 |
| `Polynomial(degree, offset)` | (offset + x·z)^degree | 0 |
| `Polyharmonic(exponent)` | ± r^b, ± r^b log r for even b | ⌈b/2⌉, b/2 + 1 |
| `ThinPlate()` | r² log r | 2 |
| `Multiquadric(width)` | −√(1 + r²/width²) | 1 |
| `K + L`, `K * L`, `a * K` | sums, products (of order 0), multiples (a ≥ 0) | the larger |
| `FunctionKernel(function)` | what you say | what you say |

Every kernel takes `columns`, the columns of a table that it sees, by number or by name
(`kernels.columns`); a width may be a list, one for each column.  Derivatives in the parameters and
in x are in `kernels.gradients`.

`k(X, Z)` is the matrix of K(x_i, z_j), `k(X)` the Gram matrix, `k.diag(X)` its diagonal, and
`k.matvec(X, Z, c)` the product k(X, Z) @ c without the matrix.  How the numbers are computed, and
how exactly, is explained in `kernelbook.numeric.pairwise.distances` and `kernelbook.numeric.tiles`.

References
----------
Aronszajn, *Theory of reproducing kernels*, Trans. AMS 68 (1950); Micchelli, *Interpolation of
scattered data*, Constructive Approximation 2 (1986); Schölkopf & Smola, *Learning with Kernels*
(2002); Wendland, *Scattered Data Approximation* (2005).
"""

from kernelbook.kernels.algebra import Product, Scaled, Sum
from kernelbook.kernels.base import Kernel
from kernelbook.kernels.categorical import Categorical
from kernelbook.kernels.function import FunctionKernel, as_kernel
from kernelbook.kernels.inner import Linear, Polynomial
from kernelbook.kernels.mixtures import Laplacian, Matern, RationalQuadratic
from kernelbook.kernels.periodic import Periodic
from kernelbook.kernels.radial import Gaussian
from kernelbook.kernels.splines import Multiquadric, Polyharmonic, ThinPlate

__all__ = [
    "Categorical",
    "FunctionKernel",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Multiquadric",
    "Periodic",
    "Polyharmonic",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sum",
    "ThinPlate",
    "as_kernel",
]
