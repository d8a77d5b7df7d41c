"""Where the questions of a plan say different things of one column, or another than is declared.

Different bins, or different bounds, of a column are different numbers with noise of their own: a
plan answers them side by side, and says so.  (Different keys are not: what gets noise are the cells
of all of them.)  Where nothing of what a question asks can occur in a table as it is declared, it
is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import show
from tacit.errors import UsageError
from tacit.report.text.vocabulary import so_many
from tacit.report.text.words import listed
from tacit.tables.plan.declared import Declared
from tacit.tables.plan.query import Query, plain_key

__all__ = ["contradictions"]

Said = dict[str, dict[str, list[str]]]
"""Of each column what is said of it, with the labels that say it."""


def contradictions(
    queries: Sequence[Query], labels: Sequence[Mapping[str, str]], declared: Declared
) -> tuple[str, ...]:
    """Return what the questions say differently of a column, one sentence each.

    Args:
        queries: the questions.
        labels: of the labels of each question what they are called in the plan.
        declared: what the data set declares.

    Raises:
        UsageError: a question that nothing in the table, as it is declared, can be counted in.
    """
    bins: Said = {}
    bounds: Said = {}
    notes: dict[str, None] = {}
    for query, names in zip(queries, labels, strict=True):
        computed = {name for name, _ in query.derived}
        for name in (name for name in query.by if name not in computed):
            keys = [plain_key(key[query.by.index(name)]) for key in query.keys or ()]
            said = f"{listed(list(names.values()))} lists" if names else ""
            notes |= dict.fromkeys(_of_keys(name, keys, declared, said))
        for label, asked in query.aggregates:
            own = names[label]
            if asked.edges and asked.column and asked.column not in computed:
                text = f"the edges {_shown(asked.edges)}"
                bins.setdefault(asked.column, {}).setdefault(text, []).append(own)
                ends = asked.edges[0], asked.edges[-1]
                told = f"{own} has bins of {asked.column} from {show(ends[0])} to {show(ends[1])}"
                notes |= dict.fromkeys(_of_bounds(asked.column, ends, declared, told))
            for one in asked.clamped:
                if one.lower is None or one.upper is None or one.column in computed:
                    continue
                if asked.edges:
                    continue
                text = f"[{show(one.lower)}, {show(one.upper)}]"
                bounds.setdefault(one.column, {}).setdefault(text, []).append(own)
                told = f"{own} clamps {one.column} to {text}"
                ends = one.lower, one.upper
                notes |= dict.fromkeys(_of_bounds(one.column, ends, declared, told))
    for column, each in bins.items():
        if len(each) > 1:
            told = f"{column} is in different bins: {_side_by_side(each)}"
            notes[f"{told}. They share no noise: give the same edges where they can be"] = None
    for column, each in bounds.items():
        if len(each) > 1:
            told = f"{column} is clamped to different bounds: {_side_by_side(each)}"
            notes[f"{told}. They share no noise: give the same bounds where they can be"] = None
    return tuple(notes)


def _side_by_side(each: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{text} in {listed(labels)}" for text, labels in each.items())


def _of_keys(name: str, keys: Sequence[Any], declared: Declared, said: str) -> list[str]:
    known = declared.keys.get(name)
    if known is None or not keys:
        return []
    held = {(type(key), key) for key in map(plain_key, known)}
    strange = [key for key in dict.fromkeys(keys) if (type(key), key) not in held]
    if len(strange) == len(set(keys)):
        raise UsageError(
            f"{said} keys of {name} of which the data set declares none: by its declaration no row "
            "has them; list declared keys, or change the declaration"
        )
    if not strange:
        return []
    several = so_many(str(len(strange)), "key", "keys")
    return [f"{said} {several} of {name} that the data set does not declare"]


def _of_bounds(
    column: str, ends: tuple[Fraction, Fraction], declared: Declared, told: str
) -> list[str]:
    known = declared.bounds.get(column)
    if known is None:
        return []
    low, high = known
    within = f"the values that the data set declares are from {show(low)} to {show(high)}"
    if ends[1] < low or ends[0] > high:
        raise UsageError(
            f"{told}, and {within}: by its declaration no value lies there; ask for others, or "
            "change the declaration"
        )
    if low <= ends[0] and ends[1] <= high:
        return []
    return [f"{told}, and {within}: what lies beyond takes noise for nothing"]


def _shown(edges: Sequence[Fraction]) -> str:
    few = [show(edge) for edge in edges]
    return ", ".join(few if len(few) <= 6 else [*few[:3], "...", few[-1]])
