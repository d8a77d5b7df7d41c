"""The sensitivity of a statistic: one question, one signature."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, cast, overload

from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError, did_you_mean
from tacit.statistics.domains import Domain, Interval, Records, Values, columns_of
from tacit.statistics.question import Question, Relation, without_empty
from tacit.statistics.result import Sensitivity
from tacit.statistics.samples import Sample
from tacit.statistics.statistic import Statistic

# Statistics by name; each room is imported when its statistic is first asked for.


_MODULES: dict[str, tuple[str, str]] = {
    "count": ("counts_and_sums", "Count"),
    "sum": ("counts_and_sums", "Sum"),
    "mean": ("means", "Mean"),
    "median": ("quantiles", "Median"),
    "var": ("variances", "Variance"),
    "std": ("variances", "StandardDeviation"),
    "min": ("quantiles", "Minimum"),
    "max": ("quantiles", "Maximum"),
    "interquartile_range": ("quantiles", "InterquartileRange"),
    "trimmed_mean": ("means", "TrimmedMean"),
    "winsorized_mean": ("means", "WinsorizedMean"),
    "range": ("spread", "Range"),
    "mad": ("spread", "MedianAbsoluteDeviation"),
    "gini": ("spread", "Gini"),
    "mode": ("spread", "Mode"),
}
# The statistics that have a plain name; percentiles and histograms are made with a number.
NAMES: tuple[str, ...] = tuple(_MODULES)

_SHORT: dict[str, str] = {"iqr": "interquartile_range"}  # other names that people type
_TAKE_NUMBER: dict[str, str] = {
    "var": "ddof",
    "std": "ddof",
    "trimmed_mean": "share",
    "winsorized_mean": "share",
}
_CALLED = re.compile(r"\s*([a-z_]+?)\s*[:(]\s*(?:([a-z]+)\s*=\s*)?([^()=:]+?)\s*\)?\s*")


def lookup(statistic: object) -> Statistic:
    """Return the statistic of that name, or wrap a function, or pass a statistic through.

    Raises:
        UsageError: an unknown name, or something that cannot be called.

    >>> lookup("median").name, lookup("var(ddof=1)").name, lookup("trimmed_mean:0.25").name
    ('median', 'var(ddof=1)', 'trimmed_mean(0.25)')
    """
    if isinstance(statistic, Statistic):
        return statistic
    contained = getattr(statistic, "statistic", None)  # such as tc.median()
    if isinstance(contained, Statistic):
        return contained
    if isinstance(statistic, str):
        if statistic.startswith("percentile"):
            return _percentile(statistic)
        return _named(statistic)
    if callable(statistic):
        from tacit.statistics.search import Function

        return Function(statistic)
    raise UsageError(f"a statistic is a name, a Statistic or a function, not {statistic!r}")


def _named(text: str) -> Statistic:
    """Read ``var``, ``var(ddof=1)``, ``std(1)``, ``std:1`` and ``trimmed_mean(0.1)``."""
    name = _SHORT.get(text, text)
    options: dict[str, Any] = {}
    called = _CALLED.fullmatch(text)
    if called is not None and called[1] in _TAKE_NUMBER:
        name, option = called[1], _TAKE_NUMBER[called[1]]
        if called[2] not in (None, option):
            raise UsageError(f"{name} takes {option}, not {called[2]}: '{name}({option}=...)'")
        number = as_fraction(called[3], option)
        options[option] = as_integer(number, option) if option == "ddof" else number
    if name not in _MODULES:
        raise UsageError(
            f"statistic {text!r} is unknown; {did_you_mean(text, [*NAMES, 'percentile(25)'])}"
        )
    module, cls = _MODULES[name]
    made: Statistic = getattr(importlib.import_module(f"tacit.statistics.{module}"), cls)(**options)
    return made


def _percentile(name: str) -> Statistic:
    """Read ``percentile(25)``, ``percentile_25`` and ``percentile:25``."""
    from tacit.statistics.quantiles import percentile

    spelled = name.removeprefix("percentile").strip("()_: ")
    if not spelled:
        raise UsageError("percentile needs a number, such as 'percentile(25)'")
    return percentile(spelled)


class HasStatistic(Protocol):
    """Return an instance for the name of a statistic, such as ``tc.median()``."""

    @property
    def statistic(self) -> object:
        """The statistic."""


# A statistic as it may be given: by name, as an object, or as a function of a 1-D array.
StatisticLike: TypeAlias = str | Statistic | HasStatistic | Callable[..., object]


@overload
def sensitivity(
    statistic: StatisticLike,
    over: Domain,
    at: object = None,
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
) -> Sensitivity: ...
@overload
def sensitivity(
    statistic: StatisticLike,
    over: Mapping[str, Domain],
    at: object = None,
    distance: int = 1,
    relation: Relation = "unbounded",
    within: bool = True,
) -> dict[str, Sensitivity]: ...
@public
def sensitivity(
    statistic: StatisticLike,
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
            :class:`~tacit.statistics.statistic.Statistic`, or a Python function of a 1-D float
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
    ``tc.statistics.batched(f, empty=0)``.  Where it has none, such a neighbour is left out, and
    ``.notes`` says so.

    Returns:
        A :class:`~tacit.statistics.result.Sensitivity`, or a dict of them by column.  (A type
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
    named = lookup(statistic)
    columns = by_column(over, at)
    if columns is None:
        return ask(named, domain_of(over), at, distance, relation, within)
    return {
        name: ask(named, domain, data, distance, relation, within)
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
    question = Question(over, release, distance, relation, within, min(1, statistic.min_size))
    answer = statistic.answer(question)
    if answer is None:
        from tacit.statistics.search import exhaustive

        answer = exhaustive(statistic, question)
    answer.notes += question.left_out()
    if question.leaves_out_empty:
        answer.notes += without_empty([statistic.name])
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


# A sensitivity as a stability map: for every distance in, how far the statistic can move.
#
# A map must answer for every ``d_in``, never fall, and be proven (the distributions of
# :mod:`tacit.core`).  A global sensitivity *within* the distance is all of that.  Where a distance
# is so large that no two releases are that far apart, every pair is nearer, and the farthest
# distance there is answers.


@public
@dataclass(frozen=True)
class StabilityMap:
    """``d_in`` to the largest distance between two values of the statistic.

    Attributes:
        statistic: the statistic.
        domain: the releases that it is about.
        relation: the neighbour relation whose distance ``d_in`` counts.
    """

    statistic: Statistic
    domain: Domain
    relation: Relation = "unbounded"
    _known: dict[int, Sensitivity] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, d_in: int) -> Fraction | float:
        """The sensitivity within ``d_in`` (a float is rounded up).

        Raises:
            UsageError: a negative distance, or one that is not an integer.
        """
        distance = as_integer(d_in, "d_in", minimum=0)
        return Fraction(0) if distance == 0 else self.answer(distance).value

    def answer(self, d_in: int) -> Sensitivity:
        """The whole answer, with its witness, at a distance of at least 1."""
        distance = min(as_integer(d_in, "d_in", minimum=1), max(1, self._farthest()))
        if distance not in self._known:
            answer = ask(self.statistic, self.domain, None, distance, self.relation, within=True)
            self._known[distance] = _guaranteed(answer)
        return self._known[distance]

    def _farthest(self) -> int:
        fewest = min(1, self.statistic.min_size)
        farthest = Question(self.domain, None, 1, self.relation, fewest=fewest).farthest()
        return 1 << 62 if math.isinf(farthest) else int(farthest)


@public
def stability_map(
    statistic: StatisticLike, over: Domain, relation: Relation = "unbounded"
) -> StabilityMap:
    """Return the stability map of a statistic, checked once at distance 1.

    Args:
        statistic: as for :func:`tacit.sensitivity`.
        over: the domain, of one column.
        relation: the neighbour relation, as for :func:`tacit.sensitivity`.

    Raises:
        UsageError: no guarantee can be given, or the function fails on some release.
        InfeasibleError: the sensitivity cannot be computed, or no release has a neighbour.

    >>> from tacit.statistics import Records
    >>> d = stability_map("median", over=Records([1, 2, 3, 10, 11], size=3), relation="bounded")
    >>> [d(k) for k in (0, 1, 2, 99)]
    [Fraction(0, 1), Fraction(8, 1), Fraction(8, 1), Fraction(8, 1)]
    """
    if isinstance(over, Mapping) or over.columns is not None:
        raise UsageError("a stability map is about one column; give the domain of that column")
    made = StabilityMap(lookup(statistic), over, relation)
    if made._farthest() < 1:
        raise InfeasibleError(
            f"there is no neighbour: no release over {over!r} can be changed, so a map would say "
            "nothing"
        )
    made.answer(1)
    if relation in ("unbounded", "remove") and made.statistic.min_size > 1:
        raise UsageError(
            f"a stability map answers for every distance, and {made.statistic.name} has no value "
            f"of fewer than {made.statistic.min_size} records: take relation='bounded' over "
            "releases of a public size"
        )
    return made


def map_of(answer: Sensitivity) -> StabilityMap:
    """Turn an answer into the stability map of its question, for every distance.

    Raises:
        UsageError: the answer is not a guarantee; says why.

    >>> from tacit.statistics import Interval, sensitivity
    >>> map_of(sensitivity("sum", over=Interval(-3, 2)))(4)
    Fraction(12, 1)
    """
    question = _guaranteed(answer).question
    return stability_map(cast(Statistic, answer.statistic), question.domain, question.relation)


def _guaranteed(answer: Sensitivity) -> Sensitivity:
    if answer.why_no_guarantee is not None:
        raise UsageError(f"{answer!r} cannot serve as a stability map: {answer.why_no_guarantee}")
    return answer
