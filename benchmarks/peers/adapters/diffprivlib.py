"""diffprivlib: numpy's functions with privacy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version

import numpy as np
from benchmarks.peers.adapters.base import AGE, GROUPS, HOURS, Adapter, Answer, Columns
from diffprivlib import tools


class Diffprivlib(Adapter):
    """numpy arrays in, grouping by masks."""

    relation = "replace one row; sizes, also of groups, public (group_count: add or remove)"
    accounting = "epsilon of the call; groups in parallel"

    def version(self) -> str:
        return version("diffprivlib")

    def load(self, columns: Columns) -> None:
        self.age, self.hours = columns["age"], columns["hours"]
        self.occupation = columns["occupation"]
        # The size of an array is public here, and a count is cut to 0..size. A count of the ones of
        # an array of ones would lose half of its noise, which no user's count does: the rows that
        # are counted are half of the array.
        rows = len(self.age)
        self.counted = np.repeat([1, 0], rows)

    def group_count(self, epsilon: float) -> list[float]:
        counts, _ = tools.histogram(
            self.occupation, epsilon=epsilon, bins=GROUPS, range=(-0.5, GROUPS - 0.5)
        )
        return [float(count) for count in counts]

    def group_mean(self, epsilon: float) -> list[float]:
        return [
            float(tools.mean(self.age[self.occupation == key], epsilon=epsilon, bounds=AGE))
            for key in range(GROUPS)
        ]

    def tasks(self) -> Mapping[str, Callable[[float], Answer]]:
        return {
            "count": lambda epsilon: float(tools.count_nonzero(self.counted, epsilon=epsilon)),
            "sum": lambda epsilon: float(tools.sum(self.hours, epsilon=epsilon, bounds=HOURS)),
            "mean": lambda epsilon: float(tools.mean(self.age, epsilon=epsilon, bounds=AGE)),
            "median": lambda epsilon: float(tools.median(self.age, epsilon=epsilon, bounds=AGE)),
            "group_count": self.group_count,
            "group_mean": self.group_mean,
        }


ADAPTER = Diffprivlib
