"""Opacus: the noise of its optimiser and its Poisson sampler, as training uses them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tacit.audit.attack_suite.system import InstalledLibrary, NotOfferedError


class Opacus(InstalledLibrary):
    """``DPOptimizer`` and ``UniformWithReplacementSampler``, without ``secure_mode``."""

    name = "opacus"
    distribution = "opacus"
    modules = ("torch", "opacus.optimizers", "opacus.utils.uniform_sampler")

    def noise(self, kind: str, value: float, scale: float) -> float:
        """Make one step with one record, whose gradient is the number, at a clipping norm of 1."""
        if kind != "gaussian":
            raise NotOfferedError(f"{kind} noise")
        torch: Any = importlib.import_module("torch")
        optimizers: Any = importlib.import_module("opacus.optimizers")
        weight = torch.nn.Parameter(torch.zeros(()))
        weight.grad_sample = torch.tensor([float(value)])
        step = optimizers.DPOptimizer(
            torch.optim.SGD([weight], lr=1.0),
            noise_multiplier=scale,
            max_grad_norm=1.0,
            expected_batch_size=1,
        )
        step.pre_step()
        return float(weight.grad)

    def selected(self, rate: float, rows: int) -> int:
        """Draw batches of a data set."""
        sampler: Any = importlib.import_module("opacus.utils.uniform_sampler")
        size = 10_000_000
        batches = sampler.UniformWithReplacementSampler(
            num_samples=size, sample_rate=rate, steps=rows // size
        )
        return sum(len(batch) for batch in batches)

    def seeded(self, seed: int) -> Sequence[float]:
        """Seed the generator of PyTorch, of which it draws."""
        importlib.import_module("torch").manual_seed(seed)
        return self._drawn()

    def _drawn(self) -> Sequence[float]:
        return [self.noise("gaussian", 0.0, 5.0) for _ in range(4)]


SYSTEM = Opacus
