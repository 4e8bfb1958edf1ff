"""Kernels on the nodes of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array


def graph_matern(adjacency: Any, lengthscale: float = 5.0, nu: float = 2.5) -> Array:
    """Return the Matern kernel of a graph, the (n, n) matrix

    K = (2 nu / lengthscale^2 + L)^-nu,   L = D^-1/2 (D - W) D^-1/2,

    divided by the mean of its diagonal, with the weights W >= 0 of the edges and the degrees D of
    the nodes. Nodes that many short paths connect are alike. Borovitskiy, Azangulov, Terenin,
    Mostowsky, Deisenroth and Durrande (2021), Matern Gaussian processes on graphs.

    Parameters
    ----------
    adjacency
        The (n, n) symmetric matrix of weights, zero where two nodes have no edge.
    lengthscale
        Over about how many edges values are alike.
    nu
        The smoothness; larger values make neighbours more alike.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbandits.kernels import graph_matern
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> kernel = graph_matern(path)
    >>> bool(kernel[0, 1] > kernel[0, 2] > kernel[0, 4])
    True
    """
    weights = checks.points("graph_matern", adjacency)
    length = checks.positive("graph_matern", "lengthscale", lengthscale)
    smoothness = checks.positive("graph_matern", "nu", nu)
    square = weights.shape[0] == weights.shape[1]
    checks.needs(square, "graph_matern", "an (n, n) matrix of weights", weights.shape)
    even = bool((weights == weights.T).all() and (weights >= 0).all())
    checks.needs(even, "graph_matern", "weights >= 0, the same in both directions", "others")
    np.fill_diagonal(weights, 0.0)
    degrees = weights.sum(1)
    # A node without an edge has the degree 0 and is like itself only.
    roots = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0)), 0.0)
    laplacian = np.diag((degrees > 0).astype(float)) - weights * np.outer(roots, roots)
    values, vectors = np.linalg.eigh(laplacian)
    spectrum = (2 * smoothness / length**2 + np.maximum(values, 0.0)) ** -smoothness
    kernel = (vectors * spectrum) @ vectors.T
    kernel = (kernel + kernel.T) / 2
    return np.asarray(kernel / kernel.diagonal().mean())
