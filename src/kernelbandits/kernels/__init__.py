"""Kernels: how much the rewards of two points have in common.

A kernel is a value. `kernel(x, z)` is the matrix of k(x_i, z_j) for two sets of points, rows of
(n, d) and (m, d) arrays. Kernels can be added, multiplied and scaled, and every kernel has the
gradients that a search on a box needs.

>>> import numpy as np
>>> from kernelbandits.kernels import RBF, Linear
>>> kernel = RBF(0.5) + 0.1 * Linear()
>>> kernel(np.array([[0.0], [1.0]]), np.array([[1.0]])).round(3)
array([[0.135],
       [1.1  ]])
"""

from kernelbandits.kernels.additive import AdditiveMatern, Constant, SamePoint
from kernelbandits.kernels.base import Adapted, Kernel, Product, Scaled, Sum, as_kernel
from kernelbandits.kernels.graph import graph_matern
from kernelbandits.kernels.linear import Linear, Polynomial, inner_products, squared_norms
from kernelbandits.kernels.matrices import check_semidefinite, check_symmetric, gram, has_adapted
from kernelbandits.kernels.stacked import KernelParts, PoolRows, StackedKernels, split_kernel
from kernelbandits.kernels.stationary import (
    MATERN_SMOOTHNESS,
    RBF,
    Matern,
    RationalQuadratic,
    Stationary,
    squared_distance,
)
from kernelbandits.kernels.transforms import Normalised, On

__all__ = [
    "MATERN_SMOOTHNESS",
    "RBF",
    "Adapted",
    "AdditiveMatern",
    "Constant",
    "Kernel",
    "KernelParts",
    "Linear",
    "Matern",
    "Normalised",
    "On",
    "Polynomial",
    "PoolRows",
    "Product",
    "RationalQuadratic",
    "SamePoint",
    "Scaled",
    "StackedKernels",
    "Stationary",
    "Sum",
    "as_kernel",
    "check_semidefinite",
    "check_symmetric",
    "gram",
    "graph_matern",
    "has_adapted",
    "inner_products",
    "split_kernel",
    "squared_distance",
    "squared_norms",
]
