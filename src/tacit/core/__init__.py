"""The algebra: domains, metrics, measures, transformations, measurements, and how they chain."""

from tacit.core.compare import divergence, privacy_loss
from tacit.core.composition import compose, convert, parallel
from tacit.core.divergence import Profile, hockey_stick, max_divergence, total_variation
from tacit.core.domain import Category, Domain, Frame, Number, Vector
from tacit.core.idealised import IdealisedGaussian, IdealisedLaplace
from tacit.core.joining import register_join
from tacit.core.measure import (
    ApproximateDP,
    Measure,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    measure_from,
)
from tacit.core.measurement import Measurement
from tacit.core.metric import (
    AbsoluteDistance,
    ChangeOneDistance,
    DiscreteDistance,
    HammingDistance,
    InsertDeleteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Metric,
    SymmetricDistance,
)
from tacit.core.privacy_loss import PrivacyLoss, PrivacyLossDistribution
from tacit.core.renyi import renyi as renyi_divergence
from tacit.core.space import Space, register_space, space_from
from tacit.core.step import Pipeline, Step, register, step_from
from tacit.core.tradeoff import Tradeoff
from tacit.core.transformation import Transformation
from tacit.core.unfinished import Unfinished

__all__ = [
    "AbsoluteDistance",
    "ApproximateDP",
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
    "RenyiDP",
    "Space",
    "Step",
    "SymmetricDistance",
    "Tradeoff",
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
