"""The feature matrix that is passed beside a precomputed kernel."""

from typing import Any

import numpy as np

from kernelbook.features.maps import check_feature_matrix
from kernelbook.numeric.arrays import is_frame

__all__ = ["GivenFeatures"]


class GivenFeatures:
    """The columns of a matrix P that is passed beside a precomputed kernel, in fit and predict."""

    def __init__(self, P: Any) -> None:
        self.names = _column_names(P)
        self.count = None

    def matrix(self, P: Any, n_rows: int) -> np.ndarray:
        """P, checked; its columns must be those of the first call."""
        if self.names is not None and _column_names(P) not in (None, self.names):
            raise ValueError(
                f"P has the columns {_column_names(P)}, and in fit it had {self.names}; they must "
                "be the same, in the same order."
            )
        P = check_feature_matrix(P, n_rows, "P")
        if self.count not in (None, P.shape[1]):
            raise ValueError(f"P has {P.shape[1]} columns, and in fit it had {self.count}.")
        self.count = P.shape[1]
        return P


def _column_names(P):
    return list(P.columns) if is_frame(P) else None
