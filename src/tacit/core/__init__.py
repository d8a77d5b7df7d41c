"""The algebra: domains, metrics, measures, transformations, measurements, and how they chain."""

from tacit.core.chain.composition import compose, convert, parallel
from tacit.core.chain.join_hints import register_join
from tacit.core.chain.measurement import Measurement
from tacit.core.chain.partial_chain import Unfinished
from tacit.core.chain.space import Space, register_space, space_from
from tacit.core.chain.step import Pipeline, Step, register, step_from
from tacit.core.chain.transformation import Transformation
from tacit.core.divergences.divergence import Profile, hockey_stick, max_divergence, total_variation
from tacit.core.divergences.renyi import renyi as renyi_divergence
from tacit.core.divergences.tradeoff import Tradeoff
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.core.measures.continuous_noise import IdealisedGaussian, IdealisedLaplace
from tacit.core.measures.from_description import measure_from
from tacit.core.measures.measure import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    Measure,
    PureDP,
    ZeroConcentratedDP,
)
from tacit.core.measures.output_divergence import divergence, privacy_loss
from tacit.core.measures.renyi_measures import RenyiCurve, RenyiDP
from tacit.core.measures.tradeoff_function import TradeoffFunction
from tacit.core.spaces.domain import Category, Domain, Frame, Number, Vector
from tacit.core.spaces.metric import (
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
    "Profile",
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
