"""The fields of one question, as a plan has them in ``[[question]]`` and a service in JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.errors import UsageError, did_you_mean
from tacit.expressions.expression import Expression, col
from tacit.tables.answers.aggregate import Aggregate, kinds
from tacit.tables.dataset.fields import mapping
from tacit.tables.spec.method import Options
from tacit.tables.written.asked import Asked
from tacit.tables.written.condition import computed, condition
from tacit.tables.written.join_text import join_text

__all__ = ["PRICE", "ROWS", "listed", "read_question", "statistic", "text_of"]

ROWS = (
    *("join", "with", "where", "per_person", "where_person", "cut", "by", "keys"),
    *("rounds", "answers"),
)
"""What is asked, where it is not in SQL."""
PRICE = ("epsilon", "delta", "rho", "total", "tag")
"""What it may spend."""
_BOUNDS = ("lower", "upper")


def read_question(
    question: Mapping[str, Any],
    declared: bool,
    keys: Callable[[Sequence[str]], Any] | None = None,
) -> Asked:
    """Return the question that fields describe.

    Args:
        question: the fields of :data:`ROWS`, or ``sql``, and of :data:`PRICE`.
        declared: whether a data set may declare the bounds that a statistic leaves out.
        keys: reads keys that stand elsewhere, for the grouping columns; None where none do.

    Raises:
        UsageError: a field that is missing or of another kind.

    >>> asked = read_question(
    ...     {"answers": {"n": {"statistic": "count"}}, "where": "age >= 18", "epsilon": "1/2"}, True
    ... )
    >>> str(asked.aggregates["n"]), [str(where) for where in asked.where]
    ('count()', ['(age >= 18)'])
    """
    answers = mapping(question.get("answers", {}), "answers")
    sql = text_of(question, "sql", "[[question]]")
    beside = sorted(set(ROWS) & set(question)) if sql is not None else []
    if beside or (sql is not None and keys is not None):
        said = beside[0] if beside else "keys_file"
        raise UsageError(f"sql says all that is asked: leave {said} out, or write it in sql")
    where = _conditions(question, "where")
    people = mapping(question.get("per_person", {}), "per_person")
    by = listed(question, "by")
    made = _columns(question)
    declared = declared or bool(people) or bool(made)
    asked = Asked(
        aggregates={label: _answer(said, label, declared) for label, said in answers.items()},
        joins=tuple(map(join_text, listed(question, "join"))),
        derived=made,
        where=where,
        per_person={label: _answer(said, label, True) for label, said in people.items()},
        where_person=_conditions(question, "where_person"),
        cuts=_cuts(question),
        by=by,
        keys=_keys(question, by, keys),
        rounds=question.get("rounds", 1),
        sql=sql,
        epsilon=question.get("epsilon"),
        delta=question.get("delta"),
        rho=question.get("rho"),
        total=question.get("total"),
        tag=text_of(question, "tag", "[[question]]"),
    )
    asked.loss()
    return asked


def _conditions(question: Mapping[str, Any], name: str) -> tuple[Expression, ...]:
    text = text_of(question, name, "[[question]]")
    return () if text is None else (condition(text),)


def _answer(said: Any, label: str, declared: bool) -> Aggregate:
    fields = mapping(said, f"the answer {label!r}")
    for name in ("statistic", "column", "y", "method", "distribution"):
        text_of(fields, name, f"the answer {label!r}")
    if not isinstance(fields.get("edges", []), list):
        raise UsageError(f"edges in the answer {label!r} must be a list such as [0, 18, 65]")
    mapping(fields.get("bounds", {}), f"bounds in the answer {label!r}")
    return statistic(fields, label, declared)


def _columns(question: Mapping[str, Any]) -> dict[str, Expression]:
    said = mapping(question.get("with", {}), "with")
    return {name: computed(str(text_of(said, name, "with"))) for name in said}


def _cuts(question: Mapping[str, Any]) -> dict[str, Expression]:
    found = {}
    for name, said in mapping(question.get("cut", {}), "cut").items():
        part = mapping(said, f"the cut {name!r}")
        if set(part) != {"column", "edges"} or not isinstance(part["edges"], list):
            raise UsageError(
                f'the cut {name!r} must be like {{ column = "age", edges = [0, 18, 65] }}'
            )
        column = text_of(part, "column", f"the cut {name!r}", required=True)
        found[name] = col(str(column)).cut(part["edges"])
    return found


def _keys(
    question: Mapping[str, Any],
    by: Sequence[str],
    elsewhere: Callable[[Sequence[str]], Any] | None,
) -> Any:
    keys = question.get("keys")
    if (keys is not None or elsewhere is not None) and not by:
        raise UsageError('keys are the values of a grouping column: by = ["column"]')
    if keys is not None and elsewhere is not None:
        raise UsageError("give keys or keys_file, not both")
    return keys if elsewhere is None else elsewhere(by)


def statistic(described: object, label: str, declared: bool = False) -> Aggregate:
    """Return the statistic that a table of a plan describes.

    Args:
        described: the table of the plan.
        label: what the answer is called.
        declared: whether a data set may declare the bounds that it leaves out.

    Raises:
        UsageError: an unknown statistic or field, or one that is missing.

    >>> print(statistic({"statistic": "mean", "column": "age", "lower": 0, "upper": 99}, "age"))
    mean(age, 0, 99)
    """
    if not isinstance(described, Mapping) or "statistic" not in described:
        raise UsageError(
            f"the answer {label!r} must be like "
            '{ statistic = "mean", column = "age", lower = 0, upper = 100 }'
        )
    name = described["statistic"]
    known = {kind.name: kind for kind in kinds(of_plans=True)}
    if name not in known:
        raise UsageError(f"the answer {label!r} asks {name!r}; {did_you_mean(str(name), known)}")
    kind = known[name]
    more = tuple(Options.__annotations__) if kind.methods else ()
    fields = (*kind.fields, *more)
    for field in described:
        if field not in ("statistic", *fields):
            raise UsageError(
                f"the answer {label!r} has a field {field!r}; {did_you_mean(field, fields)}"
            )
    missing = [field for field in kind.fields if field not in described]
    if declared and set(missing) in ({*_BOUNDS}, {"bounds"}, {"keys"}):
        missing = []
    if missing:
        raise UsageError(f"the answer {label!r} ({name}) lacks {', '.join(missing)}")
    options = {field: described[field] for field in more if field in described}
    given = [described[field] for field in kind.fields if field in described]
    made: Aggregate = kind.make(*given, **options)
    return made


def text_of(part: Mapping[str, Any], name: str, where: str, required: bool = False) -> str | None:
    """Return a field that is text, or None where it is not said.

    Raises:
        UsageError: it is another kind of value, or lacks and is required.
    """
    value = part.get(name)
    if value is None and required:
        raise UsageError(f"{where} lacks {name}")
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} in {where} must be text in quotes")
    return value


def listed(part: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a field that is a text or a list of texts.

    Raises:
        UsageError: it is another kind of value.
    """
    value = part.get(name, [])
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise UsageError(f"{name} must be a text or a list of texts")
    return tuple(listed)
