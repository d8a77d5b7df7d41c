"""PipelineDP: aggregates by partition on its local backend."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.audit.attack_suite.system import (
    Bounds,
    InstalledLibrary,
    NotOfferedError,
    Rows,
    refuse_texts,
)

_FIELDS = {
    "count": "count",
    "sum": "sum",
    "mean": "mean",
    "variance": "variance",
    "median": "percentile_50",
}
_ALL = "all"


class PipelineDP(InstalledLibrary):
    """``pipeline_dp.DPEngine`` with Laplace noise, on tuples (person, partition, value)."""

    name = "pipeline-dp"
    distribution = "pipeline-dp"
    modules = ("pipeline_dp",)

    def statistic(
        self,
        kind: str,
        rows: Rows,
        *,
        bounds: Bounds | None = None,
        edges: Sequence[float] | None = None,
        epsilon: float = 1.0,
    ) -> Any:
        """Aggregate one public partition, one row a person."""
        refuse_texts(rows)
        if kind not in _FIELDS:
            raise NotOfferedError(f"a {kind}")
        people = [(person, _ALL, value) for person, value in enumerate(rows)]
        found = self._aggregated(kind, people, [_ALL], (epsilon, 0.0), bounds)
        return float(found[_ALL])

    def group_counts(
        self,
        keys: Sequence[Any],
        public: Sequence[Any] | None,
        *,
        epsilon: float,
        delta: float = 0.0,
    ) -> Mapping[Any, float]:
        """Count public partitions, or those that its selection of partitions chooses."""
        people = [(person, key, 1) for person, key in enumerate(keys)]
        return self._aggregated("count", people, public, (epsilon, delta), (0.0, 1.0))

    def people_sum(
        self,
        rows: Sequence[tuple[int, str, float]],
        public: Sequence[str],
        *,
        rows_each: int,
        groups_each: int,
        upper: float,
        epsilon: float,
    ) -> Mapping[str, float]:
        """Sum by public partition."""
        return self._aggregated(
            *("sum", rows, public, (epsilon, 0.0), (0.0, upper)), groups_each, rows_each
        )

    def _aggregated(
        self,
        kind: str,
        rows: Sequence[tuple[int, Any, Any]],
        public: Sequence[Any] | None,
        price: tuple[float, float],
        bounds: Bounds | None,
        groups_each: int = 1,
        rows_each: int = 1,
    ) -> dict[Any, float]:
        library = importlib.import_module("pipeline_dp")
        accountant = library.NaiveBudgetAccountant(total_epsilon=price[0], total_delta=price[1])
        engine = library.DPEngine(accountant, library.LocalBackend())
        metrics = library.Metrics
        metric = metrics.PERCENTILE(50) if kind == "median" else getattr(metrics, kind.upper())
        low, high = bounds or (None, None)
        lazy = engine.aggregate(
            list(rows),
            library.AggregateParams(
                noise_kind=library.NoiseKind.LAPLACE,
                metrics=[metric],
                max_partitions_contributed=groups_each,
                max_contributions_per_partition=rows_each,
                min_value=low,
                max_value=high,
            ),
            library.DataExtractors(*map(operator.itemgetter, range(3))),
            public_partitions=None if public is None else list(public),
        )
        accountant.compute_budgets()
        return {key: float(getattr(found, _FIELDS[kind])) for key, found in lazy}

    def noise(self, kind: str, value: float, scale: float) -> float:
        """Add the noise of its Laplace mechanism."""
        if kind != "laplace":
            raise NotOfferedError(f"{kind} noise of a given scale")
        module = importlib.import_module("pipeline_dp.dp_computations")
        return float(module.apply_laplace_mechanism(float(value), 1 / scale, 1.0))


SYSTEM = PipelineDP
