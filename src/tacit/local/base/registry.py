"""Where each local mechanism is, by the name that its description carries."""

from __future__ import annotations

import importlib

__all__ = ["MODULES", "load"]

_FOLDERS: dict[str, dict[str, tuple[str, ...]]] = {
    "frequency": {
        "count_mean_sketch": ("CountMeanSketch", "HadamardCountMeanSketch"),
        "direct_encoding": ("DirectEncoding",),
        "hadamard_response": ("HadamardResponse",),
        "histogram_encoding": ("SummationHistogram", "ThresholdHistogram"),
        "local_hashing": ("BinaryLocalHashing", "LocalHashing", "OptimizedLocalHashing"),
        "randomized_response": ("RandomizedResponse",),
        "subset_selection": ("SubsetSelection",),
        "unary_encoding": ("UnaryEncoding",),
    },
    "numeric": {
        "duchi": ("Duchi",),
        "hybrid_mean": ("HybridMean",),
        "laplace_mean": ("LaplaceMean",),
        "piecewise": ("Piecewise",),
        "square_wave": ("SquareWave",),
    },
    "repeated": {"rappor": ("Rappor",), "two_stage": ("TwoStage",)},
    "structured": {
        "attributes": ("AttributeSampling", "AttributeSplitting"),
        "heavy_hitters": ("PrefixExtending",),
        "hierarchical_ranges": ("HierarchicalRanges",),
        "key_value": ("KeyValue",),
        "padded_sets": ("PaddedSets",),
    },
}
MODULES: dict[str, str] = {
    name: f"tacit.local.{folder}.{module}"
    for folder, modules in _FOLDERS.items()
    for module, names in modules.items()
    for name in names
}
"""The module of each mechanism."""


def load(name: str) -> None:
    """Import the module of a mechanism, if it is one of Tacit's; it makes itself known.

    >>> load("DirectEncoding")
    """
    if name in MODULES:
        importlib.import_module(MODULES[name])
