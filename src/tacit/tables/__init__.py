"""Statistics of a real table, computed where the table is."""

from tacit.expressions.expression import Expression, col, when
from tacit.tables.joint_plans.planning import QuestionPlan
from tacit.tables.joint_plans.synthetic import SyntheticTable
from tacit.tables.noise import Estimate
from tacit.tables.plan.preview import Preview
from tacit.tables.privacy_unit import OneRowEach, PersonUnit, one_row_each, unit
from tacit.tables.question import Question
from tacit.tables.release.answer import Answer
from tacit.tables.session import Session
from tacit.tables.statistics.base import Aggregate
from tacit.tables.statistics.counts import count, count_people
from tacit.tables.statistics.histogram import bounds, histogram
from tacit.tables.statistics.moments import mean, std, sum, var
from tacit.tables.statistics.percentiles import percentiles
from tacit.tables.statistics.quantiles import max, median, min, percentile, quantile
from tacit.tables.streaming.counter import CounterPreview, TimeCounter

__all__ = [
    "Aggregate",
    "Answer",
    "CounterPreview",
    "Estimate",
    "Expression",
    "OneRowEach",
    "PersonUnit",
    "Preview",
    "Question",
    "QuestionPlan",
    "Session",
    "SyntheticTable",
    "TimeCounter",
    "bounds",
    "col",
    "count",
    "count_people",
    "histogram",
    "max",
    "mean",
    "median",
    "min",
    "one_row_each",
    "percentile",
    "percentiles",
    "quantile",
    "std",
    "sum",
    "unit",
    "var",
    "when",
]
