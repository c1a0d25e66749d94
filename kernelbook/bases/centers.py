"""Which n points to span the kernel part with.

- **uniform**: rows of the sample, drawn without replacement.  For error rates as good as those of
  all m translates, n of the order of 1/reg suffices (up to logarithms) [1].
- **leverage**: rows drawn in proportion to their ridge leverage scores
  ℓ_i = (K(K + mγI)⁻¹)_ii, which say how much of f(x_i) only the sample i itself decides.  Then n
  of the order of the effective dimension Σℓ_i suffices [1, 2]: where the sample has dense and
  sparse regions, uniform centres crowd in the dense ones.  The scores cost as much as the fit, so
  they are estimated: from a uniform pilot J of q = n rows,

      ℓ̂(x) = (K(x,x) − k_J(x)ᵀ(K_JJ + qγI)⁻¹ k_J(x)) / γ,

  a constant times ℓ in expectation of the pilot, one step of the recursions of [2] and [3].
- **kmeans**: the cluster centres of scikit-learn's `MiniBatchKMeans`, which are no samples.  For
  smooth kernels they leave less of the kernel matrix unexplained than rows do [4].

Rows of weight w are w rows: uniform draws are in proportion to the weights.

References
----------
[1] Rudi, Camoriano & Rosasco, *Less is more: Nyström computational regularization*, NIPS 2015.
[2] Musco & Musco, *Recursive sampling for the Nyström method*, NIPS 2017.
[3] Rudi, Calandriello, Carratino & Rosasco, *On fast leverage score sampling and optimal
learning*, NeurIPS 2018.
[4] Zhang, Tsang & Kwok, *Improved Nyström low-rank approximation and error analysis*, ICML 2008.
"""

from numbers import Integral

import numpy as np
from scipy.linalg import lapack
from sklearn.utils import check_array, check_random_state

from kernelbook.numeric.blas import solve_rows
from kernelbook.numeric.tiles import silent

__all__ = ["RULES", "check_rule", "choose_centers", "given_centers", "leverage_scores"]

RULES = ("uniform", "leverage", "kmeans")


def check_rule(rule, n):
    """An error for a rule that is not known, and for a number of centres that is none."""
    if not isinstance(rule, str) or rule not in RULES:
        raise ValueError(f"centers={rule!r} is not known; use one of {RULES}, or an array of rows.")
    if not isinstance(n, Integral) or isinstance(n, bool | np.bool_) or n < 1:
        raise ValueError(f"n_centers must be an integer ≥ 1, not {n!r}.")


def given_centers(rows, d):
    """Centres that the user passed, checked and copied."""
    try:
        centers = check_array(
            rows, accept_sparse="csr", dtype=np.float64, input_name="centers", copy=True
        )
    except (TypeError, ValueError) as error:
        what = f"of shape {np.shape(rows)}" if np.ndim(rows) else repr(rows)
        raise type(error)(
            f"centers {what} must be a rule or an array with one centre a row: {error}"
        ) from None
    if centers.shape[1] != d:
        raise ValueError(
            f"centers has {centers.shape[1]} columns and X has {d}; a centre must be a point of "
            "the same space."
        )
    return centers


def choose_centers(rule, X, n, weights, random_state, kernel=None, reg=None, tick=silent):
    """n centres for the sample X, and which rows of it they are (None if they are none).

    Where the sample has no more than n rows they all are centres.

    Parameters
    ----------
    rule : {"uniform", "leverage", "kmeans"}
    X : (m, d) rows
    n : int
    weights : (m,) array of positive numbers
    random_state : int, RandomState instance or None
    kernel : Kernel
    reg : float
        γ; with the kernel, needed for "leverage".
    """
    check_rule(rule, n)
    if X.shape[0] <= n:
        return X, np.arange(X.shape[0])
    rng = check_random_state(random_state)
    if rule == "kmeans":
        # A few sweeps: centres that move by a tenth of the kernel's width make no difference.
        from sklearn.cluster import MiniBatchKMeans  # half a second to import, and rarely wanted

        model = MiniBatchKMeans(
            *(n,),
            n_init=1,
            batch_size=max(1024, 2 * n),
            init_size=3 * n,
            max_iter=5,
            max_no_improvement=3,
            compute_labels=False,
            random_state=rng,
        )
        return model.fit(X, sample_weight=weights).cluster_centers_, None
    share = weights / weights.sum()
    drawn = _draw(rng, share, n)
    if rule == "leverage":
        scores = leverage_scores(kernel, X, drawn, reg, tick) * share
        drawn = _draw(rng, scores / scores.sum(), n)
    return X[drawn], drawn


def _draw(rng, share, n):
    """n different rows, in the order of the sample."""
    n = min(n, np.count_nonzero(share))
    return np.sort(rng.choice(share.size, size=n, replace=False, p=share))


def leverage_scores(kernel, X, pilot, reg, tick=silent):
    """ℓ̂ of all rows from those numbered in `pilot`; positive numbers up to a common factor."""
    if kernel.cpd_order:
        raise ValueError(
            f"centers='leverage' needs a positive definite kernel, and {kernel!r} is only "
            "conditionally so: use centers='uniform' or 'kmeans'."
        )
    q = len(pilot)
    gram = kernel(X[pilot])
    # Rounding must not stop the factorization: scores need a digit or two.
    gram[np.diag_indices(q)] += q * max(reg, 1e-10 * np.abs(gram).max())
    L, info = lapack.dpotrf(gram, lower=1)
    if info or not np.isfinite(L).all():
        raise ValueError(
            f"{kernel!r} is not positive semidefinite on the sample: it is no kernel, or only a "
            "conditionally positive definite one."
        )
    L = np.asfortranarray(L)
    diagonal = kernel.diag(X)
    scores = np.empty(X.shape[0])

    def work(total, rows, panel):
        solve_rows(L, panel)
        scores[rows] = diagonal[rows] - np.einsum("ij,ij->i", panel, panel)

    kernel.panels(X, X[pilot], tick).each(work, lambda: ())
    # Where K(x, x) is explained to rounding a score may come out negative; it is at least this:
    return np.maximum(scores, 1e-10 * np.maximum(diagonal, np.finfo(float).tiny))
