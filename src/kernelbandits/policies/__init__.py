"""Policies: `ask` says what to play and changes nothing, `tell` learns from one reward."""

from kernelbandits.policies.auto import Auto
from kernelbandits.policies.base import Choice, Maximiser, Policy
from kernelbandits.policies.changing import RGPUCB, TVGPUCB
from kernelbandits.policies.confidence import GPUCB, IGPUCB, WhitehouseUCB
from kernelbandits.policies.elimination import BPE, MVR, REDS
from kernelbandits.policies.explanation import Explanation
from kernelbandits.policies.floors import Greedy, UniformRandom
from kernelbandits.policies.generic import (
    GenericGP,
    SimpleBernoulli,
    SimpleCategorical,
    SimpleGaussian,
    SimpleMixture,
    SimpleUCB,
)
from kernelbandits.policies.heavy import TGPUCB
from kernelbandits.policies.independent import UCB1, GaussianTS, UCBRevisited
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.ladder import KernelUCB, SupKernelUCB
from kernelbandits.policies.linear import OFUL, LinTS, RarelySwitchingOFUL
from kernelbandits.policies.optimising import Outcome, Trial, optimize
from kernelbandits.policies.partition import PiGPUCB
from kernelbandits.policies.random_queries import ExploitPlus, GPUCBPlus
from kernelbandits.policies.relatives import IRGPUCB, RandUCB
from kernelbandits.policies.thompson import GPTS
from kernelbandits.policies.tighter import AMMUCB, CMMUCB, DMMUCB
from kernelbandits.policies.tree import AdaptiveTree
from kernelbandits.policies.variance import StreamingUCB
from kernelbandits.policies.weighted import WGPUCB

__all__ = [
    "AMMUCB",
    "BPE",
    "CMMUCB",
    "DMMUCB",
    "GPTS",
    "GPUCB",
    "IGPUCB",
    "IRGPUCB",
    "MVR",
    "OFUL",
    "REDS",
    "RGPUCB",
    "TGPUCB",
    "TVGPUCB",
    "UCB1",
    "WGPUCB",
    "AdaptiveTree",
    "Auto",
    "Choice",
    "Explanation",
    "ExploitPlus",
    "GPUCBPlus",
    "GaussianTS",
    "GenericGP",
    "Greedy",
    "IndexPolicy",
    "KernelUCB",
    "LinTS",
    "Maximiser",
    "Outcome",
    "PiGPUCB",
    "Policy",
    "RandUCB",
    "RarelySwitchingOFUL",
    "SimpleBernoulli",
    "SimpleCategorical",
    "SimpleGaussian",
    "SimpleMixture",
    "SimpleUCB",
    "StreamingUCB",
    "SupKernelUCB",
    "Trial",
    "UCBRevisited",
    "UniformRandom",
    "WhitehouseUCB",
    "optimize",
]
