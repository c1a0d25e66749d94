"""Shared test set-up."""


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "interpreted: also run with NUMBA_DISABLE_JIT=1 (small sizes, jitted kernels)"
    )
