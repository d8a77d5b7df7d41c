"""The algebra: domains, metrics, measures, transformations, measurements, and how they chain."""

from tacit.core.composition import compose, convert, parallel
from tacit.core.divergence import Profile
from tacit.core.domain import Category, Domain, Frame, Number, Vector
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
from tacit.core.space import Space, register_space, space_from
from tacit.core.step import Pipeline, Step, register, step_from
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
    "InsertDeleteDistance",
    "L1Distance",
    "L2Distance",
    "LInfinityDistance",
    "Measure",
    "Measurement",
    "Metric",
    "Number",
    "Pipeline",
    "Profile",
    "PureDP",
    "RenyiDP",
    "Space",
    "Step",
    "SymmetricDistance",
    "Transformation",
    "Unfinished",
    "Vector",
    "ZeroConcentratedDP",
    "compose",
    "convert",
    "measure_from",
    "parallel",
    "register",
    "register_join",
    "register_space",
    "space_from",
    "step_from",
]
