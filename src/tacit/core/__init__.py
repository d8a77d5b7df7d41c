"""The algebra: domains, metrics, measures, transformations, measurements, and how they chain."""

from tacit.core.composition import compose, convert, parallel
from tacit.core.divergences import PrivacyProfile, hockey_stick, max_divergence, total_variation
from tacit.core.divergences import renyi as renyi_divergence
from tacit.core.domains import Category, Domain, Frame, Number, Vector
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.core.measurement import Measurement
from tacit.core.measures import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    Measure,
    PureDP,
    ZeroConcentratedDP,
)
from tacit.core.metrics import (
    AbsoluteDistance,
    ChangeOneDistance,
    DiscreteDistance,
    HammingDistance,
    InsertDeleteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Metric,
    SparseDistance,
    SymmetricDistance,
)
from tacit.core.outputs import IdealisedGaussian, IdealisedLaplace, divergence, privacy_loss
from tacit.core.renyi import RenyiCurve, RenyiDP, measure_from
from tacit.core.space import (
    Pipeline,
    Space,
    Step,
    Unfinished,
    register,
    register_join,
    register_space,
    space_from,
    step_from,
)
from tacit.core.tradeoff import Tradeoff, TradeoffFunction
from tacit.core.transformation import Transformation

__all__ = [
    "AbsoluteDistance",
    "ApproximateDP",
    "ApproximateZeroConcentratedDP",
    "Category",
    "ChangeOneDistance",
    "DiscreteDistance",
    "Domain",
    "Frame",
    "HammingDistance",
    "IdealisedGaussian",
    "IdealisedLaplace",
    "InsertDeleteDistance",
    "L1Distance",
    "L2Distance",
    "LInfinityDistance",
    "Measure",
    "Measurement",
    "Metric",
    "Number",
    "Pipeline",
    "PrivacyLoss",
    "PrivacyLossDistribution",
    "PrivacyProfile",
    "PureDP",
    "RenyiCurve",
    "RenyiDP",
    "Space",
    "SparseDistance",
    "Step",
    "SymmetricDistance",
    "Tradeoff",
    "TradeoffFunction",
    "Transformation",
    "Unfinished",
    "Vector",
    "ZeroConcentratedDP",
    "compose",
    "convert",
    "divergence",
    "hockey_stick",
    "max_divergence",
    "measure_from",
    "parallel",
    "privacy_loss",
    "register",
    "register_join",
    "register_space",
    "renyi_divergence",
    "space_from",
    "step_from",
    "total_variation",
]
