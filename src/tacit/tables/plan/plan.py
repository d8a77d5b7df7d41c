"""The plan of a question: its statistics with their maps and noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, TypeVar

from tacit.accounting.budget import Budget, BudgetPart, merged, rounded_up
from tacit.arithmetic.exact import as_fraction, show
from tacit.core import Measurement, PureDP, Step, compose
from tacit.core.losses.distribution import range_of
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.expressions.schema import Schema
from tacit.mechanisms.partition_selection import (
    GaussianKeys,
    GaussianKeysInRounds,
    ReleaseKeys,
    SelectKeys,
    TruncatedNoise,
    min_noise_and_threshold,
    min_noise_and_thresholds,
    min_threshold,
)
from tacit.tables.noise import FIRST_RULES, RULES
from tacit.tables.plan.methods import MethodChoice, choose, local_part
from tacit.tables.plan.query import Query
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.keys import no_groups
from tacit.tables.query.requests import Request
from tacit.tables.statistics.base import Setting, TableStatistic
from tacit.tables.statistics.counts import CountingPart, PeopleByGroup
from tacit.tables.statistics.method import Method
from tacit.tables.statistics.part import Columns, Noise, Part, precisions
from tacit.tables.steps import (
    BoundContributions,
    DerivedColumn,
    FilterRows,
    JoinTable,
    PerPerson,
    table_space,
)

# The share of a request that each part of a release may spend.
#
# Unknown keys are one part more than those that answer, and always take an even share.  The parts
# that answer divide the rest by their weights: 1 each where the question names none.
#
# *Theorem.*  The total is never exceeded, whatever the weights are.  *Proof.*  Let m parts have the
# weights ``w_1, ..., w_m`` with the sum w, and let k be 1 for unknown keys and 0 without.  The
# shares are fractions, and ``k / (m + k) + sum_i (m / (m + k)) (w_i / w) = 1``.  The losses of all
# chains add up by sequential composition, in pure DP and in zCDP.
#
# A part that answers several labels has the largest weight of these: it is spent once, and serves
# each of them at least as well as the label would be served alone.  (The sum would be as sound; the
# largest is what makes equal weights the same as none.)
#
# A delta is not weighted: it is shared evenly by the parts that use one, and by unknown keys.
# Noise goes with the logarithm of a delta, so little would be won.


def even_share(
    request: Budget,
    unit: OneRowEach | PersonUnit,
    parts: Sequence[Part],
    unknown_keys: bool,
    rules: int = RULES,
) -> Noise:
    """Return the noise of an even share of a request: that of unknown keys, or of any part."""
    kind: Literal["laplace", "gaussian"] = (
        "gaussian" if request.kind == "concentrated" else "laplace"
    )
    keys = int(unknown_keys)
    local = sum(part.needs_delta for part in parts)
    share = request.amount / (len(parts) + keys)
    delta = request.delta / (local + keys) if local else Fraction(0)
    return Noise(kind, share, unit.rows, unit.one, delta, rules)


def by_weight(even: Noise, weights: Sequence[int]) -> tuple[Noise, ...]:
    """Return the noise of each part, from that of an even share.

    >>> even = Noise("laplace", Fraction(1, 4), 1)
    >>> [str(noise.loss) for noise in by_weight(even, [1, 3])]
    ['1/8', '3/8']
    """
    if len(set(weights)) <= 1:
        return (even,) * len(weights)
    total = sum(weights)
    return tuple(even.split(Fraction(len(weights) * weight, total)) for weight in weights)


def error_of_mean(errors: Sequence[float], noises: Sequence[Noise]) -> float:
    """Return the standard error of a mean in which the more precise numbers count for more.

    >>> one = Noise("laplace", Fraction(1), 1)
    >>> error_of_mean([3.0], [one]), error_of_mean([3.0, 4.0], [one, one])
    (3.0, 2.5)
    """
    shares = precisions(noises)
    return math.hypot(*(s * e for s, e in zip(shares, errors, strict=True))) / sum(shares)


# The whole chains of a release, built once, for its noise, its price and its certificate.


_T = TypeVar("_T")


def chain_of_rows(request: Query) -> Any:
    """Return the chain from the table to the rows that a question is about, or its space alone."""
    if request.inner is None:
        kinds = {name: column.kind for name, column in request.schema.items()}
        chain: Any = table_space(kinds, request.unit.column)
    else:
        values = [[label, value.to_json()] for label, value in request.inner.aggregates]
        chain = chain_of_rows(request.inner) >> PerPerson(request.schema.kinds(), values)
    for join in request.joins:
        chain = chain >> JoinTable(**join.added())
    for name, expression in request.derived:
        chain = chain >> DerivedColumn(name, request.columns[name].kind, expression.to_json())
    for expression in request.where:
        chain = chain >> FilterRows(expression.to_json())
    return chain


@dataclass(frozen=True)
class Chains:
    """Whole chains, from a table to the noise, of one release."""

    table: Schema  # the columns of the table
    titled: Sequence[tuple[str, Sequence[Measurement]]]  # what each part is, and its chains

    @cached_property
    def _all(self) -> list[tuple[Measurement, Any]]:
        """Each chain, and its privacy loss at one person."""
        return [(chain, chain.map(1)) for _, chains in self.titled for chain in chains]

    @cached_property
    def _composed(self) -> tuple[Measurement, Any]:
        """All chains as one, and its privacy loss."""
        if len(self._all) == 1:
            return self._all[0]
        whole = compose([chain for chain, _ in self._all])
        return whole, whole.map(1)

    @property
    def cost(self) -> Budget:
        """The privacy loss of the release, by composing the maps of all chains at one person."""
        whole, loss = self._composed
        if isinstance(loss, tuple):
            amount, delta = map(rounded_up, loss)
            return Budget("approximate", amount, delta, self._parts)
        if isinstance(whole.measure, PureDP):
            return Budget("pure", rounded_up(loss), parts=self._parts)
        return Budget("concentrated", rounded_up(loss))

    @property
    def _parts(self) -> tuple[BudgetPart, ...]:
        """The epsilon of each chain at one person; nothing where there is only one to speak of."""
        ranges = []
        for measurement, lost in self._all:
            epsilon = lost[0] if isinstance(lost, tuple) else lost
            known = None if measurement.losses is None else measurement.losses(Fraction(1))
            ranges.append((epsilon, range_of(known) == epsilon))
        parts = merged(ranges)
        plain = len(parts) == 1 and parts[0].times == 1 and not parts[0].ranged
        return () if plain else parts

    def describe(self) -> dict[str, Any]:
        """Return every chain with its distances, and what they lose together, as JSON values."""
        # Next to them stand the kinds of the columns: public facts that the plan was made from, and
        # that the question does not say.
        whole, loss = self._composed
        return {
            "table": self.table.kinds(),
            "chains": [
                {"title": title, **measurement.describe(1)}
                for title, chain in self.titled
                for measurement in chain
            ],
            "composition": {
                "measure": whole.measure.describe(),
                "loss": [str(part) for part in loss] if isinstance(loss, tuple) else str(loss),
            },
        }


class BuiltChains(NamedTuple):
    """The chains for one number of groups: their ends, each part's whole ones, and all."""

    ends: list[list[tuple[Step, Step]]]
    measurements: list[list[Measurement]]
    all: Chains


def for_each_step(ends: Sequence[tuple[Step, Step]], make: Callable[[Step], _T]) -> list[_T]:
    """Return what is made of the first step of each end, once for a step that several share."""
    made = {id(step): make(step) for step in {id(step): step for step, _ in ends}.values()}
    return [made[id(step)] for step, _ in ends]


# The part of a release that finds the keys that no one listed.


_FEW = 2  # where a person has so few keys, truncated noise shows those of the fewest people
# A third round finds no more, measured on tables whose groups are as uneven as words are.
_MAX_ROUNDS = 2
# What the first of two rounds spends of the noise: the threshold of the second grows by 5%.
_FIRST = Fraction(1, 10)


@dataclass(frozen=True)
class KeysPart:
    """The release of keys that no one listed."""

    step: Step  # the mechanism on the counts of people
    norm: str
    # the number of people at which a key is shown about every second time; in rounds, of those who
    # count in it in the last
    threshold: int
    groups: int  # how many keys a person has at most
    before: tuple[int, ...] = ()  # the thresholds of the rounds before the last

    @property
    def rounds(self) -> int:
        """The number of rounds that count people."""
        return len(self.before) + 1

    @property
    def note(self) -> str | None:
        """Describe the rounds; None if there is one."""
        if not self.before:
            return None
        first, many = self.before[0], "one group" if self.groups == 1 else f"{self.groups} groups"
        return (
            f"the groups are found in {self.rounds} rounds: first those of about {first} people, "
            f"then those of about {self.threshold}; groups found in the first take none of the "
            f"{many} that a person counts in in the second"
        )

    def chain(self, by: tuple[str, ...]) -> tuple[Step, Step]:
        """Return the chain: people of each key, noise and threshold."""
        rounds = self.rounds if self.before else None
        people = PeopleByGroup(size=None, norm=self.norm, groups=self.groups, by=by, rounds=rounds)
        return people, self.step


def read_rounds(rounds: object) -> int:
    """Return in how many rounds unknown keys are released."""
    if type(rounds) is not int or not 1 <= rounds <= _MAX_ROUNDS:
        raise UsageError(f"rounds is 1 or {_MAX_ROUNDS}: a third finds no more keys")
    return rounds


def check_rounds(by: object, keys: object, person: object) -> None:
    """Raise if rounds find nothing."""
    if not by or keys is not None:
        raise UsageError("rounds are for the keys of groups that nobody listed; leave rounds out")
    if person is None:
        raise UsageError(
            "rounds find more keys where people are in several groups; with one row each leave "
            "rounds out"
        )


def keys_part(
    groups: int, epsilon: Fraction, delta: Fraction, stated: str | None, rounds: int = 1
) -> KeysPart:
    """Return the release of keys at (epsilon, delta) that shows those of the fewest people."""
    if rounds > 1:
        if stated not in (None, GaussianKeysInRounds.name):
            raise UsageError(f"in rounds keys are released by {GaussianKeysInRounds.name}")
        return _in_rounds(groups, epsilon, delta)
    makers = {
        SelectKeys.name: _truncated,
        GaussianKeys.name: _gaussian,
        ReleaseKeys.name: _laplace,
    }
    if stated is None:
        best = makers[SelectKeys.name](groups, epsilon, delta)
        if groups <= _FEW or min_noise_and_threshold(groups, epsilon, delta) is None:
            return best
        return min(best, _gaussian(groups, epsilon, delta), key=lambda part: part.threshold)
    if stated not in makers:
        raise UsageError(f"keys are released by {' or '.join(makers)}, not by {stated!r}")
    return makers[stated](groups, epsilon, delta)


def _truncated(groups: int, epsilon: Fraction, delta: Fraction) -> KeysPart:
    one = epsilon / groups, delta / groups
    return KeysPart(SelectKeys(*one), "sparse", TruncatedNoise(*one).radius + 1, groups)


def _gaussian(groups: int, epsilon: Fraction, delta: Fraction) -> KeysPart:
    smallest = min_noise_and_threshold(groups, epsilon, delta)
    if smallest is None:
        raise UsageError("no Gaussian noise releases keys at this epsilon and delta")
    scale, threshold = smallest
    return KeysPart(GaussianKeys(scale, threshold, epsilon), "sparse", threshold, groups)


def _in_rounds(groups: int, epsilon: Fraction, delta: Fraction) -> KeysPart:
    smallest = min_noise_and_thresholds(groups, epsilon, delta, (_FIRST, 1 - _FIRST))
    if smallest is None:
        raise UsageError(
            "no Gaussian noise releases keys at this epsilon and delta; ask in one round, rounds=1"
        )
    scales, thresholds = zip(*smallest, strict=True)
    step = GaussianKeysInRounds(scales, thresholds, epsilon)
    return KeysPart(step, "sparse", thresholds[-1], groups, thresholds[:-1])


def _laplace(groups: int, epsilon: Fraction, delta: Fraction) -> KeysPart:
    """Return the release by plain Laplace noise, of certificates made before the truncated one."""
    scale = groups / epsilon
    threshold = min_threshold(scale, groups, delta)
    return KeysPart(ReleaseKeys(scale, threshold), "L1", threshold, groups)


# The plan of a release: its parts, the noise of each, and what all of it costs.
#
# Made from public facts alone.  The same plan previews a release, carries it out and, as a
# certificate, lets anyone derive its privacy loss again.


_NUMERIC = ("integer", "float", "decimal", "boolean", "undeclared", "missing")


@dataclass(frozen=True)
class Plan:
    """A query with its noise."""

    query: Query
    # what may be spent: a pure epsilon, (epsilon, delta), or a rho
    request: Budget
    keys_by: str | None = None  # the mechanism that released unknown keys; None for the best one
    rules: int = RULES  # the version of the rules of its intervals

    def __post_init__(self) -> None:
        query = self.query
        if not query.aggregates:
            raise UsageError("nothing is asked; use .agg(n=tc.count(), ...)")
        if query.unknown_keys and self.request.kind != "approximate":
            first = next((name for name in query.by if name not in query.resolved), None)
            in_sql = f", in SQL where {first} in (...)" if first else ""
            raise UsageError(
                f"the keys of {', '.join(query.by)} are not public, and releasing them takes a "
                f"delta: list them with keys=[...]{in_sql}, or use a budget such as "
                "tc.epsilon_delta(1, '1e-6') and release(epsilon=..., delta=...)"
            )
        if query.unknown_keys and self.request.delta == 0:
            raise UsageError(
                "releasing keys that are not public takes a delta; release(epsilon=..., "
                "delta='1e-7'), or list the keys with keys=[...]"
            )
        for name in query.by:
            kind = query.columns.column(name).kind
            if kind == "other":
                col(name).kind(query.columns)  # refuses it, and says why
            if kind in ("float", "decimal") and query.keys is None:
                raise UsageError(no_groups(name, kind))
        self.parts  # noqa: B018  (checks every column now, before anything is spent)
        self.keys  # noqa: B018

    def repriced(self, request: Budget) -> Plan:
        """Return the plan of the same question for another request: another noise on the same."""
        # Only where the question :attr:`~tacit.tables.plan.query.Query.is_plain`: its parts and its
        # chains up to the noise do not depend on the request.
        made = object.__new__(Plan)
        shared = (
            "query",
            "keys_by",
            "rules",
            "_placed",
            "_setting",
            "_people",
            "_rows",
            "_reached",
            "_part_requests",
        )
        own = self.__dict__
        made.__dict__.update({name: own[name] for name in shared if name in own}, request=request)
        return made

    @cached_property
    def _placed(self) -> dict[Any, Part]:
        """The parts by what they answer, in the order in which they are first asked for."""
        return self._parts_by_key([self.used(aggregate) for _, aggregate in self.query.aggregates])

    def _parts_by_key(self, aggregates: Sequence[TableStatistic]) -> dict[Any, Part]:
        parts: dict[Any, Part] = {}
        last: dict[Any, TableStatistic] = {}
        for aggregate in aggregates:
            key = self._add_part(aggregate)
            if aggregate.joins is None:
                parts[key] = self._part(aggregate, parts.get(key))
            else:
                last[key] = aggregate
        placed = {key: part.settled() for key, part in parts.items()}
        for key, aggregate in last.items():
            if not any(aggregate.answered_by(part) for part in placed.values()):
                placed[key] = self._part(aggregate, None)
        return placed

    def _add_part(self, aggregate: TableStatistic) -> Any:
        """Return what the aggregates that one part answers have in common."""
        if aggregate.method is not None:
            return ("local", aggregate.kind, str(aggregate))
        return aggregate.shared()

    def _part(self, aggregate: TableStatistic, before: Part | None) -> Part:
        if aggregate.method is None:
            return aggregate.part(self._setting, before)
        return local_part(
            aggregate,
            aggregate.require_column(),
            self._grid(aggregate, aggregate.local_bits),
            self.query.unit,
            bool(self.query.by),
        )

    @cached_property
    def _setting(self) -> Setting:
        unit = self.query.unit
        groups = unit.groups if self.query.by else 1
        choosing = Noise("laplace", Fraction(1), unit.rows, unit.one, rules=self.rules)
        first = self.rules == FIRST_RULES
        return Setting(self._grid, groups, self._counted, None if first else choosing)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts, each once."""
        return tuple(self._placed.values())

    def parts_of(self, aggregate: TableStatistic) -> list[int]:
        """Return the positions of the parts that answer an aggregate."""
        # It is one part, except for what other parts answer too, as moments do a count of rows.
        answering = set(self._answering(self.used(aggregate)))
        return [index for index, key in enumerate(self._placed) if key in answering]

    def _answering(self, used: TableStatistic) -> list[Any]:
        """Return what the parts that answer an aggregate, by the method it names, are known by."""
        if used.joins is None:
            return [self._add_part(used)]
        return [key for key, part in self._placed.items() if used.answered_by(part)]

    def used(self, aggregate: TableStatistic) -> TableStatistic:
        """Return the aggregate with the method that answers it."""
        if aggregate.method is None or aggregate.method.name != "auto":
            return aggregate
        return self.choice(aggregate).used

    @property
    def _counted(self) -> bool:
        return any(a.joins is CountingPart for _, a in self.query.aggregates)

    def choice(self, aggregate: TableStatistic) -> MethodChoice:
        """Return what ``auto`` chooses, as if every such aggregate had a part of its own."""
        grids = (
            self._grid(aggregate, aggregate.bits),
            self._grid(aggregate, aggregate.local_bits),
        )
        return choose(
            aggregate,
            grids,
            self.query.unit,
            bool(self.query.by),
            self._counted,
            shares_of(self.query, self.request, aggregate),
        )

    def method_note(self, aggregate: TableStatistic) -> str:
        """Describe the method that answers, and why; nothing if none was requested."""
        record = self.record(aggregate)
        if record is None:
            return self.parts[self.parts_of(aggregate)[0]].chosen_because
        if record["asked"] == "auto":
            return str(self.choice(aggregate))
        options = {k: v for k, v in record.items() if k not in ("asked", "used")}
        if options.get("bound", "search") != "search":
            options["bound"] = show(as_fraction(options["bound"]))
        return ", ".join([record["used"], *(f"{k} {v}" for k, v in options.items())])

    def record(self, aggregate: TableStatistic) -> dict[str, Any] | None:
        """Return what a certificate says of the method of an answer; None where none was asked."""
        if aggregate.method is None:
            return None
        used = self.parts[self.parts_of(aggregate)[0]]
        record = used.record(self.noise_of(aggregate))
        if aggregate.method.name != "auto":
            return {"asked": aggregate.method.name, **record}
        return {**self.choice(aggregate).record(), **record}

    def _grid(self, aggregate: TableStatistic, bits: int) -> Grid:
        column = self.query.columns.column(aggregate.require_column())
        col(column.name).kind(self.query.columns)  # refuses what has no use, and says why
        if column.kind not in _NUMERIC:
            raise UsageError(
                f"{aggregate.kind} needs numbers, and {column.name!r} holds {column.kind}; name "
                f"another column ({did_you_mean(column.name, self._numeric_columns())})"
            )
        # Integers lie on a grid of ones, unless an edge between them must be distinguished.
        integers = column.kind in ("integer", "boolean")
        integers = integers and all(edge.denominator == 1 for edge in aggregate.edges or ())
        lower, upper = as_fraction(aggregate.lower or 0), as_fraction(aggregate.upper or 0)
        return Grid.for_bounds(lower, upper, bits=bits, whole=integers)

    def _numeric_columns(self) -> list[str]:
        return [name for name, c in self.query.columns.items() if c.kind in _NUMERIC]

    @cached_property
    def noises(self) -> tuple[Noise, ...]:
        """The noise that each part may use: its share of the request."""
        heaviest: dict[Any, int] = {}
        weights = dict(self.query.weights)
        for label, aggregate in self.query.aggregates:
            for key in self._answering(self.used(aggregate)):
                heaviest[key] = max(heaviest.get(key, 1), weights.get(label, 1))
        return by_weight(self._even, [heaviest[key] for key in self._placed])

    @cached_property
    def _even(self) -> Noise:
        query = self.query
        return even_share(self.request, query.unit, self.parts, query.unknown_keys, self.rules)

    def noise_of(self, aggregate: TableStatistic) -> Noise:
        """Return the noise of the part that answers an aggregate, of the first where several do."""
        return self.noises[self.parts_of(aggregate)[0]]

    def expected_error(self, aggregate: TableStatistic, rows: float) -> float:
        """Return the error of an answer in a group of this many rows, without any data."""
        indices = self.parts_of(aggregate)
        noises = [self.noises[index] for index in indices]
        errors = [
            self.parts[index].expected_error(aggregate.key(), noise, rows)
            for index, noise in zip(indices, noises, strict=True)
        ]
        return error_of_mean(errors, noises)

    def half_width(self, aggregate: TableStatistic, rows: float, level: float) -> float | None:
        """Return how far the interval of an answer is expected to reach; None where unknown."""
        indices = self.parts_of(aggregate)
        parts, noises = [self.parts[i] for i in indices], [self.noises[i] for i in indices]
        return aggregate.half_width(parts, noises, rows, level)

    @cached_property
    def keys(self) -> KeysPart | None:
        """The release of unknown keys, if any."""
        if not self.query.unknown_keys:
            return None
        delta = self._even.delta or self.request.delta
        unit, rounds = self.query.unit, self.query.rounds
        return keys_part(unit.groups, self._even.loss, delta, self.keys_by, rounds)

    def chains(self, size: int) -> list[list[tuple[Step, Step]]]:
        """Return each part's chains for this many groups: its computation, and the noise on it."""
        return self._built(size).ends

    def requests(self, size: int) -> list[list[Request]]:
        """Return what the first step of each chain asks of the engine, part by part."""
        if size not in self._requests:
            undeclared, booleans = (
                frozenset(n for n, kind in self.query.columns.kinds() if kind == one)
                for one in ("undeclared", "boolean")
            )
            alone = self.query.unit.column is None
            columns = Columns(self.query.resolved, alone, undeclared, booleans)
            self._requests[size] = [
                for_each_step(ends, partial(self._request, part, columns))
                for part, ends in zip(self.parts, self.chains(size), strict=True)
            ]
        return self._requests[size]

    def _request(self, part: Part, columns: Columns, step: Step) -> Request:
        if (id(part), step) not in self._part_requests:
            self._part_requests[id(part), step] = part.request(step, columns)
        return self._part_requests[id(part), step]

    def measurements(self, size: int) -> list[list[Measurement]]:
        """Return each part's whole chains, from the table to the noise, for this many groups."""
        return self._built(size).measurements

    def _built(self, size: int) -> BuiltChains:
        if size not in self._sizes:
            ends = [
                part.chains(size, self.query.by, noise)
                for part, noise in zip(self.parts, self.noises, strict=True)
            ]
            whole = [
                self._full_chains(chain, part.on_people)
                for part, chain in zip(self.parts, ends, strict=True)
            ]
            titled = list(zip([part.title for part in self.parts], whole, strict=True))
            if self.key_chain is not None:
                titled.insert(0, (f"keys of {', '.join(self.query.by)}", [self.key_chain[1]]))
            self._sizes[size] = BuiltChains(ends, whole, Chains(self.query.source_schema, titled))
        return self._sizes[size]

    @cached_property
    def _sizes(self) -> dict[int, BuiltChains]:
        return {}

    @cached_property
    def _requests(self) -> dict[int, list[list[Request]]]:
        return {}

    @cached_property
    def key_chain(self) -> tuple[Step, Measurement] | None:
        """The count that releases unknown keys, and its whole chain, if any."""
        if self.keys is None:
            return None
        end: tuple[Step, Step] = self.keys.chain(self.query.by)
        return end[0], self.measurement(end, people=True)

    def measurement(self, end: tuple[Step, Step], people: bool) -> Measurement:
        """Return the whole chain to an end; it starts from people, or else from bounded rows."""
        return self._full_chains([end], people)[0]

    def _full_chains(self, ends: Sequence[tuple[Step, Step]], people: bool) -> list[Measurement]:
        """Return the whole chains to the ends of a part; see :meth:`measurement`."""
        start = self._people if people else self._rows

        def chain_to(step: Step) -> Any:
            if (people, step) not in self._reached:
                self._reached[people, step] = start >> step
            return self._reached[people, step]

        reached = for_each_step(ends, chain_to)
        return [to >> end for to, (_, end) in zip(reached, ends, strict=True)]

    @cached_property
    def _reached(self) -> dict[tuple[bool, Step], Any]:
        return {}

    @cached_property
    def _part_requests(self) -> dict[tuple[int, Step], Request]:
        return {}

    @cached_property
    def _people(self) -> Any:
        return chain_of_rows(self.query)

    @cached_property
    def _rows(self) -> Any:
        return self._people >> BoundContributions(self.query.unit.rows, self.query.unit.groups)

    @property
    def size(self) -> int:
        """The number of groups; 1 for unknown keys, whose number costs nothing."""
        return 1 if self.query.keys is None else len(self.query.keys)

    @cached_property
    def cost(self) -> Budget:
        """The privacy loss of the release."""
        # A loss is of the kind that the chains have, which need not be the kind that is asked for.
        return self._built(self.size).all.cost.cost_in(self.request.kind)

    def describe(self, size: int) -> dict[str, Any]:
        """Return every chain, and what they lose together; see :meth:`Chains.describe`."""
        return self._built(size).all.describe()


def shares_of(query: Query, request: Budget, aggregate: TableStatistic) -> tuple[Noise, Noise]:
    """Return the noise of an answer by ``auto`` if every choice falls on one method."""
    # Returns: the noise where that is the global method, and where it is another one.

    def fallen(aggregate: TableStatistic, method: Method | None) -> TableStatistic:
        chosen = aggregate.method is not None and aggregate.method.name == "auto"
        return replace(aggregate, method=method) if chosen else aggregate

    def noise(method: Method | None) -> Noise:
        replaced = tuple((label, fallen(each, method)) for label, each in query.aggregates)
        plan = Plan(replace(query, aggregates=replaced), request)
        return plan.noise_of(fallen(aggregate, method))

    return noise(None), noise(Method("smooth"))
