"""Probabilistic latent semantic analysis (Hofmann 1999): documents as mixtures of topics.

A word w in document d is drawn by first drawing a topic z from P(z|d), then w from P(w|z).  The
log-likelihood of counts n_dw is

    L = Σ_dw n_dw log Σ_z P(z|d) P(w|z),

and expectation–maximization raises it step by step:

    P(z|d,w) ∝ P(z|d) P(w|z),    P(w|z) ∝ Σ_d n_dw P(z|d,w),    P(z|d) ∝ Σ_w n_dw P(z|d,w).

Only pairs with n_dw > 0 matter, so a step costs (number of such pairs) × (number of topics).  With
document lengths divided out this is nonnegative factorization under the Kullback–Leibler
divergence.

**New documents** are folded in: P(w|z) stays, and P(z|d) is found by the same iteration for that
document alone; nothing of the test set enters the topics.  P(z|d) sums to one over z: with these
as free features, the constant is already in their span.
"""

import numpy as np

from kernelbook.numeric.jit import jit

__all__ = ["fit_plsa", "fold_in", "log_likelihood"]


@jit
def em_step(indptr, indices, counts, topics, words, new_topics, new_words):
    """One step of EM; fills new_topics (D, Z) and new_words (W, Z), unnormalized; returns L."""
    total = 0.0
    new_topics[:] = 0.0
    new_words[:] = 0.0
    share = np.empty(topics.shape[1])
    for d in range(topics.shape[0]):
        for k in range(indptr[d], indptr[d + 1]):
            w = indices[k]
            p = 0.0
            for z in range(share.size):
                share[z] = topics[d, z] * words[w, z]
                p += share[z]
            total += counts[k] * np.log(p)
            for z in range(share.size):
                part = counts[k] * share[z] / p
                new_topics[d, z] += part
                new_words[w, z] += part
    return total


def fit_plsa(counts, n_topics, *, max_iter=100, tol=1e-5, random_state=None):
    """Topics of a sparse matrix of counts.

    Stops when a step raises the likelihood by less than tol of its size.

    Returns
    -------
    topics : (D, Z) array, P(z|d); an empty document gets the uniform distribution
    words : (W, Z) array, P(w|z)
    history : list of L before each step
    """
    rng = np.random.default_rng(random_state)
    topics = _rows_to_one(rng.random((counts.shape[0], n_topics)) + 0.5)
    words = _columns_to_one(rng.random((counts.shape[1], n_topics)) + 0.5)
    return _iterate(counts, topics, words, max_iter, tol, True)


def fold_in(counts, words, *, max_iter=100, tol=1e-5):
    """P(z|d) of new documents for given topics P(w|z).

    A document whose every word is impossible under the topics, or empty, gets the uniform mixture.
    """
    known = words.sum(axis=1) > 0
    counts = counts.multiply(known).tocsr()
    counts.eliminate_zeros()
    topics = np.full((counts.shape[0], words.shape[1]), 1 / words.shape[1])
    return _iterate(counts, topics, words, max_iter, tol, False)[0]


def _iterate(counts, topics, words, max_iter, tol, learn_words):
    counts = counts.tocsr()
    new_topics, new_words, history = np.empty_like(topics), np.empty_like(words), []
    for _ in range(max_iter):
        history.append(
            em_step(
                counts.indptr, counts.indices, counts.data, topics, words, new_topics, new_words
            )
        )
        topics = _rows_to_one(new_topics)
        if learn_words:
            words = _columns_to_one(new_words)
        if len(history) > 1 and history[-1] - history[-2] < tol * abs(history[-1]):
            break
    return topics, words, history


def log_likelihood(counts, topics, words):
    """L at given topics and words."""
    c = counts.tocoo()
    return float(np.sum(c.data * np.log(np.einsum("kz,kz->k", topics[c.row], words[c.col]))))


def _rows_to_one(A):
    total = A.sum(axis=1, keepdims=True)
    return np.where(total > 0, A / np.where(total > 0, total, 1), 1 / A.shape[1])


def _columns_to_one(A):
    total = A.sum(axis=0)
    return A / np.where(total > 0, total, 1)
