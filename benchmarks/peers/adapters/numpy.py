"""numpy without privacy: the floor of what the work costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from benchmarks.peers.adapters.base import GROUPS, Adapter, Answer, Columns


class Numpy(Adapter):
    """Plain arrays; epsilon is not used."""

    relation = "none (no privacy)"
    accounting = "none"

    def version(self) -> str:
        return np.__version__

    def load(self, columns: Columns) -> None:
        self.age, self.hours = columns["age"], columns["hours"]
        self.occupation = columns["occupation"]

    def counts(self) -> np.ndarray:
        return np.bincount(self.occupation, minlength=GROUPS)[:GROUPS]

    def group_mean(self) -> list[float]:
        sums = np.bincount(self.occupation, weights=self.age, minlength=GROUPS)[:GROUPS]
        return [float(mean) for mean in sums / self.counts()]

    def tasks(self) -> Mapping[str, Callable[[float], Answer]]:
        return {
            "count": lambda _: float(len(self.age)),
            "sum": lambda _: float(self.hours.sum()),
            "mean": lambda _: float(self.age.mean()),
            "median": lambda _: float(np.median(self.age)),
            "group_count": lambda _: [float(count) for count in self.counts()],
            "group_mean": lambda _: self.group_mean(),
        }


ADAPTER = Numpy
