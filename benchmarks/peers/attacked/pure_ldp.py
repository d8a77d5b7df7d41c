"""pure-ldp: frequency oracles of the local model, clients and servers."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Sequence
from typing import Any

from tacit.audit.attack_suite.system import (
    InstalledLibrary,
    LocalMechanism,
)

_HOME = "pure_ldp.frequency_oracles"
_MODULES = {"direct": ("direct_encoding", "DE"), "unary": ("unary_encoding", "UE")}


def _same(item: Any) -> Any:
    return item


class _Question(LocalMechanism):
    """Direct or unary encoding over 0, ..., size - 1."""

    def __init__(self, size: int, epsilon: float, form: str) -> None:
        self.size, self.epsilon, self.unary = size, epsilon, form == "unary"
        module, self._prefix = _MODULES["unary" if self.unary else "direct"]
        self._module = importlib.import_module(f"{_HOME}.{module}")
        self._client = self._made("Client")

    def _made(self, part: str) -> Any:
        made = getattr(self._module, self._prefix + part)
        return made(self.epsilon, self.size, index_mapper=_same)

    def report(self, item: Any) -> Any:
        """Return the report of one person."""
        return self._client.privatise(item)

    def losses(self) -> float:
        """Return the log ratio by the two probabilities that the client draws with."""
        p, q = float(self._client.p), float(self._client.q)
        ratio = p * (1 - q) / (q * (1 - p)) if self.unary else p / q
        return math.log(ratio)

    def accepts(self, report: Any) -> bool:
        """Return whether the server counts it; an error passes through."""
        self._made("Server").aggregate(report)
        return True

    def impossible(self) -> Sequence[Any]:
        """Return numbers out of range, and what is no number."""
        return [self.size, -1, 2**40, "x", 0.5]

    def counts(self, reports: Sequence[Any]) -> Sequence[float]:
        """Return the estimates of the server."""
        server = self._made("Server")
        server.aggregate_all(reports)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few reports
            return [float(x) for x in server.estimate_all(range(self.size))]


class PureLdp(InstalledLibrary):
    """``DEClient`` and ``UEClient`` with their servers."""

    name = "pure-ldp"
    distribution = "pure-ldp"
    modules = tuple(f"{_HOME}.{module}" for module, _ in _MODULES.values())

    def local(self, size: int, epsilon: float, form: str) -> LocalMechanism:
        """Return a question; one bit is direct encoding of two items."""
        return _Question(size, epsilon, form)

    def _drawn(self) -> Sequence[float]:
        question = _Question(1000, 0.1, "direct")
        return [float(question.report(3)) for _ in range(12)]


SYSTEM = PureLdp
