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
from tacit.local.items import Items
from tacit.local.layout import Layout
from tacit.local.oracle import FrequencyOracle, Oracle, PureOracle, State, oracle_from

__all__ = [
    "GRR",
    "DirectEncoding",
    "Estimate",
    "FrequencyOracle",
    "Items",
    "Layout",
    "Oracle",
    "PureOracle",
    "State",
    "oracle_from",
]
