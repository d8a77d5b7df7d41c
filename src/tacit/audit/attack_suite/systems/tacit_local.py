"""Tacit's local model: questions, devices and a collector."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.audit.attack_suite.system import (
    LocalMechanism,
    TacitSystem,
    forked_numbers,
    seed_everything,
)
from tacit.local import (
    Collector,
    Device,
    DirectEncoding,
    UnaryEncoding,
)
from tacit.local import RandomizedResponse as OneBit


class TacitQuestion(LocalMechanism):
    """One question over the items 0, 1, ..."""

    def __init__(self, size: int, epsilon: float, form: str) -> None:
        self.size = size
        if form == "binary":
            self.oracle: Any = OneBit(epsilon=epsilon)
        else:
            kind: Any = {"direct": DirectEncoding, "unary": UnaryEncoding}[form]
            self.oracle = kind(range(size), epsilon=epsilon)

    def report(self, item: Any) -> Any:
        return self.oracle.perturb(item)

    def losses(self) -> float:
        return float(self.oracle.epsilon)

    def accepts(self, report: Any) -> bool:
        return Collector(self.oracle).add([report]) == 1

    def impossible(self) -> Sequence[Any]:
        return [self.size, -1, 2**40, "x", 0.5]

    def counts(self, reports: Sequence[Any]) -> Sequence[float]:
        estimates = np.ravel(self.oracle.estimate(np.array(reports)).counts)
        counts = [float(x) for x in estimates]
        return counts if len(counts) > 1 else [len(reports) - counts[0], counts[0]]

    def device(self) -> Any:
        return _Phone(self.oracle)


class _Phone:
    def __init__(self, oracle: Any) -> None:
        self._oracle, self._device = oracle, Device(budget=2)

    def report(self, item: Any) -> int:
        report: Any = self._device.report(self._oracle, item)
        return int(report)


class TacitLocal(TacitSystem):
    """Questions whose answers are randomised at the person."""

    name = "tacit-local"

    def local(self, size: int, epsilon: float, form: str) -> LocalMechanism:
        return TacitQuestion(size, epsilon, form)

    def seeded(self, seed: int) -> Sequence[float]:
        seed_everything(seed)
        question = TacitQuestion(1000, 0.1, "direct")
        return [float(question.report(3)) for _ in range(12)]

    def forked(self) -> tuple[Sequence[float], Sequence[float]]:
        question = TacitQuestion(1000, 0.1, "direct")
        question.report(3)
        return forked_numbers(lambda: [float(question.report(3)) for _ in range(12)])

    def noise_costs(self, count: int) -> Sequence[tuple[float, float]]:
        question = TacitQuestion(1000, 6.0, "direct")
        costs = []
        for _ in range(count):
            started = time.thread_time_ns()
            report = question.report(3)
            costs.append((float(int(report) != 3), float(time.thread_time_ns() - started)))
        return costs


SYSTEM = TacitLocal
