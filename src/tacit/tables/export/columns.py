"""The columns of a released answer: wide, a row per group, or long, a row a number.

All of it is a new arrangement of released numbers, which costs nothing and reads no row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from tacit.errors import UsageError, did_you_mean, said

__all__ = ["Column", "Form", "Released", "Statistic", "columns_of"]

Released: TypeAlias = "int | float | str | list[Released] | None"
"""A released number or category, or one a bin; None where it was refused or is not known."""

Form = Literal["wide", "long"]
"""How an answer becomes a table."""

_SUFFIXES = (("", "value"), ("_error", "standard_error"), ("_low", "low"), ("_high", "high"))
_LONG = (("value", "value"), ("lower", "low"), ("upper", "high"))
_MOST = 2**63 - 1


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        name: in its header.
        values: its cells; None for what is missing.
        number: whether it holds numbers, be they all missing.
    """

    name: str
    values: list[Any]
    number: bool

    @property
    def plain(self) -> list[Any]:
        """Its cells as one type, which tables with typed columns hold.

        Whole numbers that 64 bits do not hold, or that stand beside others, are floats; keys of
        several types are text.

        >>> Column("n", [2, None, 0.5], True).plain, Column("n", [10**20, 1], True).plain
        ([2.0, None, 0.5], [1e+20, 1.0])
        >>> Column("site", [1, "x", None], False).plain
        ['1', 'x', None]
        """
        known = [value for value in self.values if value is not None]
        types = {type(value) for value in known}
        if types == {int} and all(-_MOST <= value <= _MOST for value in known):
            return self.values
        if self.number or (types and types <= {int, float}):
            return [None if value is None else float(value) for value in self.values]
        if len(types) <= 1:
            return self.values
        return [None if value is None else str(value) for value in self.values]


_FORMS = get_args(Form)


class Statistic(NamedTuple):
    """What was released under a label.

    Attributes:
        label: what it is called.
        column: ``value``, ``standard_error``, ``low`` and ``high``, each a list over the groups;
            with ``bins``, a list of lists.
        edges: of the bins, where they are bins of numbers.
    """

    label: str
    column: Mapping[str, Sequence[Released]]
    edges: Sequence[object] | None = None


def columns_of(
    by: Sequence[str],
    keys: Sequence[Sequence[Any]],
    statistics: Sequence[Statistic],
    form: Form = "wide",
) -> list[Column]:
    """Return the columns of an answer.

    Args:
        by: the grouping columns.
        keys: one key a group.
        statistics: what was released, by label.
        form: ``"wide"`` or ``"long"``.

    Raises:
        UsageError: another form.

    >>> n = Statistic("n", {"value": [5], "standard_error": [1.5], "low": [2], "high": [8]})
    >>> [column.name for column in columns_of(["site"], [["a"]], [n])]
    ['site', 'n', 'n_error', 'n_low', 'n_high']
    >>> [column.name for column in columns_of(["site"], [["a"]], [n], "long")]
    ['site', 'statistic', 'value', 'lower', 'upper', 'standard_error']
    """
    if form not in _FORMS:
        raise UsageError(
            f"an answer has no form {said(form)}; {did_you_mean(str(form), ['wide', 'long'])}"
        )
    if form == "long":
        return _long(by, keys, statistics)
    found = _groups(by, keys)
    for one in statistics:
        found += _wide(one)
    return found


def _groups(by: Iterable[str], keys: Sequence[Sequence[Any]]) -> list[Column]:
    return [Column(name, [key[i] for key in keys], False) for i, name in enumerate(by)]


def _wide(one: Statistic) -> list[Column]:
    """Return the columns of a label: four, or four for each bin of a histogram."""
    parts: Mapping[str, Any] = one.column
    bins = parts.get("bins")
    if bins is None:
        return [Column(one.label + s, list(one.column[part]), True) for s, part in _SUFFIXES]
    return [
        Column(f"{one.label} {name}{suffix}", [row[i] for row in parts[part]], True)
        for i, name in enumerate(bins)
        for suffix, part in _SUFFIXES
    ]


def _long(
    by: Sequence[str], keys: Sequence[Sequence[Any]], statistics: Sequence[Statistic]
) -> list[Column]:
    """Return a row for each number, group by group: the names first, and its interval beside it."""
    names = ["statistic"]
    if any("bins" in one.column for one in statistics):
        names.append("bin")
    if any(one.edges is not None for one in statistics):
        names += ["bin_lower", "bin_upper"]
    numbers = [*(name for name, _ in _LONG), "standard_error"]
    table: dict[str, list[Any]] = {name: [] for name in [*names, *numbers]}
    places: list[int] = []
    for place in range(len(keys)):
        for one in statistics:
            for row in _rows(one, place):
                places.append(place)
                for name, cells in table.items():
                    cells.append(row.get(name))
    called = _apart(by, table)
    groups = [Column(n, [keys[p][i] for p in places], False) for i, n in enumerate(called)]
    texts = ("statistic", "bin")
    return groups + [Column(name, cells, name not in texts) for name, cells in table.items()]


def _rows(one: Statistic, place: int) -> Iterable[dict[str, Any]]:
    """Return the numbers of a label in a group, a row each."""
    parts: dict[str, Any] = {name: one.column[part][place] for name, part in _LONG}
    parts["standard_error"] = one.column["standard_error"][place]
    bins = one.column.get("bins")
    if bins is None:
        return [{"statistic": one.label, **parts}]
    rows = []
    for i, name in enumerate(bins):
        row = {"statistic": one.label, "bin": str(name), **{k: v[i] for k, v in parts.items()}}
        if one.edges is not None:
            row |= {"bin_lower": one.edges[i], "bin_upper": one.edges[i + 1]}
        rows.append(row)
    return rows


def _apart(by: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return the names of the grouping columns, beside those of the long form.

    >>> _apart(["site", "value"], ["statistic", "value"])
    ['site', 'group_value']
    """
    reserved = set(taken)
    used = reserved | {*by}
    found = []
    for name in by:
        if name in reserved:
            while name in used:
                name = f"group_{name}"
            used.add(name)
        found.append(name)
    return found
