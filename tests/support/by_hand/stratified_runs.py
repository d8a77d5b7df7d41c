"""Runs of a mechanism whose uniforms are spread evenly: real releases, fed through the one door.

Independent runs of Laplace noise know its mean size to ``1 / sqrt(runs)``: 7.1 percent for 200.
That is no property of the mechanism, and *stratified* runs do not have it.  Cut the uniforms behind
the noise into as many equal parts as there are runs, and draw one in each: every release has gone
the real way from bits to answer, their mean size still has the true mean, and what is left of its
variance is that within the parts.

* **Discrete Laplace.**  The digits of a draw come from words of 64 bits, one a digit.  A magnitude
  and a sign are drawn within their parts, and then the words, uniformly among those that give it:
  the law of the words in that part.
* **Smooth noise.**  Exponential and uniform numbers come from a word, whose leading digits are
  stratified; a point of the disc from two, and its angle and squared radius are.  Small words and
  radii are the tail, so they are drawn more often than they occur, and counted less: the weights.

Several uniforms at once follow a lattice of irrational steps (Niederreiter 1992), shifted at
random.  The shift has a fixed seed, so a test with these runs always ends alike.
"""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tacit.mechanisms.smooth_distributions import Uniform
from tacit.noise import bits
from tacit.noise.samplers import GeometricDigits

_LEAST = 1e-6
_STEPS = 0.7548776662466927, 0.5698402909980532, 2**0.5, 3**0.5
"""The first two are powers of the inverse of the plastic number."""
_PARTS = {
    "laplace": ("exponential", "sign"),
    "cauchy": ("disc",),
    "student_t": ("disc",),
    "laplace_log_normal": ("exponential", "disc", "sign"),
    "uniform_log_normal": ("uniform", "disc"),
    "arsinh_normal": ("disc",),
}


def spread(runs: int, rng: Any) -> Iterator[Any]:
    """Yield coordinates of so many points: first one number in each equal part of (0, 1)."""
    place = np.arange(runs)
    yield (place + rng.random(runs)) / runs
    for step in _STEPS:
        yield (place * step + rng.random()) % 1


def towards_zero(u: Any) -> tuple[Any, Any]:
    """Return numbers of (0, 1) and their weights: half uniform, half over six magnitudes."""
    grid = np.append(0, np.geomspace(_LEAST, 1, 20_001))
    share = 1 - np.log(np.maximum(grid, _LEAST)) / np.log(_LEAST)
    found = np.interp(u, (grid + share) / 2, grid)
    density = np.where(found < _LEAST, 0, -1 / (np.maximum(found, _LEAST) * np.log(_LEAST)))
    return found, 2 / (1 + density)


def smooth_bits(distribution: str, runs: int, rng: Any) -> tuple[bytes, Any]:
    """Return the bits of so many draws of a unit noise, and the weight of each."""
    parts = _PARTS[distribution]
    points = spread(runs, rng)
    columns: dict[str, list[Any]] = {}
    weights = np.ones(runs)
    for part in sorted(parts, key=("disc", "exponential", "uniform", "sign").index):
        if part == "sign":  # by turns, as the tail is in order
            turns = (np.arange(runs) / 2 + rng.random()) % 1
            columns[part] = [(turns * 256).astype(np.uint8)[:, None]]
            continue
        u = next(points)
        if part == "uniform":
            columns[part] = [words(u)]
        else:
            small, counted = towards_zero(u)
            weights = weights * counted
            columns[part] = [words(small)]
        if part == "disc":
            angle = 2 * np.pi * next(points)
            sides = (np.cos(angle), np.sin(angle))
            columns[part] = [words((1 + np.sqrt(small) * side) / 2) for side in sides]
    return np.hstack([c for part in parts for c in columns[part]]).tobytes(), weights


def words(u: Any) -> Any:
    """Return numbers of (0, 1) as words of eight bytes."""
    whole = np.array([int(x * 2**64) for x in u.tolist()], dtype="<u8")
    return whole.view(np.uint8).reshape(-1, 8)


class _Digits:
    """Words for draws of discrete Laplace noise, of each scale spread over the runs."""

    def __init__(self, runs: int, rng: Any) -> None:
        self.rng = rng
        self.free = itertools.chain.from_iterable(spread(runs, rng) for _ in itertools.count())
        self.points: dict[Any, Iterator[float]] = {}

    def rows(self, digits: GeometricDigits, n: int) -> bytes:
        """Return the words of n draws."""
        known = self.points.setdefault(digits.scale, self.again())
        drawn = [next(known) for _ in range(n)]
        odds = float(digits.thresholds[0]) / 2**64
        tails = [u / odds if u < odds else (1 - u) / (1 - odds) for u in drawn]
        sizes = [int(-float(digits.scale) * np.log(u)) for u in tails]
        columns = []
        for j, threshold in enumerate([*digits.thresholds.tolist(), int(digits.thresholds[0])]):
            if j < digits.count:
                below = [bool(size >> j & 1) for size in sizes]
            else:
                below = [j > digits.count and u < odds for u in drawn]
            low = self.rng.integers(0, max(threshold, 1), n, dtype=np.uint64)
            high = self.rng.integers(threshold + 1, 2**64, n, dtype=np.uint64)
            columns.append(np.where(below, low, high))
        return np.column_stack(columns).astype("<u8").tobytes()

    def again(self) -> Iterator[float]:
        """Yield uniforms, over and over."""
        while True:
            yield from next(self.free).tolist()


@contextmanager
def spread_laplace(monkeypatch: Any, runs: int, seed: int) -> Iterator[None]:
    """Spread every draw of discrete Laplace noise over the runs; all else is drawn as ever."""
    source = _Digits(runs, np.random.default_rng(seed))
    asked: list[bytes] = []
    real = GeometricDigits.bits

    def told(self: GeometricDigits, n: int, sign: bool) -> Any:
        if sign:
            asked.append(source.rows(self, n))
        return real(self, n, sign)

    def generator(n: int) -> bytes:
        if not asked:
            return os.urandom(n)
        found, rest = asked[0][:n], asked[0][n:]
        asked[:1] = [rest] if rest else []
        assert len(found) == n
        return found

    with monkeypatch.context() as patch, bits.injected(generator):
        patch.setattr(GeometricDigits, "bits", told)
        yield


@contextmanager
def spread_smooth(monkeypatch: Any, distribution: str, runs: int, seed: int) -> Iterator[Any]:
    """Spread the draws of a smooth noise over the runs; yields the weight of each.

    Digits beyond the first 64 of a uniform number are drawn as ever.
    """
    stream, weights = smooth_bits(distribution, runs, np.random.default_rng(seed))
    source = io.BytesIO(stream)
    real = Uniform.refine

    def refine(self: Uniform) -> None:
        with bits.injected(os.urandom):
            real(self)

    with monkeypatch.context() as patch, bits.injected(source.read):
        patch.setattr(Uniform, "refine", refine)
        yield weights
    assert source.tell() == len(stream)
