"""JAX: the noise and the random numbers that people train with, in single precision."""

from __future__ import annotations

import importlib
import secrets
from collections.abc import Sequence
from typing import Any

from tacit.audit.attack_suite.system import InstalledLibrary, NotOfferedError


class Jax(InstalledLibrary):
    """``jax.random.normal``, ``laplace`` and ``uniform``, each with a key of its own."""

    name = "jax"
    distribution = "jax"
    modules = ("jax",)

    def noise(self, kind: str, value: float, scale: float) -> float:
        """Add noise of a scale to an array of one number."""
        random: Any = importlib.import_module("jax.random")
        draw = random.normal if kind == "gaussian" else random.laplace
        return float(value + scale * draw(_key(random)))

    def selected(self, rate: float, rows: int) -> int:
        """Compare uniform numbers with the rate, as loaders of samples do."""
        random: Any = importlib.import_module("jax.random")
        block = 10_000_000
        return sum(
            int((random.uniform(_key(random), (block,)) < rate).sum()) for _ in range(rows // block)
        )

    def seeded(self, seed: int) -> Sequence[float]:
        """Draw from the key of the seed: there is no other generator."""
        random: Any = importlib.import_module("jax.random")
        return [float(x) for x in random.laplace(random.key(seed), (4,))]

    def forked(self) -> tuple[Sequence[float], Sequence[float]]:
        """Refuse: its threads do not survive a fork."""
        raise NotOfferedError("forked processes")


def _key(random: Any) -> Any:
    return random.key(secrets.randbits(31))


SYSTEM = Jax
