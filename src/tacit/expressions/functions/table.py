"""Every function of a row, by the name that expressions have for it."""

from __future__ import annotations

from collections.abc import Mapping

from tacit.expressions.functions.dates import DATES
from tacit.expressions.functions.numbers import NUMBERS_OF
from tacit.expressions.functions.row_function import RowFunction
from tacit.expressions.functions.text import TEXT
from tacit.expressions.functions.zones import ZONES

__all__ = ["FUNCTIONS"]

FUNCTIONS: Mapping[str, RowFunction] = {**TEXT, **DATES, **NUMBERS_OF, **ZONES}
"""One row says of each what it takes and gives, its SQL, its value in Python and its range."""
