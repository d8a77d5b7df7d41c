"""Answers that follow from earlier ones, at no cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Entry, Ledger
from tacit.accounting.ledger import record_new
from tacit.calls import listed
from tacit.errors import UsageError
from tacit.report import Certificate, issue, versions
from tacit.report.derived import without_derived
from tacit.report.issued import FOLLOWING, FORMAT, sealed
from tacit.report.verify import following_body, recorded_part
from tacit.tables.derived.released import (
    Condition,
    EarlierRelease,
    Listed,
    ReleasedCells,
    axis_of_groups,
    between,
    column_name,
    conditions_of,
    group_names,
    release_of,
    rows_of,
    same_kinds,
    typed,
    weights_of,
)
from tacit.tables.joint.strategy import size_of, taken
from tacit.tables.noise import Estimate
from tacit.tables.plan.parse_question import query_from, schema_from
from tacit.tables.plan.price import read_tag
from tacit.tables.plan.query import Query, plain_key
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.statistics.base import TableStatistic

# Counts that follow from earlier releases: which cells they are the sums of, and their error.
#
# *Why they are free.*  A count that is answered so is a function of numbers that were released, and
# of public facts (the questions, the noise).  What is computed from a release loses no more than
# the release did (post-processing), so nothing is charged, and no row is read.
#
# *When they are the same rows.*  Every cell of a release is a set of rows, said by conditions on
# columns; the cells of a release are disjoint.  A count is a sum of cells where the conditions of
# the question are those of the release together with, for each axis, either cells that hold exactly
# what the question asks of that column, or all cells of an axis that has one for every other value.
# Where people are down-weighted to a limit, the weight of a row depends on which rows a question is
# about; there filters and groups must be the same.


Array = NDArray[np.float64]

_MOST_NUMBERS = 200_000
_MOST_WEIGHTS = 20_000_000  # this many numbers a matrix of weights may have


@dataclass(frozen=True, eq=False)
class Followed:
    """An answer that follows from earlier releases."""

    answer: dict[str, Any]  # keys and columns, as plain JSON values
    sources: dict[str, int]  # of each label, the position of the release that it follows from


def follows(query: Query, releases: Sequence[EarlierRelease]) -> Followed | None:
    """The answer to a question from earlier releases, each label from the most precise one."""
    if not may_follow(query):
        return None
    columns, sources = [], {}
    for label, statistic in query.aggregates:
        wanted = _Wanted(query, statistic)
        if wanted.size > _MOST_NUMBERS:
            return None
        best, source = None, -1
        for at, release in enumerate(releases):
            for table, names, filters in release.named if wanted.same_rows(release) else ():
                estimate = wanted.from_table(table, names, filters, wanted.beyond(release))
                if estimate is not None and (best is None or _total(estimate) < _total(best)):
                    best, source = estimate, at
        if best is None:
            return None
        sources[label] = source
        columns.append({"label": label, **_column(statistic, wanted, best)})
    keys = [[plain_key(part) for part in key] for key in query.keys or [()]]
    return Followed({"keys": keys, "columns": columns}, sources)


def may_follow(query: Query) -> bool:
    """Return whether a question is about counts of listed groups alone: no other follows."""
    each = [statistic for _, statistic in query.aggregates]
    counted = all(statistic.counts and statistic.amount for statistic in each)
    return bool(each) and not query.unknown_keys and counted and not any(a.method for a in each)


def followed(
    described: Mapping[str, Any], table: Any, bodies: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, int]] | None:
    """Return an answer again, from the certificates that it is said to follow from."""
    query = query_from(described, schema_from(table))
    releases = [release_of(body) for body in bodies]
    if any(release is None for release in releases):
        return None
    derived = follows(query, [release for release in releases if release is not None])
    return None if derived is None else (derived.answer, derived.sources)


def _total(estimate: Estimate) -> float:
    return math.fsum(np.square(estimate.standard_error).ravel().tolist())


def _column(statistic: TableStatistic, wanted: _Wanted, estimate: Estimate) -> dict[str, Any]:
    names, coherent = statistic.answer_names(), estimate.coherent()
    column: dict[str, Any] = {"kind": statistic.kind}
    parts = (coherent.value, coherent.standard_error, coherent.lower, coherent.upper)
    for name, part in zip(("value", "standard_error", "low", "high"), parts, strict=True):
        each = part.reshape(len(wanted.groups), -1)
        column[name] = (each[:, 0] if names is None else each).tolist()
    return column if names is None else {**column, "bins": names}


class _Wanted:
    """A count of a question: groups, and along them the bins of a column."""

    def __init__(self, query: Query, statistic: TableStatistic) -> None:
        self.query, self.statistic = query, statistic
        self.reading = statistic.bin_reading if statistic.edges else "cells"
        self.edges = statistic.edges or ()
        self.groups = [tuple(typed(part) for part in key) for key in query.keys or [()]]

    @property
    def bins(self) -> int:
        """The number of values of a group."""
        return size_of(self.reading, len(self.edges) - 1) if self.edges else 1

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.groups) * self.bins

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        """The conditions of its filters."""
        return conditions_of(self.query)

    @cached_property
    def by(self) -> list[str]:
        """The columns of its groups."""
        return group_names(self.query, axis_of_groups(self.query)) if self.query.by else []

    @cached_property
    def binned(self) -> str | None:
        """The column of its bins."""
        return column_name(self.query, self.statistic.require_column()) if self.edges else None

    @cached_property
    def rows(self) -> str:
        """The rows that it is about before its filters."""
        return rows_of(self.query)

    def beyond(self, release: EarlierRelease) -> dict[str, Condition]:
        """Return what its filters ask for that those of a release do not."""
        base = release.conditions
        return {text: one for text, one in self.conditions.items() if text not in base}

    def same_rows(self, release: EarlierRelease) -> bool:
        """Return whether a release is about rows that this count may be among."""
        if self.rows != release.rows or not set(release.conditions) <= set(self.conditions):
            return False
        if not same_kinds(self.query, release.query):
            return False
        if isinstance(self.query.unit, OneRowEach):
            return True
        # the weight of a row depends on the other rows of its person that are asked about
        same, other = set(release.conditions) == set(self.conditions), release.query
        keys = [[tuple(map(typed, key)) for key in q.keys or ()] for q in (self.query, other)]
        own = group_names(other, axis_of_groups(other)) if other.by else []
        return same and own == self.by and set(keys[0]) == set(keys[1])

    def from_table(
        self,
        table: ReleasedCells,
        names: Sequence[list[str]],
        filters: Sequence[Mapping[str, Condition]],
        rest: Mapping[str, Condition],
    ) -> Estimate | None:
        """Return the numbers as sums of the cells of a table; None where they are none."""
        bins = self._along(table, names)
        if self.binned is not None and (bins is None or self.binned in self.by):
            return None
        sums = []
        for group in self.groups:
            own = zip(self.by, group, strict=True)
            chosen = {f"group by {name}": Listed(name, frozenset([part])) for name, part in own}
            weights = weights_of(table, names, filters, {**rest, **chosen}, bins)
            if weights is None:
                return None
            sums.append(table.sums(weights))
        value, error, half = (np.concatenate(each) for each in zip(*sums, strict=True))
        low, high = np.maximum(value - half, 0.0), np.maximum(value + half, 0.0)
        return Estimate(value, error, low, high)

    def _along(self, table: ReleasedCells, names: Sequence[list[str]]) -> tuple[int, Array] | None:
        """Return the axis of the bins, and the cells of it that each number adds up."""
        for position, (axis, own) in enumerate(zip(table.axes, names, strict=True)):
            if self.binned is None or not axis.edges or own != [self.binned]:
                continue
            ends = itertools.pairwise(self.edges)
            each = [between(axis, low, high, closed=high == self.edges[-1]) for low, high in ends]
            size = table.values.shape[position]
            if None in each or size * self.bins > _MOST_WEIGHTS:
                continue
            cells = np.zeros((len(each), size))
            for number, one in enumerate(each):
                cells[number, one] = 1.0
            return position, taken(self.reading, cells.T).T
        return None


# Finding the earlier releases that a question follows from, and writing down that it does.


@dataclass(frozen=True, eq=False)
class Charged:
    """An answered charge of a ledger."""

    entry: Entry
    body: dict[str, Any]
    release: EarlierRelease | None  # what it counted; None where nothing follows from it


def charged(entry: Entry, ledger: Ledger) -> Charged | None:
    """Return what a charge published; None where it is not answered, or is of another data set."""
    if entry.answer is None or "table" not in entry.answer:
        return None
    if ledger.about(entry)[0] != ledger.dataset:
        return None
    body = issue(entry, ledger).body
    return Charged(entry, body, _read(body))


@dataclass(frozen=True, eq=False)
class Free:
    """An answer that follows from earlier releases, before it is written down."""

    question: dict[str, Any]  # ``query`` and ``tag``, as a ledger has them
    answer: dict[str, Any]  # keys and columns
    sources: dict[str, EarlierRelease]  # of each label the release that it follows from

    @property
    def errors(self) -> dict[str, float]:
        """The root mean square of the standard errors of each label."""
        return {column["label"]: _mean(column) for column in self.answer["columns"]}


class Earlier:
    """The earlier releases of a ledger that answers may follow from."""

    def __init__(
        self,
        ledger: Ledger,
        given: Iterable[Certificate] = (),
        tag: str | None = None,
        seen: Iterable[Charged] | None = None,
    ) -> None:
        self._ledger, self._tag = ledger, read_tag(tag)
        certificates = listed(given, "give a list of certificates: [certificate]")
        own = _paid(ledger, tag) if seen is None else seen
        self.charged = {
            one.body["digest"]: one for one in own if one.body["question"].get("tag") == tag
        }
        bodies = [_checked(one, ledger, tag) for one in certificates]
        by_digest = {known: one.release for known, one in self.charged.items()}
        by_digest |= {b["digest"]: _read(b) for b in bodies if b["digest"] not in by_digest}
        self._releases = [one for one in by_digest.values() if one is not None]

    def find(self, query: Query) -> Free | None:
        """Return the answer that follows from the releases, or None; nothing is written down."""
        derived = follows(query, self._releases)
        if derived is None:
            return None
        sources = {label: self._releases[index] for label, index in derived.sources.items()}
        return Free({"query": query.describe(), "tag": self._tag}, derived.answer, sources)

    def errors(self, query: Query) -> dict[str, float] | None:
        """Return the root mean square standard error of each label; None if one is missing."""
        # Nothing is written down.
        derived = self.find(query)
        return None if derived is None else derived.errors

    def certificates(
        self, queries: Sequence[Query], most: int | None = None
    ) -> list[Certificate | None]:
        """Return the certificates of answers that follow from the releases, and record them."""
        bodies = [self._body(query) for query in queries]
        parts: dict[str, list[dict[str, Any]]] = {}
        for body in bodies:
            digests = [] if body is None else [source["digest"] for source in body["sources"]]
            paid = next((digest for digest in digests if digest in self.charged), None)
            if body is not None and paid is not None:
                parts.setdefault(paid, []).append(recorded_part(body))
        for paid, each in parts.items():
            record_new(self._ledger, self.charged[paid].entry, each, most)
        return [None if body is None else Certificate(body) for body in bodies]

    def _body(self, query: Query) -> dict[str, Any] | None:
        derived = self.find(query)
        if derived is None:
            return None
        used_ids = set(map(id, derived.sources.values()))
        used = [release for release in self._releases if id(release) in used_ids]
        by_label = {label: used.index(release) for label, release in derived.sources.items()}
        sources = [release.body for release in used]
        texts = [release.text for release in used]
        return following_body(
            derived.question, derived.answer, by_label, sources, versions(), texts
        )


def free_again(
    question: Mapping[str, Any], bodies: Sequence[dict[str, Any]], made_with: Mapping[str, str]
) -> Certificate | None:
    """The certificate of an answer again, from the releases that it was said to follow from."""
    derived = followed(question["query"], bodies[0]["table"], bodies)
    if derived is None:
        return None
    return Certificate(following_body(question, *derived, bodies, made_with))


def free_errors_of(
    queries: Sequence[Query], ledger: Ledger, tag: str | None = None
) -> list[dict[str, float]]:
    """Return the errors of the answers that follow from the releases of a ledger."""
    # The ledger is read once, and not at all where none of the questions is about counts alone.
    #
    # Returns: for each question what :meth:`Earlier.errors` says; nothing where it does not follow.
    if not any(map(may_follow, queries)):
        return [{} for _ in queries]
    earlier = Earlier(ledger, tag=tag)
    return [earlier.errors(query) or {} for query in queries]


def _mean(column: Mapping[str, Any]) -> float:
    errors = np.asarray(column["standard_error"], dtype=np.float64)
    return float(np.sqrt(np.mean(np.square(errors))))


def _paid(ledger: Ledger, tag: str | None) -> list[Charged]:
    """Return the answered charges on the account of whoever asks."""
    own = [
        entry
        for entry in ledger.history()
        if entry.accounts == ledger.payer.accounts and entry.question.get("tag") == tag
    ]
    return [one for entry in own if (one := charged(entry, ledger)) is not None]


def _checked(given: Certificate, ledger: Ledger, tag: str | None) -> dict[str, Any]:
    """Return the body of a certificate that holds; one of this ledger must stand there, too."""
    # Of another ledger's, only that it agrees with itself can be known.
    if not isinstance(given, Certificate):
        raise UsageError("give certificates: tc.Certificate.load('ages.json')")
    body: dict[str, Any] = given.body
    if body.get("format") == FOLLOWING:
        raise UsageError("a free answer adds nothing to the releases that it follows from")
    if body.get("format") != FORMAT or not given.verify():
        raise UsageError("a certificate does not hold: verify() says why")
    if body["ledger"]["id"] == ledger.id and not given.verify(ledger):
        raise UsageError(
            "a certificate says that its release stands in this ledger, and it does not: "
            "verify(session.ledger) says why"
        )
    if body["dataset"] != ledger.dataset or body["question"]["tag"] != tag:
        raise UsageError("a certificate is of another data set, or has another tag")
    return sealed(without_derived(body))


def _read(body: dict[str, Any]) -> EarlierRelease | None:
    try:
        return release_of(body)
    except UsageError:  # planned otherwise by the version that made it
        return None
