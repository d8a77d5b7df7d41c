"""What variance and standard deviation share: values, and which algorithm answers a question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import float_up
from tacit.arithmetic.square_root import Root
from tacit.errors import InfeasibleError, UsageError, said
from tacit.statistics.base.domain import Interval, Records, Values
from tacit.statistics.base.question import Question
from tacit.statistics.base.result import Method, Sensitivity
from tacit.statistics.base.statistic import Exact, Statistic
from tacit.statistics.samples.counted_sample import CountedSample
from tacit.statistics.samples.prefix_moments import Moments
from tacit.statistics.samples.sample import Array, Sample
from tacit.statistics.variances.candidate_search import Contest, Finding, Spread
from tacit.statistics.variances.listed_pairs import choices, scattered
from tacit.statistics.variances.local_extremes import extreme_neighbours
from tacit.statistics.variances.move_bounds import bound_of_move, reach, widen
from tacit.statistics.variances.over_interval import Extreme, flat, spread_inside

__all__ = ["Dispersion"]

Move = tuple[int, int]
Sizes = tuple[int, int, int]


@dataclass(frozen=True)
class Dispersion(Statistic):
    """Variance or standard deviation, over ``n - ddof``.

    Args:
        ddof: 0 (numpy's default) or 1 (the unbiased variance, undefined for a single record).
    """

    ddof: int = 0

    def __post_init__(self) -> None:
        if self.ddof not in (0, 1):
            raise UsageError(f"ddof must be 0 or 1, not {said(self.ddof)}")

    @property
    def least(self) -> int:
        """The fewest records of which there is a value."""
        return self.ddof + 1

    @property
    def spread(self) -> Spread:
        """Which measure of spread this is."""
        raise NotImplementedError

    def variance(self, values: Sequence[Fraction]) -> Fraction:
        """The exact variance of some values, with this ``ddof``."""
        n, total = len(values), Fraction(sum(values))
        self._defined(n)
        return (sum((v * v for v in values), Fraction(0)) - total * total / n) / (n - self.ddof)

    def exact(self, values: Sequence[Fraction]) -> Exact:
        """The exact value."""
        return self.spread.value(self.variance(values))

    def of(self, sample: Sample) -> Exact:
        """The exact value of a sample, summed in bulk."""
        self._defined(len(sample))
        if isinstance(sample, CountedSample):
            return self.spread.value(sample.variance(self.ddof))
        return self.spread.value(Moments(sample).variance([(0, len(sample))], self.ddof))

    def answer(self, question: Question) -> Sensitivity:
        """The exact sensitivity, or a proven upper bound where no exact method is known."""
        if question.size is not None:
            self._defined(question.size)
        if question.at is not None:
            return self._local(question)
        if isinstance(question.domain, Records):
            return self._over_records(question, question.domain.sample, self._moves(question))
        return self._over_range(question)

    def _defined(self, size: int) -> None:
        if size <= self.ddof:
            raise InfeasibleError(
                f"{self.name} with ddof={self.ddof} of {size} record(s) is undefined; "
                f"it needs at least {self.ddof + 1}"
            )

    def _moves(self, question: Question) -> Iterator[tuple[int, list[Move]]]:
        """Every size of the release with its moves between releases that have a value."""
        if question.size is not None:
            yield question.size, self._moves_from(question, question.size)
            return
        largest = question.population
        size = self.ddof + 1
        while largest is None or size <= largest:
            yield size, self._moves_from(question, size)
            size += 1

    def _moves_from(self, question: Question, size: int) -> list[Move]:
        return [(r, a) for r, a in question.moves(size) if size - r + a > self.ddof]

    def _notes(self, question: Question) -> tuple[str, ...]:
        notes = []
        if question.size is None:
            notes.append("the worst over releases of every size")
        elif question.relation in ("unbounded", "remove"):
            smallest = question.size - question.distance
            if smallest <= self.ddof:
                least = self.ddof + 1
                notes.append(
                    f"neighbours of fewer than {least} record(s) were left out: "
                    f"{self.name} has no value there"
                )
        return tuple(notes)

    def _local(self, question: Question) -> Sensitivity:
        x = question.at
        assert x is not None
        moves = self._moves_from(question, len(x))
        if not moves:
            return self._alone(question, (x, x))
        here, found, count = extreme_neighbours(question, moves, self.ddof)
        gaps = [self.spread.gap(variance, here) for _, variance in found]
        best = max((0, 1), key=gaps.__getitem__)
        return Sensitivity(
            gaps[best],
            "polynomial",
            statistic=self,
            question=question,
            witness=lambda: (x, found[best][0]()),
            evaluations=count + 1,
            notes=self._notes(question),
        )

    def _alone(self, question: Question, pair: tuple[Sample, Sample]) -> Sensitivity:
        n = question.size
        if n is not None and any(r != a for r, a in question.moves(n)):
            raise InfeasibleError(
                f"every neighbour at this distance has fewer than {self.ddof + 1} record(s), "
                f"where {self.name} is undefined; ask for a smaller distance or another relation"
            )
        return Sensitivity(
            Fraction(0),
            "closed form",
            statistic=self,
            question=question,
            witness=lambda: pair,
            notes=("no record can be exchanged, so a release has no neighbour but itself",),
        )

    def _over_records(
        self, question: Question, population: Sample, sizes: Iterator[tuple[int, list[Move]]]
    ) -> Sensitivity:
        moments = Moments(population)
        contest = Contest(moments, self.spread)
        unproven: list[tuple[float, Sizes]] = []
        first: tuple[int, Move] | None = None
        for size, moves in sizes:
            if moves and first is None:
                first = (size, moves[0])
            if not moments.constant:
                unproven += self._offer(contest, question, size, moves)
        if first is None:
            lone = population.slice(0, question.size or self.ddof + 1)
            return self._alone(question, (lone, lone))
        method, bound = self._settle(contest, unproven)
        found = contest.winner()
        if found is not None and bound > -math.inf:
            return self._bound(question, bound, contest, found)
        size, (removed, added) = first
        value: Fraction | float = Fraction(0)
        pair = [(0, size)], [(removed, size + added)]
        if found is not None:
            value, pair = found.value, found.candidate.ranges()
            if question.size is not None and sum(j - i for i, j in pair[0]) != question.size:
                pair = pair[1], pair[0]
        return Sensitivity(
            value,
            method,
            statistic=self,
            question=question,
            witness=lambda: (moments.take(pair[0]), moments.take(pair[1])),
            evaluations=max(contest.evaluations, 1),
            notes=self._notes(question),
        )

    def _offer(
        self, contest: Contest, question: Question, size: int, moves: list[Move]
    ) -> list[tuple[float, Sizes]]:
        """Offer both directions of every move; return bounds on what no proof covers."""
        directions = {(size - r, *d) for r, a in moves for d in ((r, a), (a, r))}
        unproven = []
        for shape in sorted(directions, key=lambda d: (d[1] < d[2], -d[1], d[2])):
            if bound_of_move(contest, *shape) >= contest.floor:
                bound = widen(contest, *shape, question.within)
                if bound > -math.inf:
                    unproven.append((bound, shape))
        return unproven

    def _settle(
        self, contest: Contest, unproven: list[tuple[float, Sizes]]
    ) -> tuple[Method, float]:
        """List all pairs of what is not proven, where they are few; else return its bound."""
        method: Method = "polynomial"
        left = -math.inf
        for bound, shape in sorted(unproven):
            if bound < contest.floor:
                continue
            if choices(contest.moments.size, *shape):
                scattered(contest, *shape)
                method = "exhaustive"
            else:
                left = max(left, bound)
        return method, left if left >= contest.floor else -math.inf

    def _bound(
        self, question: Question, bound: float, contest: Contest, found: Finding
    ) -> Sensitivity:
        """An upper bound, where the largest pair found may not be the worst."""
        return Sensitivity(
            max(float_up(Fraction(bound) * contest.scale), float_up(Fraction(found.value))),
            "upper bound",
            statistic=self,
            question=question,
            evaluations=contest.evaluations,
            notes=(
                *self._notes(question),
                "some moves are only bounded, as no quick exact method is known for them; "
                f"a pair with {float(found.value):.6g} exists",
            ),
        )

    def _over_range(self, question: Question) -> Sensitivity:
        domain = question.domain
        assert isinstance(domain, (Values, Interval))
        width = domain.upper - domain.lower
        best: Extreme | None = None
        inner: Extreme | None = None
        seen: list[tuple[int, list[Move]]] = []
        for size, moves in self._moves(question):
            both = [(size - r, *d) for r, a in moves for d in ((r, a), (a, r))]
            most = max((reach(*shape, self.ddof) for shape in both), default=0.0)
            if best is not None and size > 2 * question.distance + 4 and most < best.change:
                break  # no larger size can change more
            seen.append((size, moves))
            for shape in both:
                flat_pair = flat(*shape, self.ddof)
                best = max(best or flat_pair, flat_pair)
                inside = spread_inside(*shape, self.ddof)
                if inside is not None:
                    inner = max(inner or inside, inside)
            if self.ddof == 0 and best is not None and best.change == Fraction(1, 4):
                break
        if best is None:
            lone = domain.sample.take([0] * (question.size or 1))
            return self._alone(question, (lone, lone))
        if inner is not None and inner.change > best.change and width:
            return self._spread_inside(question, inner, best, seen)
        return self._range_answer(question, best)

    def _range_answer(self, question: Question, pair: Extreme) -> Sensitivity:
        lower, upper = question.domain.lower, question.domain.upper
        change = pair.change * (upper - lower) ** 2

        def witness() -> tuple[Sample, Sample]:
            wide = [lower] * (pair.kept + pair.gained - pair.wide_ones) + [upper] * pair.wide_ones
            core = [lower] * (pair.kept - pair.narrow_ones) + [upper] * pair.narrow_ones
            mean = Fraction(sum(core)) / len(core) if core else lower
            releases = Sample(wide), Sample(core + [mean] * pair.lost)
            swap = question.size is not None and len(wide) != question.size
            return (releases[1], releases[0]) if swap else releases

        return Sensitivity(
            self.spread.gap(change, Fraction(0)),
            "closed form",
            statistic=self,
            question=question,
            witness=witness,
            notes=self._notes(question),
        )

    def _spread_inside(
        self,
        question: Question,
        inner: Extreme,
        best: Extreme,
        sizes: list[tuple[int, list[Move]]],
    ) -> Sensitivity:
        """Only for ``ddof=1``, where most of the release can be removed."""
        domain = question.domain
        if isinstance(domain, Values):
            most = max(size + max(a for _, a in moves) for size, moves in sizes if moves)
            ranks = np.repeat(np.arange(len(domain.sample)), most)
            return self._over_records(question, domain.sample.take(ranks), iter(sizes))
        if not self.spread.root:
            return self._range_answer(question, inner)
        width = domain.upper - domain.lower
        bound = self.spread.gap(inner.change * width * width, Fraction(0))
        return Sensitivity(
            bound,
            "upper bound",
            statistic=self,
            question=question,
            notes=(
                *self._notes(question),
                "removing most of the release is only bounded; "
                f"a pair with {float(Root(best.change * width * width)):.6g} exists",
            ),
        )

    def rows(self, rows: Array) -> npt.NDArray[np.float64]:
        """The variance of every row, as numpy computes it."""
        values = np.asarray(rows)
        if values.shape[1] <= self.ddof:
            return np.full(len(values), np.nan)
        return np.asarray(np.var(values, axis=1, ddof=self.ddof), dtype=np.float64)
