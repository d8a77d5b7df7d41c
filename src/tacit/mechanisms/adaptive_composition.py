"""Adaptive composition: each question chosen after the answers before it, the sum kept in check."""

from __future__ import annotations

from typing import Any

from tacit.accounting.budget import Budget, Kind
from tacit.accounting.odometer import Odometer
from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.core import ApproximateDP, Measurement, PureDP, Space, ZeroConcentratedDP
from tacit.core.losses.base import PrivacyLoss
from tacit.core.transformation import read_distance
from tacit.errors import MismatchError, UsageError


def cost_of(measurement: Measurement, d_in: Number = 1) -> Budget:
    """Return what a release costs at a distance, as a budget of its own kind.

    >>> from tacit.core import AbsoluteDistance
    >>> from tacit.core import Number as Numbers
    >>> from tacit.mechanisms import Laplace
    >>> cost_of(Space(Numbers("int"), AbsoluteDistance()) >> Laplace(4))
    epsilon(0.25)
    """
    loss: Any = measurement.map(d_in)
    if isinstance(measurement.measure, PureDP):
        return Budget("pure", loss)
    if isinstance(measurement.measure, ApproximateDP):
        return Budget("approximate", *loss)
    if isinstance(measurement.measure, ZeroConcentratedDP):
        return Budget("concentrated", loss)
    raise MismatchError(
        f"no budget is counted in {measurement.measure}; use pure, approximate or "
        "zero-concentrated DP",
        measurement.measure,
    )


class Adaptive:
    """Releases from one space, chosen as one goes: a filter with a budget, or an odometer.

    With a :class:`~tacit.accounting.Budget` it is a *filter*: a release that would pass it is
    refused before anything is drawn.  With a kind (``"pure"``, ``"approximate"``,
    ``"concentrated"``) it is an *odometer*, which only counts.  The cost of a release is that of
    its map at ``d_in``, is charged before its noise is drawn, and stays charged whatever happens
    then.  That adding up is enough, although each question depends on the answers so far, is proven
    in :mod:`tacit.accounting.odometer`.

    It counts in memory.  What must outlive the process is a ledger: ``tc.accounting.open_ledger``.

    Args:
        space: that every release starts from.
        budget: of the whole, or a kind.
        d_in: the distance between neighbouring inputs that must not be distinguished.
        delta: of an odometer of kind ``"approximate"``: what is spent is reported at this delta by
            the privacy losses of all releases together, and holds whenever one stops
            (:mod:`tacit.accounting.odometer`).  Releases in zCDP count too.

    Raises:
        UsageError: a distance of zero, or a delta of something else than such an odometer.

    Example:
        >>> from tacit.accounting import epsilon
        >>> from tacit.core import SymmetricDistance, Vector
        >>> from tacit.mechanisms import Laplace
        >>> from tacit.transformations import Count
        >>> people = Space(Vector(int), SymmetricDistance())
        >>> questions = Adaptive(people, epsilon(1))
        >>> n = questions.ask(people >> Count() >> Laplace(4), [1, 2, 3])
        >>> questions.spent, questions.remaining
        (epsilon(0.25), epsilon(0.75))
        >>> questions.ask(people >> Count() >> Laplace(1), [1, 2, 3])
        Traceback (most recent call last):
            ...
        tacit.errors.BudgetError: the release costs epsilon 1 and epsilon 0.75 of epsilon 1 remains:
        nothing was spent. Spend less on this release, or ask for fewer answers
    """

    def __init__(
        self,
        space: Space,
        budget: Budget | Kind,
        d_in: Number = 1,
        *,
        delta: Number | None = None,
    ) -> None:
        if as_fraction(d_in, "d_in") == 0:
            raise UsageError(
                "d_in is above zero: at a distance of zero every release is free, and the budget "
                "would protect nothing"
            )
        self.space = space
        self.d_in = d_in
        self._odometer = Odometer(budget, delta=delta)
        self._by_losses = delta is not None

    @property
    def spent(self) -> Budget:
        """Sum of the losses of all releases so far."""
        return self._odometer.spent

    @property
    def remaining(self) -> Budget | None:
        """Remaining budget, or None for an odometer that only counts."""
        return self._odometer.remaining

    def ask(self, measurement: Measurement, data: object) -> object:
        """Charge the measurement's cost, then release.

        Raises:
            MismatchError: another input space, or a measure that no budget counts.
            BudgetError: more than remains; nothing was spent.
        """
        if measurement.input != self.space:
            raise MismatchError(
                f"this composition is over ({self.space}); the release starts from "
                f"({measurement.input})",
                self.space,
                measurement.input,
            )
        member = measurement.input.domain.read(data)
        self._odometer.spend(cost_of(measurement, self.d_in), self._known(measurement))
        return measurement.function(member)

    def _known(self, measurement: Measurement) -> PrivacyLoss | None:
        """Return the losses of a release, where they are known and something counts by them."""
        if not self._by_losses or measurement.losses is None:
            return None
        return measurement.losses(read_distance(self.space, self.d_in))

    def __repr__(self) -> str:
        left = "" if self.remaining is None else f", {self.remaining} left"
        return f"<Adaptive composition over ({self.space}): {self.spent} spent{left}>"


@public
def adaptive(
    space: Space, budget: Budget | Kind, d_in: Number = 1, *, delta: Number | None = None
) -> Adaptive:
    """Start an adaptive composition; see :class:`Adaptive`.

    Args:
        space: the input space of every measurement.
        budget: what all of them may spend, or a kind to only count.
        d_in: the distance between two inputs; 1, two neighbours, by default.
        delta: at which an odometer of kind ``"approximate"`` reports what is spent.

    >>> from tacit.accounting import rho
    >>> from tacit.core import AbsoluteDistance
    >>> from tacit.core import Number as Numbers
    >>> from tacit.mechanisms import Gaussian
    >>> number = Space(Numbers("int"), AbsoluteDistance())
    >>> questions = adaptive(number, rho("1/2"))
    >>> answer = questions.ask(number >> Gaussian(2), 7)
    >>> questions.remaining
    rho(0.375)
    """
    return Adaptive(space, budget, d_in, delta=delta)
