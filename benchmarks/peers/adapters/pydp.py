"""PyDP: Google's building blocks from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import pydp.algorithms.laplacian as laplacian
from benchmarks.peers.adapters.base import AGE, GROUPS, HOURS, Adapter, Answer, Columns


class PyDP(Adapter):
    """Lists in, as its interface is typed; the rows of each group are handed over as one list."""

    relation = "add or remove one row"
    accounting = "epsilon of the algorithm, which splits it inside; groups in parallel"

    def version(self) -> str:
        return version("python-dp")

    def load(self, columns: Columns) -> None:
        self.age, self.hours = columns["age"].tolist(), columns["hours"].tolist()
        self.ages = [columns["age"][columns["occupation"] == key].tolist() for key in range(GROUPS)]

    def run(
        self, name: str, epsilon: float, rows: list[int], bounds: tuple[int, int] | None, dtype: str
    ) -> float:
        limits: dict[str, Any] = (
            {} if bounds is None else {"lower_bound": bounds[0], "upper_bound": bounds[1]}
        )
        algorithm = getattr(laplacian, name)(epsilon=epsilon, dtype=dtype, **limits)
        return float(algorithm.quick_result(rows))

    def tasks(self) -> Mapping[str, Callable[[float], Answer]]:
        run = self.run
        return {
            "count": lambda epsilon: run("Count", epsilon, self.age, None, "int"),
            "sum": lambda epsilon: run("BoundedSum", epsilon, self.hours, HOURS, "int64"),
            "mean": lambda epsilon: run("BoundedMean", epsilon, self.age, AGE, "int"),
            "median": lambda epsilon: run("Median", epsilon, self.age, AGE, "float"),
            "group_count": lambda epsilon: [
                run("Count", epsilon, rows, None, "int") for rows in self.ages
            ],
            "group_mean": lambda epsilon: [
                run("BoundedMean", epsilon, rows, AGE, "int") for rows in self.ages
            ],
        }


ADAPTER = PyDP
