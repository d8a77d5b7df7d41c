"""Outputs as rows of numbers, on which a regression tells two data sets apart.

For each number of an output, and for the difference of each to the one before it: the number,
whether it is above the median of all, whether it is no number or infinite, whether it is a multiple
of 2^-53 and of 1 (what floating-point noise leaves behind), and whether it is the largest.  Of a
whole output a *summary*: how many numbers there are, how many of them are odd, and how many
positive; where the first positive one stands and where the largest; the sum, the largest, the
smallest and the last; with all products of two of these.  A list of answers until a first success
with a number behind it is recognised by such a product: the number of failures times the last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SUMMARIES", "Design", "numbers_of"]

_WIDEST = 64
_SPREADS = 3.0
"""Features are cut at so many times the scale of most outputs."""
_HUGE = 1e150


def numbers_of(outputs: Sequence[Any]) -> NDArray[np.float64]:
    """Return features of outputs, one row each; what is no number counts as its length.

    >>> numbers_of([0.5, 2.0]).shape[0]
    2
    """
    table, sizes = _table(outputs)
    odd = ~np.isfinite(table)
    plain = np.clip(np.where(odd, 0.0, table), -_HUGE, _HUGE)
    scaled = np.abs(plain) * 2.0**53
    fine = (np.abs(plain) < 0.5) & (scaled != np.floor(scaled))
    whole = plain == np.floor(plain)
    largest = plain == plain.max(axis=1, keepdims=True)
    steps = np.diff(plain, axis=1)
    return np.column_stack([_summary(plain, odd, sizes), plain, steps, odd, fine, whole, largest])


SUMMARIES = 9
"""Features of a whole output, which come first."""


def _summary(
    plain: NDArray[np.float64], odd: NDArray[np.bool_], sizes: NDArray[np.float64]
) -> NDArray[np.float64]:
    positive = (plain > 0) & ~odd
    width = plain.shape[1]
    first = np.where(positive.any(axis=1), positive.argmax(axis=1), width)
    there = ~odd & (np.arange(width) < sizes[:, None])
    last = np.where(there.any(axis=1), width - 1 - there[:, ::-1].argmax(axis=1), 0)
    return np.column_stack(
        [
            *(sizes, odd.sum(axis=1), positive.sum(axis=1), first, plain.argmax(axis=1)),
            *(plain.sum(axis=1), plain.max(axis=1), plain.min(axis=1)),
            plain[np.arange(len(plain)), last],
        ]
    )


def _table(outputs: Sequence[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the numbers of each output, zeros behind them, and how many there are."""
    plain = _as_array(outputs)
    if plain is not None:
        sizes = np.full(len(plain), float(plain.shape[1]))
        return plain[:, :_WIDEST], sizes
    rows = [_flat(output) for output in outputs]
    width = min(_WIDEST, max((len(row) for row in rows), default=1))
    table = np.zeros((len(rows), width))
    for place, row in enumerate(rows):
        table[place, : len(row[:width])] = row[:width]
    return table, np.array([len(row) for row in rows], dtype=np.float64)


_PLAIN = (int, float, bool, np.integer, np.floating, np.bool_)


def _as_array(outputs: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return outputs that are all numbers, or all as many numbers, at once."""
    one = outputs[0] if len(outputs) else None
    if not (
        isinstance(one, _PLAIN)
        or (isinstance(one, np.ndarray) and one.ndim == 1 and one.dtype.kind in "biuf")
        or (isinstance(one, (list, tuple)) and one and all(isinstance(x, _PLAIN) for x in one))
    ):
        return None
    try:
        found = np.array(outputs)
    except (ValueError, OverflowError):
        return None
    if found.dtype.kind not in "biuf" or found.ndim > 2 or not found.size:
        return None
    return found.astype(np.float64).reshape(len(found), -1)


def _numbers_in(text: str) -> list[float]:
    """Return the numbers that a program printed; of a word, and of a text without any, the length.

    >>> _numbers_in("a: 3.5, -1e2"), _numbers_in("exit 1"), _numbers_in("no")
    ([1.0, 3.5, -100.0], [4.0, 1.0], [2.0])
    """
    found, numbers = [], 0
    for word in _BETWEEN.split(text):
        try:
            found.append(float(word))
            numbers += 1
        except ValueError:
            if word:
                found.append(float(len(word)))
    return found if numbers else [float(len(text))]


_BETWEEN = re.compile(r"[\s,;:=\[\](){}\"']+")


def _flat(output: Any) -> list[float]:
    if isinstance(output, str):
        return _numbers_in(output)
    if isinstance(output, bytes) or output is None:
        return [float(len(output or b""))]
    if isinstance(output, dict):
        output = list(output.values())
    found: list[float] = []
    for value in np.ravel(np.asarray(output, dtype=object)).tolist():
        try:
            found.append(float(value))
        except (TypeError, ValueError, OverflowError):
            found.append(float(len(str(value))))
    return found or [0.0]


@dataclass(frozen=True)
class Design:
    """Features on scales that were learned: each cut, beside whether it is above its median.

    Attributes:
        middle: of each feature, the median over all outputs.
        scale: of each feature.
        kept: the features that say something; the others are the same for all outputs.
        cut: those of them with more than two values, of which being above the median says more.
    """

    middle: NDArray[np.float64]
    scale: NDArray[np.float64]
    kept: NDArray[np.bool_]
    cut: NDArray[np.bool_]

    @classmethod
    def of(cls, left: Sequence[Any], right: Sequence[Any]) -> Design:
        """Learn the scales from outputs of both data sets."""
        features = numbers_of(list(left) + list(right))
        middle = np.median(features, axis=0)
        moved = features - middle
        limit = np.quantile(np.abs(moved), 0.99, axis=0)
        spread = features.std(axis=0)
        scale = np.where(limit > 0, limit, np.where(spread > 0, spread, 1.0))
        kept = np.any(moved != 0, axis=0)
        two = np.all(
            (features == features.min(axis=0)) | (features == features.max(axis=0)), axis=0
        )
        width = (features.shape[1] - SUMMARIES + 1) // 6
        bits = slice(SUMMARIES, SUMMARIES + width)
        if two[bits].all():
            kept[bits.stop :] = False  # all else about bits is a sum of them
        return cls(middle, scale / _SPREADS * 2, kept, kept & ~two)

    @staticmethod
    def width_of(left: Sequence[Any], right: Sequence[Any]) -> int:
        """Return how many features a design of such outputs has."""
        return int(Design.of(left, right)(left[:1]).shape[1])

    def __call__(self, outputs: Sequence[Any]) -> NDArray[np.float64]:
        """Return the features of outputs, one row each, with a column of ones."""
        rows = numbers_of(outputs)
        width = len(self.middle)
        fitted = np.zeros((len(rows), width))
        fitted[:, : min(width, rows.shape[1])] = rows[:, :width]
        z = np.clip((fitted - self.middle) / self.scale, -_SPREADS, _SPREADS)
        above = fitted > self.middle
        summary = z[:, :SUMMARIES][:, self.kept[:SUMMARIES]]
        first, second = np.triu_indices(summary.shape[1])
        return np.column_stack(
            [
                np.ones(len(z)),
                z[:, self.kept],
                above[:, self.cut],
                summary[:, first] * summary[:, second],
            ]
        )
