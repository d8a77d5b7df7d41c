"""PyTorch: the noise and the random numbers that people train with, in single precision."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tacit.audit.attack_suite.system import InstalledLibrary


class Torch(InstalledLibrary):
    """``torch.randn``, ``torch.distributions.Laplace`` and ``torch.rand``."""

    name = "torch"
    distribution = "torch"
    modules = ("torch",)

    def noise(self, kind: str, value: float, scale: float) -> float:
        """Add noise of a scale to a tensor of one number."""
        torch: Any = importlib.import_module("torch")
        drawn = torch.randn(()) if kind == "gaussian" else _laplace(torch)
        return float(torch.tensor(value) + scale * drawn)

    def selected(self, rate: float, rows: int) -> int:
        """Compare uniform numbers with the rate, as loaders of samples do."""
        torch: Any = importlib.import_module("torch")
        block = 10_000_000
        return sum(int((torch.rand(block) < rate).sum()) for _ in range(rows // block))

    def seeded(self, seed: int) -> Sequence[float]:
        """Seed its own generator too."""
        importlib.import_module("torch").manual_seed(seed)
        return super().seeded(seed)


def _laplace(torch: Any) -> Any:
    return torch.distributions.Laplace(0.0, 1.0).sample()


SYSTEM = Torch
