"""A plan: a TOML file that names a table, a budget and several questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tacit.accounting.budgets.read_loss import read_loss
from tacit.cli.release.job import Job, Table, is_declared, unit_of
from tacit.cli.release.together import FIELDS as TOGETHER
from tacit.cli.release.together import asked_together
from tacit.cli.shared.csv_flags import csv_of_plan
from tacit.cli.shared.keys_reader import keys_reader
from tacit.errors import UsageError
from tacit.tables.dataset.fields import known_fields, mapping
from tacit.tables.dataset.toml_text import read_toml
from tacit.tables.engines.csv.format import CsvOptions
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit, one_row_each
from tacit.tables.written.asked import Asked
from tacit.tables.written.question_fields import PRICE, ROWS, listed, read_question, text_of

__all__ = ["read_plan"]

_FIELDS = {
    "the plan": ("source", "unit", "budget", "together", "question"),
    "[together]": TOGETHER,
    "[source]": ("path", "table", "name", *CsvOptions.__annotations__, "memory_limit", "threads"),
    "[unit]": ("person", "rows", "groups"),
    "[budget]": ("epsilon", "delta", "rho", "ledger"),
    "[[question]]": ("name", "sql", *ROWS, "keys_file", *PRICE, "free", "plot", "certificate"),
}


def read_plan(path: str) -> Job:
    """Return the job that a plan describes; files in it stand beside the plan.

    Raises:
        UsageError: no such file, no TOML, or a field that is unknown, missing or of another kind.
    """
    place = Path(path).expanduser()
    plan = read_toml(place, f"the plan {path}")
    try:
        return _job(plan, place.parent)
    except UsageError as error:
        raise type(error)(f"the plan {path}: {error}") from None


def _job(plan: Mapping[str, Any], folder: Path) -> Job:
    known_fields(plan, _FIELDS["the plan"], "the plan")
    source = _part(plan, "source")
    table = Table(
        _path(text_of(source, "path", "[source]", required=True), folder),
        text_of(source, "table", "[source]"),
        text_of(source, "name", "[source]"),
        csv_of_plan(source),
        text_of(source, "memory_limit", "[source]"),
        source.get("threads"),
    )
    budget = _part(plan, "budget")
    ledger = text_of(budget, "ledger", "[budget]")
    questions = plan.get("question", [])
    if not isinstance(questions, list) or not questions:
        raise UsageError("there is no question: add one with [[question]]")
    asked = tuple(_asked(question, folder, table.path) for question in questions)
    if "together" in plan:
        together = asked_together(_part(plan, "together"), asked)
        paths = tuple(_path(path, folder) for path in together.certificates)
        asked = (replace(together, certificates=paths),)
    return Job(
        table,
        _unit(plan),
        read_loss(budget.get("epsilon"), budget.get("delta"), budget.get("rho")),
        None if ledger is None else _path(ledger, folder),
        asked,
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
    return unit_of(text_of(unit, "person", "[unit]"), unit.get("rows"), unit.get("groups"))


def _asked(question: Any, folder: Path, source: str) -> Asked:
    known_fields(mapping(question, "[[question]]"), _FIELDS["[[question]]"], "[[question]]")
    file = text_of(question, "keys_file", "[[question]]")
    keys = None if file is None else partial(_keys_of, file=_path(file, folder), source=source)
    plot = text_of(question, "plot", "[[question]]")
    if not isinstance(question.get("free", False), bool):
        raise UsageError("free in [[question]] is true or false")
    found = replace(
        read_question(question, is_declared(source), keys),
        free=question.get("free", False),
        name=text_of(question, "name", "[[question]]"),
        plot=None if plot is None else _path(plot, folder),
        certificates=tuple(_path(path, folder) for path in listed(question, "certificate")),
    )
    found.loss()
    return found


def _keys_of(by: Sequence[str], file: str, source: str) -> Any:
    return keys_reader(by, (), file, source)


def _part(plan: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = mapping(plan.get(name, {}), f"[{name}]")
    known_fields(part, _FIELDS[f"[{name}]"], f"[{name}]")
    return part


def _path(path: str | None, folder: Path) -> str:
    """Return a path as seen from the plan."""
    assert path is not None
    return path if "://" in path else str(folder / Path(path).expanduser())
