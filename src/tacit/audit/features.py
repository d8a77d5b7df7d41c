"""Outputs as rows of numbers, on which a regression tells two data sets apart."""

# For each number of an output, and for the difference of each to the one before it: the number,
# whether it is no number or infinite, its lowest bit (floating-point noise of any width has finer
# ones near 0 than a sum with another number), whether it is integral, and whether it is the
# largest.  Of a whole output a
# *summary*: how many numbers there are, and under which keys; how many of them are odd, and how
# many positive; where the first positive one stands and where the largest; the sum, the largest,
# the smallest and the last.  A regression gets their ranks, and all products of two ranks of the
# summary.  A list of answers until a first success with a number behind it is recognised by such a
# product: the number of failures times the last.

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# From outputs to their features, a row for each, with a column of ones.
Features = Callable[[Sequence[Any]], NDArray[np.float32]]
# Values, rising, and what represents each; between them by interpolation.
Knots = tuple[NDArray[np.float64], NDArray[np.float64]]

_WIDEST = 64
_HUGE, _TINY = 1e150, 1e-150


def numbers_of(outputs: Sequence[Any], width: int | None = None) -> NDArray[np.float64]:
    """Return features of outputs, one row each; a number represents what is none.

    >>> numbers_of([[0.5], [2.0, 1.0]]).shape, numbers_of([0.5, 2.0], 2).shape
    ((2, 20), (2, 20))
    """
    # width: of how many numbers of each output there are features, zeros where it has fewer, so
    #   that the same features are in the same places; None for as many as the longest has.
    table, sizes = _table(outputs)
    if width is not None:
        table = np.pad(table[:, :width], ((0, 0), (0, max(0, width - table.shape[1]))))
    odd = ~np.isfinite(table)
    plain = np.clip(np.where(odd, 0.0, table), -_HUGE, _HUGE)
    grid = _grid(plain)
    plain[np.abs(plain) < _TINY] = 0.0  # nothing is interpolated between numbers so near
    is_integral = plain == np.floor(plain)
    largest = plain == plain.max(axis=1, keepdims=True)
    steps = np.diff(plain, axis=1)
    return np.column_stack(
        [_summary(plain, odd, sizes), plain, steps, odd, grid, is_integral, largest]
    )


def _grid(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the exponent of the lowest bit that is set in each number; 0 for an integer.

    >>> _grid(np.array([0.75, 2.0**-53, 6.0, 0.0])).tolist()
    [-2.0, -53.0, 0.0, 0.0]
    """
    significands, exponents = np.frexp(numbers)
    bits = (np.abs(significands) * 2.0**53).astype(np.int64)
    lowest = np.frexp((bits & -bits).astype(np.float64))[1] - 1
    return np.where(bits == 0, 0.0, np.minimum(exponents - 53 + lowest, 0))


SUMMARIES = 9  # features of a whole output, which come first


def width_of(features: NDArray[np.float64]) -> int:
    """Return of how many numbers of an output these are the features.

    >>> width_of(numbers_of([[1, 2, 3]]))
    3
    """
    return int(features.shape[1] - SUMMARIES + 1) // 6


def grids_of(width: int) -> range:
    """Return which features are the lowest bits of the numbers of an output; none of a long one.

    >>> grids_of(2), grids_of(50)
    (range(14, 16), range(0, 0))
    """
    first = SUMMARIES + 3 * width - 1
    return range(first, first + width) if width <= _SHORT else range(0)


def _summary(
    plain: NDArray[np.float64], odd: NDArray[np.bool_], sizes: NDArray[np.float64]
) -> NDArray[np.float64]:
    positive = (plain > 0) & ~odd
    width = plain.shape[1]
    first = np.where(positive.any(axis=1), positive.argmax(axis=1), width)
    there = ~odd & (np.arange(width) < np.floor(sizes)[:, None])
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
    # Of a dictionary digits after the decimal point of how many tell one set of keys from others.
    plain = _as_array(outputs)
    if plain is not None:
        sizes = np.full(len(plain), float(plain.shape[1]))
        return plain[:, :_WIDEST], sizes
    rows = [_flat(output) for output in outputs]
    width = min(_WIDEST, max((len(row) for row in rows), default=1))
    table = np.zeros((len(rows), width))
    for index, row in enumerate(rows):
        table[index, : len(row[:width])] = row[:width]
    counts = [len(row) + _keys(output) for row, output in zip(rows, outputs, strict=True)]
    return table, np.array(counts, dtype=np.float64)


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
        array = np.array(outputs)
    except (ValueError, OverflowError):
        return None
    if array.dtype.kind not in "biuf" or array.ndim > 2 or not array.size:
        return None
    return array.astype(np.float64).reshape(len(array), -1)


def _numbers_in(text: str) -> list[float]:
    """Return the numbers that a program printed; of a word, and of a text without any, one for it.

    >>> _numbers_in("a: 3.5, -1e2")[1:], [int(x) for x in _numbers_in("exit 1")]
    ([3.5, -100.0], [4, 1])
    """
    converted, numbers = [], 0
    for word in _BETWEEN.split(text):
        try:
            converted.append(float(word))
            numbers += 1
        except ValueError:
            if word:
                converted.append(_number_of(word))
    return converted if numbers else [_number_of(text)]


def _number_of(text: str) -> float:
    """Return the length of a text, with digits after the decimal point that tell it from others.

    >>> int(_number_of("yes")), _number_of("yes") == _number_of("not"), _number_of("")
    (3, False, 0.0)
    """
    return len(text) + zlib.crc32(text.encode("utf-8", "surrogatepass")) / 2**32


def _keys(output: Any) -> float:
    """Return a number below 1 for the keys of a dictionary; of any other output 0."""
    return _number_of(repr(list(output))) % 1 if isinstance(output, dict) else 0.0


_BETWEEN = re.compile(r"[\s,;:=\[\](){}\"']+")


def _flat(output: Any) -> list[float]:
    if isinstance(output, str):
        return _numbers_in(output)
    if isinstance(output, bytes) or output is None:
        return [_number_of((output or b"").decode("latin-1"))]
    if isinstance(output, dict):
        output = list(output.values())
    flattened: list[float] = []
    for value in np.ravel(np.asarray(output, dtype=object)).tolist():
        if isinstance(value, (list, tuple, dict, np.ndarray)):
            flattened += _flat(value)
            continue
        try:
            flattened.append(float(value))
        except (TypeError, ValueError, OverflowError):
            flattened.append(_number_of(str(value)))
    return flattened or [0.0]


@dataclass(frozen=True)
class Design:
    """Features by their rank among the outputs seen, which is steady where values run far out."""

    # Of each feature the rank between -1 and 1, and where it has more than two values the logarithm
    # of the odds of its rank too, which continues rising in the tails; and all products of two of
    # these that are of the summary.

    width: int  # of how many numbers of an output there are features
    knots: tuple[Knots, ...]  # of each feature, values at which its rank is known, and these ranks
    # the features that say something: others are the same for all outputs, or nearly a copy of one
    # before
    informative: NDArray[np.bool_]
    cut: NDArray[np.bool_]  # those of them with more than two values

    @classmethod
    def of(cls, left: Sequence[Any], right: Sequence[Any]) -> Design:
        """Learn the ranks from outputs of both data sets."""
        features = numbers_of(list(left) + list(right))
        low, high = features.min(axis=0), features.max(axis=0)
        two = np.all((features == low) | (features == high), axis=0)
        knots = tuple(_ranks(x) for x in features.T)
        used = _varying(features, knots, np.ones(len(knots), dtype=np.bool_))
        width = width_of(features)
        bits = slice(SUMMARIES, SUMMARIES + width)
        if two[bits].all():
            used[bits.stop :] = False  # all else about bits is a sum of them
        return cls(width, knots, used, used & ~two)

    def __call__(self, outputs: Sequence[Any]) -> NDArray[np.float32]:
        """Return the features of outputs, one row each, with a column of ones."""
        rows = numbers_of(outputs, self.width)
        columns, summary = [np.ones(len(rows))], []
        for index in np.flatnonzero(self.informative):
            rank = np.interp(rows[:, index], *self.knots[index])
            mine = [2 * rank - 1]
            if self.cut[index]:
                mine.append(np.log(rank / (1 - rank)) / _SPREADS)
            columns += mine
            summary += mine if index < SUMMARIES else []
        columns += [summary[i] * summary[j] for i in range(len(summary)) for j in range(i + 1)]
        return np.column_stack(columns).astype(np.float32)


@dataclass(frozen=True)
class FewFeatures:
    """Few features, for a claim that is wrong by little: each that is fitted costs money."""

    # The numbers of an output, and all products of two of them; or, where there are more than
    # three, the numbers and its summary, and all products of two of the summary.  What counts or
    # places something has few different whole values and stands as it is, for each of many
    # independent answers changes the ratio by a factor; of any other number stands the rank, and
    # whether it is the one value that is more frequent than all others, as 0 where there was
    # nothing to tell.

    width: int  # of how many numbers of an output there are features
    knots: tuple[Knots, ...]  # of each feature, values at which its form is known, and these forms
    informative: NDArray[np.bool_]  # the features that say something, as of :class:`Design`
    frequent: NDArray[np.float64]  # of each feature the frequent value; NaN where there is none

    @classmethod
    def of(cls, left: Sequence[Any], right: Sequence[Any]) -> FewFeatures:
        """Learn the forms from outputs of both data sets."""
        features = numbers_of(list(left) + list(right))
        width = width_of(features)
        features = features[:, : SUMMARIES + width]
        knots, frequent = [], np.full(SUMMARIES + width, np.nan)
        for index, column in enumerate(features.T):
            values, times = np.unique(column, return_counts=True)
            if len(values) <= _FEW and (values == np.floor(values)).all():
                knots.append((values, _as_they_are(column, values)))
                continue
            knots.append(_ranks(column))
            if times.max() >= _FREQUENT * len(column):
                frequent[index] = values[times.argmax()]
        requested = np.ones(SUMMARIES + width, dtype=np.bool_)
        requested[:SUMMARIES] = width > _SHORT
        used = _varying(features, knots, requested)
        return cls(width, tuple(knots), used, frequent)

    def __call__(self, outputs: Sequence[Any]) -> NDArray[np.float32]:
        """Return the features of outputs, one row each, with a column of ones."""
        rows = numbers_of(outputs, self.width)
        columns, some = [np.ones(len(rows))], []
        for index in np.flatnonzero(self.informative):
            columns.append(np.interp(rows[:, index], *self.knots[index]))
            some += [columns[-1]] if index < SUMMARIES or self.width <= _SHORT else []
            if not math.isnan(self.frequent[index]):
                columns.append(rows[:, index] == self.frequent[index])
        columns += [some[i] * some[j] for i in range(len(some)) for j in range(i + 1)]
        return np.column_stack(columns).astype(np.float32)


def _as_they_are(column: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return whole values except the rarest; large ones from the smallest on, in steps that fit.

    >>> _as_they_are(np.array([2.0, 3.0]), np.array([2.0, 3.0])).round(2).tolist()
    [2.0, 3.0]
    >>> _as_they_are(np.array([-1.0, 1e150]), np.array([-1.0, 1e150])).round().tolist()
    [1000.0, 999000.0]
    """
    forms = np.asarray(np.clip(values, *np.quantile(column, [_RARE, 1 - _RARE])), np.float64)
    if np.abs(forms).max() <= _LARGE:
        return forms
    return np.asarray((forms - values[0]) / max(1.0, float(values[-1] - values[0]) / _LARGE))


# Integers up to it are distinguished in single precision, and their squares are finite.
_LARGE = 1e6
_SHORT = 3
# Different values of a number that stands as it is, except for so few outputs at both ends; and the
# share of a frequent value.
_FEW, _RARE, _FREQUENT = 100, 1e-3, 0.02
_SPREADS = 3.0  # odds of ranks are divided by so much, so that they are about as large as ranks
# A correlation of ranks; each number that is fitted costs as much noise, whatever it says.
_ALIKE = 0.99
_COMPARED = 4_000
_KNOTS = 300
_TAIL = 30


def _varying(
    features: NDArray[np.float64], knots: Sequence[Knots], requested: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which of those asked for differ, and are not nearly a copy of one before."""
    used = requested & (features.min(axis=0) != features.max(axis=0))
    some = features[:: max(1, len(features) // _COMPARED)].T
    forms = np.array([np.interp(x, *ends) for x, ends in zip(some, knots, strict=True)])
    forms -= forms.mean(axis=1, keepdims=True)
    forms /= np.maximum(np.sqrt((forms**2).sum(axis=1, keepdims=True)), 1e-300)
    alike = np.abs(forms @ forms.T) > _ALIKE
    for index in np.flatnonzero(used):
        used[index] = not (alike[index, :index] & used[:index]).any()
    return np.asarray(used)


def _ranks(column: NDArray[np.float64]) -> Knots:
    """Return values and the share of outputs below each, half of its equals among them.

    >>> values, shares = _ranks(np.array([1.0, 1.0, 5.0, 7.0]))
    >>> values.tolist(), shares.tolist()
    ([1.0, 5.0, 7.0], [0.3, 0.6, 0.8])
    """
    ordered = np.sort(column)
    values = np.unique(ordered)
    if len(values) > _KNOTS + 2 * _TAIL:
        tail = np.geomspace(2 / len(column), 1 / _KNOTS, _TAIL)
        shares = np.concatenate([tail, np.linspace(0, 1, _KNOTS), 1 - tail])
        values = np.unique(np.quantile(ordered, shares))
    below = np.searchsorted(ordered, values, side="left")
    above = np.searchsorted(ordered, values, side="right")
    return values, ((below + above) / 2 + 0.5) / (len(ordered) + 1)
