"""When free features earn their keep: nine small comparisons that decide it.

    co2         forecasts of the Mauna Loa record, years ahead, with intervals      `forecast`
    effects     three effects in the diabetes data, with intervals                  `effects`
    coverage    the same where the truth is known                                   `effects`
    plates      classification with thin plates, five sets                          `plates`
    moved       predictions after a shift, a rotation, a change of scale            `plates`
    budget      few basis functions beside free features                            `plates`
    units       features in other units                                             `trends`
    sizes       from 20 samples to 500, inside and outside their range              `trends`
    useless     free features that are noise                                        `trends`

All data are generated or ship with scikit-learn and statsmodels.  `--only part=co2` runs one part.
"""

from kernelbook.experiments.comparisons import effects, forecast, plates, trends
from kernelbook.experiments.running import Experiment

__all__ = ["EXPERIMENT"]

PARTS = {
    "co2": forecast.run,
    "effects": effects.diabetes,
    "coverage": effects.simulate,
    "plates": plates.accuracy,
    "moved": plates.moved,
    "budget": plates.budget,
    "units": trends.units,
    "sizes": trends.sizes,
    "useless": trends.useless,
}


def cells(quick):
    def repeat(count, part, seed, **settings):
        return [
            {"part": part, "repetition": r, "seed": seed + r, **settings}
            for r in range(1 if quick else count)
        ]

    origins = (1980,) if quick else range(1970, 1997, 2)
    found = [c for o in origins for c in repeat(1, "co2", 0, origin=o, cheap=quick)]
    found += repeat(1, "effects", 0)
    for truth in ("process", "fixed", "linear"):
        found += repeat(300, "coverage", 5000, truth=truth, size=100)
    for name in ("coast",) if quick else plates.SETS:
        found += repeat(10, "plates", 6000, set=name, train=0.5)
    found += repeat(5, "moved", 6500)
    for functions in (10,) if quick else (3, 10, 30, 100):
        found += repeat(10, "budget", 7000, size=200, functions=functions)
    found += repeat(5, "units", 8000)
    for truth in ("linear", "saturating"):
        for size in (50,) if quick else (20, 50, 150, 500):
            found += repeat(10, "sizes", 8500, truth=truth, size=size)
    for features in (20,) if quick else (0, 5, 10, 20, 40, 80):
        found += repeat(20, "useless", 9000, features=features)
    return found


def run(cell):
    return PARTS[cell["part"]](cell)


EXPERIMENT = Experiment(
    "keep",
    "when free features pay: forecasts, effects, thin plates, units, budgets",
    cells,
    run,
    modules=(
        *(
            f"kernelbook.experiments.comparisons.{name}"
            for name in ("forecast", "effects", "plates", "trends")
        ),
        "kernelbook.solvers.grls.tuning.spectral",
    ),
)
