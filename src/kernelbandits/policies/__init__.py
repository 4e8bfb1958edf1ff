"""Policies: `ask` says what to play and changes nothing, `tell` and `fail` learn.

A policy is one file and one line in the list below; the catalogue, the tests and the documentation
find it there. `Policy` says what a policy of your own needs.

>>> import kernelbandits as kb
>>> policy = kb.policies.Greedy(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.1))
>>> choice = policy.ask(1, kb.Streams(0))
>>> policy.tell(choice, reward=0.7)
>>> policy.recommend() == choice.arm
True
>>> policy.tell(policy.choice(2), reward=0.9)
>>> policy.recommend()
2
"""

from kernelbandits.policies.acquisition import Acquisition as Acquisition
from kernelbandits.policies.acquisition import MixtureAcquisition as MixtureAcquisition
from kernelbandits.policies.acquisition import UpperConfidence as UpperConfidence
from kernelbandits.policies.auto import Auto as Auto
from kernelbandits.policies.balancing import LBGPUCB as LBGPUCB
from kernelbandits.policies.base import Policy as Policy
from kernelbandits.policies.baselines import Greedy as Greedy
from kernelbandits.policies.baselines import UniformRandom as UniformRandom
from kernelbandits.policies.batched import GPBUCB as GPBUCB
from kernelbandits.policies.budgeted import BKB as BKB
from kernelbandits.policies.choice import Choice as Choice
from kernelbandits.policies.confidence import GPUCB as GPUCB
from kernelbandits.policies.confidence import IGPUCB as IGPUCB
from kernelbandits.policies.confidence import WhitehouseUCB as WhitehouseUCB
from kernelbandits.policies.delayed import BPEDelay as BPEDelay
from kernelbandits.policies.discounted import WGPUCB as WGPUCB
from kernelbandits.policies.drifting import RGPUCB as RGPUCB
from kernelbandits.policies.drifting import TVGPUCB as TVGPUCB
from kernelbandits.policies.elimination import BPE as BPE
from kernelbandits.policies.elimination import MVR as MVR
from kernelbandits.policies.elimination import REDS as REDS
from kernelbandits.policies.epsilon_greedy import KernelEpsilonGreedy as KernelEpsilonGreedy
from kernelbandits.policies.front import Front as Front
from kernelbandits.policies.generic import GenericGP as GenericGP
from kernelbandits.policies.generic import SimpleBernoulli as SimpleBernoulli
from kernelbandits.policies.generic import SimpleCategorical as SimpleCategorical
from kernelbandits.policies.generic import SimpleGaussian as SimpleGaussian
from kernelbandits.policies.generic import SimpleMixture as SimpleMixture
from kernelbandits.policies.generic import SimpleUCB as SimpleUCB
from kernelbandits.policies.heavy_tails import ATAGPUCB as ATAGPUCB
from kernelbandits.policies.heavy_tails import TGPUCB as TGPUCB
from kernelbandits.policies.improvement import ExpectedImprovement as ExpectedImprovement
from kernelbandits.policies.improvement import ProbabilityOfImprovement as ProbabilityOfImprovement
from kernelbandits.policies.independent import UCB1 as UCB1
from kernelbandits.policies.independent import GaussianTS as GaussianTS
from kernelbandits.policies.independent import MaillardSampling as MaillardSampling
from kernelbandits.policies.independent import UCBRevisited as UCBRevisited
from kernelbandits.policies.index import IndexPolicy as IndexPolicy
from kernelbandits.policies.information_directed import (
    InformationDirectedSampling as InformationDirectedSampling,
)
from kernelbandits.policies.lin_rel import LinRel as LinRel
from kernelbandits.policies.lin_rel import SupLinRel as SupLinRel
from kernelbandits.policies.lin_ucb import LinUCB as LinUCB
from kernelbandits.policies.lin_ucb import SupLinUCB as SupLinUCB
from kernelbandits.policies.linear import OFUL as OFUL
from kernelbandits.policies.linear import LinTS as LinTS
from kernelbandits.policies.linear import RarelySwitchingOFUL as RarelySwitchingOFUL
from kernelbandits.policies.martingale_mixtures import AMMUCB as AMMUCB
from kernelbandits.policies.martingale_mixtures import CMMUCB as CMMUCB
from kernelbandits.policies.martingale_mixtures import DMMUCB as DMMUCB
from kernelbandits.policies.misspecified import AGPUCB as AGPUCB
from kernelbandits.policies.misspecified import ECGPUCB as ECGPUCB
from kernelbandits.policies.observations import Hyperparameters as Hyperparameters
from kernelbandits.policies.observations import Observations as Observations
from kernelbandits.policies.optimization import OptimizationTrial as OptimizationTrial
from kernelbandits.policies.optimization import Outcome as Outcome
from kernelbandits.policies.outcomes import LimitedOutcome as LimitedOutcome
from kernelbandits.policies.partition import PiGPUCB as PiGPUCB
from kernelbandits.policies.posterior_draws import EVILL as EVILL
from kernelbandits.policies.posterior_draws import GPEIMS as GPEIMS
from kernelbandits.policies.posterior_draws import PIMS as PIMS
from kernelbandits.policies.random_queries import ExploitPlus as ExploitPlus
from kernelbandits.policies.random_queries import GPUCBPlus as GPUCBPlus
from kernelbandits.policies.randomised_ucb import IRGPUCB as IRGPUCB
from kernelbandits.policies.randomised_ucb import FeaturePerturbation as FeaturePerturbation
from kernelbandits.policies.randomised_ucb import RandUCB as RandUCB
from kernelbandits.policies.round import Round as Round
from kernelbandits.policies.sup_kernel_ucb import KernelUCB as KernelUCB
from kernelbandits.policies.sup_kernel_ucb import SupKernelUCB as SupKernelUCB
from kernelbandits.policies.thompson import GPTS as GPTS
from kernelbandits.policies.tree import AdaptiveTree as AdaptiveTree
from kernelbandits.policies.unknown_variance import StreamingUCB as StreamingUCB
from kernelbandits.policies.variance_aware import VAGPUCB as VAGPUCB
from kernelbandits.policies.variance_aware import VAMVR as VAMVR
from kernelbandits.policies.variance_aware import VAPE as VAPE
