"""Several attributes of a person, and pairs of keys and values."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.estimate import quantile
from tacit.local.frequency.direct_encoding import DirectEncoding
from tacit.local.items import is_missing, people_of, plain
from tacit.local.oracle import Layout, Oracle, State, oracle_from, read_answer, read_bounds
from tacit.local.random_bits import uniform_below
from tacit.noise.bits import words32

# Several attributes of one person: the loss split among them, or one of them drawn at random.


Bits = NDArray[np.uint8]


def to_bits(layout: Layout, reports: NDArray[Any]) -> Bits:
    """Return reports as rows of 0 and 1, each number least significant bit first.

    >>> to_bits(Layout("integer", 1, 8), np.array([6], np.uint8)).tolist()
    [[0, 1, 1]]
    """
    if layout.kind == "bits":
        return np.unpackbits(reports, axis=1, count=layout.width, bitorder="little")
    values = reports.reshape(len(reports), layout.width, 1).astype(np.uint64)
    bits = values >> np.arange(layout.value_bits, dtype=np.uint64) & np.uint64(1)
    return bits.astype(np.uint8).reshape(len(reports), layout.bits)


def from_bits(layout: Layout, bits: Bits) -> NDArray[Any]:
    """Return the reports that rows of 0 and 1 stand for: the inverse of :func:`to_bits`."""
    if layout.kind == "bits":
        return np.packbits(bits, axis=1, bitorder="little")
    indices = np.arange(layout.value_bits, dtype=np.uint64)
    shaped = bits.reshape(len(bits), layout.width, layout.value_bits).astype(np.uint64)
    values: NDArray[np.uint64] = (shaped << indices).sum(axis=2, dtype=np.uint64)
    return values[:, 0] if layout.kind == "integer" else values


def as_mapping(value: Any, names: Sequence[str]) -> Any:
    """Return a row of a data frame, which has names but is no mapping, as the mapping it is."""
    if isinstance(value, Mapping) or not hasattr(value, "keys"):
        return value
    keys = list(value.keys())
    return {key: value[key] for key in keys} if set(names) <= set(keys) else value


@public
@dataclass(frozen=True, init=False, eq=False)
class Attributes(Oracle):
    """Base class of splitting and sampling: one mechanism per named attribute."""

    parts: tuple[tuple[str, Oracle], ...]

    def __init__(self, parts: Mapping[str, Oracle]) -> None:
        listed = tuple(parts.items())
        if len(listed) < 2 or not all(isinstance(o, Oracle) for _, o in listed):
            raise UsageError("give a mechanism for each of at least two named attributes")
        if any(isinstance(o, Attributes) for _, o in listed):
            raise UsageError("attributes have no attributes of their own: name them all at once")
        object.__setattr__(self, "parts", listed)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @property
    def oracles(self) -> list[Oracle]:
        """The mechanisms, in order."""
        return [oracle for _, oracle in self.parts]

    @property
    def names(self) -> list[str]:
        """The names of the attributes, in order."""
        return [name for name, _ in self.parts]

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return (n, attributes) whole numbers; a person is a mapping or a sequence of answers."""
        rows = [self._row(value) for value in people_of(values, self.names)]
        columns = [oracle.read([row[j] for row in rows]) for j, oracle in enumerate(self.oracles)]
        return np.stack(columns, axis=1)

    def _row(self, value: Any) -> Sequence[Any]:
        value = as_mapping(plain(value), self.names)
        if isinstance(value, Mapping):
            return [value.get(name) for name, _ in self.parts]
        if is_missing(value):
            return [None] * len(self.parts)
        is_row = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
        listed = list(value) if is_row else []
        if len(listed) != len(self.parts):
            raise UsageError(f"a person has {len(self.parts)} answers, one an attribute")
        return listed

    @abstractmethod
    def _split(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the reports of each attribute."""

    def valid(self, reports: object) -> NDArray[np.bool_]:
        array = self.layout.check(reports)
        good = self.layout.valid(array)
        return good & self._parts_valid(array.astype(np.uint8))

    @abstractmethod
    def _parts_valid(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return for each report whether its parts can be."""

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return for each attribute its number of reports, then their sums."""
        states = [
            oracle.aggregate(mine)
            for oracle, mine in zip(self.oracles, self._split(reports), strict=True)
        ]
        return np.concatenate([np.append(np.int64(s.n), s.sums) for s in states])

    def states(self, reports: object) -> dict[str, State]:
        """Return the state of each attribute, from a state or a batch of reports."""
        sums, states, start = self._state(reports).sums, {}, 0
        for name, oracle in self.parts:
            end = start + 1 + len(oracle.empty().sums)
            states[name] = State(oracle.fingerprint, int(sums[start]), sums[start + 1 : end])
            start = end
        return states

    def estimate(self, reports: object) -> Mapping[str, object]:
        """Return the estimate of each attribute, from the people who reported on it.

        Raises:
            UsageError: reports that this mechanism cannot have made.
        """
        states = self.states(reports)
        parts: Any = self.parts
        return {name: oracle.estimate(states[name]) for name, oracle in parts}

    def part_influence(self, part: object) -> tuple[Fraction, Callable[[int], Fraction]]:
        """Return the influence of a report on one attribute, and the variance among n of them."""
        if not hasattr(part, "influence"):
            raise UsageError(f"the influence of {type(part).__name__} depends on all reports")
        given: Any = part
        return Fraction(given.influence), given.variance

    def describe(self) -> dict[str, object]:
        parts = [[name, oracle.describe()] for name, oracle in self.parts]
        return {"mechanism": type(self).__name__, "parts": parts}

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        return cls({name: oracle_from(part) for name, part in description["parts"]})


@public
class AttributeSplitting(Attributes):
    """Report on every attribute, each with its own loss; the losses add up.

    **Privacy.** Draws are independent, so the ratio is the product of the parts' ratios.

    Args:
        parts: the mechanism of each attribute, by its name.

    Example:
        >>> from tacit.local import DirectEncoding, RandomizedResponse
        >>> both = AttributeSplitting(
        ...     {"smokes": RandomizedResponse(p="3/4"), "home": DirectEncoding(4, p="1/2")}
        ... )
        >>> both.ratio, both.report_bits
        (Fraction(9, 1), 3)
        >>> sorted(both.estimate(both.perturb_many([(True, 2)] * 10)))
        ['home', 'smokes']
    """

    @property
    def ratio(self) -> Fraction:
        """The product of the parts' ratios."""
        return prod((o.ratio for o in self.oracles), start=Fraction(1))

    @property
    def layout(self) -> Layout:
        """The bits of all parts, one after the other."""
        return Layout("bits", sum(o.report_bits for o in self.oracles), 2)

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        rows = [to_bits(o.layout, o._draw(indices[:, j])) for j, o in enumerate(self.oracles)]
        return np.packbits(np.concatenate(rows, axis=1), axis=1, bitorder="little")

    def _split(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        bits = np.unpackbits(reports, axis=1, count=self.layout.width, bitorder="little")
        ends = np.cumsum([o.report_bits for o in self.oracles])[:-1]
        cut = np.split(bits, ends, axis=1)
        return [from_bits(o.layout, part) for o, part in zip(self.oracles, cut, strict=True)]

    def _parts_valid(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        parts = zip(self.oracles, self._split(reports), strict=True)
        valid: NDArray[np.bool_] = np.all([o.valid(mine) for o, mine in parts], axis=0)
        return valid

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        distributions = [
            o.distribution(v).items() for o, v in zip(self.oracles, self._row(value), strict=True)
        ]
        masses: dict[Hashable, Fraction] = {}
        for outcome in product(*distributions):
            rows = [
                to_bits(o.layout, np.array([y], o.layout.dtype))
                for o, (y, _) in zip(self.oracles, outcome, strict=True)
            ]
            report = np.packbits(np.concatenate(rows, axis=1), bitorder="little")
            masses[tuple(report.tolist())] = prod((p for _, p in outcome), start=Fraction(1))
        return masses


@public
class AttributeSampling(Attributes):
    """Report on one attribute, drawn at random on the device, with the whole loss.

    **Privacy.** The attribute does not depend on the answers, so the ratio is the greatest of the
    parts'.  With d attributes a person in d reports on each, d times the variance; splitting
    epsilon into d parts costs about d**2 times, so sampling is better for small epsilon.  Estimates
    come from the people who drew the attribute; their shares estimate those of all people.

    Args:
        parts: the mechanism of each attribute, by its name.

    Example:
        >>> from tacit.local import DirectEncoding, RandomizedResponse
        >>> one = AttributeSampling(
        ...     {"smokes": RandomizedResponse(p="3/4"), "home": DirectEncoding(4, p="1/2")}
        ... )
        >>> one.ratio, one.report_bits
        (Fraction(3, 1), 3)
        >>> sum(e.n for e in one.estimate(one.perturb_many([(True, 2)] * 10)).values())
        10
    """

    @property
    def ratio(self) -> Fraction:
        """The greatest of the parts' ratios."""
        return Fraction(max(o.ratio for o in self.oracles))

    @property
    def _widest(self) -> int:
        return int(max(o.report_bits for o in self.oracles))

    @property
    def _number_bits(self) -> int:
        return (len(self.parts) - 1).bit_length()

    @property
    def layout(self) -> Layout:
        """The bits of the report, filled up with zeros, then the number of the attribute."""
        return Layout("bits", self._widest + self._number_bits, 2)

    def _rows(self, oracle: Any, number: int, reports: NDArray[Any]) -> Bits:
        rows = np.zeros((len(reports), self.layout.width), np.uint8)
        rows[:, : oracle.report_bits] = to_bits(oracle.layout, reports)
        rows[:, self._widest :] = number >> np.arange(self._number_bits) & 1
        return np.packbits(rows, axis=1, bitorder="little")

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        number = uniform_below(len(self.parts), len(indices))
        reports: Any = self.layout.empty(len(indices))
        for j, oracle in enumerate(self.oracles):
            mine = number == j
            reports[mine] = self._rows(oracle, j, oracle._draw(indices[mine, j]))
        return reports  # type: ignore[no-any-return]

    def _bits(self, reports: NDArray[Any]) -> tuple[Bits, NDArray[np.int64]]:
        bits = np.unpackbits(reports, axis=1, count=self.layout.width, bitorder="little")
        weights = 1 << np.arange(self._number_bits)
        return bits, bits[:, self._widest :].astype(np.int64) @ weights

    def _split(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        bits, number = self._bits(reports)
        return [
            from_bits(o.layout, bits[number == j, : o.report_bits])
            for j, o in enumerate(self.oracles)
        ]

    def _parts_valid(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        bits, number = self._bits(reports)
        good = np.zeros(len(reports), bool)
        for j, oracle in enumerate(self.oracles):
            mine = number == j
            part = bits[mine]
            filled = ~part[:, oracle.report_bits : self._widest].any(axis=1)
            good[mine] = filled & oracle.valid(
                from_bits(oracle.layout, part[:, : oracle.report_bits])
            )
        return good

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        masses: dict[Any, Fraction] = {}
        answers = zip(self.oracles, self._row(value), strict=True)
        for j, (oracle, answer) in enumerate(answers):
            for y, p in oracle.distribution(answer).items():
                row = self._rows(oracle, j, np.array([y], oracle.layout.dtype))[0]
                masses[tuple(row.tolist())] = p / len(self.parts)
        return masses


def same_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple, each once.

    >>> same_names(["a", "b"])
    ('a', 'b')
    """
    listed = tuple(names)
    if len(set(listed)) < len(listed):
        raise UsageError("name each once")
    return listed


# Key-value pairs: how many people have each key, and the mean of its values.


FINE = 32
ABSENT, LOW, HIGH = range(3)


@public
@dataclass(frozen=True)
class KeyValueEstimate:
    """Estimates for one key.

    Attributes:
        frequency: the share of people who have the key, unbiased.
        mean: the mean of their values (a ratio of two unbiased numbers, so biased for a rare key);
            NaN where no one seems to have the key.
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
        """Return ends that hold the true share of people with the key with this probability."""
        half = quantile(level) * self.frequency_error
        return max(0.0, self.frequency - half), min(1.0, self.frequency + half)

    def mean_interval(self, level: object = 0.95) -> tuple[float, float]:
        """Return ends that hold the mean of the values about so often; poor for a rare key."""
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
        bounds: tuple[Fraction, Fraction] = self._bounds  # type: ignore[attr-defined]
        return bounds

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return for each person and key -1 (absent), or the value in 2**-32 of the range."""
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

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        words = words32(indices.size).reshape(indices.shape).astype(np.int64)
        answer = np.where(indices < 0, ABSENT, np.where(words < indices, HIGH, LOW))
        return super()._draw(answer.astype(np.int64))

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        masses: dict[Any, Fraction] = {}
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
                masses[tuple(row.tolist())] = p / len(self.parts)
        return masses

    def estimate(self, reports: object) -> dict[str, KeyValueEstimate]:
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
        _, shifted = summed(np.array([0.0, -rise, 1 - rise]))
        return KeyValueEstimate(
            have / n,
            low + (high - low) * rise,
            state.n,
            math.sqrt(spread) / n,
            (high - low) * math.sqrt(shifted) / have,
        )

    def part_influence(self, part: object) -> tuple[Fraction, Callable[[int], Fraction]]:
        """Return the influence and the variance of the count of people who have a key.

        The mean of its values is a ratio of counts: for a rare key few reports move it anywhere.
        """
        given: Any = part
        own, other = given.support
        gap = own - other
        have = 2 * other
        return max(1 - have, have) / gap, lambda n: n * have * (1 - have) / gap**2

    def describe(self) -> dict[str, object]:
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
