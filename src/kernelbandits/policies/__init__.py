"""Policies: `ask` says what to play and changes nothing, `tell` learns from one reward."""

from kernelbandits.policies.base import Choice, Maximiser, Policy
from kernelbandits.policies.confidence import GPUCB, IGPUCB, WhitehouseUCB
from kernelbandits.policies.floors import Greedy, UniformRandom
from kernelbandits.policies.generic import (
    GenericGP,
    SimpleBernoulli,
    SimpleCategorical,
    SimpleGaussian,
    SimpleMixture,
    SimpleUCB,
)
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.thompson import GPTS

__all__ = [
    "GPTS",
    "GPUCB",
    "IGPUCB",
    "Choice",
    "GenericGP",
    "Greedy",
    "IndexPolicy",
    "Maximiser",
    "Policy",
    "SimpleBernoulli",
    "SimpleCategorical",
    "SimpleGaussian",
    "SimpleMixture",
    "SimpleUCB",
    "UniformRandom",
    "WhitehouseUCB",
]
