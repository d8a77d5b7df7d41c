"""What a question is given: columns by name, and aggregates with the labels of their answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from tacit.errors import UsageError
from tacit.tables.answers.aggregate import Aggregate, kind_of, kinds

__all__ = [
    "ANSWERS",
    "INSTEAD",
    "check_labels",
    "columns_named",
    "instead_of",
    "labels_of",
    "refuse_brackets",
]

_ASKED = 'ask for statistics in agg: agg(n=tc.count(), age=tc.mean("age", 0, 100))'
_RELEASED = "release it first: answer = question.release(epsilon='1/2'), then answer."
ANSWERS = ("to_polars", "to_arrow", "to_csv", "to_excel", "to_parquet", "to_dict", "plot")
"""What an answer becomes, which people look for in a question."""
_SORTED = "sort the answer: answer.to_pandas().sort_values('n'), or write SQL with ORDER BY"
_RUN = "it is answered by release: question.release(epsilon='1/2')"
_CHANGED = 'compute a column with with_column("filled", tc.col("age").fill(0))'
_DISTINCT = 'different values are counted: agg(sites=tc.count_distinct("site"))'
INSTEAD = {
    **{name: f"{_RELEASED}{name}()" for name in ANSWERS},
    **{name: f"{_RELEASED}{name}('n')" for name in ("value", "interval", "column")},
    **dict.fromkeys(("collect", "compute", "execute", "run", "fetchall", "result"), _RUN),
    **dict.fromkeys(("answer", "show", "fetch", "get"), _RUN),
    **dict.fromkeys(("sort_values", "order_by", "sort", "arrange", "limit", "having"), _SORTED),
    **dict.fromkeys(("groupby", "groupBy"), 'it is called group_by("site")'),
    **dict.fromkeys(("merge", "left_join", "inner_join"), 'it is called join("sites", on="site")'),
    **dict.fromkeys(("fillna", "fill_null", "replace", "astype", "cast", "apply"), _CHANGED),
    **dict.fromkeys(("with_columns", "mutate", "withColumn"), _CHANGED),
    **dict.fromkeys(
        ("dropna", "drop_na", "drop_nulls"),
        'leave rows out with filter(~tc.col("age").is_null()); statistics pass over missing values',
    ),
    **dict.fromkeys(("unique", "distinct", "drop_duplicates"), _DISTINCT),
    **dict.fromkeys(
        ("dtypes", "info", "names"),
        "the columns with their kinds: session.columns, question.schema",
    ),
    **dict.fromkeys(("shape", "size", "nrow", "len"), _ASKED),
    **dict.fromkeys(("hist", "crosstab", "pivot_table", "summarise", "summarize"), _ASKED),
    **dict.fromkeys(("sd", "n", "avg", "average", "stddev", "aggregate"), _ASKED),
    **dict.fromkeys((kind.name for kind in kinds()), _ASKED),
    **dict.fromkeys(("mode", "corr", "cov", "nunique"), _ASKED),
    **dict.fromkeys(("quantile", "describe", "value_counts", "select"), _ASKED),
    **dict.fromkeys(("where", "query"), 'keep rows with filter(tc.col("age") >= 18)'),
    **dict.fromkeys(
        ("head", "tail", "sample", "iloc", "loc", "to_pandas"), "no row can be seen: ask with agg"
    ),
    "assign": 'add a column with with_column("old", tc.col("age") >= 65)',
}
"""What to write for names of other libraries that people look for."""


def instead_of(columns: Iterable[str], name: str) -> str:
    """Return how a column is named, where a name that an object has not is that of a column."""
    wanted = name.lower()
    known = [each for each in columns if each.lower() == wanted]
    if not known:
        return ""
    quoted = f'"{known[0]}"'
    return f"a column is named by tc.col({quoted}), or by its name: tc.mean({quoted}, 0, 100)"


def refuse_brackets(_table: object, name: object) -> NoReturn:
    """Say what to write in place of ``table["age"]``."""
    column = name if isinstance(name, str) and name.isidentifier() else "age"
    raise UsageError(
        "no column can be read out: ask for a statistic of it, as in "
        f'agg({column}=tc.mean("{column}", 0, 100)), or name it in an expression, '
        f'tc.col("{column}")'
    )


def columns_named(by: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    """Return the columns that are given one by one, or in one list.

    Raises:
        UsageError: something that is no name.

    >>> columns_named(["site", "plan"]), columns_named([["site", "plan"]])
    (('site', 'plan'), ('site', 'plan'))
    """
    first = by[0] if len(by) == 1 else by
    names = (first,) if isinstance(first, str) else first
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise UsageError(
            'group by columns, named by text: group_by("site", "year"); to group by an '
            'expression, make it a column first, with_column("old", tc.col("age") >= 65)'
        )
    return tuple(names)


def labels_of(
    unnamed: Sequence[Aggregate], named: Mapping[str, Aggregate]
) -> tuple[tuple[str, Aggregate], ...]:
    """Check what a question was given, and return it in order, each with its label.

    Raises:
        UsageError: an empty label, or a value that is no aggregate.

    >>> from tacit.tables.answers.rows import count
    >>> [label for label, _ in labels_of([count()], {"n": count()})]
    ['count', 'n']
    """
    for label, aggregate in [*(("it", each) for each in unnamed), *named.items()]:
        if not label:
            raise UsageError("an answer needs a label that is not empty: agg(n=tc.count())")
        if not isinstance(aggregate, Aggregate):
            name = getattr(aggregate, "__name__", "")
            called = f"call it: tc.{name}(...)" if name else "agg(n=tc.count()) names one answer n"
            raise UsageError(
                f"{label} must be an aggregate such as tc.count() or tc.mean('age', 0, 100), not "
                f"a {type(aggregate).__name__}; {called}"
            )
        if kind_of(aggregate.kind).fields:
            aggregate.require_column()
    return (*((kind_of(each.kind).label(each), each) for each in unnamed), *named.items())


def check_labels(labels: Sequence[str], by: Sequence[str]) -> None:
    """Refuse labels that the columns of an answer could not be distinguished by.

    Raises:
        UsageError: a label given twice, that of a grouping column, or one that ends as the columns
            of another do.
    """
    if set(labels) & set(by) or len(set(labels)) < len(labels):
        raise UsageError("each answer needs a label of its own, other than the grouping columns")
    shown = [label + suffix for label in labels for suffix in ("", "_error", "_low", "_high")]
    if len({*shown, *by}) < len(shown) + len(by):
        raise UsageError(
            "an answer takes the columns label, label_error, label_low and label_high; choose "
            "labels (and grouping columns) without these endings"
        )
