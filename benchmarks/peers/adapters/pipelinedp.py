"""PipelineDP on its local backend."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from importlib.metadata import version

import pipeline_dp
from benchmarks.peers.adapters.base import AGE, GROUPS, HOURS, Adapter, Answer, Columns

Row = tuple[int, int, int, int]  # person, age, hours, occupation


class PipelineDP(Adapter):
    """Tuples in; one public partition for the whole table, or one an occupation."""

    relation = "add or remove one person (one row each)"
    accounting = "NaiveBudgetAccountant of total epsilon, delta 0, public partitions"

    def version(self) -> str:
        return version("pipeline-dp")

    def load(self, columns: Columns) -> None:
        age, hours, occupation = (columns[name].tolist() for name in ("age", "hours", "occupation"))
        self.rows: list[Row] = list(zip(range(len(age)), age, hours, occupation, strict=True))

    def run(
        self,
        metric: pipeline_dp.Metric,
        field: str,
        epsilon: float,
        column: int,
        bounds: tuple[int, int],
        grouped: bool,
    ) -> list[float]:
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=0)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        extractors = pipeline_dp.DataExtractors(
            privacy_id_extractor=operator.itemgetter(0),
            partition_extractor=operator.itemgetter(3) if grouped else lambda row: 0,
            value_extractor=operator.itemgetter(column),
        )
        parameters = pipeline_dp.AggregateParams(
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            metrics=[metric],
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            min_value=bounds[0],
            max_value=bounds[1],
        )
        keys = list(range(GROUPS)) if grouped else [0]
        lazy = engine.aggregate(self.rows, parameters, extractors, public_partitions=keys)
        accountant.compute_budgets()
        answers = {key: getattr(values, field) for key, values in lazy}
        return [float(answers[key]) for key in keys]

    def tasks(self) -> Mapping[str, Callable[[float], Answer]]:
        run, metrics = self.run, pipeline_dp.Metrics
        median = metrics.PERCENTILE(50)
        return {
            "count": lambda epsilon: run(metrics.COUNT, "count", epsilon, 1, AGE, False)[0],
            "sum": lambda epsilon: run(metrics.SUM, "sum", epsilon, 2, HOURS, False)[0],
            "mean": lambda epsilon: run(metrics.MEAN, "mean", epsilon, 1, AGE, False)[0],
            "median": lambda epsilon: run(median, "percentile_50", epsilon, 1, AGE, False)[0],
            "group_count": lambda epsilon: run(metrics.COUNT, "count", epsilon, 1, AGE, True),
            "group_mean": lambda epsilon: run(metrics.MEAN, "mean", epsilon, 1, AGE, True),
        }


ADAPTER = PipelineDP
