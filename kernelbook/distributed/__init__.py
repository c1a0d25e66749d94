"""Data on many machines: the G-RLS learners on Dask arrays and data frames.

    from distributed import Client
    client = Client("tcp://head:8786")
    model = GRLSRegressor(Gaussian(0.1), Polynomials(2), solver="fourier").fit(X, y)   # Dask's X, y

- `fit`      survey → frame → sums, block by block, added up in a tree
- `predict`  f at the rows of a collection, computed when asked for
- `score`    R² and accuracy in one pass
- `graph`    blocks of collections, and sums over them

Nothing here knows the learners or scikit-learn: a learner hands over an object with the methods
that `fit` and `score` name.  Dask is imported when a collection arrives; it comes with the extra
`kernelbook[distributed]`.
"""
