"""Sample-and-aggregate: any function, released through its answers on random bins of the records.

The records go to ``k`` bins, each by a draw of its own
(:mod:`tacit.mechanisms.sample_and_aggregate.binning`); the function is asked of every bin; a
private centre of the ``k`` answers is released.

**Map.**  Let ``u`` and ``v`` be at distance ``d``.  There is a way to draw the bins of both
together so that the contents of at most ``c = min(d, k)`` bins differ, as ordered lists; with the
function's own randomness drawn alike, at most ``c`` answers differ.  Whatever the draw, the
divergence of the centre is then at most its loss at ``c``.  The output is a mixture over the draws,
and pure and approximate DP are closed under mixing both sides alike (their divergences are jointly
convex, or quasi-convex).  So ``map(d) = loss(min(d, k))``, with one loss a coordinate added up.
No property of the function is used: its sensitivity may be unknown or infinite.

Source: Nissim, Raskhodnikova, Smith, "Smooth sensitivity and sampling in private data analysis",
STOC 2007; for independent bins as a coupling, see the module of the bins.

**What the claim rests on.**  The answer for a bin must depend on that bin alone.  A function that
remembers earlier calls, draws from a generator with a fixed seed that all bins share, or writes
what it sees somewhere is outside of it.  So is time: how long a release takes is not hidden.  With
``timeout`` the wall clock of a process decides; choose one so generous that only a function that
hangs meets it, or a busy machine will make bins of one release depend on each other.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_integer, positive, show
from tacit.calls import public
from tacit.core import ChangeOneDistance, Measurement, Space, SymmetricDistance
from tacit.errors import UsageError, did_you_mean, said
from tacit.mechanisms.sample_and_aggregate.aggregators import (
    Centre,
    MeanOfBins,
    MedianOfBins,
    WinsorizedMeanOfBins,
)
from tacit.mechanisms.sample_and_aggregate.binning import Rows, into_bins, record_count
from tacit.mechanisms.sample_and_aggregate.bounded_output import BinFunction, coordinates
from tacit.mechanisms.sample_and_aggregate.executor import Engine
from tacit.mechanisms.sample_and_aggregate.simulation import in_bulk, simulated_units
from tacit.mechanisms.sample_and_aggregate.smooth_median import SmoothMedianOfBins
from tacit.mechanisms.shared.output_distribution import Mixture

__all__ = ["AGGREGATES", "MOST_BINS", "SampledRelease", "sample_and_aggregate"]

AGGREGATES: dict[str, type[Centre]] = {
    "mean": MeanOfBins,
    "median": MedianOfBins,
    "winsorized_mean": WinsorizedMeanOfBins,
    "smooth": SmoothMedianOfBins,
}
_RELATIONS = {"unbounded": SymmetricDistance, "bounded": ChangeOneDistance}
MOST_BINS = 1 << 24
_MOST_WAYS = 20_000
_FEWEST_DRAWS = 50
_MOST_DRAWS = 4_000
_MOST_RECORDS = 1 << 27
_PRECISE = 0.01


@public
def sample_and_aggregate(
    function: Callable[..., object],
    bins: int,
    bounds: object = None,
    epsilon: Number | None = None,
    *,
    aggregate: str = "mean",
    relation: str = "unbounded",
    delta: Number | None = None,
    default: object = None,
    grid: Number | None = None,
    timeout: Number | None = None,
    parallel: object = None,
) -> SampledRelease:
    """Release any function of records: run it on random bins, and aggregate the answers privately.

    Each record goes to a bin by a draw of its own, so that one person moves one answer, whether
    records are added, removed or exchanged, and in whatever order the rows stand.  A bin that is
    empty, or where the function returns NaN or something of another shape, raises or takes
    too long, counts as ``default``; nothing shows that it did.  The module says and proves the map.

    Args:
        function: what is asked of each bin.  It gets records of the kind that the measurement is
            called on (an array, a data frame, a list, a dict of columns) and returns a number, or
            as many numbers as ``bounds`` has pairs.  Try it on made-up data first: errors in it are
            not shown either.
        bins: how many; public.  More bins mean less noise and a function of fewer records each.
            How many records there are is private, so bins that outnumber them are not refused: bins
            without a record count as ``default``, and draw the answer to it.  Take so few that each
            has tens of records in the smallest data set that you expect, and ask
            ``expected_error(like)`` of public or made-up records of that size.
        bounds: ``(lower, upper)`` of the answer, public, or one pair for each number of a vector.
        epsilon: the loss when one record differs, all numbers of a vector together.
        aggregate: ``"mean"`` of all bins with Laplace noise; ``"median"`` by the exponential
            mechanism, which bins that fail hardly move; ``"winsorized_mean"``, a mean after private
            clipping, for wide bounds; ``"smooth"``, a median with noise scaled to its smooth
            sensitivity: Laplace with a ``delta``, Student's t without.
        relation: ``"unbounded"`` (records join or leave) or ``"bounded"`` (records are exchanged).
        delta: only for ``"smooth"``, and then the loss is approximate DP.
        default: what counts as the answer of a bin that gives none: a number inside the bounds, or
            one per coordinate; the middle of the bounds if left out.
        grid: the unit to which answers are rounded; by default a power of two, fine enough.
        timeout: seconds for one bin, after which its process is killed; uses worker processes.
        parallel: a number of worker processes; or the name of a joblib backend (``"loky"``,
            ``"dask"``, ``"spark"``, ...), or ``(name, jobs)``.  A worker of a number of processes
            may crash without harm to the other bins; one of a backend may not.  For ``"dask"`` make
            a ``dask.distributed.Client`` first.  For ``"spark"`` the workers' Python must have
            Tacit and the function's packages: set ``PYSPARK_PYTHON`` to it before the session
            starts, such as ``os.environ["PYSPARK_PYTHON"] = sys.executable`` on one machine.

    Returns:
        A measurement of pure DP (approximate DP where there is a delta).  It releases a float, or
        an array for a vector.

    Raises:
        UsageError: no function; bins, epsilon or a timeout that is not above zero; bounds missing
            or reversed; a default outside the bounds; an unknown aggregate or relation.

    Example:
        >>> import numpy as np
        >>> m = sample_and_aggregate(np.mean, bins=50, bounds=(0, 10), epsilon=2)
        >>> m.map(1), m.map(3), 3 < m(np.arange(1000) % 10) < 6
        (Fraction(2, 1), Fraction(6, 1), True)
    """
    if not callable(function):
        raise UsageError(f"the function must be a function of a bin's records, not {function!r}")
    count = as_integer(bins, "bins", minimum=1)
    if count > MOST_BINS:
        raise UsageError(f"bins must be at most {MOST_BINS}, not {count}")
    if epsilon is None:
        raise UsageError("give epsilon, above zero: the privacy loss when one record differs")
    kind = _known(aggregate, AGGREGATES, "aggregate")
    if relation not in _RELATIONS:
        raise UsageError(
            f"relation {said(relation)} is unknown; {did_you_mean(relation, _RELATIONS)}"
        )
    engine = Engine.of(parallel, timeout)
    reads = coordinates(bounds, default, grid, kind.grid_bits)
    shares = {"epsilon": positive(epsilon, "epsilon") / len(reads)}
    if delta is not None:
        if kind is not SmoothMedianOfBins:
            raise UsageError(f"{aggregate!r} gives pure DP, and takes no delta: leave it out")
        shares["delta"] = _delta(delta) / len(reads)
    centres = tuple(kind(count, where, **shares) for where in reads)
    space = Space(Rows(), _RELATIONS[relation]())
    name = f"sample_and_aggregate({aggregate}, bins={count})"
    return SampledRelease(space, BinFunction(function, reads), centres, engine, name)


def _known(name: str, known: dict[str, type[Centre]], what: str) -> type[Centre]:
    if name not in known:
        raise UsageError(f"{what} {name!r} is unknown; {did_you_mean(str(name), known)}")
    return known[name]


def _delta(delta: Number) -> Fraction:
    found = positive(delta, "delta")
    if found >= 1:
        raise UsageError(f"delta must be above 0 and below 1, not {show(found)}")
    return found


class SampledRelease(Measurement):
    """The measurement of :func:`sample_and_aggregate`, with what can be said before a release.

    Attributes:
        bins: how many.
    """

    def __init__(
        self,
        space: Space,
        ask: BinFunction,
        centres: tuple[Centre, ...],
        engine: Engine,
        name: str,
    ) -> None:
        self._ask, self._centres, self._engine = ask, centres, engine
        self.bins = centres[0].bins
        measure = centres[0].measure

        def loss(d: Fraction) -> Any:
            changed = min(d, Fraction(self.bins))
            return measure.compose(centre.loss(changed) for centre in centres)

        super().__init__(space, measure, self._release, loss, distribution=self._law_on, name=name)

    def _release(self, records: Any) -> Any:
        return self._centred(self._engine.answers(self._ask, into_bins(records, self.bins)))

    def _centred(self, answers: Sequence[Sequence[int]]) -> Any:
        columns = zip(*answers, strict=True)
        found = [
            centre.release(column) for centre, column in zip(self._centres, columns, strict=True)
        ]
        return found[0] if len(found) == 1 else np.array(found)

    def simulate(self, like: object, times: int) -> list[object]:
        """Return what so many releases say of records that are public or synthetic.

        Draws of this very mechanism; a statistic of Tacit is asked of many bins at once.

        Args:
            like: records, as for a release; each of the releases depends on them.
            times: how many.

        >>> m = sample_and_aggregate(max, bins=5, bounds=(0, 10), epsilon=2)
        >>> len(m.simulate([1, 2, 3], times=4))
        4
        """
        count = as_integer(times, "times", minimum=0)
        records = self.input.domain.read(like)
        if not in_bulk(self._ask, records):
            return [self._release(records) for _ in range(count)]
        return [self._centres[0].release(units) for units in self._drawn(records, count)]

    def expected_error(self, like: object) -> float:
        """Predict the mean absolute error on records such as ``like``, to about a percent.

        What is predicted is the distance from the function of all records.  The noise is not drawn
        but integrated, so that draws differ in their bins alone.  Bins are drawn until the standard
        error of the mean is a percent of it, at least 50 times and at most 4,000 times, or as often
        as makes 2^27 records; a function that is no statistic of Tacit is asked of 50 draws.
        ``like`` must be public or synthetic.

        Args:
            like: records, as for a release.

        Raises:
            UsageError: a function that returns several numbers.
        """
        if len(self._centres) > 1:
            raise UsageError("the expected error is known for functions that return one number")
        records = self.input.domain.read(like)
        truth = float(self._ask.function(records))
        found: list[float] = []
        most = min(_MOST_DRAWS, _MOST_RECORDS // max(record_count(records), self.bins))
        if not in_bulk(self._ask, records):
            most = 0
        while len(found) < max(_FEWEST_DRAWS, most):
            draws = self._drawn(records, _FEWEST_DRAWS)
            found += [self._centres[0].mean_error(units, truth) for units in draws]
            spread = float(np.std(found)) / math.sqrt(len(found))
            if spread <= _PRECISE * float(np.mean(found)):
                break
        return float(np.mean(found))

    def _drawn(self, records: Any, times: int) -> Iterator[list[int]]:
        """Yield the units of all bins, draw by draw."""
        if in_bulk(self._ask, records):
            for units in simulated_units(self._ask, records, self.bins, times):
                yield units.tolist()
            return
        for _ in range(times):
            answers = self._engine.answers(self._ask, into_bins(records, self.bins))
            yield [unit for (unit,) in answers]

    def _law_on(self, records: Any) -> Mixture:
        """Mix the centre's distributions over every order of the records and every way to bin them.

        Raises:
            UsageError: more than 20,000 ways, or a vector.
        """
        if len(self._centres) > 1:
            raise UsageError("the distribution is known for functions that return one number")
        n = record_count(records)
        ways = self.bins**n * math.factorial(n)
        if ways > _MOST_WAYS:
            raise UsageError(
                f"{n} records go into {self.bins} bins in more than {_MOST_WAYS} ways: ask for the "
                "distribution of a few records"
            )
        drawn = Counter(self._every_way(list(records), n))
        share = Enclosure.of(Fraction(1, ways))
        centre = self._centres[0]
        parts = [([u for (u,) in answers], times) for answers, times in drawn.items()]
        return Mixture([(share * times, centre.law(units)) for units, times in parts])

    def _every_way(self, records: list[Any], n: int) -> Iterator[tuple[tuple[int, ...], ...]]:
        known: dict[tuple[int, ...], tuple[int, ...]] = {}
        for order in itertools.permutations(range(n)):
            for places in itertools.product(range(self.bins), repeat=n):
                contents: list[list[int]] = [[] for _ in range(self.bins)]
                for record, place in zip(order, places, strict=True):
                    contents[place].append(record)
                yield tuple(self._asked(tuple(part), records, known) for part in contents)

    def _asked(
        self, part: tuple[int, ...], records: list[Any], known: dict[Any, tuple[int, ...]]
    ) -> tuple[int, ...]:
        if part not in known:
            known[part] = self._ask(np.array([records[i] for i in part]) if part else None)
        return known[part]
