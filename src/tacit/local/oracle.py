"""Frequency oracles: parameters, the layout of reports, what every mechanism answers."""

from __future__ import annotations

import hashlib
import importlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, log
from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.calls import public
from tacit.core import Category, DiscreteDistance, Measurement, PureDP, Space
from tacit.errors import MismatchError, UsageError
from tacit.local.estimate import Estimate
from tacit.local.hashing import digests
from tacit.local.items import OUTSIDE, Items, plain, values_of, whole_number


def smallest_dtype(limit: int) -> np.dtype[np.generic]:
    """Return the smallest unsigned type that holds every integer below ``limit``.

    >>> smallest_dtype(257).name
    'uint16'
    """
    for kind in (np.uint8, np.uint16, np.uint32):
        if limit <= 1 << 8 * np.dtype(kind).itemsize:
            return np.dtype(kind)
    return np.dtype(np.uint64)


def _array(reports: object) -> NDArray[Any]:
    """Return reports of any library as an array, without a missing one taken for a number."""
    if isinstance(reports, np.ma.MaskedArray):
        if reports.mask.any():
            raise UsageError("a report is missing: leave out those that were never sent")
        reports = np.ma.getdata(reports)
    try:
        array = np.asarray(reports, order="C")
    except ValueError:
        raise UsageError("reports of one batch have one length each") from None
    if array.dtype == bool:
        return array.astype(np.uint8)
    if array.dtype != object:
        return array
    listed = [plain(report) for report in values_of(reports, sets=True)]
    rows = [list(map(plain, values_of(r))) if np.iterable(r) else whole_number(r) for r in listed]
    try:
        whole = np.array(rows)
    except ValueError:  # rows of different lengths
        return array
    return whole if whole.dtype.kind in "biu" else array


@public
@dataclass(frozen=True)
class Layout:
    """Layout of a report: all reports of one mechanism have the same size.

    ========== ================================== ===============================================
    kind       a batch of n reports               valid reports
    ========== ================================== ===============================================
    integer    (n,) of the smallest unsigned type integers below ``limit``
    bits       (n, ceil(width / 8)) uint8         ``width`` bits, least significant first; the bits
                                                  that fill the last byte are zero
    integers   (n, width) of the smallest type    rows of ``width`` integers below ``limit``
    ========== ================================== ===============================================

    Example:
        >>> Layout("integer", 1, 1000).bits, Layout("bits", 14, 2).bits
        (10, 14)
    """

    kind: Literal["integer", "bits", "integers"]
    width: int
    limit: int

    @property
    def bits(self) -> int:
        """The size of one report, packed."""
        return self.width * self.value_bits

    @property
    def value_bits(self) -> int:
        """The size of one value of a report."""
        return max(1, (self.limit - 1).bit_length())

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of a batch."""
        return np.dtype(np.uint8) if self.kind == "bits" else smallest_dtype(self.limit)

    @property
    def columns(self) -> int:
        """The columns of a batch, 0 where it is one-dimensional."""
        return {"integer": 0, "bits": (self.width + 7) // 8, "integers": self.width}[self.kind]

    def empty(self, n: int) -> NDArray[np.generic]:
        """Return an uninitialised batch of ``n`` reports."""
        return np.empty((n, self.columns) if self.columns else n, self.dtype)

    def check(self, reports: object) -> NDArray[np.generic]:
        """Return the reports as a batch, refusing what has not its shape or is not integers.

        Whether each report can have come from the mechanism is for :meth:`valid`.

        Raises:
            UsageError: another shape, or numbers that are not whole.
        """
        array = _array(reports)
        if not array.size:
            return self.empty(0)
        one_batch = array.ndim == (2 if self.columns else 1)
        if not one_batch or (self.columns and array.shape[1] != self.columns):
            wanted = f"(n, {self.columns})" if self.columns else "(n,)"
            raise UsageError(f"a batch of these reports has the shape {wanted}, not {array.shape}")
        if array.dtype.kind not in "ui":
            raise UsageError(f"reports are whole numbers, not {array.dtype}")
        return array

    def valid(self, reports: NDArray[np.generic]) -> NDArray[np.bool_]:
        """Return for each report of a checked batch whether all its values are in range."""
        array: Any = reports
        within: NDArray[np.bool_] = np.ones(len(array), bool)
        top = 255 if self.kind == "bits" else self.limit - 1
        any_byte = self.kind == "bits" and array.dtype == np.uint8
        if array.size and not any_byte and (int(array.min()) < 0 or int(array.max()) > top):
            inside = array <= top
            if array.dtype.kind == "i":
                inside &= array >= 0
            within &= inside.reshape(len(array), -1).all(axis=1)
        if self.kind == "bits" and self.width % 8:
            within &= array[:, -1] < 1 << self.width % 8
        return within


def read_share(frequency: Any) -> Fraction:
    """Read a share exactly, from 0 to 1.

    >>> read_share("1/4")
    Fraction(1, 4)
    """
    share = as_fraction(frequency, "frequency")
    if not 0 <= share <= 1:
        raise UsageError("a frequency is a share, from 0 to 1")
    return share


def read_size(n: Any) -> int:
    """Read a number of reports.

    >>> read_size(10)
    10
    """
    return as_integer(n, "n", minimum=0)


def read_bounds(lower: Any, upper: Any) -> tuple[Fraction, Fraction]:
    """Read the public bounds of a number.

    >>> read_bounds(0, "1/2")
    (Fraction(0, 1), Fraction(1, 2))
    """
    low, high = as_fraction(lower, "lower"), as_fraction(upper, "upper")
    if low >= high:
        raise UsageError("lower must be below upper")
    if max(-low, high) >= 1 << 1000:
        raise UsageError("bounds are within -2**1000..2**1000")
    return low, high


def read_answer(value: Any, lower: Fraction, upper: Fraction) -> Fraction:
    """Return where a person's number lies between two bounds, from 0 to 1; beyond them is clamped.

    >>> read_answer(3, Fraction(0), Fraction(4))
    Fraction(3, 4)
    """
    value = plain(value)
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, (float, Decimal)) and math.isinf(value):
        return Fraction(int(value > 0))
    try:
        number = as_fraction(value, "an answer")
    except UsageError:
        raise UsageError("an answer is not a number; nothing was drawn or sent") from None
    return min(max((number - lower) / (upper - lower), Fraction(0)), Fraction(1))


def refuse_wide(layout: Layout, what: str) -> None:
    """Raise if the noise is so wide that a number of a report, or two billion added, do not fit."""
    if layout.limit > 1 << 32:
        raise UsageError(f"the noise of this epsilon does not fit 32 bits: take fewer {what}")


def refuse_large(domain: Items, limit: int, what: str, instead: str) -> None:
    """Raise if a domain is too large for a mechanism, and name one that takes it."""
    if len(domain) > limit:
        raise UsageError(
            f"{what} is for at most {limit:,} items, not {len(domain):,}: use {instead}"
        )


def one_of(epsilon: Any, p: Any) -> None:
    """Raise if both or neither of two ways to set a mechanism are given."""
    if (epsilon is None) == (p is None):
        raise UsageError("give either epsilon or the probabilities, and not both")


# Where each local mechanism is, by the name that its description carries.


_HOMES: dict[str, tuple[str, ...]] = {
    "attributes": ("AttributeSampling", "AttributeSplitting", "KeyValue"),
    "device": ("TwoStage",),
    "frequency.bit_vectors": ("SummationHistogram", "ThresholdHistogram", "UnaryEncoding"),
    "frequency.count_mean_sketch": ("CountMeanSketch", "HadamardCountMeanSketch"),
    "frequency.direct_encoding": ("DirectEncoding", "RandomizedResponse", "SubsetSelection"),
    "frequency.hadamard_response": ("HadamardResponse",),
    "frequency.local_hashing": ("BinaryLocalHashing", "LocalHashing", "OptimizedLocalHashing"),
    "numeric": ("Duchi", "HybridMean", "LaplaceMean", "Piecewise", "SquareWave"),
    "ranges_and_sets": ("HierarchicalRanges", "PaddedSets", "PrefixExtending"),
    "rappor": ("Rappor",),
}
# The module of each mechanism.
MODULES: dict[str, str] = {
    name: f"tacit.local.{module}" for module, names in _HOMES.items() for name in names
}


def load(name: str) -> None:
    """Import the module of a mechanism, if it is one of Tacit's; it makes itself known.

    >>> load("DirectEncoding")
    """
    if name in MODULES:
        importlib.import_module(MODULES[name])


# What every local mechanism is: a public rule that randomises one person's answer on their device.
#
# A mechanism is *epsilon-locally private* when for all answers u, v and every report y
#
#     P(report = y | answer u) <= e**epsilon P(report = y | answer v).
#
# Every mechanism here draws with probabilities that are whole multiples of 2**-b (or from an exact
# noise distribution), and its ``epsilon`` is the logarithm of the greatest ratio of exactly those
# probabilities: :attr:`Oracle.ratio` is that ratio, a fraction.  Source: S. Kasiviswanathan, H.
# Lee, K. Nissim, S. Raskhodnikova, A. Smith, *What can we learn privately?* (2008).


BATCH = 1 << 14
BATCH_BYTES = 1 << 20  # reports drawn at once: their working memory stays in the cache of a core

_KNOWN: dict[str, type[Oracle]] = {}


@public
@dataclass(frozen=True, eq=False)
class State:
    """Exact sums over reports: all that a server keeps, whatever the number of reports.

    States of the same mechanism add up, in any order and across machines.

    Attributes:
        oracle: the fingerprint of the mechanism whose reports were added.
        n: how many reports.
        sums: int64 sums, as many as the mechanism's estimate needs.
    """

    oracle: str
    n: int
    sums: NDArray[np.int64]

    def __add__(self, other: State) -> State:
        if not isinstance(other, State):
            return NotImplemented
        if self.oracle != other.oracle or self.sums.shape != other.sums.shape:
            raise MismatchError(
                "these sums are of reports of different mechanisms and cannot be added",
                self.oracle,
                other.oracle,
            )
        return State(self.oracle, self.n + other.n, self.sums + other.sums)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        mine, theirs = (self.oracle, self.n), (other.oracle, other.n)
        return mine == theirs and np.array_equal(self.sums, other.sums)

    __hash__ = None  # type: ignore[assignment]


@public
class Oracle(ABC):
    """A frozen, public rule: one answer in, one random report of fixed size out.

    A subclass is a frozen dataclass of its domain and the public parameters that make it, with its
    ``layout``, its ``ratio``, and how it draws and sums.
    """

    _domain_fields: ClassVar[tuple[str, ...]] = ("domain",)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _KNOWN[cls.__name__] = cls

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The greatest ratio of the probabilities of one report under two answers: e**epsilon."""

    @property
    def epsilon(self) -> Fraction | Enclosure:
        """The privacy loss of one report, of exactly the probabilities that are drawn with."""
        return log(self.ratio, 96)

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Layout of a report."""

    @property
    def report_bits(self) -> int:
        """The size of one report, packed."""
        return self.layout.bits

    @abstractmethod
    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the whole numbers by which the mechanism knows the raw answers of many people."""

    @abstractmethod
    def _draw(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Draw the reports of answers that were read."""

    @abstractmethod
    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Add up checked reports."""

    def perturb(self, value: object) -> object:
        """Return one report: a numpy integer, or a row of the kind that ``layout`` states.

        Raises:
            UsageError: an answer outside the domain that has no declared place.
        """
        return self.perturb_many([value])[0]

    def perturb_many(self, values: Iterable[object]) -> NDArray[np.generic]:
        """Return the reports of many people, one a value, as ``layout`` states.

        Raises:
            UsageError: an answer outside the domain that has no declared place.
        """
        indices = self.read(values)
        reports = self.layout.empty(len(indices))
        step = min(BATCH, max(1, BATCH_BYTES // max(1, self.layout.columns)))
        for start in range(0, len(indices), step):
            reports[start : start + step] = self._draw(indices[start : start + step])
        return reports

    def valid(self, reports: object) -> NDArray[np.bool_]:
        """Return for each report of a batch whether this mechanism can have made it.

        Raises:
            UsageError: a batch of another shape, or numbers that are not whole.
        """
        return self.layout.valid(self.layout.check(reports))

    def aggregate(self, reports: object) -> State:
        """Add up reports, after a strict check of them all.

        Args:
            reports: one a person, an array of the shape and type that ``layout`` states.

        Raises:
            UsageError: a report that this mechanism cannot have made; nothing is added then.
        """
        checked = self.layout.check(reports)
        valid = self.valid(checked)
        if not valid.all():
            bad = len(valid) - int(np.count_nonzero(valid))
            raise UsageError(
                f"{bad} of {len(valid)} reports cannot have come from this mechanism; drop them "
                "with oracle.valid(reports)"
            )
        return State(
            self.fingerprint,
            len(checked),
            self.sums_of_valid(checked.astype(self.layout.dtype, copy=False)),
        )

    def sums_of_valid(self, reports: NDArray[np.generic]) -> NDArray[np.int64]:
        """Add up reports that :meth:`valid` says this mechanism can have made."""
        return self._sums(reports)

    def _state(self, given: Any) -> State:
        """Return a state of this mechanism: the one given, or that of the reports given."""
        state = given if isinstance(given, State) else self.aggregate(given)
        if state.oracle != self.fingerprint:
            raise MismatchError(
                "these sums are of another mechanism or question", state.oracle, self.fingerprint
            )
        return state

    def empty(self) -> State:
        """Return the state of no reports: where adding up starts."""
        return State(self.fingerprint, 0, self._sums(self.layout.empty(0)))

    @abstractmethod
    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        """Return the probability of every possible report of one answer: for small domains.

        Args:
            value: one answer, as :meth:`perturb` takes it.

        Raises:
            UsageError: more than 2**20 possible reports.
        """

    def _set(self, **values: object) -> None:
        """Set fields of the frozen dataclass while it is made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _parameters(cls) -> list[str]:
        """The names of the public parameters that make a mechanism of a domain."""
        every: Any = cls
        return [field.name for field in fields(every) if field.name not in cls._domain_fields]

    def _domain_description(self) -> Any:
        return self.domain.describe()  # type: ignore[attr-defined]

    def describe(self) -> dict[str, object]:
        """Return the rule as plain JSON values; :func:`oracle_from` builds it again."""
        given = {name: getattr(self, name) for name in self._parameters()}
        plain = {k: str(v) if isinstance(v, Fraction) else v for k, v in given.items()}
        return {"mechanism": type(self).__name__, "domain": self._domain_description(), **plain}

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 over the description: what two parties compare to know that they agree."""
        text = json.dumps(self.describe(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        parameters = {name: description[name] for name in cls._parameters()}
        items: Any = Items.from_description(description["domain"])
        return cls(items, **parameters)  # type: ignore[call-arg]


@public
class WordOracle(Oracle):
    """A mechanism of any text: it knows an answer by its digest."""

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the digest of each answer; every answer has one, a missing one too."""
        return digests(values).view(np.int64)

    def _domain_description(self) -> Any:
        return "any text"

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        return cls(**{name: description[name] for name in cls._parameters()})


@public
def oracle_from(description: Mapping[str, object]) -> Oracle:
    """Build a mechanism from its description.

    Raises:
        UsageError: no such mechanism, or parameters that it refuses.

    >>> from tacit.local import DirectEncoding
    >>> grr = DirectEncoding(["a", "b", "c"], epsilon=1)
    >>> oracle_from(grr.describe()) == grr
    True
    """
    try:
        name = str(description["mechanism"])
        load(name)
        kind = _KNOWN[name]
        return kind._build(description)
    except UsageError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError):
        raise UsageError(
            "this is not a description of a local mechanism; write one with oracle.describe()"
        ) from None


@public
class FrequencyOracle(Oracle):
    """A mechanism whose reports estimate how many people have each of a list of items.

    Attributes:
        domain: the public :class:`~tacit.local.Items`.
    """

    domain: Items

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        return self.domain.indices(values)

    @abstractmethod
    def estimate(self, reports: object) -> Estimate:
        """Estimate the count of every item, without bias, from a state or a batch of reports.

        Raises:
            UsageError: reports that this mechanism cannot have made, or a state of another one.
        """

    @abstractmethod
    def exact_counts(self, state: State) -> list[Fraction]:
        """Return the unbiased estimate of every count as exact fractions."""

    @abstractmethod
    def variance(self, n: int, frequency: object = 0) -> Fraction:
        """Return the exact variance of the estimated *count* of an item among ``n`` reports.

        The ``n`` answers are fixed, and the share ``frequency`` of them is that item: the variance
        is that of the mechanism alone.

        Args:
            n: how many reports, at least 0.
            frequency: the true share of the item, from 0 to 1.
        """

    def _report(self, value: Any) -> Any:
        """Report an answer of any kind: one that has no place is reported as a random item."""
        index = self.domain.index_of(value)
        if index == OUTSIDE:
            index = noise.uniform(len(self.domain))
        return self._draw(np.array([index], np.int64))[0]

    def _law(self, value: Any) -> dict[Any, Fraction]:
        if self.domain.index_of(value) != OUTSIDE:
            return self.distribution(value)
        mixed: dict[Any, Fraction] = {}
        for label in self.domain.labels:
            for report, p in self.distribution(label).items():
                mixed[report] = mixed.get(report, Fraction(0)) + p / len(self.domain)
        return mixed

    def measurement(self) -> Measurement:
        """Return the mechanism on one label under the discrete distance, in pure DP.

        An answer that has no place is reported as a uniformly random item would be; its
        distribution is a mean of the items' distributions, so no ratio grows.
        """
        loss = Enclosure.of(self.epsilon).upper
        return Measurement(
            Space(Category(tuple(self.domain.labels)), DiscreteDistance()),
            PureDP(),
            self._report,
            lambda d: loss if d else Fraction(0),
            distribution=self._law,
            name=type(self).__name__,
        )


@public
class PureOracle(FrequencyOracle):
    """A frequency oracle whose reports each *support* some items.

    A report supports the person's own item with probability p* and any other one with
    probability q*.  With S supporters among n reports the count is estimated as
    ``(S - n q*) / (p* - q*)``, without bias; given c people with the item, S is a sum of
    independent bits, so the estimate's variance is

        [c p* (1 - p*) + (n - c) q* (1 - q*)] / (p* - q*)**2.

    Source: T. Wang, J. Blocki, N. Li, S. Jha, *Locally differentially private protocols for
    frequency estimation*, USENIX Security 2017.
    """

    @property
    @abstractmethod
    def support(self) -> tuple[Fraction, Fraction]:
        """The pair (p*, q*)."""

    @property
    def influence(self) -> Fraction:
        """The most that one poisoned report can add to the estimate of one item, in people."""
        own, others = self.support
        return max(1 - others, others) / abs(own - others)

    def _supporters(self, state: State) -> NDArray[np.int64]:
        """Return how many reports support each item."""
        return state.sums

    def variance(self, n: int, frequency: object = 0) -> Fraction:
        base, slope = self._spread()
        share, size = read_share(frequency), read_size(n)
        return size * (base + slope * share)

    def _spread(self) -> tuple[Fraction, Fraction]:
        """Return the variance that one report adds at share 0, and its growth with the share."""
        own, others = self.support
        gap = own - others
        return others * (1 - others) / gap**2, (1 - own - others) / gap

    def exact_counts(self, state: State) -> list[Fraction]:
        own, others = self.support
        supporters = self._supporters(self._state(state)).tolist()
        return [(s - state.n * others) / (own - others) for s in supporters]

    def estimate(self, reports: object) -> Estimate:
        state = self._state(reports)
        own, others = (float(p) for p in self.support)
        base, slope = (float(v) for v in self._spread())
        supporters = self._supporters(state).astype(np.float64)
        counts = (supporters - state.n * others) / (own - others)
        return Estimate(self.domain.labels, state.n, counts, state.n * base, slope)
