"""A release in words: what was asked, of whom, and numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.accounting import Budget
from tacit.arithmetic.exact import as_fraction, show
from tacit.expressions.bin_labels import bin_names
from tacit.expressions.expression import from_json
from tacit.expressions.node import Node, constants_of
from tacit.report.text.vocabulary import answer_words

__all__ = [
    "aggregate_words",
    "bins_words",
    "budget_words",
    "column_note",
    "column_words",
    "condition_words",
    "declared_words",
    "join_words",
    "listed",
    "number",
    "people_words",
    "person_words",
    "protects_line",
    "question_words",
    "reading_words",
    "unit_words",
    "value_words",
]

_METHODS = {
    "smooth": "with noise that follows the data",
    "ptr": "after a private test, which may refuse",
    "sample_and_aggregate": "through random samples of the rows",
    "auto": "by the method with the least expected error",
}
_MOST_KEYS = 12


def number(value: Any, error: float | None = None) -> str:
    """Write a number with the digits that its error lets one see: two of the error.

    >>> number(4385, 98.0), number(3.32233, 0.2361), number(None), number(1234567.8, 40)
    ('4,385', '3.32', '–', '1,234,568')
    """
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    if not math.isfinite(value):
        return str(value)
    scale = error if error and math.isfinite(error) else abs(value) / 1000
    if not scale:
        return f"{value:,.0f}"
    digits = 1 - math.floor(math.log10(scale))
    text = f"{value:,.{digits}f}" if 0 <= digits <= 9 else f"{value:,.0f}"
    if digits > 9:
        text = f"{value:.3g}"
    return text.replace("-", "−")


def value_words(
    value: Any, error: float | None, low: float | None, high: float | None
) -> tuple[str, str, str]:
    """Write a released value and the ends of its interval, to the digits that the error allows.

    >>> value_words(1165, 4.2, 1156.0, 1174.0)
    ('1,165', '1,156', '1,174')
    >>> value_words(40.5, None, 2.0, 90.0)  # a quantile has an interval and no standard error
    ('40', '2', '90')
    """
    if isinstance(value, int) and low is not None and high is not None:
        return number(value), number(math.floor(low)), number(math.ceil(high))
    if error is None and low is not None and high is not None:
        error = (high - low) / 4
    return number(value, error), number(low, error), number(high, error)


def aggregate_words(aggregate: Mapping[str, Any]) -> str:
    """Say what one answer is, with its public bounds.

    >>> aggregate_words({"kind": "mean", "column": "age", "lower": "0", "upper": "99"})
    'the mean of age (values clamped to [0, 99])'
    """
    return answer_words(str(aggregate["kind"])).words(aggregate)


def column_words(told: str, aggregate: Mapping[str, Any]) -> str:
    """Add to what an answer is its public bounds and its method, where it has some.

    >>> column_words("the mean of age", {"lower": "0", "upper": "99"})
    'the mean of age (values clamped to [0, 99])'
    """
    if "lower" not in aggregate:
        return told
    low, high = (show(as_fraction(aggregate[side])) for side in ("lower", "upper"))
    return f"{told} (values clamped to [{low}, {high}]){_by_method(aggregate)}"


def bins_words(told: str, aggregate: Mapping[str, Any]) -> str:
    """Say what an answer of several bins is, with ``{column}`` and ``{bins}`` in their places.

    >>> bins_words("{column} in {bins} bins", {"column": "age", "edges": ["0", "18", "65"]})
    'age in 2 bins: [0, 18), [18, 65]'
    """
    names = bin_names([as_fraction(edge) for edge in aggregate["edges"]])
    return f"{told.format(column=aggregate['column'], bins=len(names))}: {', '.join(names)}"


def _by_method(aggregate: Mapping[str, Any]) -> str:
    name = aggregate.get("method", {}).get("name")
    return f", {_METHODS[name]}" if name else ""


def question_words(question: Mapping[str, Any]) -> str:
    """Say a whole question in one sentence.

    Args:
        question: the ``question`` of a certificate or of a ledger's entry.

    >>> question_words({"query": {"aggregates": [["n", {"kind": "count"}]], "by": ["site"],
    ...                           "keys": [["a"], ["b"]], "where": [], "derived": []}})
    'The number of rows; for each site: a, b'
    >>> question_words({"query": {"aggregates": [["n", {"kind": "count"}]], "by": [], "where": [],
    ...                           "derived": []}, "tag": "2024-05"})
    "The number of rows; tagged '2024-05'"
    """
    query = question["query"]
    told = listed([aggregate_words(aggregate) for _, aggregate in query["aggregates"]])
    if len(query.get("tables", ())) > 1:
        told += f"; of the table {query['table']}"
    if "inner" in query:
        told += _joins(query["inner"])
        told += f"; of people, one row each{_rows(query['inner'], 'row')}"
        for label, value in query["inner"]["aggregates"]:
            told += f"; {label} is {person_words(value)}"
    told += _joins(query) + _rows(query, "person" if "inner" in query else "row")
    read = {**query.get("inner", query)}.get("reading")
    told += f"; the table is read {reading_words(read)}" if read else ""
    if query["by"]:
        told += f"; for each {listed(query['by'])}{_keys(query['keys'])}"
    if query.get("weights"):
        shares = listed([f"{label} {weight}" for label, weight in query["weights"]])
        told += f"; the privacy loss is split by the weights {shares}"
    if question.get("tag") is not None:
        told += f"; tagged {question['tag']!r}"
    return told[0].upper() + told[1:]


_READ = {
    "delimiter": "with {0!r} between fields",
    "quote": "with {0!r} as quote",
    "encoding": "as {0}",
    "multiline": "with fields of at most {0} lines",
    "path": "from {0}",
}


def reading_words(reading: Mapping[str, Any]) -> str:
    """Say how a table is read, where that is not the default.

    >>> reading_words({"null": ["99"], "encoding": "cp1252", "columns": {"age": "integer"}})
    "as cp1252, where '99' is missing, with age as integer"
    """
    told = [_READ[name].format(value) for name, value in reading.items() if name in _READ]
    if "header" in reading:
        told.insert(0, f"with its first line as a row of {listed(reading['header'])}")
    if "null" in reading:
        nulls = listed(list(map(repr, reading["null"])))
        told.append(f"where {nulls} {'is' if len(reading['null']) == 1 else 'are'} missing")
    columns = [f"{name} as {kind}" for name, kind in reading.get("columns", {}).items()]
    return ", ".join([*told, *([f"with {listed(columns)}"] if columns else [])])


def _joins(query: Mapping[str, Any]) -> str:
    return "".join(f"; joined with {join_words(join)}" for join in query.get("joins", ()))


def _rows(query: Mapping[str, Any], row: str) -> str:
    """Say which rows are meant, and what is computed from each."""
    rows = {"row": "rows", "person": "people"}[row]
    told = [f"; only {rows} where {condition_words(from_json(c))}" for c in query["where"]]
    told += [f"; {name} is {condition_words(from_json(e))}" for name, e in query["derived"]]
    return "".join(told)


_OF_A_PERSON = {
    "count": "the number of the person's rows",
    "sum": "the person's total of {column}",
    "mean": "the person's mean of {column}",
    "min": "the person's least {column}",
    "max": "the person's greatest {column}",
}


def person_words(value: Mapping[str, Any]) -> str:
    """Say what is made of the rows of one person.

    >>> person_words({"kind": "sum", "column": "cost", "lower": "0", "upper": "5000"})
    "the person's total of cost (clamped to [0, 5000])"
    """
    if value["kind"] not in _OF_A_PERSON:
        return f"{aggregate_words(value)} that the person has"
    told = _OF_A_PERSON[value["kind"]].format(column=value.get("column"))
    if "lower" not in value:
        return told
    low, high = (show(as_fraction(value[end])) for end in ("lower", "upper"))
    values = "values " if value["kind"] == "mean" else ""
    return f"{told} ({values}clamped to [{low}, {high}])"


def join_words(join: Mapping[str, Any]) -> str:
    """Say with what rows are joined, and by what.

    >>> join_words({"table": "sites", "how": "inner", "on": [["home", "site"]], "public": "ab12"})
    'sites (public, content ab12) by its key (home = site); rows without a match are left out'
    """
    on = " and ".join(f"{here} = {there}" for here, there in join["on"])
    most = (
        f"; a person with more than {join['most']} rows there has no match"
        if "most" in join
        else ""
    )
    by = f"by the person ({on}{most})"
    if join.get("public") is not None:
        by = f"(public, content {join['public'][:16]}) by its key ({on})"
    kept = "are kept" if join["how"] == "left" else "are left out"
    told = f"{join['table']} {by}; rows without a match {kept}"
    read = join.get("reading")
    return f"{told}; {join['table']} is read {reading_words(read)}" if read else told


def unit_words(unit: Mapping[str, Any]) -> str:
    """Say whom the guarantee is about.

    >>> unit_words({"column": None, "rows": 1, "groups": 1})
    'each row of the table, which stands for one person'
    """
    if unit["column"] is None:
        return "each row of the table, which stands for one person"
    rows = "one row" if unit["rows"] == 1 else f"{unit['rows']} rows"
    groups = "one group" if unit["groups"] == 1 else f"{unit['groups']} groups"
    return (
        f"each person: all the rows with one value of {unit['column']}. In every answer at "
        f"most {rows} per person count (extra rows are down-weighted), and a person is counted as "
        f"present in at most {groups}"
    )


def protects_line(unit: Mapping[str, Any]) -> str:
    """Say in one line whom an answer protects: the first line of previews, answers, certificates.

    >>> protects_line({"column": "person", "rows": 5, "groups": 5})
    'protects: each person (column person), at most 5 rows'
    >>> protects_line({"column": "person", "rows": 1, "groups": 3})
    'protects: each person (column person), at most 1 row, present in at most 3 groups'
    >>> protects_line({"column": None, "rows": 1, "groups": 1})
    'protects: each row, which stands for one person'
    """
    if unit["column"] is None:
        return "protects: each row, which stands for one person"
    rows, groups = (int(unit[limit]) for limit in ("rows", "groups"))
    told = f"at most {rows} {'row' if rows == 1 else 'rows'}"
    if groups != rows:
        told += f", present in at most {groups} {'group' if groups == 1 else 'groups'}"
    return f"protects: each person (column {unit['column']}), {told}"


def declared_words(declared: Mapping[str, Any], query: Mapping[str, Any]) -> list[str]:
    """Say what a data set declares of a question's columns, and where the question goes beyond.

    Args:
        declared: of columns by name, as a certificate has it: ``meaning``, ``unit``, and where the
            question goes beyond what is declared ``bounds`` or ``keys_beyond``.
        query: the question, as a certificate has it.

    >>> query = {"by": ["site"], "aggregates": [["cost", {"column": "cost", "lower": "0",
    ...          "upper": "2000"}]]}
    >>> declared_words({"cost": {"meaning": "of a visit", "unit": "euro", "bounds": ["0", "999"]},
    ...                 "site": {"keys_beyond": [9]}}, query)
    ['cost: of a visit, in euro', 'cost is clamped to [0, 2000], beyond the declared [0, 999]', \
'site: 9 is not among the declared categories']
    """
    found = []
    for name, said in declared.items():
        note = column_note(name, declared)
        found += [note] if note else []
        found += [_wider(name, one, said["bounds"]) for one in _beyond(name, said, query)]
        beyond = said.get("keys_beyond", [])
        if beyond:
            shown = ", ".join(map(str, beyond[:_MOST_KEYS]))
            more = f" and {len(beyond) - _MOST_KEYS} more" if len(beyond) > _MOST_KEYS else ""
            are = "is" if len(beyond) == 1 else "are"
            found.append(f"{name}: {shown}{more} {are} not among the declared categories")
    return list(dict.fromkeys(found))


def column_note(name: str | None, declared: Mapping[str, Any]) -> str:
    """Say the meaning and the unit of a column; nothing where they are not declared.

    >>> column_note("cost", {"cost": {"meaning": "of a visit", "unit": "euro"}})
    'cost: of a visit, in euro'
    """
    said = declared.get(name or "", {})
    told = [said["meaning"]] if "meaning" in said else []
    told += [f"in {said['unit']}"] if "unit" in said else []
    return f"{name}: {', '.join(told)}" if told else ""


def _beyond(name: str, said: Mapping[str, Any], query: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Return the bounds in a question that go beyond the declared ones of a column."""
    if "bounds" not in said:
        return []
    low, high = map(as_fraction, said["bounds"])
    asked = [a for _, a in query["aggregates"] if a.get("column") == name and "lower" in a]
    ends = [(as_fraction(a["lower"]), as_fraction(a["upper"])) for a in asked]
    return [(lower, upper) for lower, upper in ends if lower < low or upper > high]


def _wider(name: str, asked: tuple[Any, Any], declared: Sequence[Any]) -> str:
    low, high = (show(end) for end in asked)
    least, most = (show(as_fraction(end)) for end in declared)
    return f"{name} is clamped to [{low}, {high}], beyond the declared [{least}, {most}]"


def people_words(tables: Sequence[Sequence[str | None]]) -> str:
    """Say by which column each table of a data set names its people.

    >>> people_words([["visits", "person"], ["patients", "id"]])
    'visits by person and patients by id'
    """
    return listed([f"{name} by {person or 'the row'}" for name, person in tables])


def budget_words(budget: Budget) -> str:
    """Write a budget: ``epsilon 0.5``, with its delta where there is one."""
    if budget.kind == "approximate" and not budget.delta:
        return f"epsilon {show(budget.amount)}"
    return str(budget)


def _keys(keys: Sequence[Sequence[Any]] | None) -> str:
    if keys is None:
        return " (only groups above a threshold of people)"
    if len(keys) > _MOST_KEYS:
        return f" ({len(keys)} groups that were listed beforehand)"
    return ": " + ", ".join(" / ".join(_key_words(part) for part in key) for key in keys)


def _key_words(part: Any) -> str:
    return str(part["date"] if isinstance(part, Mapping) else part)


def listed(parts: Sequence[str]) -> str:
    """Join words with commas and an "and".

    >>> listed(["age"]), listed(["age", "pay", "site"])
    ('age', 'age, pay and site')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def condition_words(expression: Node, inner: bool = False) -> str:
    """Write a condition with words for its connectives, as ``--where`` reads it.

    >>> from tacit.expressions.expression import col
    >>> condition_words((col("age") >= 18) & ~col("sex").is_null())
    'age >= 18 and not sex is missing'
    """
    joined = {"&": "and", "|": "or"}.get(expression.operation)
    if joined is not None:
        left, right = (condition_words(o, inner=True) for o in expression.operands)
        told = f"{left} {joined} {right}"
        return f"({told})" if inner else told
    if expression.operation == "~":
        return f"not {condition_words(expression.operands[0], inner=True)}"
    if expression.operation == "is_in":
        value, *listed = (str(operand) for operand in expression.operands)
        return f"{value} in ({', '.join(listed)})"
    if expression.operation == "cut":
        return f"{expression.operands[0]} cut into {', '.join(constants_of(expression)[1])}"
    told = str(expression)
    return told[1:-1] if told.startswith("(") and told.endswith(")") else told
