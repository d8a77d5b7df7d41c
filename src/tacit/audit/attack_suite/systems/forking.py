"""Generators seeded, and noise drawn in forked processes: the same for every system."""

from __future__ import annotations

import importlib
import json
import os
import signal
from collections.abc import Callable, Sequence

__all__ = ["forked_numbers", "seed_everything"]

SEEDED = ("random", "numpy.random")
"""The generators of Python and numpy that a program can seed; Tacit draws from neither."""


def seed_everything(seed: int) -> None:
    """Seed the generators that a library may draw its noise from."""
    for name in SEEDED:
        importlib.import_module(name).seed(seed)


def forked_numbers(draw: Callable[[], Sequence[float]]) -> tuple[Sequence[float], Sequence[float]]:
    """Return what two processes draw that are forked from this one, one after the other."""
    first, second = (_in_a_fork(draw) for _ in range(2))
    return first, second


def _in_a_fork(draw: Callable[[], Sequence[float]]) -> list[float]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(list(draw())).encode())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)  # without what its parent would do at its end
    os.close(writing)
    with os.fdopen(reading) as answers:
        text = answers.read()
    os.waitpid(child, 0)
    return [float(x) for x in json.loads(text)]
