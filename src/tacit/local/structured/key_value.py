"""Key-value pairs: how many people have each key, and the mean of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.estimate import quantile
from tacit.local.base.oracle import Oracle, State
from tacit.local.base.parameters import read_answer, read_bounds
from tacit.local.base.raw_answers import is_missing, people_of, plain
from tacit.local.frequency.direct_encoding import DirectEncoding
from tacit.local.structured.attributes import AttributeSampling, as_mapping, same_names
from tacit.noise.bits import words32

__all__ = ["KeyValue", "KeyValueEstimate"]

FINE = 32
ABSENT, LOW, HIGH = range(3)


@public
@dataclass(frozen=True)
class KeyValueEstimate:
    """What is estimated of one key.

    Attributes:
        frequency: the share of people who have the key, unbiased.
        mean: the mean of their values (a ratio of two unbiased numbers, so biased for a rare key);
            NaN where nobody seems to have the key.
        n: how many people reported on the key.
        frequency_error: the standard error of ``frequency``.
        mean_error: that of ``mean``, as of a ratio of two sums; NaN where the mean is.
    """

    frequency: float
    mean: float
    n: int
    frequency_error: float
    mean_error: float

    def interval(self, level: object = 0.95) -> tuple[float, float]:
        """Return ends that hold the true share of people with the key with this probability.

        Args:
            level: the probability, such as 0.95.
        """
        half = quantile(level) * self.frequency_error
        return max(0.0, self.frequency - half), min(1.0, self.frequency + half)

    def mean_interval(self, level: object = 0.95) -> tuple[float, float]:
        """Return ends that hold the mean of the values about so often; poor for a rare key.

        Args:
            level: the probability, such as 0.95.
        """
        half = quantile(level) * self.mean_error
        return self.mean - half, self.mean + half


@public
class KeyValue(AttributeSampling):
    """Draw one key at random, and report by direct encoding "absent", "low" or "high" for it.

    A value is rounded at random to one of the two bounds, so that its mean is kept; a key that the
    person does not have is *absent*.  **Privacy**: the key drawn does not depend on the data, and
    the rest is direct encoding of three answers, for any two mappings.

    Source: Q. Ye, H. Hu, X. Meng, H. Zheng, *PrivKV: key-value data collection with local
    differential privacy*, S&P 2019 (with three answers in one step).

    Args:
        keys: at least two, public.
        lower, upper: the bounds of a value; others are clamped.
        epsilon: the greatest loss allowed; or
        p: the probability of the true one of three answers.

    Example:
        >>> ratings = KeyValue(["film", "book"], 1, 5, epsilon=4)
        >>> reports = ratings.perturb_many([{"film": 5}, {"film": 4, "book": 1}] * 500)
        >>> found = ratings.estimate(reports)
        >>> found["film"].frequency > found["book"].frequency
        True
    """

    def __init__(
        self,
        keys: Iterable[str],
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        p: Number | None = None,
    ) -> None:
        bounds = read_bounds(lower, upper)
        three = DirectEncoding(["absent", "low", "high"], epsilon, p)
        super().__init__(dict.fromkeys(same_names(keys), three))
        object.__setattr__(self, "_bounds", bounds)

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds of a value."""
        found: tuple[Fraction, Fraction] = self._bounds  # type: ignore[attr-defined]
        return found

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return for each person and key -1 (absent), or the value in 2**-32 of the range.

        Args:
            values: the answers of many people, as they were given.
        """
        rows = [self._row(v) for v in people_of(values, self.names)]
        return np.array(rows, np.int64).reshape(len(rows), len(self.parts))

    def _row(self, value: Any) -> list[int]:
        """Read one person; who is missing has no key."""
        value = as_mapping(plain(value), [])
        pairs = {} if is_missing(value) else value
        if not isinstance(pairs, Mapping):
            raise UsageError("a person's keys and values are a mapping; nothing was drawn or sent")
        return [self._value(pairs.get(name)) for name, _ in self.parts]

    def _value(self, value: Any) -> int:
        return -1 if is_missing(value) else round(read_answer(value, *self.bounds) * (1 << FINE))

    def _draw(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        words = words32(places.size).reshape(places.shape).astype(np.int64)
        answer = np.where(places < 0, ABSENT, np.where(words < places, HIGH, LOW))
        return super()._draw(answer.astype(np.int64))

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        """See :meth:`~tacit.local.Oracle.distribution`.

        Args:
            value: one answer, as :meth:`perturb` takes it.
        """
        found: dict[Any, Fraction] = {}
        row_of_person = self._row(value)
        for j, oracle in enumerate(self.oracles):
            fine = row_of_person[j]
            up = Fraction(max(fine, 0), 1 << FINE)
            shares = (Fraction(fine < 0), Fraction(0) if fine < 0 else 1 - up, up)
            for y in range(3):
                p = sum(
                    (s * oracle.distribution(label)[y] for s, label in zip(
                        shares, ("absent", "low", "high"), strict=True
                    )),
                    Fraction(0),
                )  # fmt: skip
                row = self._rows(oracle, j, np.array([y], np.uint8))[0]
                found[tuple(row.tolist())] = p / len(self.parts)
        return found

    def estimate(self, reports: object) -> dict[str, KeyValueEstimate]:
        """Return a :class:`KeyValueEstimate` of each key.

        Args:
            reports: a state, or a batch of reports.
        """
        states = self.states(reports)
        return {name: self._one(oracle, states[name]) for name, oracle in self.parts}

    def _one(self, oracle: Any, state: State) -> KeyValueEstimate:
        """Estimate one key; errors are those of sums of independent scores, one a report."""
        low, high = (float(b) for b in self.bounds)
        n, seen = max(1, state.n), state.sums.astype(np.float64)
        own, other = (float(p) for p in oracle.support)

        def summed(marks: NDArray[np.float64]) -> tuple[float, float]:
            """Return the unbiased sum of marks of true answers, and its variance."""
            scores = (marks - other * marks.sum()) / (own - other)
            total = float(scores @ seen)
            return total, float(scores**2 @ seen) - total**2 / n

        have, spread = summed(np.array([0.0, 1.0, 1.0]))
        if have <= 0:
            return KeyValueEstimate(have / n, math.nan, state.n, math.sqrt(spread) / n, math.nan)
        rise = summed(np.array([0.0, 0.0, 1.0]))[0] / have
        _, beside = summed(np.array([0.0, -rise, 1 - rise]))
        return KeyValueEstimate(
            have / n,
            low + (high - low) * rise,
            state.n,
            math.sqrt(spread) / n,
            (high - low) * math.sqrt(beside) / have,
        )

    def part_influence(self, part: object) -> tuple[Fraction, Callable[[int], Fraction]]:
        """Return the influence and the variance of the count of people who have a key.

        The mean of its values is a ratio of counts: for a rare key few reports move it anywhere.

        Args:
            part: the mechanism of one key.
        """
        given: Any = part
        own, other = given.support
        gap = own - other
        have = 2 * other
        return max(1 - have, have) / gap, lambda n: n * have * (1 - have) / gap**2

    def describe(self) -> dict[str, object]:
        """Return the rule as plain JSON values."""
        low, high = self.bounds
        keys = [name for name, _ in self.parts]
        first: Any = self.oracles[0]
        p = str(first.p)
        return {
            "mechanism": "KeyValue", "keys": keys, "lower": str(low), "upper": str(high), "p": p,
        }  # fmt: skip

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        return cls(**{name: description[name] for name in ("keys", "lower", "upper", "p")})
