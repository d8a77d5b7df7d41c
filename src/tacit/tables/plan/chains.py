"""The whole chains of a release, built once, for its noise, its price and its certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.budgets.parts import Part, merged
from tacit.accounting.budgets.rounding import rounded_up
from tacit.core import Measurement, PureDP, Step, compose
from tacit.core.losses.bounded_range import range_of
from tacit.expressions.expression import Expression
from tacit.expressions.schema import Schema
from tacit.tables.answers.aggregate import Aggregate
from tacit.tables.chain.per_person import PerPerson
from tacit.tables.chain.row_steps import DerivedColumn, FilterRows, JoinTable
from tacit.tables.chain.space import table_space
from tacit.tables.spec.join import Join
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit

__all__ = ["Asked", "BuiltChains", "Chains", "chain_of_rows", "for_each_step"]

_T = TypeVar("_T")


class Asked(Protocol):
    """What a question says of the rows that it is about."""

    @property
    def schema(self) -> Schema:
        """The columns of the source."""

    @property
    def columns(self) -> Schema:
        """The columns with the derived ones."""

    @property
    def unit(self) -> OneRowEach | PersonUnit:
        """What is protected."""

    @property
    def joins(self) -> Sequence[Join]:
        """Other tables whose columns stand beside those of the source."""

    @property
    def where(self) -> Sequence[Expression]:
        """Filters, all of which must hold."""

    @property
    def derived(self) -> Sequence[tuple[str, Expression]]:
        """Columns computed from each row, by name."""

    @property
    def aggregates(self) -> Sequence[tuple[str, Aggregate]]:
        """What is asked, by label."""

    @property
    def inner(self) -> Asked | None:
        """The rows that people are made of, where there is one row a person."""


def chain_of_rows(asked: Asked) -> Any:
    """Return the chain from the table to the rows that a question is about, or its space alone."""
    if asked.inner is None:
        kinds = {name: column.kind for name, column in asked.schema.items()}
        chain: Any = table_space(kinds, asked.unit.column)
    else:
        values = [[label, value.to_json()] for label, value in asked.inner.aggregates]
        chain = chain_of_rows(asked.inner) >> PerPerson(asked.schema.kinds(), values)
    for join in asked.joins:
        chain = chain >> JoinTable(**join.added())
    for name, expression in asked.derived:
        chain = chain >> DerivedColumn(name, asked.columns[name].kind, expression.to_json())
    for expression in asked.where:
        chain = chain >> FilterRows(expression.to_json())
    return chain


@dataclass(frozen=True)
class Chains:
    """Whole chains, from a table to the noise, of one release.

    Args:
        table: the columns of the table.
        titled: what each part is, and its chains.
    """

    table: Schema
    titled: Sequence[tuple[str, Sequence[Measurement]]]

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
    def _parts(self) -> tuple[Part, ...]:
        """The epsilon of each chain at one person; nothing where there is only one to speak of."""
        found = []
        for measurement, lost in self._all:
            epsilon = lost[0] if isinstance(lost, tuple) else lost
            known = None if measurement.losses is None else measurement.losses(Fraction(1))
            found.append((epsilon, range_of(known) == epsilon))
        parts = merged(found)
        plain = len(parts) == 1 and parts[0].times == 1 and not parts[0].ranged
        return () if plain else parts

    def describe(self) -> dict[str, Any]:
        """Return every chain with its distances, and what they lose together, as JSON values.

        Beside them stand the kinds of the columns: public facts that the plan was made from, and
        that the question does not say.
        """
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
