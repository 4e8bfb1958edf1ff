"""Kernels as values: k(x, z) for two sets of points, its gradients, sums, products and scaling of kernels."""

from kernelbandits.kernels.base import Adapted, Kernel, Product, Scaled, Sum, as_kernel
from kernelbandits.kernels.composed import Normalised, On
from kernelbandits.kernels.linear import Linear, Polynomial, inner_products, squared_norms
from kernelbandits.kernels.matrices import check_semidefinite, check_symmetric, gram, has_adapted
from kernelbandits.kernels.stationary import (
    MATERN_SMOOTHNESS,
    RBF,
    Matern,
    RationalQuadratic,
    Stationary,
    squared_distance,
)

__all__ = [
    "MATERN_SMOOTHNESS",
    "RBF",
    "Adapted",
    "Kernel",
    "Linear",
    "Matern",
    "Normalised",
    "On",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Stationary",
    "Sum",
    "as_kernel",
    "check_semidefinite",
    "check_symmetric",
    "gram",
    "has_adapted",
    "inner_products",
    "squared_distance",
    "squared_norms",
]
