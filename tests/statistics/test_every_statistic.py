"""Every statistic is registered, and has a row in the list that is held against enumeration."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import tacit.statistics
from support.by_hand.statistics_oracle import HELD_BESIDE, ROOTS, VALUES
from tacit.statistics.global_sensitivity import NAMES, lookup
from tacit.statistics.statistic import Statistic

ROOT = Path(__file__).parents[2]
MADE_WITH_A_NUMBER = {"Function", "Histogram", "Quantile"}
"""What is asked for by a function, edges or a percentage, and has no plain name."""


def kinds(base: type[Statistic]) -> Iterator[type[Statistic]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


def ours() -> set[str]:
    """The names of the classes of statistics in the package."""
    for module in pkgutil.walk_packages(tacit.statistics.__path__, "tacit.statistics."):
        importlib.import_module(module.name)
    return {
        kind.__name__
        for kind in kinds(Statistic)
        if kind.__module__.startswith("tacit.statistics.")
        and not inspect.isabstract(kind)
        and not kind.__name__.startswith("_")
    }


def test_every_statistic_is_registered() -> None:
    assert ours() == {type(lookup(name)).__name__ for name in NAMES} | MADE_WITH_A_NUMBER


def test_every_statistic_has_a_row_in_the_oracles_list() -> None:
    rows = {type(lookup(name)).__name__ for name in [*VALUES, *ROOTS]}
    assert rows | set(HELD_BESIDE) == ours()


def test_what_is_held_beside_is_enumerated_there() -> None:
    for name, place in HELD_BESIDE.items():
        text = (ROOT / place).read_text(encoding="utf-8")
        assert "statistics_oracle" in text, name
