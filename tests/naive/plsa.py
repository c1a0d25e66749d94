"""One step of expectation–maximization for pLSA, straight from the formula."""

import numpy as np


def em_step(counts, topics, words):
    """(L, new topics, new words), unnormalized; counts is dense."""
    total, new_topics, new_words = 0.0, np.zeros_like(topics), np.zeros_like(words)
    for d, row in enumerate(counts):
        for w, n in enumerate(row):
            if n > 0:
                p = topics[d] * words[w]
                total += n * np.log(p.sum())
                new_topics[d] += n * p / p.sum()
                new_words[w] += n * p / p.sum()
    return total, new_topics, new_words
