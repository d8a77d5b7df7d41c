"""diffprivlib (IBM): numpy's functions with privacy."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.audit.attack_suite.system import (
    Bounds,
    InstalledLibrary,
    NotOfferedError,
    Rows,
    SystemBudget,
    refuse_texts,
    seed_everything,
)


def _tools() -> Any:
    return importlib.import_module("diffprivlib.tools")


def _half(ones: int) -> Any:
    """An array of so many ones and as many zeros."""
    # A count is cut to 0..size, the size being public here.  A count of an array of ones would lose
    # the half of its noise that is above the size, which no user's count of some rows does.
    return np.repeat([1, 0], ones)


class Diffprivlib(InstalledLibrary):
    """``diffprivlib.tools``, its mechanisms and its accountant."""

    name = "diffprivlib"
    distribution = "diffprivlib"
    modules = ("diffprivlib", "diffprivlib.tools", "diffprivlib.mechanisms")

    def statistic(
        self,
        kind: str,
        rows: Rows,
        *,
        bounds: Bounds | None = None,
        edges: Sequence[float] | None = None,
        epsilon: float = 1.0,
    ) -> Any:
        """Call the function of the same name on an array."""
        refuse_texts(rows)
        tools, values = _tools(), np.array(rows)
        if kind == "count":
            return float(tools.count_nonzero(_half(len(rows)), epsilon=epsilon))
        if kind == "histogram":
            bins = 3 if edges is None else list(edges)
            reach = None if edges is None else (edges[0], edges[-1])
            counts, _ = tools.histogram(values, epsilon=epsilon, bins=bins, range=reach)
            return [float(x) for x in counts]
        function = getattr(tools, {"variance": "var"}.get(kind, kind))
        return float(function(values, epsilon=epsilon, bounds=bounds))

    def account(self, budget: float) -> SystemBudget:
        """Return its budget accountant."""
        return _Accountant(budget)

    def noise(self, kind: str, value: float, scale: float) -> float:
        """Add the noise of a mechanism of sensitivity 1."""
        mechanisms = importlib.import_module("diffprivlib.mechanisms")
        if kind != "laplace":
            raise NotOfferedError(f"{kind} noise of a given scale")
        return float(mechanisms.Laplace(epsilon=1 / scale, sensitivity=1).randomise(value))

    def seeded(self, seed: int) -> Sequence[float]:
        """Seed Python's and numpy's generators, and release."""
        seed_everything(seed)
        return [self.statistic("sum", [1.0] * 9, bounds=(0, 1), epsilon=0.1) for _ in range(3)]


class _Accountant(SystemBudget):
    def __init__(self, budget: float) -> None:
        self._own = importlib.import_module("diffprivlib").BudgetAccountant(budget, 0)

    def ask(self, epsilon: float, label: str) -> float:
        """Count a hundred ones."""
        counted = _half(100)
        return float(_tools().count_nonzero(counted, epsilon=epsilon, accountant=self._own))

    def spent(self) -> float:
        """Return the total of the accountant."""
        return float(self._own.total()[0])

    def fail(self, epsilon: float, label: str) -> None:
        """Ask for the sum of a column with a text in it, which its comparisons refuse."""
        values = np.array([1.0, "x", 2.0], dtype=object)
        _tools().sum(values, epsilon=epsilon, bounds=(0, 10), accountant=self._own)


SYSTEM = Diffprivlib
