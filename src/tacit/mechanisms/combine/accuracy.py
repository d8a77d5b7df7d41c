"""How accurate a release is for its privacy loss: the half-width of an interval, over losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit import plotting
from tacit.arithmetic.bisection import least_integer
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.core import Measurement, Unfinished
from tacit.errors import UsageError
from tacit.mechanisms.combine.calibrate import calibrate
from tacit.mechanisms.shared.grid_noise import LatticeDistribution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["half_width", "plot_accuracy"]

_LOSSES = ("1/10", "1/5", "3/10", "1/2", "7/10", 1, "3/2", 2, 3, 5)


def half_width(measurement: Measurement, data: Any, level: Number = "0.95") -> float:
    """Return the least t such that the noise stays within t with probability ``level``.

    Args:
        measurement: that adds noise to one number on a grid.
        data: any data set: the noise does not depend on it.
        level: above 0 and below 1.

    Raises:
        UsageError: the measurement adds no such noise, or a level outside of that.

    >>> from tacit.core import AbsoluteDistance, Space
    >>> from tacit.core import Number as Numbers
    >>> from tacit.mechanisms import Laplace
    >>> half_width(Space(Numbers("int"), AbsoluteDistance()) >> Laplace(10), 0)
    30.0
    """
    share = as_fraction(level, "level")
    if not 0 < share < 1:
        raise UsageError("a level must be above 0 and below 1")
    law = measurement.distribution(data)
    if not isinstance(law, LatticeDistribution):
        raise UsageError("accuracy is known for noise on one number; ask one coordinate at a time")

    def held(reach: int) -> Enclosure:
        """Enclose P(|X| <= reach); the distributions are symmetric."""
        return 1 - 2 * law.law.cdf(-reach - 1)  # type: ignore[no-any-return]

    reach = least_integer(lambda reach: held(reach).lower >= share, -1, 1)
    return float(reach * law.grid)


@public
def plot_accuracy(
    chains: dict[str, Unfinished] | Unfinished,
    data: object,
    *,
    losses: Sequence[Number] = _LOSSES,
    d_in: Number = 1,
    level: Number = "0.95",
    loss: Callable[[Fraction], object] | None = None,
) -> Figure:
    """Draw the half-width of an interval against the privacy loss, for one chain or for several.

    Args:
        chains: one that ends in a class of steps, such as ``space >> sum >> tc.laplace``, or a
            mapping of names to several of them.
        data: any data set: the noise does not depend on it.
        losses: the privacy losses to calibrate to.
        d_in: the distance between neighbouring inputs.
        level: the confidence level of the interval.
        loss: from a number of ``losses`` to the loss to calibrate to, such as
            ``lambda e: (e, "1e-6")``; the number itself by default.

    Returns:
        A matplotlib Figure.

    Raises:
        UsageError: a chain that is finished or cannot be calibrated.

    >>> from tacit.core import AbsoluteDistance, Space
    >>> from tacit.core import Number as Numbers
    >>> from tacit.mechanisms import Laplace
    >>> number = Space(Numbers("int"), AbsoluteDistance())
    >>> figure = plot_accuracy(number >> Laplace, 0, losses=[1, 2])
    >>> len(figure.axes)
    1
    """
    named = {chains.name: chains} if isinstance(chains, Unfinished) else dict(chains)
    goal = loss or (lambda e: e)
    exact = [as_fraction(e, "loss") for e in losses]
    figure: Figure = plotting.figure(6.4, 4.2)
    one = plotting.axes(figure, 1, 1)[0][0]
    for index, (name, chain) in enumerate(named.items()):
        widths = [half_width(calibrate(chain, d_in, goal(e)), data, level) for e in exact]
        one.plot([float(e) for e in exact], widths, label=name, **plotting.series(index).line())
    one.set_xscale("log")
    one.set_yscale("symlog", linthresh=1)
    one.set_ylim(bottom=0)
    one.set_xlabel("privacy loss (epsilon, or as the caller maps it)")
    one.set_ylabel(f"half-width of the {float(as_fraction(level)):.0%} interval")
    if len(named) > 1:
        one.legend(frameon=False, fontsize=9)
    plotting.title(one, "accuracy against privacy loss")
    return figure
