"""Geodesic distances on a neighbourhood graph, and the class features of A, section 5.

A's feature p of an image is 1 if one of its three nearest neighbours, in geodesic distance, is a
training image of class p, and 0 otherwise.  Geodesic means: along the edges of a graph that joins
every image to its k nearest (Tenenbaum, de Silva & Langford 2000).  A does not say which images
the graph has, nor among which the three neighbours are sought, nor whether a training image is its
own neighbour.  The readings:

    transductive   graph on all images, neighbours among the training images: the only one that
                   gives geodesics a meaning, and it sees the test images (not their labels);
    inductive      graph on the training images; a new image hangs on its k nearest of them;
    all images     neighbours among all images: most test images see no training image at all.

A training image among its own neighbours carries its own label into its features (`itself=True`),
which no test image can do.
"""

import numpy as np
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

__all__ = ["class_features", "geodesic", "nearest", "to_training", "votes"]


def geodesic(X, k):
    """All shortest paths in the graph of k nearest neighbours; inf between its components."""
    graph = kneighbors_graph(X, min(k, len(X) - 1), mode="distance")
    return shortest_path(graph.maximum(graph.T), method="D", directed=False)


def to_training(X, train, k, reading):
    """(m, |train|) distances to the training images, or (m, m) for reading="all images"."""
    if reading == "transductive":
        return geodesic(X, k)[:, train]
    if reading == "all images":
        return geodesic(X, k)
    if reading != "inductive":
        raise ValueError(
            f"reading={reading!r} is not known; pass 'transductive', 'inductive' or 'all images'."
        )
    inner, step = geodesic(X[train], k), cdist(X, X[train])
    first = np.argsort(step, axis=1, kind="stable")[:, :k]
    distances = np.full(step.shape, np.inf)
    for column in first.T:
        through = step[np.arange(len(X)), column]
        np.minimum(distances, through[:, None] + inner[column], out=distances)
    distances[train] = inner
    return distances


def nearest(distances, own=None, n=3):
    """Columns of the n nearest, in order; −1 where there are fewer within reach.

    own : (m,) array of the column that is the row itself (−1 for none), to leave it out.
    """
    D = distances.copy()
    if own is not None:
        rows = np.flatnonzero(own >= 0)
        D[rows, own[rows]] = np.inf
    order = np.argsort(D, axis=1, kind="stable")[:, :n]
    return np.where(np.isfinite(np.take_along_axis(D, order, axis=1)), order, -1)


def class_features(neighbours, labels, n_classes):
    """A's features: (m, n_classes) of 0 and 1.  labels[j] is −1 for a column without label."""
    P = np.zeros((len(neighbours), n_classes))
    for column in neighbours.T:
        seen = (column >= 0) & (labels[column] >= 0)
        P[np.flatnonzero(seen), labels[column[seen]]] = 1
    return P


def votes(neighbours, labels, n_classes):
    """The class of most neighbours; a tie goes to the nearer one, no neighbour to class 0."""
    score = np.zeros((len(neighbours), n_classes))
    for place, column in enumerate(neighbours.T):
        seen = (column >= 0) & (labels[column] >= 0)
        score[np.flatnonzero(seen), labels[column[seen]]] += 1 + 0.1 / (1 + place)
    return score.argmax(axis=1)
