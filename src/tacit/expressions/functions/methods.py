"""The functions of a row as methods of an expression: how they are written in Python."""

from __future__ import annotations

import datetime
from typing import Any, Self

from tacit.calls import instead, public
from tacit.errors import UsageError, said
from tacit.expressions.cell_grammar import is_date
from tacit.expressions.functions.table import FUNCTIONS
from tacit.expressions.functions.zones import offsets_of
from tacit.expressions.node import Node

__all__ = ["RowMethods"]


@public
@instead(round="Two decimals are (tc.col('age') * 100).round() / 100")
class RowMethods(Node):
    """Text, dates and times, whole numbers.

    The examples are of columns that a table declares; a column of a CSV file that nobody declared
    is read as each function needs it.
    """

    def _apply(self, name: str, *parameters: Any, beside: tuple[Node, ...] = ()) -> Self:
        FUNCTIONS[name].check(name, parameters)
        return type(self)(name, (self, *beside), parameters)

    # ---- text

    def lower(self) -> Self:
        """Text with A to Z in lower case, other letters as they are: its first 2^20 characters."""
        return self._apply("lower")

    def upper(self) -> Self:
        """Text with a to z made capital, other letters as they are: its first 2^20 characters.

        >>> from tacit.expressions.expression import col
        >>> col("city").upper().evaluate({"city": "Zürich"})
        'ZüRICH'
        """
        return self._apply("upper")

    def strip(self) -> Self:
        """Text without the spaces before and behind it: of its first 2^20 characters.

        Only the space itself (U+0020) is left out.

        >>> from tacit.expressions.expression import col
        >>> col("city").strip().evaluate({"city": "  New York "})
        'New York'
        """
        return self._apply("strip")

    def substring(self, start: int, length: int) -> Self:
        """Return ``length`` characters of a text from the place ``start``, counted from 1.

        A text that ends before that gives what is there.

        >>> from tacit.expressions.expression import col
        >>> col("code").substring(2, 3).evaluate({"code": "AB"})
        'B'
        """
        return self._apply("substring", start, length)

    def length(self) -> Self:
        """How many characters (code points) a text has."""
        return self._apply("length")

    def ends_with(self, end: str) -> Self:
        """True where the text ends with ``end``, of at most 100 characters."""
        return self._apply("ends_with", end)

    def contains(self, part: str) -> Self:
        """True where ``part``, of at most 100 characters, stands in the text.

        >>> from tacit.expressions.expression import col
        >>> col("note").contains("50%").evaluate({"note": "a discount of 50%"})
        True
        """
        return self._apply("contains", part)

    def like(self, pattern: str) -> Self:
        """True where the whole text fits a pattern, as ``LIKE`` of SQL has it.

        ``%`` stands for any characters, also none, and ``_`` for any one; everything else for
        itself, a backslash too.  The pattern has at most 100 characters, and the first 2^20 of a
        text are looked at.

        >>> from tacit.expressions.expression import col
        >>> col("type").like("%BRASS").evaluate({"type": "LARGE PLATED BRASS"})
        True
        """
        return self._apply("like", pattern)

    # ---- dates and times

    def year(self) -> Self:
        """The year of a date."""
        return self._apply("year")

    def month(self) -> Self:
        """The month of a date, 1 to 12."""
        return self._apply("month")

    def day(self) -> Self:
        """The day of the month of a date, 1 to 31."""
        return self._apply("day")

    def weekday(self) -> Self:
        """The day of the week of a date, from 1 for Monday to 7 for Sunday (ISO 8601).

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> col("day").weekday().evaluate({"day": datetime.date(2024, 12, 31)})
        2
        """
        return self._apply("weekday")

    def quarter(self) -> Self:
        """The quarter of the year of a date, 1 to 4."""
        return self._apply("quarter")

    def day_of_year(self) -> Self:
        """The day of the year of a date, 1 to 366."""
        return self._apply("day_of_year")

    def hour(self) -> Self:
        """The hour of a column of times, 0 to 23: in UTC where they have a zone.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> col("at").hour().evaluate({"at": datetime.datetime(2024, 12, 31, 18, 30)})
        18
        """
        return self._apply("hour")

    def minute(self) -> Self:
        """The minute of a column of times, 0 to 59."""
        return self._apply("minute")

    def second(self) -> Self:
        """The second of a column of times, 0 to 59; parts of a second are left out."""
        return self._apply("second")

    def date(self) -> Self:
        """The date of a column of times, or of a local time that :meth:`in_zone` gives."""
        return self._apply("date")

    def in_zone(self, zone: str) -> Self:
        """The local time of a column of times, which are those of UTC: for ``hour``, ``date``, ...

        A column that holds local times already, without a zone, needs this not.  From the year 2050
        on it is missing.  By itself it is whole seconds.

        Args:
            zone: its name, such as ``"Europe/Berlin"``.

        Raises:
            UsageError: no such zone.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> row = {"at": datetime.datetime(2024, 7, 7, 23, 30)}  # a Sunday
        >>> local = col("at").in_zone("Europe/Berlin")
        >>> local.hour().evaluate(row), local.date().weekday().evaluate(row)
        (1, 1)
        """
        return self._apply("in_zone", zone, offsets_of(zone))

    def days_until(self, end: object) -> Self:
        """How many days a date lies before another one; below zero where it lies behind it.

        Args:
            end: a date, or an expression that is one.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> row = {"came": datetime.date(2024, 2, 28), "left": datetime.date(2024, 3, 1)}
        >>> col("came").days_until(col("left")).evaluate(row)
        2
        >>> col("came").days_until("2024-01-01").evaluate(row)
        -58
        """
        return self._apply("days_until", beside=(self._day(end),))

    def seconds_until(self, end: Node) -> Self:
        """How many seconds a column of times lies before another one.

        >>> import datetime
        >>> from tacit.expressions.expression import col
        >>> row = {"a": datetime.datetime(2024, 1, 1, 23), "b": datetime.datetime(2024, 1, 2, 0, 5)}
        >>> col("a").seconds_until(col("b")).evaluate(row)
        3900
        """
        if not isinstance(end, Node):
            raise UsageError('seconds_until takes a column of times: tc.col("end")')
        return self._apply("seconds_until", beside=(end,))

    def _day(self, value: object) -> Node:
        if isinstance(value, str) and is_date(value):
            value = datetime.date.fromisoformat(value)
        if isinstance(value, Node):
            return value
        if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
            raise UsageError(
                f"{said(value)} is neither a date such as '2024-12-31' nor a column of dates"
            )
        return type(self)("literal", (), (value,))

    # ---- numbers

    def floor(self) -> Self:
        """The greatest whole number that is not above a number, as a double."""
        return self._apply("floor")

    def ceil(self) -> Self:
        """The least whole number that is not below a number, as a double."""
        return self._apply("ceil")

    def round(self) -> Self:
        """The whole number nearest to a number, as a double; of a half the one farther from zero.

        >>> from tacit.expressions.expression import col
        >>> [col("x").round().evaluate({"x": x}) for x in (2.5, -2.5, 0.49999999999999994)]
        [3.0, -3.0, 0.0]
        """
        return self._apply("round")

    def to_integer(self) -> Self:
        """A number without what stands behind its point; missing from 2^53 on, in size.

        It can be a group: ``with_column("decade", (tc.col("age") / 10).to_integer())``.

        >>> from tacit.expressions.expression import col
        >>> (col("age") / 10).to_integer().evaluate({"age": 39})
        3
        """
        return self._apply("to_integer")

    def modulo(self, by: int) -> Self:
        """The rest of a whole number when divided by a public one, 0 to ``by`` - 1.

        >>> from tacit.expressions.expression import col
        >>> [col("n").modulo(7).evaluate({"n": n}) for n in (9, -1)]
        [2, 6]
        """
        return self._apply("modulo", by)

    def to_text(self) -> Self:
        """The digits of a whole number; ``true`` or ``false``; a text as it is.

        A number with a fraction has no text that is the same everywhere: round it first.

        >>> from tacit.expressions.expression import col
        >>> col("site").to_text().evaluate({"site": 12})
        '12'
        """
        return self._apply("to_text")

    # ---- what text says

    def read_number(self) -> Self:
        """The number that a text is, such as ``12`` or ``-0.5e3``; missing where it is none.

        At most 30 digits before the point and 30 behind it, and an exponent from -249 to 249;
        a column that nobody declared is read so by itself where a number is needed.

        >>> from tacit.expressions.expression import col
        >>> col("age").read_number().evaluate({"age": " 31.5 "})
        31.5
        """
        return type(self)("read_number", (self,))

    def read_date(self) -> Self:
        """The date that a text begins with, such as ``2024-12-31``; missing where it is none.

        >>> from tacit.expressions.expression import col
        >>> print(col("day").read_date().evaluate({"day": "2024-02-29 18:30"}))
        2024-02-29
        """
        return type(self)("read_date", (self,))

    def read_time(self) -> Self:
        """The time that a text is, such as ``2024-12-31 18:30``; missing where it is none.

        By itself it is the whole seconds since 1970; ``hour`` and its like take it as a time.

        >>> from tacit.expressions.expression import col
        >>> col("at").read_time().hour().evaluate({"at": "2024-02-29 18:30"})
        18
        """
        return type(self)("read_seconds", (self,))

    def read_boolean(self) -> Self:
        """Whether a text is true, t, yes, y or 1; or false, f, no, n or 0; else missing.

        >>> from tacit.expressions.expression import col
        >>> col("smokes").read_boolean().evaluate({"smokes": "No"})
        False
        """
        return type(self)("read_boolean", (self,))
