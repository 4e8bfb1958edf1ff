"""Policies: `ask` says what to play and changes nothing, `tell` learns from one reward."""

from kernelbandits.policies.base import Choice, Policy
from kernelbandits.policies.floors import Greedy, UniformRandom
from kernelbandits.policies.index import (
    GPUCB,
    IGPUCB,
    GenericGP,
    IndexPolicy,
    SimpleBernoulli,
    SimpleCategorical,
    SimpleGaussian,
    SimpleMixture,
    SimpleUCB,
    WhitehouseUCB,
)
from kernelbandits.policies.thompson import GPTS

__all__ = [
    "GPTS",
    "GPUCB",
    "IGPUCB",
    "Choice",
    "GenericGP",
    "Greedy",
    "IndexPolicy",
    "Policy",
    "SimpleBernoulli",
    "SimpleCategorical",
    "SimpleGaussian",
    "SimpleMixture",
    "SimpleUCB",
    "UniformRandom",
    "WhitehouseUCB",
]
