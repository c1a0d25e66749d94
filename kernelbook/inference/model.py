"""A fitted model as the rest of this room sees it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbook.inference.components import Component
from kernelbook.inference.functionals import Functionals
from kernelbook.inference.needed import ComponentTest, features_needed, kernel_needed
from kernelbook.inference.residuals import LeaveOneOut, leave_one_out
from kernelbook.inference.small_sample import Corrected, corrected
from kernelbook.solvers.grls.tuning.search import criteria_at

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """f = Σ c_i K(x_i, ·) + Σ λ_p φ_p with the posterior of an exact solver.

    Attributes
    ----------
    posterior : DensePosterior
    lam : (ℓ, k) array
    deviation : (k,) array
        √scale_.
    free : float
        W − rank P, the degrees of freedom of scale_.
    components : list of Component
        Empty for a precomputed kernel matrix.
    tuning : TuningResult or None
        How parameters were chosen on this sample: `names`, and `log_cov`, the covariance of their
        logarithms, NaN where there is none.
    """

    posterior: Any
    lam: np.ndarray
    deviation: np.ndarray
    free: float
    components: Sequence[Component] = ()
    tuning: Any = None

    @property
    def c(self) -> np.ndarray:
        return self.posterior.predictor.c

    @property
    def centers(self) -> Any:
        """The rows of the sample."""
        return self.posterior.predictor.original_centers

    @property
    def noise_variance(self) -> float:
        """Of an observation of weight one, per unit of scale."""
        return float(self.posterior.noise[0] * self.posterior.weights[0])

    def mean(self, functional: Functionals) -> np.ndarray:
        return functional.mean(self.c, self.lam)

    def std(self, functionals: Iterable[Functionals]) -> tuple[np.ndarray, str | None]:
        """Standard deviations, one functional after the other, (n, k); and a warning or None."""
        blocks = ((b.k, b.p, b.prior) for L in functionals for _, b in L.blocks())
        variance, warning = self.posterior.spread(blocks)
        return np.multiply.outer(np.sqrt(variance), self.deviation), warning

    def targets(self) -> np.ndarray:
        """y, as f plus its residual ρc/w."""
        f = self.posterior.predictor.on_sample(self.centers) + self.posterior.P @ self.lam
        return f + self.posterior.noise[:, None] * self.c

    def leave_one_out(self) -> LeaveOneOut:
        """Of every row, the others keeping their noise."""
        system, weights = self.posterior.factored(), self.posterior.weights
        if system.jitter > 0:
            raise ValueError(
                "leave_one_out needs a kernel matrix that can be factored as it is, and this one "
                "is singular to rounding beside reg: a larger reg helps."
            )
        diagonal, share = system.diagonal()
        return leave_one_out(self.c, diagonal, share, self.deviation**2, self.free, weights)

    def estimated(self) -> list[str]:
        """The parameters whose choice the standard errors of λ take into account."""
        predictor = self.posterior.predictor
        if self.tuning is None or not self.components or predictor.shift is not None:
            return []
        known = np.isfinite(np.diag(self.tuning.log_cov))
        return [name for name, use in zip(self.tuning.names, known, strict=True) if use]

    def corrected(self) -> Corrected:
        """Standard errors of λ that know of the choice of parameters."""
        names, predictor = self.estimated(), self.posterior.predictor
        noise = np.diag(self.posterior.noise)
        slopes = predictor.kernel.gram_gradient(predictor.centers) | {"reg": noise}
        where = [list(self.tuning.names).index(name) for name in names]
        return corrected(
            predictor.kernel(predictor.centers) + noise,
            [slopes[name] for name in names],
            np.asarray(self.tuning.log_cov)[np.ix_(where, where)],
            self.posterior.P,
            self.c[:, 0],
            float(self.deviation[0]) ** 2,
            self.free,
        )

    def criteria(self, parameters: Mapping[str, float]) -> dict[str, float]:
        """Every criterion with other values of some parameters."""
        posterior, given = self.posterior, dict(parameters)
        reg = given.pop("reg", posterior.reg)
        kernel = posterior.predictor.kernel.tuned(given)
        weights = None if (posterior.weights == 1).all() else posterior.weights
        centers = posterior.predictor.centers
        return criteria_at(kernel, centers, posterior.P, self.targets(), reg, weights)

    def test(self, component: Component) -> ComponentTest:
        """Whether a component is needed."""
        name, posterior = component.name, self.posterior
        if component.kernel is None:
            columns = list(component.columns)
            V = posterior.coef_covariance()[np.ix_(columns, columns)]
            scale = float(self.deviation[0]) ** 2
            return features_needed(name, self.lam[columns, 0], V, scale, self.free)
        centers = self.centers
        others = [c.kernel for c in self.components if c.kernel and c.name != name]
        rest = sum((kernel(centers) for kernel in others), np.zeros((len(self.c),) * 2))
        gram, y = component.kernel(centers), self.targets()[:, 0]
        return kernel_needed(name, gram, rest, posterior.noise, posterior.P, y)
