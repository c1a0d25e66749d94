"""COIL-20 and Ionosphere."""

import numpy as np
from scipy.io import loadmat
from sklearn.utils import Bunch

from kernelbook.datasets._fetch import Corrupt, Source, check_sha256, data_file

__all__ = ["load_coil20", "load_ionosphere"]

COIL20 = Source(
    "coil20",
    ("COIL20.mat",),
    "https://jundongl.github.io/scikit-feature/files/datasets/COIL20.mat",
)
IONOSPHERE = Source(
    "ionosphere",
    ("ionosphere.data",),
    "https://archive.ics.uci.edu/ml/machine-learning-databases/ionosphere/ionosphere.data",
    check_sha256("46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd"),
)


def load_coil20(order="angle"):
    """The 1,440 pictures of 20 objects, 72 views each, as rows of 32×32 grey levels in [0, 1].

    Parameters
    ----------
    order : {"angle", "file name"}
        A trains on "the first n images within each class".  In the order of angles these are
        neighbouring views, 0°, 5°, 10°, …; in the order of file names (obj1__0, obj1__1, obj1__10,
        obj1__11, …) they are spread over the circle.  The order makes a large difference.

    Returns
    -------
    Bunch with `data` (1440, 1024), `target` (0 … 19), `view` (0 … 71, the angle in units of 5°),
    `images` (1440, 32, 32, upright).  Nene, Nayar & Murase, CUCS-005-96.
    """
    if order not in ("angle", "file name"):
        raise ValueError(f"order={order!r} is not known; pass 'angle' or 'file name'.")
    path = data_file(COIL20)
    content = loadmat(path)
    X = next((content[k] for k in ("X", "fea") if k in content), None)
    y = next((content[k] for k in ("Y", "gnd") if k in content), None)
    if X is None or y is None:
        raise Corrupt(f"{path} holds neither X, Y nor fea, gnd; it is not COIL-20.")
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y).ravel().astype(int) - 1
    if X.max() > 1.5:
        X = X / 255
    counts = np.bincount(y[y >= 0])
    if X.shape != (1440, 1024) or counts.tolist() != [72] * 20 or X.min() < 0 or X.max() > 1:
        raise Corrupt(
            f"{path}: expected 20 objects × 72 views of 1,024 grey levels, got {X.shape}."
        )
    view = np.concatenate([np.arange(72)] * 20)
    rows = np.argsort(y, kind="stable")
    if order == "file name":
        by_name = sorted(range(72), key=str)
        rows = rows.reshape(20, 72)[:, by_name].ravel()
        view = np.tile(by_name, 20)
    X, y = X[rows], y[rows]
    # Rows are MATLAB's column-major pictures.
    return Bunch(data=X, target=y, view=view, images=X.reshape(-1, 32, 32).transpose(0, 2, 1))


def load_ionosphere():
    """UCI's Ionosphere: 351 radar returns, 34 attributes, 225 good (+1) and 126 bad (−1).

    One row occurs twice, one column is constant.  CC BY 4.0, doi 10.24432/C5W01B.
    """
    path = data_file(IONOSPHERE)
    rows = [line.split(",") for line in path.read_text().split()]
    X = np.array([row[:-1] for row in rows], dtype=np.float64)
    y = np.array([1.0 if row[-1] == "g" else -1.0 for row in rows])
    if X.shape != (351, 34) or (y > 0).sum() != 225:
        raise Corrupt(f"{path}: expected 351×34 with 225 good returns, got {X.shape}.")
    return Bunch(data=X, target=y)
