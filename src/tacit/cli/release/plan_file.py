"""A plan: a TOML file that names a table, a budget and several questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.accounting.budgets.read_loss import read_loss
from tacit.cli.release.asked import Asked, keys_reader
from tacit.cli.release.job import Job, Table, is_declared, unit_of
from tacit.cli.shared.condition import computed, condition
from tacit.cli.shared.csv_flags import csv_of_plan
from tacit.cli.shared.flag_values import statistic
from tacit.cli.shared.join_text import join_text
from tacit.errors import UsageError
from tacit.expressions.expression import Expression, col
from tacit.tables.answers.aggregate import Aggregate
from tacit.tables.dataset.fields import known_fields, mapping
from tacit.tables.dataset.toml_text import read_toml
from tacit.tables.engines.csv.format import CsvOptions
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit, one_row_each

__all__ = ["read_plan"]

_FIELDS = {
    "the plan": ("source", "unit", "budget", "question"),
    "[source]": ("path", "table", "name", *CsvOptions.__annotations__, "memory_limit", "threads"),
    "[unit]": ("person", "rows", "groups"),
    "[budget]": ("epsilon", "delta", "rho", "ledger"),
    "[[question]]": (
        "name", "join", "with", "where", "per_person", "where_person", "cut", "by", "keys",
        "keys_file", "answers", "sql", "epsilon", "delta", "rho", "total", "tag", "plot",
        "certificate",
    ),
}  # fmt: skip
_ROWS = {
    *("join", "with", "where", "per_person", "where_person", "cut", "by", "keys", "keys_file"),
    "answers",
}
"""Fields of a question that SQL says itself."""


def read_plan(path: str) -> Job:
    """Return the job that a plan describes; files in it stand beside the plan.

    Raises:
        UsageError: no such file, no TOML, or a field that is unknown, missing or of another kind.
    """
    plan = read_toml(Path(path), f"the plan {path}")
    try:
        return _job(plan, Path(path).parent)
    except UsageError as error:
        raise type(error)(f"the plan {path}: {error}") from None


def _job(plan: Mapping[str, Any], folder: Path) -> Job:
    known_fields(plan, _FIELDS["the plan"], "the plan")
    source = _part(plan, "source")
    table = Table(
        _path(_text(source, "path", "[source]", required=True), folder),
        _text(source, "table", "[source]"),
        _text(source, "name", "[source]"),
        csv_of_plan(source),
        _text(source, "memory_limit", "[source]"),
        source.get("threads"),
    )
    budget = _part(plan, "budget")
    ledger = _text(budget, "ledger", "[budget]")
    questions = plan.get("question", [])
    if not isinstance(questions, list) or not questions:
        raise UsageError("there is no question: begin one with [[question]]")
    return Job(
        table,
        _unit(plan),
        read_loss(budget.get("epsilon"), budget.get("delta"), budget.get("rho")),
        None if ledger is None else _path(ledger, folder),
        tuple(_asked(question, folder, table.path) for question in questions),
    )


def _unit(plan: Mapping[str, Any]) -> OneRowEach | PersonUnit | None:
    """Return whom the answers protect, where the plan says it."""
    if plan.get("unit") == "row":
        return one_row_each
    if isinstance(plan.get("unit"), str):
        raise UsageError(
            'unit is "row", where every row is another person, or [unit] with person and rows'
        )
    unit = _part(plan, "unit")
    return unit_of(_text(unit, "person", "[unit]"), unit.get("rows"), unit.get("groups"))


def _asked(question: Any, folder: Path, source: str) -> Asked:
    known_fields(mapping(question, "[[question]]"), _FIELDS["[[question]]"], "[[question]]")
    answers = mapping(question.get("answers", {}), "answers")
    sql = _text(question, "sql", "[[question]]")
    beside = sorted(_ROWS & set(question)) if sql is not None else []
    if beside:
        raise UsageError(f"sql says all that is asked: leave {beside[0]} out, or write it in sql")
    where = _conditions(question, "where")
    people = mapping(question.get("per_person", {}), "per_person")
    by = _listed(question, "by")
    name = _text(question, "name", "[[question]]")
    plot = _text(question, "plot", "[[question]]")
    made = _columns(question)
    declared = is_declared(source) or bool(people) or bool(made)
    asked = Asked(
        aggregates={label: _answer(said, label, declared) for label, said in answers.items()},
        joins=tuple(map(join_text, _listed(question, "join"))),
        derived=made,
        where=where,
        per_person={label: _answer(said, label, True) for label, said in people.items()},
        where_person=_conditions(question, "where_person"),
        cuts=_cuts(question),
        by=by,
        keys=_keys(question, by, folder, source),
        sql=sql,
        epsilon=question.get("epsilon"),
        delta=question.get("delta"),
        rho=question.get("rho"),
        total=question.get("total"),
        tag=_text(question, "tag", "[[question]]"),
        name=name,
        plot=None if plot is None else _path(plot, folder),
        certificates=tuple(_path(path, folder) for path in _listed(question, "certificate")),
    )
    asked.loss()
    return asked


def _conditions(question: Mapping[str, Any], name: str) -> tuple[Expression, ...]:
    text = _text(question, name, "[[question]]")
    return () if text is None else (condition(text),)


def _answer(said: Any, label: str, declared: bool) -> Aggregate:
    fields = mapping(said, f"the answer {label!r}")
    for name in ("statistic", "column", "y", "method", "distribution"):
        _text(fields, name, f"the answer {label!r}")
    if not isinstance(fields.get("edges", []), list):
        raise UsageError(f"edges in the answer {label!r} must be a list such as [0, 18, 65]")
    mapping(fields.get("bounds", {}), f"bounds in the answer {label!r}")
    return statistic(fields, label, declared)


def _columns(question: Mapping[str, Any]) -> dict[str, Expression]:
    said = mapping(question.get("with", {}), "with")
    return {name: computed(str(_text(said, name, "with"))) for name in said}


def _cuts(question: Mapping[str, Any]) -> dict[str, Expression]:
    found = {}
    for name, said in mapping(question.get("cut", {}), "cut").items():
        part = mapping(said, f"the cut {name!r}")
        if set(part) != {"column", "edges"} or not isinstance(part["edges"], list):
            raise UsageError(
                f'the cut {name!r} must be like {{ column = "age", edges = [0, 18, 65] }}'
            )
        column = _text(part, "column", f"the cut {name!r}", required=True)
        found[name] = col(str(column)).cut(part["edges"])
    return found


def _keys(question: Mapping[str, Any], by: Sequence[str], folder: Path, source: str) -> Any:
    keys, file = question.get("keys"), _text(question, "keys_file", "[[question]]")
    if (keys is not None or file is not None) and not by:
        raise UsageError('keys are the values of a grouping column: by = ["column"]')
    if keys is not None and file is not None:
        raise UsageError("give keys or keys_file, not both")
    if file is not None:
        return keys_reader(by, (), _path(file, folder), source)
    return keys


def _part(plan: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = mapping(plan.get(name, {}), f"[{name}]")
    known_fields(part, _FIELDS[f"[{name}]"], f"[{name}]")
    return part


def _text(part: Mapping[str, Any], name: str, where: str, required: bool = False) -> str | None:
    value = part.get(name)
    if value is None and required:
        raise UsageError(f"{where} lacks {name}")
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} in {where} must be text in quotes")
    return value


def _listed(part: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = part.get(name, [])
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise UsageError(f"{name} must be a text or a list of texts")
    return tuple(listed)


def _path(path: str | None, folder: Path) -> str:
    """Return a path as seen from the plan."""
    assert path is not None
    return path if "://" in path else str(folder / path)
