"""The plan of a release: its parts, the noise of each, and what all of it costs.

Made from public facts alone.  The same plan previews a release, carries it out and, as a
certificate, lets anyone derive its privacy loss again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.arithmetic.exact import as_fraction, show
from tacit.core import Measurement, Step
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.answers.aggregate import Aggregate, Setting, kind_of
from tacit.tables.answers.rows import CountingPart
from tacit.tables.chain.part import Columns, Noise, Part
from tacit.tables.chain.row_steps import BoundContributions
from tacit.tables.plan.chains import BuiltChains, Chains, chain_of_rows, for_each_step
from tacit.tables.plan.choose_method import Choice, choose, local_part
from tacit.tables.plan.noise_shares import by_weight, error_of_mean, even_share
from tacit.tables.plan.query import Query
from tacit.tables.plan.unlisted_keys import KeysPart, keys_part
from tacit.tables.query.keys_sql import no_groups
from tacit.tables.query.requests import Request
from tacit.tables.spec.method import Method

__all__ = ["Plan", "shares_of"]

_NUMERIC = ("integer", "float", "decimal", "boolean", "undeclared", "missing")


@dataclass(frozen=True)
class Plan:
    """A query with its noise.

    Args:
        query: the question.
        request: what may be spent: a pure epsilon, (epsilon, delta), or a rho.
        keys_by: the mechanism that released unknown keys; None for the best one.

    Raises:
        UsageError: a column that is not there or holds no numbers, nothing asked, or unknown keys
            without a delta.
    """

    query: Query
    request: Budget
    keys_by: str | None = None

    def __post_init__(self) -> None:
        query = self.query
        if not query.aggregates:
            raise UsageError("nothing is asked; use .agg(n=tc.count(), ...)")
        if query.unknown_keys and self.request.kind != "approximate":
            raise UsageError(
                f"the keys of {', '.join(query.by)} are not public, and releasing them takes a "
                "delta: list them with keys=[...], or use a budget such as "
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
        """Return the plan of the same question for another request: another noise on the same.

        Only where the question :attr:`~tacit.tables.plan.query.Query.is_plain`: its parts and its
        chains up to the noise do not depend on the request.
        """
        made = object.__new__(Plan)
        kept = ("query", "keys_by", "_placed", "_setting", "_people", "_rows", "_reached", "_asked")
        own = self.__dict__
        made.__dict__.update({name: own[name] for name in kept if name in own}, request=request)
        return made

    @cached_property
    def _placed(self) -> dict[Any, Part]:
        """The parts by what they answer, in the order in which they are first asked for."""
        return self._place_all([self.used(aggregate) for _, aggregate in self.query.aggregates])

    def _place_all(self, aggregates: Sequence[Aggregate]) -> dict[Any, Part]:
        found: dict[Any, Part] = {}
        last: dict[Any, Aggregate] = {}
        for aggregate in aggregates:
            key = self._place(aggregate)
            if kind_of(aggregate.kind).joins is None:
                found[key] = self._part(aggregate, found.get(key))
            else:
                last[key] = aggregate
        placed = {key: part.settled() for key, part in found.items()}
        for key, aggregate in last.items():
            if not any(kind_of(aggregate.kind).answered_by(part) for part in placed.values()):
                placed[key] = self._part(aggregate, None)
        return placed

    def _place(self, aggregate: Aggregate) -> Any:
        """Return what the aggregates that one part answers have in common."""
        if aggregate.method is not None:
            return ("local", aggregate.kind, str(aggregate))
        return kind_of(aggregate.kind).shared(aggregate)

    def _part(self, aggregate: Aggregate, before: Part | None) -> Part:
        kind = kind_of(aggregate.kind)
        if aggregate.method is None:
            return kind.part(aggregate, self._setting, before)
        return local_part(
            aggregate,
            aggregate.require_column(),
            self._grid(aggregate, kind.local_bits),
            self.query.unit,
            bool(self.query.by),
        )

    @cached_property
    def _setting(self) -> Setting:
        groups = self.query.unit.groups if self.query.by else 1
        return Setting(self._grid, groups, self._counted)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts, each once."""
        return tuple(self._placed.values())

    def parts_of(self, aggregate: Aggregate) -> list[int]:
        """Return the places of the parts that answer an aggregate.

        It is one part, but for what other parts answer too, as moments do a count of rows.
        """
        answering = set(self._answering(self.used(aggregate)))
        return [place for place, key in enumerate(self._placed) if key in answering]

    def _answering(self, used: Aggregate) -> list[Any]:
        """Return what the parts that answer an aggregate, by the method it names, are known by."""
        kind = kind_of(used.kind)
        if kind.joins is None:
            return [self._place(used)]
        return [key for key, part in self._placed.items() if kind.answered_by(part)]

    def used(self, aggregate: Aggregate) -> Aggregate:
        """Return the aggregate with the method that answers it."""
        if aggregate.method is None or aggregate.method.name != "auto":
            return aggregate
        return self.choice(aggregate).used

    @property
    def _counted(self) -> bool:
        return any(kind_of(a.kind).joins is CountingPart for _, a in self.query.aggregates)

    def choice(self, aggregate: Aggregate) -> Choice:
        """Return what ``auto`` chooses, as if every such aggregate had a part of its own."""
        grids = (
            self._grid(aggregate, kind_of(aggregate.kind).bits),
            self._grid(aggregate, kind_of(aggregate.kind).local_bits),
        )
        return choose(
            aggregate,
            grids,
            self.query.unit,
            bool(self.query.by),
            self._counted,
            shares_of(self.query, self.request, aggregate),
        )

    def told(self, aggregate: Aggregate) -> str:
        """Say which method answers, and why; nothing where none was asked."""
        record = self.record(aggregate)
        if record is None:
            return ""
        if record["asked"] == "auto":
            return str(self.choice(aggregate))
        options = {k: v for k, v in record.items() if k not in ("asked", "used")}
        if options.get("bound", "search") != "search":
            options["bound"] = show(as_fraction(options["bound"]))
        return ", ".join([record["used"], *(f"{k} {v}" for k, v in options.items())])

    def record(self, aggregate: Aggregate) -> dict[str, Any] | None:
        """Return what a certificate says of the method of an answer; None where none was asked."""
        if aggregate.method is None:
            return None
        used = self.parts[self.parts_of(aggregate)[0]]
        told = used.record(self.noise_of(aggregate))
        if aggregate.method.name != "auto":
            return {"asked": aggregate.method.name, **told}
        return {**self.choice(aggregate).record(), **told}

    def _grid(self, aggregate: Aggregate, bits: int) -> Grid:
        column = self.query.columns.column(aggregate.require_column())
        col(column.name).kind(self.query.columns)  # refuses what has no use, and says why
        if column.kind not in _NUMERIC:
            raise UsageError(
                f"{aggregate.kind} needs numbers, and {column.name!r} holds {column.kind}; name "
                f"another column ({did_you_mean(column.name, self._numeric_columns())})"
            )
        # Whole numbers lie on a grid of ones, unless an edge between them must be distinguished.
        whole = column.kind in ("integer", "boolean")
        whole = whole and all(edge.denominator == 1 for edge in aggregate.edges or ())
        lower, upper = as_fraction(aggregate.lower or 0), as_fraction(aggregate.upper or 0)
        return Grid.for_bounds(lower, upper, bits=bits, whole=whole)

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
        return even_share(self.request, query.unit, self.parts, query.unknown_keys)

    def noise_of(self, aggregate: Aggregate) -> Noise:
        """Return the noise of the part that answers an aggregate, of the first where several do."""
        return self.noises[self.parts_of(aggregate)[0]]

    def expected_error(self, aggregate: Aggregate, rows: float) -> float:
        """Return the error of an answer in a group of so many rows, without any data."""
        places, key = self.parts_of(aggregate), kind_of(aggregate.kind).key(aggregate)
        noises = [self.noises[place] for place in places]
        errors = [
            self.parts[place].expected_error(key, noise, rows)
            for place, noise in zip(places, noises, strict=True)
        ]
        return error_of_mean(errors, noises)

    def half_width(self, aggregate: Aggregate, rows: float, level: float) -> float | None:
        """Return how far the interval of an answer is expected to reach; None where unknown."""
        places = self.parts_of(aggregate)
        parts, noises = [self.parts[i] for i in places], [self.noises[i] for i in places]
        return self.reach(aggregate, parts, noises, rows, level)

    def reach(
        self,
        aggregate: Aggregate,
        parts: Sequence[Part],
        noises: Sequence[Noise],
        rows: float,
        level: float,
    ) -> float | None:
        """Return how far the interval of an answer reaches with noise of some parts."""
        kind = kind_of(aggregate.kind)
        if kind.key(aggregate) != kind.name:
            return parts[0].half_width(kind.key(aggregate), noises[0], rows, level)
        return kind.half_width(parts, noises, rows, level)

    @cached_property
    def keys(self) -> KeysPart | None:
        """How unknown keys are released, if they are."""
        if not self.query.unknown_keys:
            return None
        delta = self._even.delta or self.request.delta
        unit, rounds = self.query.unit, self.query.rounds
        return keys_part(unit.groups, self._even.loss, delta, self.keys_by, rounds)

    def chains(self, size: int) -> list[list[tuple[Step, Step]]]:
        """Return each part's chains, for so many groups: what is computed, and the noise on it."""
        return self._built(size).ends

    def requests(self, size: int) -> list[list[Request]]:
        """Return what the first step of each chain asks of the engine, part by part."""
        if size not in self._requests:
            columns = Columns(self.query.resolved, alone=self.query.unit.column is None)
            self._requests[size] = [
                for_each_step(ends, partial(self._request, part, columns))
                for part, ends in zip(self.parts, self.chains(size), strict=True)
            ]
        return self._requests[size]

    def _request(self, part: Part, columns: Columns, step: Step) -> Request:
        if (id(part), step) not in self._asked:
            self._asked[id(part), step] = part.request(step, columns)
        return self._asked[id(part), step]

    def measurements(self, size: int) -> list[list[Measurement]]:
        """Return each part's whole chains, from the table to the noise, for so many groups."""
        return self._built(size).measurements

    def _built(self, size: int) -> BuiltChains:
        if size not in self._sizes:
            ends = [
                part.chains(size, self.query.by, noise)
                for part, noise in zip(self.parts, self.noises, strict=True)
            ]
            whole = [
                self._whole(chain, part.on_people)
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
        """What is counted to release unknown keys, and its whole chain, if they are released."""
        if self.keys is None:
            return None
        end: tuple[Step, Step] = self.keys.chain(self.query.by)
        return end[0], self.measurement(end, people=True)

    def measurement(self, end: tuple[Step, Step], people: bool) -> Measurement:
        """Return the whole chain to an end; it starts from people, or else from bounded rows."""
        return self._whole([end], people)[0]

    def _whole(self, ends: Sequence[tuple[Step, Step]], people: bool) -> list[Measurement]:
        """Return the whole chains to the ends of a part; see :meth:`measurement`."""
        start = self._people if people else self._rows

        def reach(step: Step) -> Any:
            if (people, step) not in self._reached:
                self._reached[people, step] = start >> step
            return self._reached[people, step]

        reached = for_each_step(ends, reach)
        return [to >> end for to, (_, end) in zip(reached, ends, strict=True)]

    @cached_property
    def _reached(self) -> dict[tuple[bool, Step], Any]:
        return {}

    @cached_property
    def _asked(self) -> dict[tuple[int, Step], Request]:
        return {}

    @cached_property
    def _people(self) -> Any:
        return chain_of_rows(self.query)

    @cached_property
    def _rows(self) -> Any:
        return self._people >> BoundContributions(self.query.unit.rows, self.query.unit.groups)

    @property
    def size(self) -> int:
        """How many groups there are; 1 where the keys are unknown, whose number costs nothing."""
        return 1 if self.query.keys is None else len(self.query.keys)

    @cached_property
    def cost(self) -> Budget:
        """The privacy loss of the release."""
        # A loss is of the kind that the chains have, which need not be the kind that is asked for.
        return self._built(self.size).all.cost.cost_in(self.request.kind)

    def describe(self, size: int) -> dict[str, Any]:
        """Return every chain, and what they lose together; see :meth:`Chains.describe`."""
        return self._built(size).all.describe()


def shares_of(query: Query, request: Budget, aggregate: Aggregate) -> tuple[Noise, Noise]:
    """Return the noise of an answer by ``auto`` if every choice falls on one method.

    Returns:
        The noise where that is the global method, and where it is another one.
    """

    def fallen(asked: Aggregate, method: Method | None) -> Aggregate:
        chosen = asked.method is not None and asked.method.name == "auto"
        return replace(asked, method=method) if chosen else asked

    def noise(method: Method | None) -> Noise:
        asked = tuple((label, fallen(each, method)) for label, each in query.aggregates)
        plan = Plan(replace(query, aggregates=asked), request)
        return plan.noise_of(fallen(aggregate, method))

    return noise(None), noise(Method("smooth"))
