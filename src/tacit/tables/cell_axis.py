"""Axes of cells: listed keys, bins, their edges, and keys of public lists."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction
from tacit.errors import UsageError, shown_value
from tacit.expressions.dialect import bin_names, is_unicode
from tacit.expressions.expression import Expression, col, when
from tacit.expressions.operations import key_reading

# Edges as callers write them.


def listed(edges: Any) -> list[Number]:
    """Return edges as a list, or say that a column is text."""
    if not hasattr(edges, "__iter__"):
        raise UsageError(f"a column is named by text, not by {shown_value(edges)}")
    return list(edges)


# A declared column as an axis of cells: listed keys or bins, and one cell for everything else.


Key = tuple[Any, ...]

_FEW = (
    12  # this many keys are compared one after another, which is less to write than halves of them
)


@dataclass(frozen=True)
class Axis:
    """The cells of a column: its keys or its bins, and a last one for every other value.

    >>> Axis(("sex",), (("f",), ("m",))).size
    3
    >>> Axis(("age",), edges=(Fraction(0), Fraction(18), Fraction(99))).names
    ['[0, 18)', '[18, 99]']
    """

    # Every row is in exactly one cell, whatever its values are.  Where the axis is whole, the rows
    # with other values are filtered out beforehand (:meth:`holds`), and there is no cell for them.

    columns: tuple[str, ...]  # the column; or several, whose keys are listed together
    keys: tuple[Key, ...] = ()  # the public keys, one part a column; none where there are edges
    # of bins of one column: a bin holds its lower edge, the last one its upper too
    edges: tuple[Fraction, ...] = ()
    whole: bool = False  # whether every row has a listed value

    def __post_init__(self) -> None:
        if bool(self.keys) == bool(self.edges) or (self.edges and len(self.columns) > 1):
            raise UsageError("an axis has keys, or the edges of the bins of one column")
        if len(set(map(_exactly, self.keys))) < len(self.keys):
            raise UsageError("a key is given twice")

    @property
    def listed(self) -> int:
        """The number of keys or bins."""
        return len(self.keys) if self.keys else len(self.edges) - 1

    @property
    def size(self) -> int:
        """The number of cells, with the one for everything else; at least two."""
        return max(self.listed, 2) if self.whole else self.listed + 1

    @property
    def name(self) -> str:
        """The name of the axis: its columns, and the number of its bins."""
        joined = " and ".join(self.columns)
        return f"{joined} in {self.listed} bins" if self.edges else joined

    @property
    def names(self) -> list[str]:
        """The names of its keys or bins."""
        if self.edges:
            return bin_names(self.edges)
        shown = [["missing" if part is None else str(part) for part in key] for key in self.keys]
        return [" and ".join(key) for key in shown]

    def same(self, other: Axis) -> bool:
        """Return whether both are of the same columns, and may share the cells."""
        return self.columns == other.columns and self.edges == other.edges

    def described(self) -> dict[str, list[str]]:
        """Return what distinguishes it from other axes of a plan: its columns, and its edges.

        >>> Axis(("age",), edges=(Fraction(0), Fraction(18))).described()
        {'columns': ['age'], 'edges': ['0', '18']}
        """
        edges = {"edges": [str(edge) for edge in self.edges]} if self.edges else {}
        return {"columns": list(self.columns), **edges}

    def joined(self, other: Axis) -> Axis:
        """Return the axis with the keys of both, those of this one first."""
        known = {_exactly(key) for key in self.keys}
        more = tuple(key for key in other.keys if _exactly(key) not in known)
        return Axis(self.columns, (*self.keys, *more), self.edges, self.whole and other.whole)

    def indices_in(self, other: Axis) -> list[int]:
        """Return where the keys or bins of another axis are in this one."""
        if self.edges:
            return list(range(self.listed))
        return [self.exact_indices[_exactly(key)] for key in other.keys]

    @cached_property
    def exact_indices(self) -> dict[Key, int]:
        """The index of each key, each part with its type: 1 is not true.

        >>> Axis(("site",), ((1,), (True,))).exact_indices[((bool, True),)]
        1
        """
        return {_exactly(key): index for index, key in enumerate(self.keys)}

    def readings(self, undeclared: Container[str]) -> dict[str, str]:
        """Return how cells of those of its columns are read that are not declared.

        >>> Axis(("site",), ((1,), (None,))).readings({"site"})
        {'site': 'read_whole'}
        """
        parts = zip(self.columns, zip(*self.keys, strict=True), strict=bool(self.keys))
        return {name: key_reading(each) for name, each in parts if name in undeclared}

    @property
    def mixes_kinds(self) -> bool:
        """True if keys of a column are of two kinds: earlier versions joined such axes."""
        kinds = [{type(part) for part in each} for each in zip(*self.keys, strict=True)]
        return any(len(each - {type(None)}) > 1 for each in kinds)

    def _values(
        self, value: Callable[[str], Expression], undeclared: Container[str]
    ) -> list[Expression]:
        """Return its columns, those that are not declared read as all keys together need it."""
        # As a question with groups reads them.  A key alone may be read otherwise: ``is_in`` reads
        # any number where a key is a whole one, and a date where all texts are dates.
        readings = self.readings(undeclared)
        return [
            Expression(readings[name], (value(name),)) if name in readings else value(name)
            for name in self.columns
        ]

    def code(
        self,
        value: Callable[[str], Expression],
        stride: int = 1,
        undeclared: Container[str] = (),
    ) -> Expression:
        """Return the number of a row's cell, from 0; the last one for what is not listed."""
        other = (self.size - 1) * stride
        if self.edges:
            labels = [str(index * stride) for index in range(self.listed)]
            cut = value(self.columns[0]).cut(self.edges, labels)
            return cut.cast(float).fill_null(other)
        values = self._values(value, undeclared)
        if len(self.keys) <= _FEW:
            code: Any = other
            for index, key in reversed(list(enumerate(self.keys))):
                code = when(_among(values, [key])).then(index * stride).otherwise(code)
            return code  # type: ignore[no-any-return]
        inside = _among(values, self.keys)
        return when(inside).then(_tree(values, self.keys, 0, stride)).otherwise(other)

    def holds(
        self,
        value: Callable[[str], Expression],
        booleans: Container[str] = (),
        undeclared: Container[str] = (),
    ) -> Expression:
        """Return whether a row has one of the keys, or is in one of the bins.

        >>> from tacit.expressions.expression import col
        >>> ages = Axis(("age",), edges=(Fraction(0), Fraction(18)))
        >>> [ages.holds(col).evaluate({"age": age}) for age in (18, 19, None)]
        [True, False, False]
        """
        values = self._values(value, undeclared)
        if self.edges:
            if self.columns[0] in booleans:  # true and false compare with no number
                return values[0].cut((self.edges[0], self.edges[-1]), ["0"]).is_not_null()
            return values[0].is_between(self.edges[0], self.edges[-1])
        return _among(values, self.keys)

    def to_json(self) -> dict[str, object]:
        """Return the axis as plain JSON values."""
        whole = {"whole": True} if self.whole else {}
        if self.edges:
            edges = [str(edge) for edge in self.edges]
            return {"column": self.columns[0], "edges": edges, **whole}
        return {"columns": list(self.columns), "keys": [list(key) for key in self.keys], **whole}


def axis_from(described: Any) -> Axis:
    """Return the axis that :meth:`Axis.to_json` described.

    >>> axis_from({"columns": ["sex"], "keys": [["f"], ["m"]]}).names
    ['f', 'm']
    """
    complete = bool(described.get("whole", False))
    if set(described) - {"whole"} == {"column", "edges"}:
        edges = tuple(as_fraction(edge, "an edge") for edge in described["edges"])
        return Axis((str(described["column"]),), edges=edges, whole=complete)
    columns = tuple(str(name) for name in described["columns"])
    keys = tuple(tuple(key) for key in described["keys"])
    plain = all(part is None or isinstance(part, (str, int, bool)) for key in keys for part in key)
    if not plain or any(len(key) != len(columns) for key in keys):
        raise UsageError("a key is text, a number or nothing for each column")
    return Axis(columns, keys, whole=complete)


def every_listed(
    axes: Sequence[Axis],
    booleans: Container[str] = (),
    undeclared: Container[str] = (),
    value: Callable[[str], Expression] = col,
) -> Expression | None:
    """Return whether a row has a listed value on every axis; None where there is no axis.

    >>> print(every_listed([Axis(("sex",), (("f",),)), Axis(("sex",), (("m",),))]))
    sex.is_in(['f', 'm'])
    """
    separate: list[Axis] = []
    for axis in axes:
        index = next((i for i, known in enumerate(separate) if known.same(axis)), None)
        if index is None:
            separate.append(axis)
        else:
            separate[index] = separate[index].joined(axis)
    if not separate:
        return None
    return _both([axis.holds(value, booleans, undeclared) for axis in separate])


def _exactly(key: Key) -> tuple[tuple[type, Any], ...]:
    """Return a key in which 1 is not true."""
    return tuple((type(part), part) for part in key)


def _tree(columns: Sequence[Expression], keys: Sequence[Key], first: int, stride: int) -> Any:
    """Return the number of the key of a row that has one: halves are distinguished, then theirs."""
    if len(keys) == 1:
        return first
    half = len(keys) // 2
    low = _tree(columns, keys[:half], first, stride)
    high = _tree(columns, keys[half:], first + half * stride, stride)
    return when(_among(columns, keys[:half])).then(low).otherwise(high)


def _among(columns: Sequence[Expression], keys: Sequence[Key]) -> Expression:
    """Return whether a row has one of the keys."""
    if len(columns) > 1:
        each = [
            _both([_among([h], [(part,)]) for h, part in zip(columns, k, strict=True)])
            for k in keys
        ]
        return _either(each)
    listed = [part for (part,) in keys if part is not None]
    tests = [columns[0].is_in(listed)] if listed else []
    if len(listed) < len(keys):
        # what cannot be written as a key is in the group of what is missing
        tests.append(Expression("no_key", (columns[0],)))
    return _either(tests)


def _both(conditions: Sequence[Expression]) -> Expression:
    return reduce(lambda a, b: a & b, conditions)


def _either(conditions: Sequence[Expression]) -> Expression:
    """Return whether one of the conditions holds: halves first, so that it is not deep."""
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    return _either(conditions[:half]) | _either(conditions[half:])


# Public keys: what a caller may list, read into one tuple per group.


# Public keys as they may be given: a list, a mapping of column to values, or a table.
Keys: TypeAlias = Iterable[object] | Mapping[str, Iterable[object]] | None


_TIME_OF_DAY = (
    "the key {!r} is a time of day, and a column of times has one group per day: give dates, or "
    'group by a part of the time, with_columns(hour=tc.col("at").dt.hour())'
)


def public_keys(by: Sequence[str], keys: Any) -> tuple[tuple[Any, ...], ...]:
    """Return the keys as tuples, in the order given.

    >>> public_keys(["site", "plan"], {"site": ["a", "b"], "plan": [1, 2]})
    (('a', 1), ('a', 2), ('b', 1), ('b', 2))
    """
    # keys: a list of values, or of tuples for several columns; a mapping of column to values, of
    #   which all combinations are meant; or a *public* table with these columns.
    checked = [tuple(_plain(value) for value in key) for key in _rows(by, keys)]
    if not checked:
        raise UsageError("the list of keys is empty; list at least one")
    for key in checked:
        if len(key) != len(by):
            raise UsageError(
                f"a key has a value for each of {', '.join(by)}; one of them has {len(key)}"
            )
    if len(set(checked)) < len(checked):
        raise UsageError("a key is given twice; list each once")
    return tuple(checked)


def _rows(by: Sequence[str], keys: Any) -> list[Sequence[Any]]:
    if isinstance(keys, (str, bytes)):
        raise UsageError(f"keys are a list, not the text {keys!r}")
    if isinstance(keys, Mapping):
        _check_columns(by, list(keys))
        for name in by:
            if isinstance(keys[name], (str, bytes)) or not hasattr(keys[name], "__iter__"):
                raise UsageError(f"the keys of {name!r} are a list of values")
        return list(itertools.product(*(list(keys[name]) for name in by)))
    if hasattr(keys, "columns") or hasattr(keys, "column_names"):
        names = list(getattr(keys, "column_names", None) or keys.columns)
        _check_columns(by, names)
        columns = [_column(keys, name) for name in by]
        return list(dict.fromkeys(zip(*columns, strict=True)))
    if not hasattr(keys, "__iter__"):
        raise UsageError("keys are a list of values, a mapping of column to values, or a table")
    listed = keys.to_pylist() if hasattr(keys, "to_pylist") else list(keys)
    if len(by) == 1:
        return [key if isinstance(key, tuple) else (key,) for key in listed]
    if not all(isinstance(key, (tuple, list)) for key in listed):
        raise UsageError(f"a key of several columns is a tuple ({', '.join(by)})")
    return listed


def _check_columns(by: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in by if name not in names]
    if missing:
        raise UsageError(f"the keys have no values for {', '.join(missing)}")


def _column(table: Any, name: str) -> list[Any]:
    column = table[name]
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())


_MAX_DIGITS = 20  # of a key that is a decimal, as databases return integers


def _plain(value: Any) -> Any:
    if isinstance(value, np.datetime64):
        plain = _time(value)
    elif isinstance(value, np.generic):
        plain = value.item()
    else:
        plain = value.as_py() if hasattr(value, "as_py") else value  # a scalar of Arrow
    if plain is None or (isinstance(plain, (float, datetime.date)) and plain != plain):
        return None  # NaN, and NaT, which calls itself a date
    if isinstance(plain, str) and type(plain) is not str:
        plain = str.__str__(plain) + ""
    if isinstance(plain, int) and not isinstance(plain, bool):
        return int.__add__(plain, 0)
    if isinstance(plain, Decimal) and plain.is_finite() and plain.adjusted() < _MAX_DIGITS:
        plain = plain if plain % 1 else int(plain)
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    if isinstance(plain, datetime.datetime):
        return _day(plain)
    if isinstance(plain, UUID):
        return UUID.__str__(plain)
    if not isinstance(plain, (str, int, bool, datetime.date)):
        number = isinstance(plain, (float, Decimal))
        raise UsageError(
            f"a key is text, a whole number, a truth value or a date, not a {type(plain).__name__}"
            + ("; group other numbers in bins: tc.col('x').cut([0, 10, 20])" if number else "")
        )
    if isinstance(plain, str) and not is_unicode(plain):
        raise UsageError(
            f"the key {plain!r} is not valid text: it holds half of a character (a lone surrogate)"
        )
    return plain


def _time(value: np.datetime64) -> Any:
    micros = value.astype("datetime64[us]")  # in nanoseconds its item is a number
    if micros != value and not np.isnat(value):
        raise UsageError(_TIME_OF_DAY.format(str(value)))
    return micros.item()


def _day(time: datetime.datetime) -> datetime.date:
    """Return the day of a midnight, in UTC where it has a zone: a day has one form as a key."""
    own = time if time.tzinfo is None else time.astimezone(datetime.UTC)
    if own.time() != datetime.time() or getattr(own, "nanosecond", 0) != 0:
        raise UsageError(_TIME_OF_DAY.format(str(time)))
    return datetime.date(own.year, own.month, own.day)
