"""Each local mechanism is found by the name that its description carries."""

import importlib
import inspect
import pkgutil

import tacit.local
from tacit.local.base.oracle import Oracle
from tacit.local.base.registry import MODULES


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
