"""Each local mechanism is found by the name that its description carries."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import random
from contextlib import suppress
from typing import Any

import pytest

import tacit.local
from local.every_mechanism import ORACLES
from tacit.errors import TacitError, UsageError
from tacit.local import (
    DirectEncoding,
    oracle_from,
)
from tacit.local.batch_file import Header
from tacit.local.oracle import MODULES, Oracle


def kinds(base: type) -> set[type]:
    """All subclasses."""
    return {base}.union(*(kinds(kind) for kind in base.__subclasses__()))


def test_every_mechanism_stands_in_the_registry() -> None:
    for module in pkgutil.walk_packages(tacit.local.__path__, "tacit.local."):
        importlib.import_module(module.name)
    ours = {
        kind.__name__: kind.__module__
        for kind in kinds(Oracle)
        if kind.__module__.startswith("tacit.local.")
        and not inspect.isabstract(kind)
        and not kind.__name__.startswith("_")
    }
    assert ours == MODULES


def changed(value: Any, chance: random.Random) -> Any:
    """Return a description with something in it exchanged."""
    odd = [None, -1, 0, 1e308, float("nan"), "x", "1e999999", "1/0", [], {}, [[]], 2**70, True,
           "9" * 5000, "1e-999", 2**40]  # fmt: skip
    if chance.random() < 0.25:
        return chance.choice(odd)
    if isinstance(value, dict) and value:
        key, copy = chance.choice(list(value)), dict(value)
        if chance.random() < 0.15:
            del copy[key]
        else:
            copy[key] = changed(value[key], chance)
        return copy
    if isinstance(value, list) and value:
        place, listed = chance.randrange(len(value)), list(value)
        listed[place] = changed(value[place], chance)
        return listed
    return chance.choice(odd)


@pytest.mark.parametrize("name", ORACLES)
def test_a_forged_description_is_refused_in_words(name: str) -> None:
    chance = random.Random(name)
    for _ in range(150):
        with suppress(TacitError):  # what it still describes is a mechanism
            assert oracle_from(changed(ORACLES[name].describe(), chance)).layout.bits > 0


def test_deep_descriptions_are_refused() -> None:
    nested: dict[str, Any] = DirectEncoding(5, epsilon=1).describe()
    for _ in range(3000):
        nested = {"mechanism": "PaddedSets", "oracle": nested, "length": 1}
    with pytest.raises(UsageError):
        oracle_from(nested)
    for text in (b"[" * 200_000, b"\xff", b"[]", b"9" * 9999):
        with pytest.raises(UsageError, match="does not describe a local mechanism"):
            Header(bytes(32), b"ab", True, 8, text).oracle()
