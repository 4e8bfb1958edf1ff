"""Kernels: how much the rewards of two points have in common.

A kernel is a value. `kernel(x, z)` is the matrix of k(x_i, z_j) for two sets of points, rows of
(n, d) and (m, d) arrays. Kernels can be added, multiplied and scaled, and every kernel has the
gradients that a search on a box needs.

A kernel is one file and one line in the list below; the catalogue and the tests find it there.
`Kernel` says what a kernel of your own needs.

>>> import numpy as np
>>> from kernelbandits.kernels import RBF, Linear
>>> kernel = RBF(0.5) + 0.1 * Linear()
>>> kernel(np.array([[0.0], [1.0]]), np.array([[1.0]])).round(3)
array([[0.135],
       [1.1  ]])
"""

from kernelbandits.kernels.additive import AdditiveMatern as AdditiveMatern
from kernelbandits.kernels.additive import Constant as Constant
from kernelbandits.kernels.additive import SamePoint as SamePoint
from kernelbandits.kernels.base import Adapted as Adapted
from kernelbandits.kernels.base import Kernel as Kernel
from kernelbandits.kernels.base import Product as Product
from kernelbandits.kernels.base import Scaled as Scaled
from kernelbandits.kernels.base import Stretched as Stretched
from kernelbandits.kernels.base import Sum as Sum
from kernelbandits.kernels.base import as_kernel as as_kernel
from kernelbandits.kernels.base import is_kernel as is_kernel
from kernelbandits.kernels.graph import graph_matern as graph_matern
from kernelbandits.kernels.linear import Linear as Linear
from kernelbandits.kernels.linear import Polynomial as Polynomial
from kernelbandits.kernels.linear import inner_products as inner_products
from kernelbandits.kernels.linear import squared_norms as squared_norms
from kernelbandits.kernels.matrices import CHECKED_POINTS as CHECKED_POINTS
from kernelbandits.kernels.matrices import as_trusted as as_trusted
from kernelbandits.kernels.matrices import check_semidefinite as check_semidefinite
from kernelbandits.kernels.matrices import check_symmetric as check_symmetric
from kernelbandits.kernels.matrices import gram as gram
from kernelbandits.kernels.matrices import has_adapted as has_adapted
from kernelbandits.kernels.periodic import Periodic as Periodic
from kernelbandits.kernels.properties import Block as Block
from kernelbandits.kernels.properties import CellChange as CellChange
from kernelbandits.kernels.properties import Eigendecay as Eigendecay
from kernelbandits.kernels.properties import Extent as Extent
from kernelbandits.kernels.spectral import Factor as Factor
from kernelbandits.kernels.spectral import Term as Term
from kernelbandits.kernels.stacked import KernelParts as KernelParts
from kernelbandits.kernels.stacked import KernelStack as KernelStack
from kernelbandits.kernels.stacked import PoolRows as PoolRows
from kernelbandits.kernels.stacked import StackedKernels as StackedKernels
from kernelbandits.kernels.stacked import split_kernels as split_kernels
from kernelbandits.kernels.stationary import MATERN_SMOOTHNESS as MATERN_SMOOTHNESS
from kernelbandits.kernels.stationary import RBF as RBF
from kernelbandits.kernels.stationary import Matern as Matern
from kernelbandits.kernels.stationary import RationalQuadratic as RationalQuadratic
from kernelbandits.kernels.stationary import Stationary as Stationary
from kernelbandits.kernels.stationary import squared_distance as squared_distance
from kernelbandits.kernels.transforms import Normalised as Normalised
from kernelbandits.kernels.transforms import On as On
