"""Splitters keep apart what they promise to, and work where scikit-learn asks for one."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.spatial.distance import cdist
from sklearn.model_selection import GridSearchCV, cross_val_score

from kernelbook import Gaussian, GRLSRegressor, RollingOrigin, SpatialBlocks, TimeBlocks

RNG = np.random.default_rng(0)
PLACES = RNG.uniform(size=(200, 2))
TIMES = np.sort(RNG.uniform(2000, 2020, size=(120, 1)), axis=0)


def test_cells_stay_together_and_a_buffer_keeps_its_distance():
    cells = np.floor((PLACES - PLACES.min(axis=0)) / 0.2)
    tested = []
    for train, test in SpatialBlocks(0.2, n_splits=4, buffer=0.05).split(PLACES):
        assert cdist(PLACES[train], PLACES[test]).min() >= 0.05
        assert not {*map(tuple, cells[train])} & {*map(tuple, cells[test])}
        tested += test.tolist()
    assert sorted(tested) == list(range(200))
    sizes = [len(test) for _, test in SpatialBlocks(0.2, n_splits=4).split(PLACES)]
    assert max(sizes) - min(sizes) < 20


def test_blocks_of_time_are_intervals_with_a_gap():
    tested = []
    for train, test in TimeBlocks(5, gap=0.5).split(TIMES):
        low, high = TIMES[test].min(), TIMES[test].max()
        assert ((TIMES[train] <= low - 0.5) | (TIMES[train] >= high + 0.5)).all()
        tested += test.tolist()
    assert sorted(tested) == list(range(120))


def test_equal_times_are_one_time():
    X = np.repeat(np.arange(10.0), 3)[:, None]
    for train, test in TimeBlocks(3).split(X):
        assert not set(X[train, 0]) & set(X[test, 0])


def test_origins_roll():
    folds = list(RollingOrigin(2.0, n_splits=3, step=1.0, window=6.0).split(TIMES))
    origins = []
    for train, test in folds:
        assert TIMES[train].max() < TIMES[test].min()
        assert np.ptp(TIMES[test]) <= 2.0
        assert np.ptp(TIMES[train]) <= 6.0
        origins.append(TIMES[test].min())
    assert np.allclose(np.diff(origins), 1.0, atol=0.5)
    assert TIMES[folds[-1][1]].max() == TIMES.max()


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame])
def test_columns_by_name_and_searches(convert):
    frame = convert({"t": TIMES[:, 0], "z": np.sin(TIMES[:, 0])})
    y = np.asarray(frame["z"]) + 0.1
    cv = RollingOrigin(2.0, n_splits=3, column="t")
    model = GRLSRegressor(Gaussian(2.0, columns="t"), "1 + z")
    assert cross_val_score(model, frame, y, cv=cv).min() > 0.99
    search = GridSearchCV(model, {"kernel__width": [1.0, 2.0]}, cv=TimeBlocks(3, "t"))
    assert search.fit(frame, y).best_score_ > 0.99
    assert cv.get_n_splits() == 3


def test_random_folds_flatter_a_smooth_model():
    """Why blocks: the error for new ground is larger than the error among neighbours."""
    y = np.sin(9 * PLACES[:, 0]) * np.cos(9 * PLACES[:, 1])
    model = GRLSRegressor(Gaussian(0.2), reg=1e-6)
    near = cross_val_score(model, PLACES, y, cv=4).mean()
    far = cross_val_score(model, PLACES, y, cv=SpatialBlocks(0.5, n_splits=4)).mean()
    assert near > 0.95
    assert far < 0.8


REFUSALS = {
    "size=0 must be positive": lambda: SpatialBlocks(0),
    "n_splits=1 must be an integer ≥ 2": lambda: TimeBlocks(1),
    "step=-1 must be positive": lambda: RollingOrigin(1.0, step=-1),
    "gives 1 cells with samples": lambda: list(SpatialBlocks(9.0).split(PLACES)),
    "X has no column 'a'": lambda: list(TimeBlocks(3, "a").split(pd.DataFrame({"t": [1, 2, 3]}))),
    "column 4 is not among the 2": lambda: list(TimeBlocks(3, 4).split(PLACES)),
    "without training samples": lambda: list(RollingOrigin(30.0, 1).split(TIMES)),
    "buffer=2.0 leaves": lambda: list(SpatialBlocks(0.3, buffer=2.0).split(PLACES)),
}


@pytest.mark.parametrize("message", REFUSALS)
def test_refusals(message):
    with pytest.raises(ValueError, match=message):
        REFUSALS[message]()
