"""Which mechanism to take: ranked by exact variance, with what each costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any

from tacit import plotting
from tacit.arithmetic.exact import Number, as_integer, positive
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.items import Items
from tacit.local.base.oracle import FrequencyOracle
from tacit.local.frequency.direct_encoding import DirectEncoding
from tacit.local.frequency.hadamard_response import HadamardResponse
from tacit.local.frequency.histogram_encoding import SummationHistogram, ThresholdHistogram
from tacit.local.frequency.local_hashing import BinaryLocalHashing, OptimizedLocalHashing
from tacit.local.frequency.subset_selection import SubsetSelection
from tacit.local.frequency.unary_encoding import UnaryEncoding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Choice", "Option", "choose"]

_MAKERS: dict[str, Callable[[Items, Any], FrequencyOracle]] = {
    "direct encoding (GRR)": lambda d, e: DirectEncoding(d, epsilon=e),
    "unary encoding, optimised": lambda d, e: UnaryEncoding(d, epsilon=e),
    "unary encoding, symmetric": lambda d, e: UnaryEncoding(d, epsilon=e, symmetric=True),
    "optimised local hashing": lambda d, e: OptimizedLocalHashing(d, epsilon=e),
    "binary local hashing": lambda d, e: BinaryLocalHashing(d, epsilon=e),
    "Hadamard response": lambda d, e: HadamardResponse(d, epsilon=e),
    "subset selection": lambda d, e: SubsetSelection(d, epsilon=e),
    "summation histogram": lambda d, e: SummationHistogram(d, epsilon=e),
    "threshold histogram": lambda d, e: ThresholdHistogram(d, epsilon=e),
}


@dataclass(frozen=True)
class Option:
    """One mechanism, and what it costs.

    Attributes:
        name: what it is called.
        oracle: the mechanism itself, ready for use.
        variance: of the estimated count of a rare item, exactly.
        report_bits: the size of a report.
        influence: how many people one poisoned report can add to one item's count.
    """

    name: str
    oracle: FrequencyOracle
    variance: Fraction
    report_bits: int
    influence: Fraction


@public
@dataclass(frozen=True)
class Choice:
    """Mechanisms for one question, the most accurate first; see :func:`choose`.

    Attributes:
        options: all that take this domain, by variance and then by report size.
        n: how many reports are expected.
        epsilon: the loss asked for.
    """

    options: tuple[Option, ...]
    n: int
    epsilon: Fraction

    @property
    def best(self) -> FrequencyOracle:
        """The smallest report among the mechanisms whose variance is within 1% of the least."""
        near = [
            o for o in self.options if o.variance <= self.options[0].variance * Fraction(101, 100)
        ]
        return min(near, key=lambda o: o.report_bits).oracle

    def __str__(self) -> str:
        head = f"{'mechanism':<28}{'error of a count':>18}{'bits a report':>15}{'influence':>11}"
        rows = (
            f"{o.name:<28}{sqrt(o.variance):>18,.1f}{o.report_bits:>15,}{float(o.influence):>11,.1f}"
            for o in self.options
        )
        return "\n".join((head, *rows))

    def crossings(
        self, sizes: Iterable[int] | None = None
    ) -> dict[str, list[tuple[int, Fraction]]]:
        """Return for each mechanism its variance over sizes of the domain, from 2 to 4,096.

        Args:
            sizes: of the domain; by default powers of two.
        """
        points = [1 << i for i in range(1, 13)] if sizes is None else list(sizes)
        found: dict[str, list[tuple[int, Fraction]]] = {}
        for size in points:
            for name, make in _MAKERS.items():
                oracle = make(Items(size), self.epsilon)
                found.setdefault(name, []).append((size, oracle.variance(self.n)))
        return found

    def plot(self) -> Figure:
        """Draw the error of a count against the size of the domain, where lines cross.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        made = plotting.figure(7.5, 4.5)
        ((one,),) = plotting.axes(made, 1, 1)
        for i, (name, points) in enumerate(self.crossings().items()):
            sizes, variances = zip(*points, strict=True)
            errors = [sqrt(v) for v in variances]
            one.plot(sizes, errors, label=name, **{**plotting.series(i).line(), "markersize": 4})
        one.set_xscale("log", base=2)
        one.set_yscale("log")
        one.set_xlabel("items of the domain")
        one.set_ylabel("standard error of a count")
        one.legend(fontsize=7.5, frameon=False)
        detail = f"epsilon {plotting.number(self.epsilon)}, {self.n:,} reports, a rare item"
        plotting.title(one, "Which mechanism is most accurate", detail)
        figure: Figure = made
        return figure


@public
def choose(domain: int | Iterable[object] | Items, n: int, epsilon: Number) -> Choice:
    """Rank the frequency oracles for a question by the exact variance of a rare item's count.

    Args:
        domain: the items, see :class:`~tacit.local.Items`.
        n: how many reports are expected.
        epsilon: the greatest loss allowed.

    Raises:
        UsageError: a bad domain or epsilon, n below 1.

    Example:
        >>> choice = choose(1024, n=10_000, epsilon=1)
        >>> choice.options[0].name, type(choice.best).__name__
        ('subset selection', 'OptimizedLocalHashing')
        >>> type(choose(["yes", "no"], n=100, epsilon=1).best).__name__
        'DirectEncoding'
    """
    items, reports = Items.of(domain), as_integer(n, "n", minimum=1)
    loss = positive(epsilon, "epsilon")
    options = []
    for name, make in _MAKERS.items():
        try:
            oracle = make(items, loss)
        except UsageError:
            if name.startswith("direct"):
                raise  # it takes every domain: then the question itself is wrong
            continue
        influence: Any = oracle.influence  # type: ignore[attr-defined]
        variance = oracle.variance(reports)
        options.append(Option(name, oracle, variance, oracle.report_bits, influence))
    options.sort(key=lambda option: (option.variance, option.report_bits))
    return Choice(tuple(options), reports, loss)
