"""Steps that treat each record alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit.core import Space, Step, Transformation
from tacit.core.spaces.witness import EVERY
from tacit.errors import MismatchError

__all__ = ["row_by_row"]


def row_by_row(
    step: Step,
    space: Space,
    output: Space,
    function: Callable[[Any], Any],
    *,
    onto: bool = False,
) -> Transformation:
    """Build a transformation that maps each record without looking at the others.

    **Map.** ``d -> d`` under every metric that counts records.  Equal records have equal images,
    so a chain of d insertions, deletions or changes that leads from u to v leads, applied to the
    images, from f(u) to f(v).

    Args:
        step: the recipe.
        space: of the records.
        output: of their images.
        function: all records to all images.
        onto: whether records that are images already are left as they are, and may be data.

    Raises:
        MismatchError: the metric does not count records.
    """
    if not space.metric.counts_records:
        raise MismatchError(
            f"{step.name} works on data sets compared record by record, not by {space.metric}",
            space,
            step,
        )
    witness = EVERY if onto else None
    return Transformation(
        space, output, function, lambda d: d, step=step, onto=onto, witness=witness
    )
