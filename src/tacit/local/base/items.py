"""Items: the answers that a local question allows, and how anything else is read."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer, show
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.raw_answers import (
    is_missing,
    numbers_of,
    plain,
    texts_of,
    values_of,
    whole_number,
)

__all__ = ["Items"]

LARGEST = 1 << 32
OUTSIDE = -1
_JSON = (str, int, float, bool)
_READ_AS_TEXT = (str, int, float, Decimal, Fraction, datetime.date, datetime.time, UUID)
"""Answers that may be listed by what they are written as."""


@public
@dataclass(frozen=True)
class Items:
    """The public list of possible answers of one question.

    What is not in the list goes to the ``other`` item if one is declared, and a missing answer
    to the ``missing`` item (or else to ``other``).  With neither it is refused on the device,
    before anything is drawn or sent; so a question that someone may be unable to answer declares
    them: then nobody's report can be distinguished from the others, and nobody is dropped from
    the count.

    An answer is the item that it equals, else the one that is written alike: the number 3 and the
    text "3", a date and "2024-12-31".  The library whose column it comes in does not matter.

    Args:
        labels: the answers, each once, at least two in all: text, whole numbers or booleans; or a
            whole number k for the answers 0 .. k - 1.
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
        """Return ``domain`` itself if it is a list of items, else make one of it.

        Args:
            domain: items, a list of labels, or how many whole numbers from 0.
        """
        return domain if isinstance(domain, Items) else cls(domain)

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def _places(self) -> Mapping[Any, int]:
        return {label: i for i, label in enumerate(self.labels)}

    @cached_property
    def _texts(self) -> Mapping[str, int]:
        """The places of labels by their texts; a label that is text itself comes first."""
        found: dict[str, int] = {}
        for i, label in enumerate(self.labels):
            if not isinstance(label, str):
                found |= {text: i for text in texts_of(label) if text not in found}
        return found | {label: i for i, label in enumerate(self.labels) if isinstance(label, str)}

    def _find(self, value: Any) -> int:
        """Return the place of a plain answer: that of an equal label, or of one with its text."""
        if isinstance(self.labels, range):
            written = isinstance(value, str) and re.fullmatch(r"[0-9]{1,19}", value)
            number = int(value) if written else whole_number(value)
            return OUTSIDE if number is None or number not in self.labels else number
        try:
            place = self._places.get(value, OUTSIDE)
            if place == OUTSIDE and isinstance(value, _READ_AS_TEXT):
                listed = (self._texts[text] for text in texts_of(value) if text in self._texts)
                place = next(listed, OUTSIDE)
        except Exception:  # a value never raises, whatever its class does
            return OUTSIDE
        return place

    @cached_property
    def _fallback(self) -> tuple[int, int]:
        other = OUTSIDE if self.other is None else self._find(self.other)
        missing = other if self.missing is None else self._find(self.missing)
        return other, missing

    def place(self, value: object) -> int:
        """Return the place of an answer, of ``other`` or ``missing``, or -1; never raises.

        Args:
            value: a raw answer.
        """
        if type(value) is str and not isinstance(self.labels, range):
            known = self._places.get(value)
            if known is not None:  # nearly all answers of nearly all questions
                return known
        other, missing = self._fallback
        value = _shortest(value)
        if is_missing(value):
            return missing
        found = self._find(value)
        return other if found == OUTSIDE else found

    def places(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the place of each answer as :meth:`place` does; never raises on a value.

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
        return np.fromiter((self.place(v) for v in answers), np.int64)

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
        """Return the place of one answer.

        Args:
            value: an answer, as it was given.

        Raises:
            UsageError: an answer outside the list, and no ``other`` item; the message does not
                repeat it.
        """
        return int(self.indices([value])[0])

    def indices(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the place of each answer: an int64 array.

        Args:
            values: answers, as they were given.

        Raises:
            UsageError: an answer outside the list, and no ``other`` item.
        """
        found = self.places(values)
        if len(found) and int(found.min()) == OUTSIDE:
            raise UsageError(
                "an answer is not one of the listed items; declare where such answers go: "
                "Items(labels, other=..., missing=...)"
            )
        return found

    def describe(self) -> dict[str, object]:
        """Return the items as plain JSON values; :meth:`from_description` reads them.

        >>> Items.from_description(Items(3).describe()) == Items(3)
        True
        """
        whole = self._is_range
        return {
            "items": len(self) if whole else list(self.labels),
            "other": self.other,
            "missing": self.missing,
        }

    @classmethod
    def from_description(cls, description: Mapping[str, object]) -> Items:
        """Build the items from their description.

        Args:
            description: what :meth:`describe` returned.

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
