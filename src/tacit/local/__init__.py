"""The local model: answers are randomised on the device, and nobody has to be trusted.

A mechanism is built from a public list of items and an epsilon.  ``perturb`` runs on the device
of one person; ``aggregate`` adds reports up to exact sums that merge; ``estimate`` turns sums into
unbiased counts with standard errors.

    >>> from tacit.local import DirectEncoding
    >>> question = DirectEncoding(["yes", "no", "rather not say"], epsilon=2)
    >>> reports = question.perturb_many(["yes", "no", "no", "rather not say"] * 250)
    >>> question.estimate(reports).n
    1000
"""

from tacit.local.direct import GRR, DirectEncoding
from tacit.local.estimate import Estimate
from tacit.local.hadamard import HadamardResponse
from tacit.local.hashing import BinaryLocalHashing, LocalHashing, OptimizedLocalHashing
from tacit.local.items import Items
from tacit.local.layout import Layout
from tacit.local.oracle import FrequencyOracle, Oracle, PureOracle, State, oracle_from
from tacit.local.randomized_response import RandomizedResponse
from tacit.local.subset import SubsetSelection
from tacit.local.unary import UnaryEncoding

__all__ = [
    "GRR",
    "BinaryLocalHashing",
    "DirectEncoding",
    "Estimate",
    "FrequencyOracle",
    "HadamardResponse",
    "Items",
    "Layout",
    "LocalHashing",
    "OptimizedLocalHashing",
    "Oracle",
    "PureOracle",
    "RandomizedResponse",
    "State",
    "SubsetSelection",
    "UnaryEncoding",
    "oracle_from",
]
