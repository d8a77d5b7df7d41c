"""The question asked: :func:`sensitivity`, one signature for every statistic and every domain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias, overload

from tacit.calls import public
from tacit.errors import UsageError, did_you_mean
from tacit.statistics.ask.registry import lookup
from tacit.statistics.base.domain import Domain, Interval, Records, Values, columns_of
from tacit.statistics.base.question import Question, Relation
from tacit.statistics.base.result import Sensitivity
from tacit.statistics.base.statistic import Statistic
from tacit.statistics.samples.sample import Sample

__all__ = ["Asked", "ask", "by_column", "domain_of", "sensitivity"]


class Stands(Protocol):
    """What stands for a statistic, such as ``tc.median()``."""

    @property
    def statistic(self) -> object:
        """The statistic."""


Asked: TypeAlias = str | Statistic | Stands | Callable[..., object]
"""A statistic as it may be given: by name, as an object, or as a function of a 1-D array."""


@overload
def sensitivity(
    statistic: Asked,
    over: Domain,
    at: object = None,
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
) -> Sensitivity: ...
@overload
def sensitivity(
    statistic: Asked,
    over: Mapping[str, Domain],
    at: object = None,
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
) -> dict[str, Sensitivity]: ...
@public
def sensitivity(
    statistic: Asked,
    over: Domain | Mapping[str, Domain],
    at: object = None,
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
) -> Sensitivity | dict[str, Sensitivity]:
    """Compute the exact sensitivity of a statistic: how far it moves between neighbouring releases.

    Args:
        statistic: ``"count"``, ``"sum"``, ``"mean"``, ``"median"``, ``"percentile(q)"``,
            ``"var"``, ``"std"``, ``"min"``, ``"max"``, any
            :class:`~tacit.statistics.base.statistic.Statistic`, or a Python function of a 1-D float
            array (searched exhaustively).
        over: the domain; a mapping of column names to domains, or a domain made of a table,
            answers for every column.
        at: a release, for the local sensitivity; a table where ``over`` has columns.
        distance: how many records may differ.
        relation: ``"unbounded"`` (added or removed), ``"add"``, ``"remove"``, or ``"bounded"``
            (substituted).
        within: every neighbour at the distance or nearer (the definition), or those exactly at it
            in one direction, where a record may be substituted by another of equal value (so the
            answer over a single value is 0).  Within is defined for every distance: where fewer
            records can be changed, the answer says in ``.notes`` how far neighbours go.

    The empty release is a neighbour where the statistic has a value on it: a count, a sum, a
    histogram, and a function that declares one, ``tacit.statistics.Function(f, empty=0)`` or
    ``tc.batched(f, empty=0)``.  Where it has none, such a neighbour is left out, and ``.notes``
    says so.

    Returns:
        A :class:`~tacit.statistics.base.result.Sensitivity`, or a dict of them by column.  (A type
        checker takes a domain that was made of a table for one of a single column.)

    Raises:
        UsageError: an unknown name or relation, data that are not numbers or outside the domain.
        InfeasibleError: exactly a distance at which too few records are left to remove, add or
            substitute; a search that is too large.

    >>> from tacit.statistics import Records
    >>> s = sensitivity("median", over=Records([1, 2, 2, 2, 5, 5, 7, 8, 9, 9], size=6))
    >>> s.value, s.method
    (Fraction(3, 1), 'polynomial')
    >>> s.witness
    ((2, 2, 2, 8, 9, 9), (1, 2, 2, 2, 8, 9, 9))
    """
    asked = lookup(statistic)
    columns = by_column(over, at)
    if columns is None:
        return ask(asked, domain_of(over), at, distance, relation, within)
    return {
        name: ask(asked, domain, data, distance, relation, within)
        for name, (domain, data) in columns.items()
    }


def ask(
    statistic: Statistic,
    over: Domain,
    at: Any,
    distance: int,
    relation: Relation,
    within: bool,
) -> Sensitivity:
    """Answer for one column: by the statistic's own algorithm, else by exhaustive search."""
    release = None if at is None else at if isinstance(at, Sample) else Sample(at, "at")
    question = Question(over, release, distance, relation, within, min(1, statistic.least))
    answer = statistic.answer(question)
    if answer is None:
        from tacit.statistics.search.exhaustive import exhaustive

        answer = exhaustive(statistic, question)
    answer.notes += question.left_out()
    if question.leaves_out_empty:
        answer.notes += (f"the empty release is left out: {statistic.name} has no value there",)
    return answer


def by_column(over: Any, at: Any) -> dict[str, tuple[Domain, Any]] | None:
    """Pair every column's domain with its release; None where there is just one column."""
    columns = over if isinstance(over, Mapping) else getattr(over, "columns", None)
    if columns is None:
        return None
    if not isinstance(columns, Mapping):
        raise UsageError(
            "over must be a domain, such as Records(table, size=n); a bare table does not say "
            "whether it is a population or a value set"
        )
    data = None if at is None else columns_of(at)
    if at is not None and data is None:
        raise UsageError("at must be a table with the columns of the domain")
    if data is not None:
        for name in columns:
            if name not in data:
                raise UsageError(f"at has no column {name!r}; {did_you_mean(name, data)}")
    return {
        str(name): (domain_of(domain), None if data is None else data[name])
        for name, domain in columns.items()
    }


def domain_of(over: Any) -> Domain:
    """Return the domain itself, or say what a domain is."""
    if isinstance(over, (Records, Values, Interval)):
        return over
    shown = "a list" if isinstance(over, Iterable) else repr(over)
    raise UsageError(
        f"over must be Records(...), Values(...) or Interval(lower, upper), not {shown}"
    )
