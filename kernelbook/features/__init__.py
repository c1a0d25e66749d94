"""Predefined features: the functions φ_1 … φ_ℓ whose coefficients are not penalized.

A feature map is anything that turns m points into an m×ℓ matrix P, P_ip = φ_p(x_i):

- a scikit-learn transformer (`fit`/`transform`), used as it is;
- a callable `X -> (m, ℓ)` array;
- `"constant"`, the bias of the classical support vector machine;
- any other text, a formula such as `"1 + sqrt(dist) + C(soil)"`;
- `None`, no unpenalized feature at all.

What a learner finds depends only on the *span* H₀ of the features: an invertible change
φ → φA changes λ → A⁻¹λ and leaves the function alone (the book's chapter on anchor
invariance).  So a map may scale its features to make the arithmetic accurate, and
`Polynomials` does.

On a sample the features may be linearly dependent even where they are independent as
functions (two class indicators that never fire in the training set are both zero).
Then λ is not unique; `kernelbook.numeric.column_space` reduces P to its range and fixes one λ.

| file | what it does |
|---|---|
| `maps` | the maps; what `features` may be; how a map is fitted, evaluated and checked |
| `formula` | a formula on the columns of a table |
| `given` | the matrix P beside a precomputed kernel |
| `naming` | what the columns of P are called, and which belong together |
| `slopes` | derivatives of features, from their values |
| `tables` | data frames of pandas and polars, and text in their columns |
| `required` | which features a conditionally positive definite kernel needs |
"""

from kernelbook.features.formula import Formula
from kernelbook.features.given import GivenFeatures
from kernelbook.features.maps import (
    Constant,
    FunctionFeatures,
    NoFeatures,
    Polynomials,
    as_features,
    check_count,
    check_feature_matrix,
    evaluate,
    fit_features,
)
from kernelbook.features.naming import feature_groups, feature_names, lost_features
from kernelbook.features.required import check_order
from kernelbook.features.slopes import FACTORS, STEPS, feature_slopes, spread
from kernelbook.features.tables import (
    encoded,
    like,
    refuse_text,
    replaced,
    take_rows,
    text_levels,
)
from kernelbook.numeric.arrays import is_frame

__all__ = [
    "FACTORS",
    "STEPS",
    "Constant",
    "Formula",
    "FunctionFeatures",
    "GivenFeatures",
    "NoFeatures",
    "Polynomials",
    "as_features",
    "check_count",
    "check_feature_matrix",
    "check_order",
    "encoded",
    "evaluate",
    "feature_groups",
    "feature_names",
    "feature_slopes",
    "fit_features",
    "is_frame",
    "like",
    "lost_features",
    "refuse_text",
    "replaced",
    "spread",
    "take_rows",
    "text_levels",
]
