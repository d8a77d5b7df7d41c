"""The answer: a sensitivity with what it rests on and the pair of neighbours that attains it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from tacit.arithmetic.exact import float_up, show
from tacit.calls import public
from tacit.display.card import Card, Shown, Table
from tacit.statistics.base.extreme_pair import differing_pair
from tacit.statistics.base.plot_pair import draw_pair
from tacit.statistics.samples.sample import Plain, Sample

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tacit.statistics.base.question import Question

__all__ = ["Method", "Sensitivity", "Witness"]

Method: TypeAlias = Literal[
    "closed form", "polynomial", "exhaustive", "lower bound", "upper bound", "sampled"
]
Witness: TypeAlias = tuple[tuple[Plain, ...], tuple[Plain, ...]]

_MOST_RECORDS = 24
"""How many records of a witness a notebook shows."""


class Named(Protocol):
    """What an answer asks of the statistic that it is about."""

    @property
    def name(self) -> str:
        """The name that people use."""

    @property
    def least(self) -> int:
        """The fewest records that it has a value on."""


@public
class Sensitivity(Shown):
    """The sensitivity of a statistic: how far it can move between neighbours, and why.

    Attributes:
        value: the sensitivity, in the statistic's own unit; a ``Fraction`` where it is rational,
            else a float that is not below the truth.
        method: ``"closed form"``, ``"polynomial"`` or ``"exhaustive"`` (all three give the
            truth), ``"upper bound"`` (proven, not attained), ``"lower bound"`` (found by local
            search: no guarantee) or ``"sampled"`` (random differential privacy only).
        evaluations: how often the statistic was evaluated, or its formula at a candidate.
        question: the question that this answers.
        statistic: the statistic asked about.
        notes: what else a reader should know, one sentence each.

    >>> import tacit.statistics as ts
    >>> s = ts.sensitivity("median", over=ts.Records([1, 2, 3, 10, 11], size=3))
    >>> s.value, s.witness
    (Fraction(9, 2), ((1, 2, 11), (2, 11)))
    """

    def __init__(
        self,
        value: Fraction | float,
        method: Method,
        *,
        statistic: Named,
        question: Question,
        witness: Callable[[], tuple[Sample, Sample] | None] | None = None,
        evaluations: int = 1,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.value = value
        self.method: Method = method
        self.statistic = statistic
        self.question = question
        self.evaluations = evaluations
        self.notes = notes
        self._make_witness = witness
        self._pair: tuple[Sample, Sample] | None = None

    def __float__(self) -> float:
        """The value as a float, rounded up: never below the truth."""
        return self.value if isinstance(self.value, float) else float_up(self.value)

    @property
    def exact(self) -> bool:
        """Whether the value is the truth (if a float: the truth rounded up)."""
        return self.method in ("closed form", "polynomial", "exhaustive")

    @property
    def pair(self) -> tuple[Sample, Sample] | None:
        """The witness as two samples, made when first asked for."""
        if self._pair is None and self._make_witness is not None:
            self._pair = self._in_order(self._differing(self._make_witness()))
        return self._pair

    def _differing(self, pair: tuple[Sample, Sample] | None) -> tuple[Sample, Sample] | None:
        """Take two that differ for one release given twice: where it is 0, all attain it."""
        if pair is None or pair[0] != pair[1]:
            return pair
        return differing_pair(self.question, self.statistic.least)

    def _in_order(self, pair: tuple[Sample, Sample] | None) -> tuple[Sample, Sample] | None:
        """Put the release first and its neighbour second, where records only come or only go."""
        relation = self.question.relation
        if pair is None or relation not in ("add", "remove"):
            return pair
        smaller, larger = sorted(pair, key=len)
        return (smaller, larger) if relation == "add" else (larger, smaller)

    @property
    def witness(self) -> Witness | None:
        """Two neighbouring releases, each ascending, that attain the value.

        The first is ``at`` where that was given, and comes before the records that are added or
        removed.  The two differ, also where the value is 0: None where no release can be changed
        into another, and for bounds.
        """
        return None if self.pair is None else (self.pair[0].values(), self.pair[1].values())

    @property
    def is_guarantee(self) -> bool:
        """Whether noise may rest on this value: see :attr:`why_no_guarantee`."""
        return self.why_no_guarantee is None

    @property
    def why_no_guarantee(self) -> str | None:
        """Why this value is not a stability map, or None when it is one."""
        if self.method == "lower bound":
            return "it is a lower bound found by local search: the truth may be larger"
        if self.method == "sampled":
            return "it was sampled, which gives random differential privacy only"
        if self.question.at is not None:
            return (
                "it is local: it depends on the data, and noise of its size would reveal "
                "something about them"
            )
        if not self.question.within and not (
            self.question.distance == 1 and self.question.relation != "bounded"
        ):
            return (
                "it counts neighbours at exactly the distance in one direction, which misses "
                "nearer and mixed neighbours; ask with within=True"
            )
        least, reached = self.statistic.least, self.question.smallest()
        if reached < least:
            return (
                f"releases of {reached} record(s) were left out, where {self.statistic.name} has "
                f"no value: it needs at least {least}"
            )
        return None

    def plot(self) -> Figure:
        """Draw the two neighbouring data sets on the number line, with the statistic on both.

        Returns a ``matplotlib.figure.Figure``: ``answer.plot().savefig("gap.png")``.

        Raises:
            MissingExtraError: matplotlib is not installed.
            UsageError: there is no witness to draw (a bound).
        """
        figure: Figure = draw_pair(self)
        return figure

    def card(self) -> Card:
        """Return what a notebook displays: the value, how it was found, what attains it."""
        asked = self.question
        kind = "global" if asked.at is None else "local"
        how = "within" if asked.within else "exactly"
        rows = [
            ["value", show(self.value)],
            ["found by", f"{self.method}, {self.evaluations:,} evaluations"],
            ["neighbours", f"{asked.relation}, {how} {asked.distance}"],
        ]
        for name, one in zip(("a data set", "its neighbour"), self.witness or (), strict=False):
            first = ", ".join(show(value) for value in one[:_MOST_RECORDS])
            rest = len(one) - _MOST_RECORDS
            rows.append([name, f"{first}, and {rest:,} more" if rest > 0 else first or "no record"])
        why = self.why_no_guarantee
        notes = [*self.notes, *([f"no guarantee: {why}"] if why else [])]
        title = f"{kind.capitalize()} sensitivity of {self.statistic.name}"
        return Card(title, "", [Table(["", ""], rows)], notes)

    def __repr__(self) -> str:
        kind = "global" if self.question.at is None else "local"
        how = "within" if self.question.within else "exactly"
        return (
            f"Sensitivity({show(self.value)}, {self.method}: {kind}, {self.statistic.name}, "
            f"{self.question.relation}, {how} {self.question.distance})"
        )
