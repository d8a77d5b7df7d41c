"""PyDP: Google's building blocks from Python."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from tacit.audit.attack_suite.system import Bounds, NotOfferedError, Rows, System
from tacit.audit.attack_suite.systems.forking import forked_numbers, seed_everything

__all__ = ["SYSTEM", "PyDP"]

_NAMES = {"sum": "BoundedSum", "mean": "BoundedMean", "variance": "BoundedVariance"}


class PyDP(System):
    """``pydp.algorithms.laplacian``."""

    name = "pydp"
    title = "PyDP"

    def version(self) -> str:
        """Return the version that is installed."""
        return version("python-dp")

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
        if any(isinstance(value, str) for value in rows):
            raise NotOfferedError("a column of numbers with texts in it")
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

    def seeded(self, seed: int) -> Sequence[float]:
        """Seed Python's and numpy's generators, and release."""
        seed_everything(seed)
        return [self.noise("laplace", 0.0, 5.0) for _ in range(4)]

    def forked(self) -> tuple[Sequence[float], Sequence[float]]:
        """Release in two forked processes."""
        self.noise("laplace", 0.0, 5.0)
        return forked_numbers(lambda: [self.noise("laplace", 0.0, 5.0) for _ in range(4)])


SYSTEM = PyDP
