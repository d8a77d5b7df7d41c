"""multi-freq-ldpy: frequency oracles of the local model, as functions of numba and numpy."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tacit.audit.attack_suite.system import (
    InstalledLibrary,
    LocalMechanism,
    NotOfferedError,
)


class _MultiFreqQuestion(LocalMechanism):
    """Generalised randomised response over 0, ..., size - 1."""

    def __init__(self, size: int, epsilon: float) -> None:
        self._module = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
        self.size, self.epsilon = size, epsilon

    def report(self, item: Any) -> Any:
        """Return the report of one person."""
        return self._module.GRR_Client(item, self.size, self.epsilon)

    def accepts(self, report: Any) -> bool:
        """Return whether the aggregator counts it; an error passes through."""
        self._module.GRR_Aggregator_MI([report], self.size, self.epsilon)
        return True

    def impossible(self) -> Sequence[Any]:
        """Return numbers out of range, and what is no number."""
        return [self.size, -1, 2**40, "x", 0.5]

    def counts(self, reports: Sequence[Any]) -> Sequence[float]:
        """Return its shares, which are cut at 0 and add up to 1, times the number of reports."""
        shares = self._module.GRR_Aggregator_MI(reports, self.size, self.epsilon)
        return [float(share) * len(reports) for share in shares]


class MultiFreqLdpy(InstalledLibrary):
    """``GRR_Client`` and ``GRR_Aggregator_MI``."""

    name = "multi-freq-ldpy"
    distribution = "multi-freq-ldpy"
    modules = ("multi_freq_ldpy.pure_frequency_oracles.GRR",)

    def local(self, size: int, epsilon: float, form: str) -> LocalMechanism:
        """Return a question in direct encoding."""
        if form == "unary":
            raise NotOfferedError("unary reports through this adapter")
        return _MultiFreqQuestion(size, epsilon)

    def _drawn(self) -> Sequence[float]:
        question = _MultiFreqQuestion(1000, 0.1)
        return [float(question.report(3)) for _ in range(12)]


SYSTEM = MultiFreqLdpy
