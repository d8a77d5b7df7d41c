"""PyDP: Google's building blocks from Python."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tacit.audit.attack_suite.system import (
    Bounds,
    InstalledLibrary,
    NotOfferedError,
    Rows,
    refuse_texts,
)

_NAMES = {"sum": "BoundedSum", "mean": "BoundedMean", "variance": "BoundedVariance"}


class PyDP(InstalledLibrary):
    """``pydp.algorithms.laplacian``."""

    name = "pydp"
    distribution = "python-dp"
    modules = ("pydp.algorithms.laplacian", "pydp.algorithms.numerical_mechanisms")

    def statistic(
        self,
        kind: str,
        rows: Rows,
        *,
        bounds: Bounds | None = None,
        edges: Sequence[float] | None = None,
        epsilon: float = 1.0,
    ) -> Any:
        """Run the algorithm of the same name."""
        refuse_texts(rows)
        laplacian = importlib.import_module("pydp.algorithms.laplacian")
        if kind == "histogram":
            raise NotOfferedError("a histogram")
        values = [float("nan") if value is None else value for value in rows]
        whole = all(isinstance(value, int) for value in values) and bool(values)
        if kind == "count":
            return float(
                laplacian.Count(epsilon=epsilon, dtype="int").quick_result([1] * len(rows))
            )
        limits: dict[str, Any] = {}
        if bounds is not None:
            given = [int(b) if whole else float(b) for b in bounds]
            limits = {"lower_bound": given[0], "upper_bound": given[1]}
        dtype = "int64" if whole else "float"
        name = "Median" if kind == "median" else _NAMES[kind]
        made = getattr(laplacian, name)(epsilon=epsilon, dtype=dtype, **limits)
        return float(made.quick_result(values))

    def noise(self, kind: str, value: float, scale: float) -> float:
        """Add the noise of a mechanism of sensitivity 1."""
        if kind != "laplace":
            raise NotOfferedError(f"{kind} noise of a given scale")
        mechanisms = importlib.import_module("pydp.algorithms.numerical_mechanisms")
        return float(mechanisms.LaplaceMechanism(1 / scale, 1.0).add_noise(float(value)))


SYSTEM = PyDP
