"""The mechanism that answers a statistic of a column, and its options."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from tacit.arithmetic.exact import Number, as_integer, positive, show
from tacit.errors import UsageError, did_you_mean, shown_value
from tacit.mechanisms.smooth import DISTRIBUTIONS

# Which mechanism answers a statistic of a column, and what that mechanism needs.


MethodName: TypeAlias = Literal["global", "smooth", "ptr", "sample_and_aggregate", "auto"]
METHODS: tuple[MethodName, ...] = get_args(MethodName)  # the methods by name

ROWS = 10_000  # the rows of a group for which ``auto`` compares errors, where no ``rows`` are said

# The most rows that errors are worked out for: the made-up rows are laid out in memory.
MOST_ROWS = 10_000_000

MOST_BINS = 1 << 24
_SEARCH = "search"
_BELONGS = {"bound": "ptr", "bins": "sample_and_aggregate", "distribution": "smooth"}


class Options(TypedDict, total=False):
    """What may be said of a method beside the column: see :class:`Method`."""

    method: MethodName
    bound: Number | None
    bins: int | None
    distribution: str | None
    rows: int | None


@dataclass(frozen=True)
class Method:
    """A method other than the global one, with its options; all of it public."""

    name: str  # ``smooth``, ``ptr``, ``sample_and_aggregate`` or ``auto``
    # for ``ptr``: the local sensitivity to propose, or ``"search"``
    bound: Fraction | str | None = None
    bins: int | None = None  # for ``sample_and_aggregate``: how many
    distribution: str | None = None  # for ``smooth``: its noise
    rows: int | None = None  # the size of a group for which errors are compared and bins chosen

    @property
    def planned(self) -> int:
        """The rows to plan for."""
        return self.rows or ROWS

    @property
    def searches(self) -> bool:
        """Whether the bound is searched for in private."""
        return self.bound == _SEARCH

    def to_json(self) -> dict[str, object]:
        """Return the method as plain JSON values."""
        fields: dict[str, Any] = {"name": self.name}
        for field in ("bound", "bins", "distribution", "rows"):
            value = getattr(self, field)
            if value is not None:
                fields[field] = str(value) if isinstance(value, Fraction) else value
        return fields

    def __str__(self) -> str:
        options = [f"{k}={v}" for k, v in self.to_json().items() if k != "name"]
        return ", ".join([f"method={self.name}", *options])


def read_method(
    kind: str,
    column: str | None,
    method: str = "global",
    bound: Number | None = None,
    bins: int | None = None,
    distribution: str | None = None,
    rows: int | None = None,
) -> Method | None:
    """Read the method of an aggregate; None is the global one.

    >>> print(read_method("median", "age", "smooth", distribution="student_t"))
    method=smooth, distribution=student_t
    >>> read_method("median", "age", "global") is None
    True
    """
    if method not in METHODS:
        raise UsageError(
            f"method {shown_value(method)} is unknown; {did_you_mean(str(method), METHODS)}"
        )
    given = {"bound": bound, "bins": bins, "distribution": distribution}
    for option, value in given.items():
        if value is not None and method not in (_BELONGS[option], "auto"):
            raise UsageError(
                f"{option}= is for method={_BELONGS[option]!r}, and the method of this {kind} is "
                f"{method!r}: leave it out, or ask for that method"
            )
    if method == "global":
        if rows is not None:
            raise UsageError('rows= is what method="auto" plans for: leave it out')
        return None
    if column is None:
        raise UsageError(
            f"a method answers a question to a table: name the column and its bounds, as in "
            f'tc.{kind}("age", 0, 100, method={method!r})'
        )
    if method == "ptr" and bound is None:
        raise UsageError(
            "propose-test-release needs bound=, the local sensitivity to propose, such as "
            'bound="1/2"; or bound="search", which finds one in private'
        )
    if distribution is not None and distribution not in DISTRIBUTIONS:
        raise UsageError(
            f"distribution {distribution!r} is unknown; "
            f"{did_you_mean(str(distribution), DISTRIBUTIONS)}"
        )
    made = Method(method, _bound(bound), _bins(bins), distribution, _rows(rows))
    if made.bins is not None and rows is not None and made.bins > int(rows):
        raise UsageError(
            f"bins must be at most the rows that are expected, {rows}, not {made.bins}: "
            "a bin without a row says nothing"
        )
    return made


def _bound(bound: Any) -> Fraction | str | None:
    return bound if bound is None or bound == _SEARCH else positive(bound, "bound")


def _bins(bins: Any) -> int | None:
    if bins is None:
        return None
    number = as_integer(bins, "bins", minimum=2)
    if number > MOST_BINS:
        raise UsageError(f"bins must be at most {MOST_BINS}, not {number}")
    return number


def _rows(rows: Any) -> int | None:
    if rows is None:
        return None
    number = as_integer(rows, "rows", minimum=1)
    if number > MOST_ROWS:
        raise UsageError(f"rows to plan for are at most {show(Fraction(MOST_ROWS))}, not {number}")
    return number
