"""RAPPOR: a Bloom filter of the answer, kept noisy for ever, and noised again for every report."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure, log
from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.device import Staged
from tacit.local.estimate import Estimate
from tacit.local.frequency.bit_vectors import packed
from tacit.local.hashing import digests, hashed_indices, nonnegative_least_squares
from tacit.local.items import plain, text_of, values_of
from tacit.local.oracle import Layout, State, WordOracle
from tacit.local.random_bits import count_bits, dyadic_near, random_rows, uniform_below

Rows = NDArray[np.uint8]


@public
@dataclass(frozen=True, init=False)
class Rappor(WordOracle, Staged):
    """Report the noisy bits of a Bloom filter, under hash functions that depend on a cohort.

    1. A device belongs permanently to a random cohort, whose h hash functions set h of m bits.
    2. *Permanent* stage, once for each answer: a bit becomes 1 with probability f/2, 0 with f/2,
       and else stays.  The device keeps this row and never uses the true bits again.
    3. *Instantaneous* stage, for each report: a kept 1 is sent as 1 with probability q, a kept 0
       with probability p.

    **Privacy.** Two answers differ in at most h bits each way.  One report has the loss
    ``h ln(q* (1 - p*) / (p* (1 - q*)))`` with ``q* = f (p + q)/2 + (1 - f) q`` and
    ``p* = f (p + q)/2 + (1 - f) p``; all reports together have at most the loss of the
    permanent row, ``2 h ln((1 - f/2)/(f/2))``: :attr:`permanent_epsilon`.  Attained by answers
    whose bits are distinct.
    A :class:`~tacit.local.Device` keeps cohort and row, and charges for the row.
    **Estimate.** With t the unbiased count of true ones of every bit of every cohort, the counts of
    candidate answers are the regression of t on their Bloom bits.

    Source: U. Erlingsson, V. Pihur, A. Korolova, *RAPPOR: randomized aggregatable
    privacy-preserving ordinal response*, CCS 2014.

    Args:
        bloom_bits: m, at least 2.
        hashes: h, below m.
        cohorts: a power of two.
        f: from 0 to below 1; 0 for no permanent stage: then *repeated reports add up*.
        p, q: from 0 to 1, not equal; 0 and 1 for no instantaneous stage.

    Raises:
        UsageError: sizes or probabilities out of range, or no noise at all.

    Example:
        >>> rappor = Rappor(bloom_bits=64, hashes=2, cohorts=8, f="1/2", p="1/4", q="3/4")
        >>> rappor.report_bits, float(rappor.ratio), float(rappor.permanent_ratio)
        (67, 7.71..., 81.0)
        >>> reports = rappor.perturb_many(["red"] * 3000 + ["blue"] * 1000)
        >>> e = rappor.estimate(reports, ["red", "blue", "green"])
        >>> e["red"] > e["blue"] > e["green"]
        True
    """

    bloom_bits: int
    hashes: int
    cohorts: int
    f: Fraction
    p: Fraction
    q: Fraction

    def __init__(
        self,
        bloom_bits: int = 128,
        hashes: int = 2,
        cohorts: int = 64,
        f: Number = "1/2",
        p: Number = "1/2",
        q: Number = "3/4",
    ) -> None:
        m, h, c = (
            as_integer(v, name, minimum=minimum)
            for v, name, minimum in (
                (bloom_bits, "bloom_bits", 2),
                (hashes, "hashes", 1),
                (cohorts, "cohorts", 1),
            )
        )
        if h >= m or c & (c - 1) or m * c > 1 << 24:
            raise UsageError("hashes must be below bloom_bits, and cohorts must be a power of two")
        noise = {name: _share(v, name) for name, v in (("f", f), ("p", p), ("q", q))}
        if noise["p"] == noise["q"] or noise["f"] == 1:
            raise UsageError(
                "p = q, or f = 1, gives every answer the same distribution of reports: choose "
                "others"
            )
        sizes = {"bloom_bits": m, "hashes": h, "cohorts": c}
        self._set(**sizes, **noise)
        if not 0 < min(self.rates) <= max(self.rates) < 1:
            raise UsageError("without a permanent stage (f = 0), p and q must be between 0 and 1")

    @property
    def rates(self) -> tuple[Fraction, Fraction]:
        """(p*, q*): the probability that a report has a 1 where the filter has 0, or 1."""
        blind = self.f * (self.p + self.q) / 2
        return blind + (1 - self.f) * self.p, blind + (1 - self.f) * self.q

    @property
    def ratio(self) -> Fraction:
        """e**epsilon of one report."""
        zero, one = self.rates
        odds = one * (1 - zero) / (zero * (1 - one))
        return max(odds, 1 / odds) ** self.hashes

    @property
    def permanent_epsilon(self) -> Enclosure | None:
        """The loss of all reports of one answer together; None without a permanent stage."""
        return log(self.permanent_ratio, 96) if self.f else None

    @property
    def permanent_ratio(self) -> Fraction:
        """e**permanent_epsilon: the ratio of the permanent row."""
        if not self.f:
            raise UsageError("without a permanent stage (f = 0) the losses of reports add up")
        return ((2 - self.f) / self.f) ** (2 * self.hashes)

    @property
    def layout(self) -> Layout:
        """The m bits, then the cohort in binary."""
        return Layout("bits", self.bloom_bits + self._cohort_bits, 2)

    @property
    def _cohort_bits(self) -> int:
        return self.cohorts.bit_length() - 1

    def filters(self, indices: NDArray[np.int64], cohort: NDArray[np.int64]) -> Rows:
        """Return the Bloom filter of each digest in its cohort: (n, m) of 0 and 1.

        Args:
            indices: the digests, of shape (n,).
            cohort: of each device, of shape (n,).
        """
        bits = np.zeros((len(indices), self.bloom_bits), bool)
        columns = np.arange(self.bloom_bits)
        for i in range(self.hashes):
            wide = hashed_indices(indices.view(np.uint64), cohort * self.hashes + i, 1 << 32)
            bits |= columns == (wide * self.bloom_bits >> 32)[:, None]  # the same work everywhere
        return bits.view(np.uint8)

    def draw_cohorts(self, n: int) -> NDArray[np.int64]:
        """Draw the cohorts of ``n`` devices."""
        return uniform_below(self.cohorts, n).astype(np.int64)

    def permanent(self, filters: Rows) -> Rows:
        """Draw the rows that devices keep, (n, m) of 0 and 1, from true filters."""
        n = len(filters)
        blind, coin = self._coins(self.f, n), self._coins(Fraction(1, 2), n)
        return filters ^ (filters ^ coin) & blind

    def instantaneous(self, kept: Rows) -> Rows:
        """Draw the bits of one report, (n, m) of 0 and 1, from kept rows."""
        n = len(kept)
        zero, one = self._coins(self.p, n), self._coins(self.q, n)
        return zero ^ (zero ^ one) & kept

    def _coins(self, p: Fraction, n: int) -> Rows:
        if p.denominator == 1:
            return np.full((n, self.bloom_bits), int(p), np.uint8)
        rows = random_rows(p, n, self.bloom_bits)
        return np.unpackbits(rows, axis=1, count=self.bloom_bits, bitorder="little")

    def report(self, bits: Rows, cohort: NDArray[np.int64]) -> Rows:
        """Pack bits and cohorts into reports."""
        number = cohort[:, None] >> np.arange(self._cohort_bits) & 1
        both = np.concatenate((bits, number.astype(np.uint8)), axis=1)
        return np.packbits(both, axis=1, bitorder="little")

    @property
    def kept(self) -> Rappor:
        """State stored on a device: cohort and permanent row (if f = 0, the one report itself)."""
        p, q = (0, 1) if self.f else (self.p, self.q)
        return Rappor(self.bloom_bits, self.hashes, self.cohorts, self.f, p, q)

    def standing(self) -> NDArray[np.int64]:
        """Draw the cohort of a device."""
        return self.draw_cohorts(1)

    def keep(self, value: object, existing: NDArray[np.int64]) -> object:
        """Draw the row that a device keeps, in its cohort."""
        row = self.permanent(self.filters(self.read([value]), existing))
        return self.report(row if self.f else self.instantaneous(row), existing)[0]

    def renew(self, permanent: object) -> object:
        """Draw one report from a kept row; without a permanent stage the report stays."""
        if not self.f:
            return permanent
        permanent_row: Any = permanent
        bits = np.unpackbits(
            permanent_row[None], axis=1, bitorder="little", count=self.layout.width
        )
        row, number = bits[:, : self.bloom_bits], bits[:, self.bloom_bits :]
        cohort = number.astype(np.int64) @ (1 << np.arange(self._cohort_bits))
        return self.report(self.instantaneous(row), cohort)[0]

    def _draw(self, indices: NDArray[np.int64]) -> Rows:
        """Draw fresh cohorts and both stages: one report of a device that never reports again."""
        cohort = self.draw_cohorts(len(indices))
        permanent = self.permanent(self.filters(indices, cohort))
        return self.report(self.instantaneous(permanent), cohort)

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Sum the bits of each cohort, and after them its number of reports."""
        m = self.bloom_bits
        tail = np.unpackbits(reports[:, m // 8 :], axis=1, bitorder="little")
        number = tail[:, m % 8 : m % 8 + self._cohort_bits].astype(np.int64)
        cohort = number @ (1 << np.arange(self._cohort_bits))
        table = np.zeros((self.cohorts, m + 1), np.int64)
        order = np.argsort(cohort, kind="stable")
        ends = np.searchsorted(cohort[order], np.arange(self.cohorts + 1))
        for j in np.flatnonzero(np.diff(ends)).tolist():
            table[j, :m] = count_bits(reports[order[ends[j] : ends[j + 1]]], m)
        table[:, m] = np.diff(ends)
        return table.ravel()

    def estimate(
        self, reports: object, candidates: Iterable[object], *, nonnegative: bool = True
    ) -> Estimate:
        """Estimate the counts of candidate answers, by regression on their Bloom bits.

        Answers that are not candidates make the others' counts too high where bits are shared: name
        all that may occur.

        Args:
            reports: a state of this mechanism, or a batch.
            candidates: the answers to look for.
            nonnegative: least squares with counts that are not negative (biased, no errors known);
                False for plain least squares: unbiased if every answer that occurs is a
                candidate, with standard errors.

        Raises:
            UsageError: reports that this mechanism cannot have made, no candidates, or (without
                ``nonnegative``) candidates that cannot be distinguished.
        """
        state, names = self._state(reports), self._names(candidates)
        target, design, size = self._regression(state, names)
        if nonnegative:
            counts = nonnegative_least_squares(design, target)
            return Estimate(names, state.n, counts, np.nan, method="non-negative least squares")
        if np.linalg.matrix_rank(design) < len(names):
            raise UsageError("some candidates share all their bits: take more bits or cohorts")
        solve = np.linalg.pinv(design)
        zero, one = (float(v) for v in self.rates)
        worst = max(zero * (1 - zero), one * (1 - one)) / (one - zero) ** 2
        spread = size * (worst + 0.25)  # the noise of a bit, and whose cohort has which answer
        return Estimate(names, state.n, solve @ target, self.hashes * (solve**2 @ spread))

    def influence_on(self, reports: object, candidates: Iterable[object]) -> NDArray[np.float64]:
        """Return the most that one poisoned report moves each candidate's count (plain regression).

        In each cohort the worst report sets just the bits that pull a count the same way.  The
        sizes of the cohorts are those of the reports.

        Raises:
            UsageError: as :meth:`estimate`.
        """
        state, names = self._state(reports), self._names(candidates)
        _, design, _ = self._regression(state, names)
        pulls = np.linalg.pinv(design).reshape(len(names), self.cohorts, self.bloom_bits)
        zero, one = (float(v) for v in self.rates)
        clear, set_ = -zero / (one - zero) * pulls, (1 - zero) / (one - zero) * pulls
        up, down = np.maximum(clear, set_).sum(axis=2), np.minimum(clear, set_).sum(axis=2)
        return np.maximum(up, -down).max(axis=1)  # type: ignore[no-any-return]

    def _names(self, candidates: Iterable[Any]) -> tuple[Any, ...]:
        names = tuple(map(plain, values_of(candidates)))
        if not names or len(set(map(text_of, names))) < len(names):
            raise UsageError("name at least one candidate, and each once")
        return names

    def _regression(
        self, state: State, names: tuple[Any, ...]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return each bit's true ones in each cohort, what one person adds to them, and sizes."""
        table = state.sums.reshape(self.cohorts, self.bloom_bits + 1)
        size = table[:, -1:]
        zero, one = (float(v) for v in self.rates)
        target = (table[:, :-1] - size * zero) / (one - zero)
        known = digests(names).view(np.int64)
        columns = [
            self.filters(known, np.full(len(names), j)).T * (size[j, 0] / max(1, state.n))
            for j in range(self.cohorts)
        ]
        sizes = np.repeat(size.ravel(), self.bloom_bits).astype(np.float64)
        return target.ravel(), np.concatenate(columns), sizes

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        if self.layout.width > 16:
            raise UsageError("there are too many reports to list: take fewer bits and cohorts")
        masses: dict[Hashable, Fraction] = {}
        index = self.read([value])
        for j in range(self.cohorts):
            bloom = self.filters(index, np.array([j]))[0].tolist()
            number = [j >> i & 1 for i in range(self._cohort_bits)]
            for bits in product((0, 1), repeat=self.bloom_bits):
                each = (
                    self.rates[b] if s else 1 - self.rates[b]
                    for s, b in zip(bits, bloom, strict=True)
                )
                masses[packed([*bits, *number])] = prod(each, start=Fraction(1, self.cohorts))
        return masses


def _share(value: Number, name: str) -> Fraction:
    share = as_fraction(value, name)
    if not 0 <= share <= 1:
        raise UsageError(f"{name} is a probability, from 0 to 1")
    return dyadic_near(share) if 0 < share < 1 else share
