"""Items that a person may have, and answers as they are given."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer, show
from tacit.calls import public
from tacit.errors import UsageError, did_you_mean

# Answers as they arrive: columns of any library, scalars of any library, missing ones.
#
# Which item an answer is must not depend on the container that it came in, so that a list, an Arrow
# array and a column of a data frame are read alike.  No library is imported for it.


_PLAIN = (str, int, float, bool, type(None))
# A decimal number of more digits keeps its exponent, so that no answer becomes a giant text.
_MAX_DIGITS = 40


def is_missing(value: Any) -> bool:
    """Return whether a raw answer is missing: None, NaN, or a data frame's NA or NaT.

    >>> is_missing(None), is_missing(float("nan")), is_missing(Decimal("NaN")), is_missing(0)
    (True, True, True, False)
    """
    value = plain(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float) and math.isnan(value)


def plain(value: Any) -> Any:
    """Return a scalar of numpy, Arrow or another library as Python's own; others as they are.

    >>> plain(np.int64(3)), plain(np.datetime64("2024-01-31")), plain(b"yes"), plain(np.ma.masked)
    (3, datetime.date(2024, 1, 31), 'yes', None)
    """
    # Bytes are the text that they encode in UTF-8.
    if type(value) in _PLAIN:
        return value
    try:
        return _plain(value)
    except Exception:  # a value never raises, whatever its class does
        return value


def _plain(value: Any) -> Any:
    if value is np.ma.masked:
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return plain(value[()])
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return _time(value)
    if isinstance(value, np.void):
        names = value.dtype.names
        return value if names is None else {name: value[name] for name in names}
    if isinstance(value, np.longdouble):
        return float(value)
    if isinstance(value, Enum) and not isinstance(value, (str, int)):
        return plain(value.value)
    if isinstance(value, (bytes, bytearray)):
        return value.decode()
    if hasattr(value, "as_py"):  # a scalar of Arrow
        try:
            scalar = value.as_py()
            return dict(scalar) if scalar and type(value).__name__ == "MapScalar" else plain(scalar)
        except ValueError:  # a time in nanoseconds, which Python's own cannot hold
            return str(value)
    if isinstance(value, np.generic) or getattr(value, "ndim", None) == 0:
        return plain(value.item())
    return value


def _time(value: np.datetime64 | np.timedelta64) -> Any:
    if np.isnat(value):
        return None
    if isinstance(value, np.timedelta64):
        return str(value)
    days = np.datetime_data(value.dtype)[0] in "YMWD"
    instant = value.astype("datetime64[D]" if days else "datetime64[us]").item()
    exact = isinstance(instant, datetime.date) and (days or value == np.datetime64(instant))
    return instant if exact else str(value)


def text_of(value: Any) -> str:
    """Return the text of an answer; equal numbers, and a date and its midnight, have the same.

    >>> text_of(3.0), text_of(Decimal("3")), text_of(datetime.datetime(2024, 1, 31)), text_of(True)
    ('3', '3', '2024-01-31', 'True')
    """
    return texts_of(value)[0]


def texts_of(value: Any) -> tuple[str, ...]:
    """Return the texts by which an answer may be listed, the first of them its own.

    >>> texts_of(datetime.date(2024, 1, 31))
    ('2024-01-31', '2024-01-31 00:00:00', '2024-01-31T00:00:00')
    """
    value = plain(value)
    if isinstance(value, bool):
        return str(value), str(value).lower(), str(value).upper()
    number = whole_number(value)
    if number is not None:
        return (str(number),)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < _MAX_DIGITS:
        return format(value.normalize(), "f"), format(value, "f")
    if isinstance(value, datetime.datetime):
        texts = value.isoformat(" "), value.isoformat("T")
        clock = value.timetz() == datetime.time() and not getattr(value, "nanosecond", 0)
        return (value.date().isoformat(), *texts) if clock else texts
    if isinstance(value, datetime.date):
        return texts_of(datetime.datetime.combine(value, datetime.time()))
    return (str(value),)


def whole_number(value: Any) -> int | None:
    """Return the integer that a plain answer equals; None where it is another one, or text.

    >>> whole_number(3.0), whole_number(Decimal("3.00")), whole_number(2.5), whole_number("3")
    (3, 3, None, None)
    """
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Decimal):
        small = value.is_finite() and abs(value.adjusted()) < _MAX_DIGITS
        return int(value) if small and value == value.to_integral_value() else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 10.0**_MAX_DIGITS else None
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else None
    return None


def values_of(values: Any, *, sets: bool = False) -> Iterable[Any]:
    """Return the answers of many people in a column of any library, one a person."""
    if isinstance(values, (str, bytes, bytearray)) or not np.iterable(values):
        raise UsageError("give a list of answers, one a person; for one person: perturb(value)")
    if isinstance(values, Mapping) or _columns_of(values) is not None:
        raise UsageError(
            "give one column of answers, one a person, such as table['answer'], not a "
            f"{type(values).__name__}"
        )
    if isinstance(values, np.ndarray) and values.ndim > 1 and not sets:
        raise UsageError(
            f"give an array of one dimension, one answer a person, not of {values.ndim}"
        )
    if isinstance(values, np.ma.MaskedArray):
        return list(values)
    if hasattr(values, "to_pylist"):  # a column of Arrow
        return _from_arrow(values)
    return values


def people_of(values: Any, names: Sequence[str]) -> Iterable[Any]:
    """Return what each of many people answers to several named questions."""
    # The rows of a table are mappings by the names of its columns.
    columns = _columns_of(values)
    if columns is None:
        return values_of(values, sets=True)
    missing = [name for name in names if name not in columns]
    if missing:
        raise UsageError(
            f"the table has no column {missing[0]!r}: {did_you_mean(missing[0], columns)}"
        )
    cells = [values_of(values[name]) for name in names]
    return (dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True))


def numbers_of(values: Any) -> NDArray[Any] | None:
    """Return numbers or booleans as one array, where they are one; a mask is no part of one."""
    known = isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray)
    return values if known and values.dtype.kind in "biuf" else None


def _from_arrow(values: Any) -> list[Any]:
    try:
        items: list[Any] = values.to_pylist()
    except ValueError:  # times in nanoseconds, which Python's own cannot hold
        items = [plain(value) for value in values]
    if str(values.type).startswith("map<"):
        return [None if pairs is None else dict(pairs) for pairs in items]
    return items


def _columns_of(values: Any) -> list[str] | None:
    """Return the columns of a data frame or a table, over which it iterates; None of another."""
    if hasattr(values, "column_names") and hasattr(values, "to_pylist"):
        return list(values.column_names)
    if hasattr(values, "columns") and len(getattr(values, "shape", ())) == 2:
        return list(values.columns)
    return None


# Items: the answers that a local question allows, and how anything else is read.


LARGEST = 1 << 32
OUTSIDE = -1
_JSON = (str, int, float, bool)
# Answers that may be listed by what they are written as.
_READ_AS_TEXT = (str, int, float, Decimal, Fraction, datetime.date, datetime.time, UUID)


@public
@dataclass(frozen=True)
class Items:
    """The public list of possible answers of one question.

    What is not in the list goes to the ``other`` item if one is declared, and a missing answer
    to the ``missing`` item (or else to ``other``).  With neither it is refused on the device,
    before anything is drawn or sent; so a question that someone may be unable to answer declares
    them: then no one's report can be distinguished from the others, and no one is dropped from
    the count.

    An answer is the item that it equals, else the one that is written alike: the number 3 and the
    text "3", a date and "2024-12-31".  The library whose column it comes in does not matter.

    Args:
        labels: the answers, each once, at least two in all: text, integers or booleans; or a
            integer k for the answers 0 .. k - 1.
        other: the item for answers outside the list; appended if it is not one of them.
        missing: the item for missing answers; appended if it is not one of them.

    Raises:
        UsageError: fewer than two items, more than 2**32, repeats, labels of other kinds.

    Example:
        >>> jobs = Items(["sales", "craft"], other="something else")
        >>> len(jobs), jobs.index("craft"), jobs.index("magician"), jobs.index(None)
        (3, 1, 2, 2)
        >>> len(Items(1024))
        1024
    """

    labels: Sequence[object]
    other: object = None
    missing: object = None

    def __init__(
        self, labels: int | Iterable[object] | Items, other: object = None, missing: object = None
    ) -> None:
        if isinstance(labels, Items):
            raise UsageError("this is a list of items already; use it as it is")
        listed: Sequence[Any] = _listed(labels)
        other, missing = plain(other), plain(missing)
        for special in (other, missing):
            if special is not None and special not in listed:
                listed = (*listed, special)
        object.__setattr__(self, "labels", listed)
        object.__setattr__(self, "other", other)
        object.__setattr__(self, "missing", missing)
        _refuse_size(len(listed))
        if not isinstance(listed, range):
            _refuse_bad_labels(listed)

    @classmethod
    def of(cls, domain: int | Iterable[object] | Items) -> Items:
        """Return ``domain`` itself if it is a list of items, else make one of it."""
        return domain if isinstance(domain, Items) else cls(domain)

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def _indices(self) -> Mapping[Any, int]:
        return {label: i for i, label in enumerate(self.labels)}

    @cached_property
    def _texts(self) -> Mapping[str, int]:
        """The places of labels by their texts; a label that is text itself comes first."""
        indices: dict[str, int] = {}
        for i, label in enumerate(self.labels):
            if not isinstance(label, str):
                indices |= {text: i for text in texts_of(label) if text not in indices}
        return indices | {label: i for i, label in enumerate(self.labels) if isinstance(label, str)}

    def _find(self, value: Any) -> int:
        """Return the place of a plain answer: that of an equal label, or of one with its text."""
        if isinstance(self.labels, range):
            written = isinstance(value, str) and re.fullmatch(r"[0-9]{1,19}", value)
            number = int(value) if written else whole_number(value)
            return OUTSIDE if number is None or number not in self.labels else number
        try:
            index = self._indices.get(value, OUTSIDE)
            if index == OUTSIDE and isinstance(value, _READ_AS_TEXT):
                listed = (self._texts[text] for text in texts_of(value) if text in self._texts)
                index = next(listed, OUTSIDE)
        except Exception:  # a value never raises, whatever its class does
            return OUTSIDE
        return index

    @cached_property
    def _fallback(self) -> tuple[int, int]:
        other = OUTSIDE if self.other is None else self._find(self.other)
        missing = other if self.missing is None else self._find(self.missing)
        return other, missing

    def index_of(self, value: object) -> int:
        """Return the position of an answer, of ``other`` or ``missing``, or -1; never raises."""
        if type(value) is str and not isinstance(self.labels, range):
            known = self._indices.get(value)
            if known is not None:  # nearly all answers of nearly all questions
                return known
        other, missing = self._fallback
        value = _shortest(value)
        if is_missing(value):
            return missing
        index = self._find(value)
        return other if index == OUTSIDE else index

    def indices_of(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the position of each answer as :meth:`index_of` does; never raises on a value.

        Args:
            values: raw answers, one a person, in a list, an array or a column of any library.

        Raises:
            UsageError: a table, a mapping or an array of several dimensions in place of a column.
        """
        answers = values_of(values)
        numbers = numbers_of(answers)
        if numbers is not None and numbers.dtype.kind in "iu" and self._is_range:
            return self._whole_numbers(numbers)
        if numbers is not None and numbers.dtype == bool and self.labels == (False, True):
            return numbers.astype(np.int64)
        return np.fromiter((self.index_of(v) for v in answers), np.int64)

    @property
    def _is_range(self) -> bool:
        return isinstance(self.labels, range) and self.labels.start == 0

    def _whole_numbers(self, values: NDArray[Any]) -> NDArray[np.int64]:
        size = len(self)
        if not len(values):
            return np.zeros(0, np.int64)
        if int(values.min()) >= 0 and int(values.max()) < size:
            return values.astype(np.int64, copy=False)
        inside = (values >= 0) & (values <= size - 1)
        return np.where(inside, values, self._fallback[0]).astype(np.int64)

    def index(self, value: object) -> int:
        """Return the position of one answer.

        Raises:
            UsageError: an answer outside the list, and no ``other`` item; the message does not
                repeat it.
        """
        return int(self.indices([value])[0])

    def indices(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the position of each answer: an int64 array.

        Raises:
            UsageError: an answer outside the list, and no ``other`` item.
        """
        indices = self.indices_of(values)
        if len(indices) and int(indices.min()) == OUTSIDE:
            raise UsageError(
                "an answer is not one of the listed items; declare where such answers go: "
                "Items(labels, other=..., missing=...)"
            )
        return indices

    def describe(self) -> dict[str, object]:
        """Return the items as plain JSON values; :meth:`from_description` reads them.

        >>> Items.from_description(Items(3).describe()) == Items(3)
        True
        """
        is_range = self._is_range
        return {
            "items": len(self) if is_range else list(self.labels),
            "other": self.other,
            "missing": self.missing,
        }

    @classmethod
    def from_description(cls, description: Mapping[str, object]) -> Items:
        """Build the items from their description.

        Raises:
            UsageError: a description of something else.
        """
        try:
            given: dict[str, Any] = dict(description)
            return cls(*(given[key] for key in ("items", "other", "missing")))
        except (KeyError, TypeError):
            raise UsageError("items are described by 'items', 'other' and 'missing'") from None

    def __str__(self) -> str:
        return f"{len(self):,} items"


def _listing(labels: Iterable[Any]) -> Iterable[Any]:
    return list(labels) if isinstance(labels, Mapping) else values_of(labels)


def _shortest(value: Any) -> Any:
    """Return a plain answer; a number in single precision as the decimal that it is written as."""
    return float(str(value)) if isinstance(value, (np.float16, np.float32)) else plain(value)


def _listed(labels: int | Iterable[Any]) -> Sequence[Any]:
    if isinstance(labels, (str, bytes)):
        raise UsageError("items are a list of labels, not one text")
    if isinstance(labels, (set, frozenset)):
        raise UsageError("items are a list: a set has no order that both sides would agree on")
    if isinstance(labels, range):
        _refuse_size(max(0, -(-(labels.stop - labels.start) // labels.step)))
        return range(len(labels)) if labels == range(len(labels)) else tuple(labels)
    if isinstance(labels, Iterable):
        return tuple(x if isinstance(x, bytes) else plain(x) for x in _listing(labels))
    size = as_integer(labels, "the number of items")
    _refuse_size(size)
    return range(size)


def _refuse_size(size: int) -> None:
    if not 2 <= size <= LARGEST:
        raise UsageError(f"a question needs from 2 to 2**32 possible answers, not {show(size)}")


def _refuse_bad_labels(labels: Sequence[Any]) -> None:
    for label in labels:
        if not isinstance(label, _JSON) or is_missing(label):
            raise UsageError(
                "items are text, whole numbers or booleans; name missing answers by a label "
                "and say missing=<label>"
            )
    if len(set(labels)) < len(labels):
        raise UsageError("an item is listed twice; list each once (1, 1.0 and True are equal)")
