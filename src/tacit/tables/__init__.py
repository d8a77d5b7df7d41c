"""Statistics of a real table, computed where the table is."""

from tacit.tables.aggregate import (
    Aggregate,
    count,
    count_people,
    histogram,
    max,
    mean,
    median,
    min,
    percentile,
    std,
    sum,
    var,
)
from tacit.tables.answer import Answer
from tacit.tables.contributions import OneRowEach, PersonUnit, one_row_each, unit
from tacit.tables.expression import Expression, col, when
from tacit.tables.preview import Preview
from tacit.tables.question import Question
from tacit.tables.session import Session
from tacit.tables.source import Source, open_source
from tacit.tables.time_counter import CounterPreview, TimeCounter

__all__ = [
    "Aggregate",
    "Answer",
    "CounterPreview",
    "Expression",
    "OneRowEach",
    "PersonUnit",
    "Preview",
    "Question",
    "Session",
    "Source",
    "TimeCounter",
    "col",
    "count",
    "count_people",
    "histogram",
    "max",
    "mean",
    "median",
    "min",
    "one_row_each",
    "open_source",
    "percentile",
    "std",
    "sum",
    "unit",
    "var",
    "when",
]
