"""One question in writing: what is asked of a table, and what the answer may spend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.budgets.read_loss import read_loss
from tacit.arithmetic.exact import Number
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.expression import Expression
from tacit.tables.answers.aggregate import Aggregate
from tacit.tables.plan.price import Amount, Price
from tacit.tables.question import Question
from tacit.tables.session import Session
from tacit.tables.written.join_text import JoinText

__all__ = ["Asked"]


@dataclass(frozen=True)
class Asked:
    """One question: what is asked, what it may spend, where the answer goes.

    Attributes:
        sql: the question in SQL, instead of everything before ``epsilon``.
        free: whether it is answered from earlier releases, and not released.
    """

    aggregates: Mapping[str, Aggregate]
    joins: tuple[JoinText, ...] = ()
    where: tuple[Expression, ...] = ()
    derived: Mapping[str, Expression] = field(default_factory=dict)
    per_person: Mapping[str, Aggregate] = field(default_factory=dict)
    where_person: tuple[Expression, ...] = ()
    cuts: Mapping[str, Expression] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    keys: Any = None
    rounds: int = 1
    sql: str | None = None
    epsilon: Amount | None = None
    delta: Number | None = None
    rho: Amount | None = None
    total: Number | None = None
    free: bool = False
    tag: str | None = None
    name: str | None = None
    plot: str | None = None
    certificates: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Asked, ...]:
        """The questions whose answers go somewhere: this one."""
        return (self,)

    def question(self, session: Session) -> Question:
        """Return the question to a session.

        Raises:
            UsageError: a question that does not fit the table.
        """
        if self.sql is not None:
            return session.sql(self.sql)
        if not self.aggregates:
            raise UsageError(
                "nothing is asked: say --count, --mean age:0:100 or another; see --help"
            )
        asked = self._rows(session).agg(**self.aggregates)
        if self.by:
            for name in self.by:
                if name in asked.schema and asked.schema[name].kind in ("float", "decimal"):
                    raise UsageError(
                        f"{name!r} holds numbers with fractions, too many values to be groups; cut "
                        f"it: --cut {name}:0,10,20 --by {name}_group"
                    )
            keys = self._keys(asked)
            if keys is None and self.delta is None:
                raise UsageError(
                    f"the values of {', '.join(self.by)} are not known to be public. Either list "
                    "them (--keys a,b,c or --keys-file public.csv; in a plan, keys = [...]), or "
                    "release only the groups above a threshold (partition selection), which takes "
                    "a delta: --delta 1e-7, from a budget with --budget-delta"
                )
            asked = asked.group_by(*self.by, keys=keys, rounds=self.rounds)
        elif self.rounds != 1:
            raise UsageError("rounds are for groups that nobody listed: name the column, --by plan")
        return asked

    def _rows(self, session: Session) -> Question:
        """Return the rows, or the people, that the question is about."""
        if self.where_person and not self.per_person:
            raise UsageError(
                "--where-person chooses among people, in a table of one row per person: make it "
                "with --per-person total=sum:cost:0:5000"
            )
        rows = session.filter()
        for join in self.joins:
            rows = rows.join(join.table, on=join.on, how=join.how)
        for name, expression in self.derived.items():
            rows = rows.with_column(name, expression)
        if self.per_person:
            rows = _kept(rows, self.where).per_person(**self.per_person)
        for name, cut in self.cuts.items():
            rows = rows.with_column(name, cut)
        return _kept(rows, self.where_person if self.per_person else self.where)

    def _keys(self, asked: Question) -> Any:
        """Return the public keys: given, declared, or those that a computed column can have."""
        made = {**({} if self.per_person else self.derived), **self.cuts}
        known = [asked.declared.keys_of([name], list(made.items())) or {} for name in self.by]
        public = {name: values for found in known for name, values in found.items()}
        keys = self.keys(asked.schema) if callable(self.keys) else self.keys
        if keys is None:
            return public if set(public) == set(self.by) else None
        return {**public, **keys} if isinstance(keys, Mapping) else keys

    @property
    def price(self) -> Price:
        """What the release may spend, as the methods of a question take it."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "total": self.total,
        }

    def loss(self, flag: str = "") -> Budget | None:
        """Return what the release may spend in all; None where that is not said.

        Raises:
            UsageError: what does not go together.
        """
        if self.free and any(price is not None for price in self.price.values()):
            raise UsageError(
                f"{flag}free takes no price: it answers from earlier releases, at no cost"
            )
        whole = [self.total if isinstance(e, Mapping) else e for e in (self.epsilon, self.rho)]
        weighted = any(isinstance(each, Mapping) for each in (self.epsilon, self.rho))
        if weighted is (self.total is None):
            raise UsageError(
                f"{flag}total goes with weights, and weights with a {flag}total: "
                f"{flag}epsilon n=1,cost=3 {flag}total 0.5"
            )
        return read_loss(whole[0], self.delta, whole[1], flag)


def _kept(rows: Question, conditions: Sequence[Expression]) -> Question:
    """Return the rows that conditions keep, which were read from text: a word names a column."""
    for condition in conditions:
        for name in sorted(condition.columns() - {*rows.schema}):
            near = did_you_mean(name, rows.schema)
            told = "" if near.endswith("?") else f". A text is written in quotes: '{name}'"
            raise UsageError(f"there is no column {name!r}; {near}{told}")
    return rows.filter(*conditions)
