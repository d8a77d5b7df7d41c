"""Which mechanism answers a statistic of a column, and what that mechanism needs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from tacit.arithmetic.exact import Number, as_integer, positive, show
from tacit.errors import UsageError, did_you_mean, said
from tacit.mechanisms.smooth.calibration import DISTRIBUTIONS

__all__ = ["METHODS", "MOST_ROWS", "ROWS", "Method", "MethodName", "Options", "read_method"]

MethodName: TypeAlias = Literal["global", "smooth", "ptr", "sample_and_aggregate", "auto"]
METHODS: tuple[MethodName, ...] = get_args(MethodName)
"""The methods by name."""

ROWS = 10_000
"""The rows of a group for which ``auto`` compares errors, where no ``rows`` are said."""

MOST_ROWS = 10_000_000
"""The most rows that errors are worked out for: the made-up rows are laid out in memory."""

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
    """A method other than the global one, with its options; all of it public.

    Attributes:
        name: ``smooth``, ``ptr``, ``sample_and_aggregate`` or ``auto``.
        bound: for ``ptr``: the local sensitivity to propose, or ``"search"``.
        bins: for ``sample_and_aggregate``: how many.
        distribution: for ``smooth``: its noise.
        rows: the size of a group for which errors are compared and bins chosen.
    """

    name: str
    bound: Fraction | str | None = None
    bins: int | None = None
    distribution: str | None = None
    rows: int | None = None

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
        found: dict[str, Any] = {"name": self.name}
        for field in ("bound", "bins", "distribution", "rows"):
            value = getattr(self, field)
            if value is not None:
                found[field] = str(value) if isinstance(value, Fraction) else value
        return found

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

    Raises:
        UsageError: an unknown method, one without a column, an option that is missing, of another
            method, or out of range.

    >>> print(read_method("median", "age", "smooth", distribution="student_t"))
    method=smooth, distribution=student_t
    >>> read_method("median", "age", "global") is None
    True
    """
    if method not in METHODS:
        raise UsageError(f"method {said(method)} is unknown; {did_you_mean(str(method), METHODS)}")
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
    found = as_integer(bins, "bins", minimum=2)
    if found > MOST_BINS:
        raise UsageError(f"bins must be at most {MOST_BINS}, not {found}")
    return found


def _rows(rows: Any) -> int | None:
    if rows is None:
        return None
    found = as_integer(rows, "rows", minimum=1)
    if found > MOST_ROWS:
        raise UsageError(f"rows to plan for are at most {show(Fraction(MOST_ROWS))}, not {found}")
    return found
