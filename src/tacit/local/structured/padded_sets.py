"""Set-valued answers: pad the set to a public length, draw one member, report it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.estimate import Estimate
from tacit.local.base.items import OUTSIDE
from tacit.local.base.oracle import FrequencyOracle, Oracle, oracle_from
from tacit.local.base.parameters import read_share, read_size
from tacit.local.base.raw_answers import is_missing, plain, values_of
from tacit.local.base.report_layout import Layout
from tacit.noise.uniform import uniform_words

__all__ = ["PaddedSets"]


@public
@dataclass(frozen=True)
class PaddedSets(Oracle):
    """Report one random slot of a padded set through any frequency oracle.

    A set of s items takes s of ``length`` slots, the rest hold the oracle's ``other`` item; of a
    set with more items than slots, a random choice of them has one.  One slot is drawn and
    reported.
    **Privacy.** A report's distribution is a mixture of the oracle's distributions, so its ratio is
    not exceeded.
    **Estimate.** An item's count is ``length`` times that of the slots: unbiased if no set is
    longer than ``length``; longer sets are counted short.

    Source: T. Wang, N. Li, S. Jha, *Locally differentially private frequent itemset mining*, S&P
    2018.

    Args:
        oracle: a frequency oracle whose items declare ``other``.
        length: the number of slots.

    Raises:
        UsageError: the oracle's items have no ``other``.

    Example:
        >>> from tacit.local import DirectEncoding, Items
        >>> goods = Items(["milk", "bread", "tea"], other="nothing")
        >>> basket = PaddedSets(DirectEncoding(goods, epsilon=4), length=2)
        >>> e = basket.estimate(basket.perturb_many([{"milk", "tea"}, {"milk"}] * 2000))
        >>> e["milk"] > e["tea"] > e["bread"]
        True
    """

    oracle: FrequencyOracle
    length: int

    def __post_init__(self) -> None:
        if not isinstance(self.oracle, FrequencyOracle) or self.oracle.domain.other is None:
            raise UsageError("give a frequency oracle whose items declare other=..., for no item")
        object.__setattr__(self, "length", as_integer(self.length, "length", minimum=1))

    @property
    def ratio(self) -> Fraction:
        """The ratio of the oracle."""
        return self.oracle.ratio

    @property
    def epsilon(self) -> Fraction | Enclosure:
        """The loss of the oracle."""
        return self.oracle.epsilon

    @property
    def layout(self) -> Layout:
        """The layout of the oracle."""
        return self.oracle.layout

    def valid(self, reports: object) -> NDArray[np.bool_]:
        """See :meth:`~tacit.local.Oracle.valid`.

        Args:
            reports: a batch of reports.
        """
        return self.oracle.valid(reports)

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Draw a slot of each set, and return the place of what it holds.

        Args:
            values: the answers of many people, as they were given.
        """
        return np.fromiter(
            (self._slot(self.members(v)) for v in values_of(values, sets=True)), np.int64
        )

    def members(self, value: object) -> list[int]:
        """Return the places of a set's items; a missing set is an empty one.

        Args:
            value: the set of a person: a collection of items, or None.

        Raises:
            UsageError: one text or number in place of a set.
        """
        value = plain(value)
        if is_missing(value):
            return []
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise UsageError("an answer is a set of items, such as a list; nothing was drawn")
        places = {self.oracle.domain.place(item) for item in value}
        other = self.oracle.domain.place(self.oracle.domain.other)
        return sorted(places - {other, OUTSIDE})

    def _slot(self, members: list[int]) -> int:
        """Draw below the greater of length and set size: a longer set loses none of its members."""
        drawn = int(uniform_words(max(self.length, len(members)), 1)[0])
        domain = self.oracle.domain
        return members[drawn] if drawn < len(members) else domain.place(domain.other)

    def _draw(self, places: NDArray[np.int64]) -> NDArray[Any]:
        return self.oracle._draw(places)

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return self.oracle._sums(reports)

    def estimate(self, reports: object) -> Estimate:
        """Estimate how many people have each item; the last item stands for empty slots.

        The error includes that of drawing slots.

        Args:
            reports: a state, or a batch of reports.
        """
        state = self._state(reports)
        slots = self.oracle.estimate(replace(state, oracle=self.oracle.fingerprint))
        size = self.length
        base = np.asarray(slots.base) * size**2
        slope = np.asarray(slots.slope) * size + (size - 1)
        return Estimate(slots.items, state.n, slots.counts * size, base, slope)

    @property
    def influence(self) -> Fraction:
        """The most that one poisoned report moves the estimated count of an item, in people."""
        found: Any = self.oracle.influence  # type: ignore[attr-defined]
        return Fraction(found) * self.length

    def variance(self, n: int, frequency: object = 0) -> Fraction:
        """Return the variance of the count of an item: that of its slots, and of drawing them.

        Args:
            n: how many reports there are.
            frequency: the true share of people with the item, from 0 to 1.
        """
        share, size = read_share(frequency), self.length
        slots = self.oracle.variance(n, share / size)
        return slots * size**2 + read_size(n) * share * (size - 1)

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        """See :meth:`~tacit.local.Oracle.distribution`.

        Args:
            value: one answer, as :meth:`perturb` takes it.
        """
        members, domain = self.members(value), self.oracle.domain
        slots = max(self.length, len(members))
        chances = {domain.labels[m]: Fraction(1, slots) for m in members}
        chances[domain.other] = 1 - Fraction(len(members), slots)
        found: dict[Any, Fraction] = {}
        for label, chance in chances.items():
            for y, p in self.oracle.distribution(label).items():
                found[y] = found.get(y, Fraction(0)) + p * chance
        return found

    def describe(self) -> dict[str, object]:
        """Return the rule as plain JSON values."""
        return {
            "mechanism": "PaddedSets", "oracle": self.oracle.describe(), "length": self.length
        }  # fmt: skip

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        inner: Any = oracle_from(description["oracle"])
        return cls(inner, description["length"])
