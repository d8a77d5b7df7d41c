"""Two output distributions side by side: both listed, or one kind of noise in two places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.core.losses.additive_noise import ShiftedLoss, shifted
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.bounds import BothWays
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.errors import UsageError

__all__ = ["composed", "listed_pair", "loss_of_pair", "shifted_losses"]


def listed_pair(p: Any, q: Any) -> tuple[Mapping[Any, Any], Mapping[Any, Any]] | None:
    """Return both distributions as mappings of outcomes to probabilities, if both list theirs.

    >>> listed_pair({0: 1}, {0: 1})
    ({0: 1}, {0: 1})
    """
    return (_table(p), _table(q)) if _tabled(p) and _tabled(q) else None


def shifted_losses(p: Any, q: Any) -> list[ShiftedLoss]:
    """Return the losses of one distribution of noise in two places: one, or one per coordinate.

    Raises:
        UsageError: two that are neither listed nor one distribution shifted.
    """
    if hasattr(p, "parts") and hasattr(q, "parts") and len(p.parts) == len(q.parts):
        return [_shift_of(a, b) for a, b in zip(p.parts, q.parts, strict=True)]
    return [_shift_of(p, q)]


def loss_of_pair(p: Any, q: Any, *, both: bool) -> PrivacyLoss:
    """Return the privacy losses of two distributions: of the first against the second, or of both.

    Symmetric noise has one direction: the other is as it.

    Raises:
        UsageError: two that are neither listed nor one distribution shifted.
    """
    listed = listed_pair(p, q)
    if listed is not None:
        forward = PrivacyLossDistribution.of(*listed)
        return BothWays(forward, PrivacyLossDistribution.of(*reversed(listed))) if both else forward
    return composed(shifted_losses(p, q))


def composed(losses: list[ShiftedLoss]) -> PrivacyLoss:
    """Return the losses of all coordinates together."""
    first, *others = losses
    whole: PrivacyLoss = first
    for other in others:
        whole = whole.compose(other)
    return whole


def _tabled(distribution: Any) -> bool:
    return isinstance(_table(distribution), Mapping) and not getattr(distribution, "rest", 0)


def _table(distribution: Any) -> Any:
    return getattr(distribution, "table", distribution)


def _shift_of(p: Any, q: Any) -> ShiftedLoss:
    laws = getattr(p, "law", None), getattr(q, "law", None)
    if laws[0] is None or laws[0] != laws[1] or p.grid != q.grid:
        raise UsageError(
            "the two output distributions are neither listed nor one distribution shifted; ask for "
            "an event, or with .probability(value) of each"
        )
    return shifted(laws[0], p.centre - q.centre)
