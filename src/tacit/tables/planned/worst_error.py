"""Weights of the answers of a plan with which its largest error is least, or its relative error.

Let ``v_i(w)`` be the mean squared error of the counts of label i under the strategy that is best
for the weights w.  The least largest error is found where the weights go with the errors: ``max
over w, sum w = 1, of min over strategies of sum w_i v_i`` is the dual of ``min over strategies of
max v_i``.  It is ascended by multiplying each weight with its error, and the weights with the
smallest largest error of all rounds are taken, those of the start among them: so it is never larger
than that of a plan with equal weights.  (Errors are compared where the noise is wide beside one
row, so that the loss is only a common factor of all of them.)
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from tacit.tables.answers.aggregate import Aggregate
from tacit.tables.chain.part import Noise
from tacit.tables.together.asked_cells import AskedCells, key_of
from tacit.tables.together.cell_counts import CellsPart

__all__ = ["relative_weights", "worst_weights"]

_ROUNDS, _FEW = 40, 8
_LARGEST = 1 << 20


def worst_weights(
    counts: Mapping[str, Aggregate], kind: Literal["laplace", "gaussian"]
) -> dict[str, int]:
    """Return the weight of each label, a whole number.

    Args:
        counts: the counts of cells of a plan, by label.
        kind: the noise that the budget goes with.
    """
    noise = Noise(kind, Fraction(1, 1000), 1)
    weights = dict.fromkeys(counts, 1.0)
    best, least = dict.fromkeys(counts, 1), float("inf")
    # where bins are read in order, each round may look for another strategy of theirs
    ordered = any(each.reading != "cells" for each in counts.values())
    rounds = _FEW if ordered else _ROUNDS
    for _ in range(rounds if len(counts) > 1 else 0):
        top = max(weights.values())
        whole = {label: max(1, round(w / top * _LARGEST)) for label, w in weights.items()}
        asked = {
            label: AskedCells(each.axes or (), whole[label], each.reading)
            for label, each in counts.items()
        }
        part = CellsPart(tuple(dict.fromkeys(asked.values())))
        errors = {label: part.expected_error(key_of(a), noise, 1) for label, a in asked.items()}
        worst = max(errors.values())
        if worst < least * (1 - 1e-6):
            best, least = whole, worst
        weights = {label: w * (errors[label] / worst) ** 2 for label, w in weights.items()}
    return best


def relative_weights(counts: Mapping[str, Aggregate]) -> dict[str, int]:
    """Return the weights with which the total is that of squared relative errors.

    Of n rows, a cell of a label with m listed cells has ``n / m`` on average, so that a squared
    error counts ``(m / n)^2``: in proportion to ``m^2``, whatever n is.

    Args:
        counts: the counts of cells of a plan, by label.
    """
    return {name: AskedCells(each.axes or ()).listed ** 2 for name, each in counts.items()}
