"""From texts to numbers: counting words, choosing them, scaling them.

**Choice.**  A and B keep the 2,000 words of highest mutual information with the class,

    I(T; Y) = Σ_{t ∈ {0,1}} Σ_y P(t, y) log( P(t, y) / P(t)P(y) ),

T = 1 where the word occurs in the document.  Chosen on all documents, the words know the labels of
the test documents; chosen on the training documents, they do not.

**Scale.**  B maps each word's counts linearly to [−1, 1]: a word that is absent becomes −1 and the
rarest words, whose largest count is one, weigh as much as the commonest.  What is usual
is log(1 + count), divided by the document's Euclidean length.
"""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

__all__ = ["count_words", "l2_log_counts", "most_informative", "mutual_information", "to_interval"]


def count_words(texts, least=3):
    """(documents, words) sparse counts of the words that occur in at least `least` documents."""
    counter = CountVectorizer(
        token_pattern=r"(?u)\b[a-z]{2,}\b", stop_words="english", min_df=least, dtype=np.float64
    )
    return counter.fit_transform(texts).tocsr(), counter.get_feature_names_out()


def mutual_information(counts, y):
    """I(T; Y) in nats, for every word."""
    present = (counts > 0).astype(np.float64)
    classes, y = np.unique(y, return_inverse=True)
    n = len(y)
    member = np.eye(classes.size)[y]
    joint = np.asarray(present.T @ member) / n  # P(t = 1, y)
    p_y, p_t = member.mean(axis=0), joint.sum(axis=1, keepdims=True)

    def part(p_ty, p_t):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(p_ty > 0, p_ty * np.log(p_ty / (p_t * p_y)), 0.0).sum(axis=1)

    return part(joint, p_t) + part(np.maximum(p_y - joint, 0), 1 - p_t)


def most_informative(counts, y, n):
    """Indices of the n words of highest mutual information, best first."""
    return np.argsort(-mutual_information(counts, y), kind="stable")[:n]


def l2_log_counts(counts):
    """log(1 + count), each document of length one; an empty document stays zero."""
    return normalize(counts.log1p())


def to_interval(counts, train):
    """B's scaling to [−1, 1] by the least and largest count in the training rows; dense."""
    X = counts.toarray()
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    return 2 * (X - low) / np.where(high > low, high - low, 1) - 1
