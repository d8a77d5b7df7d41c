"""Certificates in sentences."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.accounting import Budget
from tacit.arithmetic.exact import as_fraction, show
from tacit.core.space import show_distance
from tacit.expressions.dialect import bin_names
from tacit.expressions.expression import from_json
from tacit.expressions.functions import FAR, Node, constants_of

# What answers and steps are in words: said where they are made, and asked for here.
#
# The rooms of tables stand above this one.  They say their words when they are loaded, and they are
# loaded when the first word that is not known is asked for.


_HOME = "tacit.tables.replan"

Described = Mapping[str, Any]  # an answer or a step, as a certificate has it


class AnswerWords(Protocol):
    """Words for one kind of answer."""

    @property
    def amount(self) -> bool:
        """True if a plot draws it as a bar from zero."""

    @property
    def each(self) -> tuple[str, str]:
        """Headings of a table of its numbers, if it has several: names, and numbers."""

    def words(self, described: Described) -> str:
        """Describe one answer, with its public bounds."""


def so_many(shown: str, one: str, many: str) -> str:
    """Format a number that is text already, with its noun.

    >>> so_many("1", "person", "people"), so_many("1/2", "row", "rows")
    ('1 person', '1/2 rows')
    """
    return f"{shown} {one if shown == '1' else many}"


def rows_in_all(step: Described, shown: str) -> str:
    """Format a distance in rows of all groups together."""
    return f"{so_many(shown, 'row', 'rows')} in all"


@dataclass(frozen=True)
class StepWords:
    """Words for one step of a chain."""

    does: Callable[[Described], str]
    # says how far one person can move what comes out of it, from the step, with its ``distance``,
    # and that distance as it is shown
    moves: Callable[[Described, str], str] = rows_in_all


DERIVED = "derived"  # the kind of an answer that is computed from released ones


class _DerivedWords:
    amount, each = False, ("value", "value")

    def words(self, described: Described) -> str:
        return f"{formula_words(from_json(described['of']))}, computed from the released answers"


def formula_words(formula: Node) -> str:
    """Return how an answer is computed from others, with the functions of SQL.

    >>> from tacit.expressions.expression import col, when
    >>> n = when(col("n") == 0).then(None).otherwise(col("n"))
    >>> formula_words((col("pay") / n).fill_null(0))
    'coalesce(pay / nullif(n, 0), 0)'
    """
    text = _formula(formula)
    return text[1:-1] if formula.operation in _SIGNS else text


_SIGNS = {"+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "&", "|"}
_IN_SQL = {"==": "=", "!=": "<>", "&": "and", "|": "or"}


def _formula(node: Node) -> str:
    name, operands = node.operation, node.operands
    parts = [formula_words(one) for one in operands]
    if name in _SIGNS:
        left, right = map(_formula, operands)
        return f"({left} {_IN_SQL.get(name, name)} {right})"
    if name == "literal" and node.parameters[0] is None:
        return "null"
    if name in ("col", "literal"):
        return str(node)
    if name == "is_null":
        return f"({_formula(operands[0])} is null)"
    if name == "~":
        return f"(not {_formula(operands[0])})"
    if name == "clamp":
        low, high = (show(as_fraction(end)) for end in constants_of(node))
        lifted = f"greatest({parts[0]}, {low})"
        if constants_of(node)[0] <= -FAR:
            return f"least({parts[0]}, {high})"
        return lifted if constants_of(node)[1] >= FAR else f"least({lifted}, {high})"
    if name == "when":
        tested, _, other = operands
        if (
            parts[1] == "null"
            and tested.operation == "=="
            and str(tested.operands[0]) == str(other)
        ):
            return f"nullif({parts[2]}, {formula_words(tested.operands[1])})"
        end = "" if parts[2] == "null" else f" else {parts[2]}"
        return f"case when {parts[0]} then {parts[1]}{end} end"
    called = "coalesce" if name == "fill" else name
    return f"{called}({', '.join([*parts, *map(repr, constants_of(node))])})"


_ANSWERS: dict[str, AnswerWords] = {DERIVED: _DerivedWords()}
_STEPS: dict[str, StepWords] = {}


def say_answer(kind: str, words: AnswerWords) -> None:
    """Make the words of a kind of answer known."""
    _ANSWERS[kind] = words


def say_step(
    step: str,
    does: Callable[[Described], str],
    moves: Callable[[Described, str], str] = rows_in_all,
) -> None:
    """Make the words of a step known; see :class:`StepWords`."""
    _STEPS[step] = StepWords(does, moves)


def answer_words(kind: str) -> AnswerWords:
    """Return the words of a kind of answer."""
    if kind not in _ANSWERS:
        load_tables()
    return _ANSWERS[kind]


def words_of_step(step: str) -> StepWords | None:
    """Return the words of a step; None where nobody has any."""
    if step not in _STEPS:
        load_tables()
    return _STEPS.get(step)


def load_tables() -> None:
    """Load the room that certificates are made in."""
    importlib.import_module(_HOME)


def for_each_group(step: Described) -> str:
    """Describe the purpose of a step, as the end of a sentence.

    >>> for_each_group({"by": ["site", "year"]}), for_each_group({})
    (', for each site and year', '')
    """
    by = step.get("by") or []
    return f", for each {' and '.join(str(name) for name in by)}" if by else ""


def clamped_column(step: Described) -> str:
    """Describe which column a step reads, within which bounds.

    >>> clamped_column({"column": "age", "lower": "0", "upper": "99"})
    'age, clamped to [0, 99]'
    """
    return f"{step['column']}, clamped to [{step['lower']}, {step['upper']}]"


# A release in words: what was asked, of whom, and numbers as people read them.


_METHODS = {
    "smooth": "with noise that follows the data",
    "ptr": "after a private test, which may refuse",
    "sample_and_aggregate": "through random samples of the rows",
    "auto": "by the method with the least expected error",
}
_MAX_KEYS = 12


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
    >>> value_words(1165.0, 4.2, 1156.3, 1173.7)  # a count of a plan, whose numbers are floats
    ('1,165', '1,156', '1,174')
    """
    # Decimals of a whole value say nothing where it may be off by one or more.
    whole = isinstance(value, int) or (value is not None and value % 1 == 0 and (error or 0) >= 1)
    if whole and low is not None and high is not None:
        return number(int(value)), number(math.floor(low)), number(math.ceil(high))
    if error is None and low is not None and high is not None:
        error = (high - low) / 4
    return number(value, error), number(low, error), number(high, error)


def aggregate_words(aggregate: Mapping[str, Any]) -> str:
    """Describe one answer, with its public bounds.

    >>> aggregate_words({"kind": "mean", "column": "age", "lower": "0", "upper": "99"})
    'the mean of age (values clamped to [0, 99])'
    """
    return answer_words(str(aggregate["kind"])).words(aggregate)


def column_words(name: str, aggregate: Mapping[str, Any]) -> str:
    """Add to what an answer is its public bounds and its method, where it has some.

    >>> column_words("the mean of age", {"lower": "0", "upper": "99"})
    'the mean of age (values clamped to [0, 99])'
    """
    if "lower" not in aggregate:
        return name
    low, high = (show(as_fraction(aggregate[side])) for side in ("lower", "upper"))
    return f"{name} (values clamped to [{low}, {high}]){_by_method(aggregate)}"


def bins_words(name: str, aggregate: Mapping[str, Any]) -> str:
    """Describe an answer of several bins, as a template with ``{column}`` and ``{bins}``.

    >>> bins_words("{column} in {bins} bins", {"column": "age", "edges": ["0", "18", "65"]})
    'age in 2 bins: [0, 18), [18, 65]'
    >>> bins_words("{column} in {bins} bins", {"column": "age", "edges": ["0", "5", "10", "15"]})
    'age in 3 bins of 5, from 0 to 15'
    """
    edges = [as_fraction(edge) for edge in aggregate["edges"]]
    text = name.format(column=aggregate["column"], bins=len(edges) - 1)
    widths = {high - low for low, high in itertools.pairwise(edges)}
    if len(edges) > 3 and len(widths) == 1:
        return f"{text} of {show(widths.pop())}, from {show(edges[0])} to {show(edges[-1])}"
    return f"{text}: {', '.join(bin_names(edges))}"


def _by_method(aggregate: Mapping[str, Any]) -> str:
    name = aggregate.get("method", {}).get("name")
    return f", {_METHODS[name]}" if name else ""


def together_words(number: int) -> str:
    """Name a plan by how many questions it has.

    >>> together_words(1), together_words(2)
    ('1 question, planned', '2 questions together')
    """
    return "1 question, planned" if number == 1 else f"{number} questions together"


def question_words(question: Mapping[str, Any]) -> str:
    """Describe a question in one sentence.

    >>> question_words({"query": {"aggregates": [["n", {"kind": "count"}]], "by": ["site"],
    ...                           "keys": [["a"], ["b"]], "where": [], "derived": []}})
    'The number of rows; for each site: a, b'
    >>> question_words({"query": {"aggregates": [["n", {"kind": "count"}]], "by": [], "where": [],
    ...                           "derived": []}, "tag": "2024-05"})
    "The number of rows; tagged '2024-05'"
    """
    query = question["query"]
    text = listed([aggregate_words(aggregate) for _, aggregate in query["aggregates"]])
    if len(query.get("tables", ())) > 1:
        text += f"; of the table {query['table']}"
    if "inner" in query:
        text += _joins(query["inner"])
        text += f"; of people, one row each{_rows(query['inner'], 'row')}"
        for label, value in query["inner"]["aggregates"]:
            text += f"; {label} is {person_words(value)}"
    text += _joins(query) + _rows(query, "person" if "inner" in query else "row")
    read = {**query.get("inner", query)}.get("reading")
    text += f"; the table is read {reading_words(read)}" if read else ""
    if query["by"]:
        text += f"; for each {listed(query['by'])}{_keys(query['keys'])}"
    if query.get("weights"):
        shares = listed([f"{label} {weight}" for label, weight in query["weights"]])
        text += f"; the privacy loss is split by the weights {shares}"
    if question.get("tag") is not None:
        text += tag_words(question["tag"])
    return text[0].upper() + text[1:]


def tag_words(tag: str) -> str:
    """Describe a tag, at the end of the words of its question.

    >>> tag_words("2024-05")
    "; tagged '2024-05'"
    """
    return f"; tagged {tag!r}"


_READ = {
    "delimiter": "with {0!r} between fields",
    "quote": "with {0!r} as quote",
    "encoding": "as {0}",
    "multiline": "with fields of at most {0} lines",
    "decimal": "with {0!r} as decimal sign",
    "thousands": "with {0!r} between thousands",
    "skip": "without the lines before line {0}",
    "comment": "without lines that start with {0!r}",
    "positions": "with positions in {0}",
    "version": "in its version {0}",
    "snapshot": "in its snapshot {0}",
    "instant": "at its instant {0}",
    "sheet": "from its sheet {0!r}",
    "path": "from {0}",
}


def reading_words(reading: Mapping[str, Any]) -> str:
    """Describe how a table is read, if that is not the default.

    >>> reading_words({"null": ["99"], "encoding": "cp1252", "columns": {"age": "integer"}})
    "as cp1252, where '99' is missing, with age as integer"
    >>> reading_words({"missing": {"age": [98, 99]}})
    'with missing codes (age: 98, 99 read as missing)'
    """
    reading = {**reading, **({"skip": reading["skip"] + 1} if "skip" in reading else {})}
    clauses = [_READ[name].format(value) for name, value in reading.items() if name in _READ]
    if "header" in reading:
        clauses.insert(0, f"with its first line as a row of {listed(reading['header'])}")
    if "null" in reading:
        nulls = listed(list(map(repr, reading["null"])))
        clauses.append(f"where {nulls} {'is' if len(reading['null']) == 1 else 'are'} missing")
    if "missing" in reading:
        clauses.append(f"with missing codes ({missing_words(reading['missing'])})")
    if "layout" in reading:
        placed = [f"{name} at {_position(ends)}" for name, ends in reading["layout"].items()]
        clauses.append(f"by fixed positions ({', '.join(placed)})")
    columns = [f"{name} as {kind}" for name, kind in reading.get("columns", {}).items()]
    return ", ".join([*clauses, *([f"with {listed(columns)}"] if columns else [])])


def _position(ends: Sequence[int]) -> str:
    """Describe the positions of a field in a line.

    >>> _position([57, 59]), _position([4, 4]), _position([60, 66, 2])
    ('57-59', '4', '60-66 with 2 decimals')
    """
    start, end, *decimals = ends
    place = str(start) if start == end else f"{start}-{end}"
    return f"{place} with {so_many(str(decimals[0]), 'decimal', 'decimals')}" if decimals else place


def missing_words(missing: Mapping[str, Sequence[Any]]) -> str:
    """List the codes of columns that are read as missing.

    >>> missing_words({"age": [98, 99], "income": [[-9, -1]]})
    'age: 98, 99 read as missing; income: -9 to -1 read as missing'
    """
    listed = {name: ", ".join(map(code_words, codes)) for name, codes in missing.items()}
    return "; ".join(f"{name}: {codes} read as missing" for name, codes in listed.items())


def code_words(code: Any) -> str:
    """Return a code for a missing value as it is shown.

    >>> [code_words(code) for code in (98, 98.5, [-9, -1], "refused")]
    ['98', '98.5', '-9 to -1', "'refused'"]
    """
    return f"{code[0]} to {code[1]}" if isinstance(code, list) else repr(code)


def _joins(query: Mapping[str, Any]) -> str:
    return "".join(f"; joined with {join_words(join)}" for join in query.get("joins", ()))


def _rows(query: Mapping[str, Any], row: str) -> str:
    """Describe the selected rows, and what is computed from each."""
    rows = {"row": "rows", "person": "people"}[row]
    clauses = [f"; only {rows} where {condition_words(from_json(c))}" for c in query["where"]]
    clauses += [f"; {name} is {condition_words(from_json(e))}" for name, e in query["derived"]]
    return "".join(clauses)


_OF_A_PERSON = {
    "count": "the number of the person's rows",
    "sum": "the person's total of {column}",
    "mean": "the person's mean of {column}",
    "min": "the person's least {column}",
    "max": "the person's greatest {column}",
}


def person_words(value: Mapping[str, Any]) -> str:
    """Describe how the rows of one person are summarised.

    >>> person_words({"kind": "sum", "column": "cost", "lower": "0", "upper": "5000"})
    "the person's total of cost (clamped to [0, 5000])"
    """
    if value["kind"] not in _OF_A_PERSON:
        return f"{aggregate_words(value)} that the person has"
    text = _OF_A_PERSON[value["kind"]].format(column=value.get("column"))
    if "lower" not in value:
        return text
    low, high = (show(as_fraction(value[end])) for end in ("lower", "upper"))
    values = "values " if value["kind"] == "mean" else ""
    return f"{text} ({values}clamped to [{low}, {high}])"


def join_words(join: Mapping[str, Any]) -> str:
    """Describe a join: the table and the columns.

    >>> join_words({"table": "sites", "how": "inner", "on": [["home", "site"]], "public": "ab12"})
    'sites (public, content ab12) by its key (home = site); rows without a match are left out'
    """
    on = " and ".join(f"{here} = {there}" for here, there in join["on"])
    maximum = (
        f"; a person with more than {join['most']} rows there has no match"
        if "most" in join
        else ""
    )
    by = f"by the person ({on}{maximum})"
    if join.get("public") is not None:
        by = f"(public, content {join['public'][:16]}) by its key ({on})"
    unmatched = "are kept" if join["how"] == "left" else "are left out"
    text = f"{join['table']} {by}; rows without a match {unmatched}"
    read = join.get("reading")
    return f"{text}; {join['table']} is read {reading_words(read)}" if read else text


def unit_words(unit: Mapping[str, Any]) -> str:
    """Describe the privacy unit.

    >>> unit_words({"column": None, "rows": 1, "groups": 1})
    'each row of the table, which stands for one person'
    """
    if unit["column"] is None:
        return "each row of the table, which stands for one person"
    rows = "one row" if unit["rows"] == 1 else f"{unit['rows']} rows"
    groups = "one group" if unit["groups"] == 1 else f"{unit['groups']} groups"
    return (
        f"each person: all the rows with one value of {_person(unit['column'])}. In every answer "
        f"at most {rows} per person count (extra rows are down-weighted), and a person is counted "
        f"as present in at most {groups}"
    )


def protects_line(unit: Mapping[str, Any]) -> str:
    """Describe the privacy unit in one line: the first of previews, answers, certificates.

    >>> protects_line({"column": "person", "rows": 5, "groups": 5})
    'protects: each person (column person), at most 5 rows'
    >>> protects_line({"column": "person", "rows": 1, "groups": 3})
    'protects: each person (column person), at most 1 row, present in at most 3 groups'
    >>> protects_line({"column": None, "rows": 1, "groups": 1})
    'protects: each row, which stands for one person'
    >>> protects_line({"column": ["household", "number"], "rows": 1, "groups": 1})
    'protects: each person (columns household and number), at most 1 row'
    """
    if unit["column"] is None:
        return "protects: each row, which stands for one person"
    rows, groups = (int(unit[limit]) for limit in ("rows", "groups"))
    text = f"at most {so_many(str(rows), 'row', 'rows')}"
    if groups != rows:
        text += f", present in at most {so_many(str(groups), 'group', 'groups')}"
    word = "columns" if isinstance(unit["column"], list) else "column"
    return f"protects: each person ({word} {_person(unit['column'])}), {text}"


def _person(column: str | Sequence[str]) -> str:
    return column if isinstance(column, str) else listed(list(column))


def declared_words(declared: Mapping[str, Any], query: Mapping[str, Any]) -> list[str]:
    """Describe the declarations of a question's columns, and where the question exceeds them.

    Args:
        declared: of columns by name, as a certificate has it: ``meaning``, ``unit``, and where the
            question goes beyond what is declared ``bounds`` or ``keys_beyond``; ``keys`` where the
            groups are the values with a label in the file, and their ``labels``.
        query: the question, as a certificate has it.

    >>> query = {"by": ["site"], "aggregates": [["cost", {"column": "cost", "lower": "0",
    ...          "upper": "2000"}]]}
    >>> declared_words({"cost": {"meaning": "of a visit", "unit": "euro", "bounds": ["0", "999"]},
    ...                 "site": {"keys_beyond": [9]}}, query)
    ['cost: of a visit, in euro', 'cost is clamped to [0, 2000], beyond the declared [0, 999]', \
'site: 9 is not among the declared categories']
    """
    sentences = []
    for name, fields in declared.items():
        note = column_note(name, declared)
        sentences += [note] if note else []
        sentences += [_wider(name, one, fields["bounds"]) for one in _beyond(name, fields, query)]
        beyond = fields.get("keys_beyond", [])
        if beyond:
            shown = ", ".join(map(str, beyond[:_MAX_KEYS]))
            more = f" and {len(beyond) - _MAX_KEYS} more" if len(beyond) > _MAX_KEYS else ""
            are = "is" if len(beyond) == 1 else "are"
            sentences.append(f"{name}: {shown}{more} {are} not among the declared categories")
        if "keys" in fields:
            sentences.append(f"{name}: its groups are the values that have a label in the file")
    return list(dict.fromkeys(sentences))


def labels_in(declared: Any, by: Sequence[str]) -> list[Mapping[Any, str]]:
    """Return the labels of the values of each grouping column, as a certificate has them.

    >>> labels_in({"sex": {"labels": [[1, "men"], [2, "women"]]}}, ["sex", "age"])
    [{1: 'men', 2: 'women'}, {}]
    """
    listed = [(declared or {}).get(name, {}).get("labels", ()) for name in by]
    return [{value: str(label) for value, label in pairs} for pairs in listed]


def labelled_key(part: Any, labels: Mapping[Any, str]) -> str:
    """Return a part of a key as readers see it, with its label.

    >>> labelled_key(1, {1: "men"}), labelled_key(None, {}), labelled_key("a", {})
    ('1 (men)', 'missing', 'a')
    """
    if part is None:
        return "missing"
    return f"{part} ({labels[part]})" if part in labels else str(part)


def column_note(name: str | None, declared: Mapping[str, Any]) -> str:
    """Describe the meaning and the unit of a column; empty if not declared.

    >>> column_note("cost", {"cost": {"meaning": "of a visit", "unit": "euro"}})
    'cost: of a visit, in euro'
    """
    fields = declared.get(name or "", {})
    notes = [fields["meaning"]] if "meaning" in fields else []
    notes += [f"in {fields['unit']}"] if "unit" in fields else []
    return f"{name}: {', '.join(notes)}" if notes else ""


def _beyond(
    name: str, fields: Mapping[str, Any], query: Mapping[str, Any]
) -> list[tuple[Any, Any]]:
    """Return the bounds in a question that go beyond the declared ones of a column."""
    if "bounds" not in fields:
        return []
    low, high = map(as_fraction, fields["bounds"])
    bounds = [columns_in(aggregate).get(name) for _, aggregate in query["aggregates"]]
    ends = [tuple(map(as_fraction, each)) for each in bounds if each is not None]
    return [(lower, upper) for lower, upper in ends if lower < low or upper > high]


def columns_in(aggregate: Mapping[str, Any]) -> dict[str, tuple[Any, Any] | None]:
    """Return the columns of one answer, with the bounds that each is clamped to, if any.

    >>> columns_in({"column": "age", "lower": "0", "upper": "99", "others": [["pay", "0", "5000"]]})
    {'age': ('0', '99'), 'pay': ('0', '5000')}
    >>> columns_in({"column": "site"}), columns_in({})
    ({'site': None}, {})
    """
    if aggregate.get("column") is None:
        return {}
    own = (aggregate["lower"], aggregate["upper"]) if "lower" in aggregate else None
    others = {str(name): (low, high) for name, low, high in aggregate.get("others", ())}
    return {str(aggregate["column"]): own, **others}


def _wider(name: str, bounds: tuple[Any, Any], declared: Sequence[Any]) -> str:
    low, high = (show(end) for end in bounds)
    minimum, maximum = (show(as_fraction(end)) for end in declared)
    return f"{name} is clamped to [{low}, {high}], beyond the declared [{minimum}, {maximum}]"


def people_words(tables: Sequence[Sequence[Any]]) -> str:
    """Describe which column of each table of a data set identifies people.

    >>> people_words([["visits", "person"], ["patients", "id"]])
    'visits by person and patients by id'
    """
    return listed([f"{name} by {_person(person or 'the row')}" for name, person in tables])


def budget_words(budget: Budget) -> str:
    """Write a budget: ``epsilon 0.5``, with its delta where there is one."""
    if budget.kind == "approximate" and not budget.delta:
        return f"epsilon {show(budget.amount)}"
    return str(budget)


def _keys(keys: Sequence[Sequence[Any]] | None) -> str:
    if keys is None:
        return " (only groups above a threshold of people)"
    if len(keys) > _MAX_KEYS:
        return f" ({groups_words(keys)})"
    return ": " + ", ".join(" / ".join(_key_words(part) for part in key) for key in keys)


def groups_words(names: Sequence[Any]) -> str:
    """Name some groups, or state how many there are.

    >>> groups_words(["a", "b"]), groups_words(range(400))
    ('a, b', '400 groups that were listed beforehand')
    """
    if len(names) > _MAX_KEYS:
        return f"{len(names)} groups that were listed beforehand"
    return ", ".join(map(str, names))


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
    >>> condition_words((col("age") >= 18) & col("sex").is_not_null())
    'age >= 18 and not sex is missing'
    """
    joined = {"&": "and", "|": "or"}.get(expression.operation)
    if joined is not None:
        left, right = (condition_words(o, inner=True) for o in expression.operands)
        text = f"{left} {joined} {right}"
        return f"({text})" if inner else text
    if expression.operation == "~":
        return f"not {condition_words(expression.operands[0], inner=True)}"
    if expression.operation == "is_in":
        value, *listed = (str(operand) for operand in expression.operands)
        return f"{value} in ({', '.join(listed)})"
    if expression.operation == "cut":
        return f"{expression.operands[0]} cut into {', '.join(constants_of(expression)[1])}"
    text = str(expression)
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


# The chain of a release, one sentence a step, for a reader who does not write code.
#
# The steps that every chain may have are stated here, and all others where they are defined.


def step_words(step: Mapping[str, Any]) -> str:
    """Describe a step of a certificate; an unknown one by its name.

    >>> step_words({"step": "bound_contributions", "rows": 5, "groups": 1})
    'Bound contributions: at most 5 rows per person count'
    >>> step_words({"step": "laplace", "scale": "40"})
    'Add random noise: discrete Laplace of scale 40'
    """
    words = _words_of(step)
    return str(step["step"]) if words is None else words.does(step)


def distance_words(step: Mapping[str, Any], measure: str, last: bool) -> str:
    """Describe the sensitivity of the output of a step to one person.

    >>> distance_words({"step": "laplace", "distance": "1/8"}, "PureDP", True)
    'epsilon 0.125'
    """
    claimed = step["distance"]
    shown = (
        show_distance(tuple(as_fraction(part) for part in claimed))
        if isinstance(claimed, list)
        else show(as_fraction(claimed))
    )
    if last:
        named = {"ZeroConcentratedDP": "rho", "ApproximateDP": "(epsilon, delta)"}
        return f"{named.get(measure, 'epsilon')} {shown}"
    words = _words_of(step)
    moves = (rows_in_all if words is None else words.moves)(step, shown)
    return moves if step.get("norm", "L1") == "L1" else f"{moves} (L2)"


def _words_of(step: Mapping[str, Any]) -> StepWords | None:
    name = str(step["step"])
    return _SHARED.get(name) or words_of_step(name)


def recipe(step: Mapping[str, Any]) -> str:
    """Write a step as the code would; nothing where the words say it all.

    >>> recipe({"step": "laplace", "scale": "40", "distance": "1/8"})
    'laplace(scale=40)'
    """
    if step["step"] in ("filter", "derive", "join"):
        return ""
    given = [(k, v) for k, v in step.items() if k not in ("step", "distance") and v is not None]
    shown = ", ".join(f"{k}={_short(v)}" for k, v in given)
    return f"{step['step']}({shown})"


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_short(v) for v in value)}]"
    return str(value)


def _join(step: Mapping[str, Any]) -> str:
    named = [here for here, _, _ in step["columns"]]
    text = f"Join {join_words(step)}"
    return f"{text}; this adds {', '.join(named)}" if named else text


def _keys_of(distribution: str) -> Callable[[Described], str]:
    """Return the words of a step that shows the groups with enough people."""
    return lambda step: (
        f"Add random noise to the number of people of each group, discrete {distribution} of scale "
        f"{step['scale']}, and show the groups that reach the threshold {step['threshold']}"
    )


def _select_keys(step: Mapping[str, Any]) -> str:
    return (
        f"Add truncated random noise to the number of people of each group (epsilon "
        f"{step['epsilon']}, delta {step['delta']} a group), and show the groups above its reach"
    )


def _keys_in_rounds(step: Mapping[str, Any]) -> str:
    rounds = " and then ".join(
        f"of scale {scale} and the threshold {threshold}"
        for scale, threshold in zip(step["scales"], step["thresholds"], strict=True)
    )
    return (
        "Add random noise to the number of people of each group not shown yet, discrete Gaussian "
        f"{rounds}, and show the groups that reach it"
    )


def _noise(distribution: str) -> StepWords:
    return StepWords(
        lambda step: f"Add random noise: discrete {distribution} of scale {step['scale']}"
    )


def _people(step: Mapping[str, Any], shown: str) -> str:
    return so_many(shown, "person", "people")


_SHARED: dict[str, StepWords] = {
    "filter": StepWords(
        lambda step: f"Keep the rows where {condition_words(from_json(step['expression']))}",
        _people,
    ),
    "derive": StepWords(
        lambda step: (
            f"Compute {step['column']} from each row: "
            f"{condition_words(from_json(step['expression']))}"
        ),
        _people,
    ),
    "join": StepWords(_join, _people),
    "bound_contributions": StepWords(
        lambda step: (
            f"Bound contributions: at most {so_many(str(step['rows']), 'row', 'rows')} "
            "per person count"
        ),
        lambda _, shown: so_many(shown, "row", "rows"),
    ),
    "release_keys": StepWords(_keys_of("Laplace")),
    "gaussian_keys": StepWords(_keys_of("Gaussian")),
    "gaussian_keys_in_rounds": StepWords(_keys_in_rounds),
    "select_keys": StepWords(_select_keys),
    "laplace": _noise("Laplace"),
    "gaussian": _noise("Gaussian"),
}
