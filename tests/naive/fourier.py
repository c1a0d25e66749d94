"""The Fourier solver from its formulas: all matrices in memory, no FFT, no trick."""

import numpy as np


def pairs(grid):
    """All frequencies, both signs of each, and their D."""
    K = np.concatenate([grid.frequencies, -grid.frequencies[1:]])
    return K, np.concatenate([grid.sqrt_weights, grid.sqrt_weights[1:]])


def kernel(grid, X, Z):
    """Σ_j D_j² exp(2πi⟨jh, x − z⟩) over all frequencies."""
    K, D = pairs(grid)
    phases = np.exp(2j * np.pi * (X / grid.period) @ K.T)
    return np.real((phases * D**2) @ np.exp(-2j * np.pi * (Z / grid.period) @ K.T).T)


def basis(grid, X):
    """The real functions D_0, D_j√2cos, D_j√2sin at the rows of X, the centre of the box at 0."""
    theta = 2 * np.pi * ((X - (grid.low + grid.high) / 2) / grid.period) @ grid.frequencies.T
    D = np.sqrt(2) * grid.sqrt_weights
    cos, sin = np.cos(theta) * D, np.sin(theta) * D
    cos[:, 0] /= np.sqrt(2)
    return np.concatenate([cos, sin[:, 1:]], axis=1)


def solve(Psi, P, Y, w, reg):
    """(z, λ, objective) of (1/W) Σ w (y − Ψz − Pλ)² + γ‖z‖², as one least-squares problem."""
    n, root = Psi.shape[1], np.sqrt(w / w.sum())[:, None]
    rows = np.block([[root * Psi, root * P], [np.sqrt(reg) * np.eye(n), np.zeros((n, P.shape[1]))]])
    right = np.concatenate([root * Y, np.zeros((n, Y.shape[1]))])
    both = np.linalg.lstsq(rows, right, rcond=None)[0]
    return both[:n], both[n:], np.sum((rows @ both - right) ** 2, axis=0)
