"""Plans in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tacit.accounting.budget import read_loss
from tacit.cli.release.job import ReleaseRun, RunTable, is_declared, unit_of
from tacit.cli.shared.flag_values import csv_of_plan, keys_reader
from tacit.errors import UsageError
from tacit.tables.dataset.table import known_fields, mapping, read_toml
from tacit.tables.missing_codes import ReadOptions
from tacit.tables.plan.price import Price
from tacit.tables.privacy_unit import OneRowEach, PersonUnit, one_row_each
from tacit.tables.question_formats import (
    PRICE,
    ROWS,
    QuestionRequest,
    listed,
    read_question,
    text_of,
)
from tacit.tables.session import Session

# Questions of a plan file that are answered together, under one price.


_PRICE = tuple(name for name in PRICE if name != "total")
_OPTIONS = ("weights", "least", "unlisted", "nonnegative")
FIELDS = (*_PRICE, *_OPTIONS, "certificate")


@dataclass(frozen=True)
class JointRequest(QuestionRequest):
    """Several questions at one price, as in ``session.plan([...])``."""

    requests: tuple[QuestionRequest, ...] = ()  # the questions, without prices
    # further arguments of ``session.plan``
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[QuestionRequest, ...]:
        """The questions, each with its own output files."""
        return self.requests

    def question(self, session: Session) -> Any:
        return session.plan([each.question(session) for each in self.requests], **self.options)

    @property
    def price(self) -> Price:
        """The price of all of them."""
        return {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho, "tag": self.tag}


def joint_request(fields: Mapping[str, Any], requests: tuple[QuestionRequest, ...]) -> JointRequest:
    """Return the questions of a plan file as one, by the fields of ``[together]``."""
    for each in requests:
        if each.loss() is not None or each.tag is not None:
            name = each.name or "a question"
            raise UsageError(
                f"[together] has the price of all questions, and {name} has one too: leave "
                f"{', '.join(PRICE)} out of the [[question]]"
            )
        if each.free:
            raise UsageError(
                "[together] pays for all questions: put free questions into a plan file of "
                "their own, without [together]"
            )
    if isinstance(fields.get("epsilon"), Mapping) or isinstance(fields.get("rho"), Mapping):
        raise UsageError("[together] takes one epsilon or rho; weights = { n = 10 } are next to it")
    options = {name: fields[name] for name in _OPTIONS if name in fields}
    request = JointRequest(
        aggregates={},
        epsilon=fields.get("epsilon"),
        delta=fields.get("delta"),
        rho=fields.get("rho"),
        tag=text_of(fields, "tag", "[together]"),
        certificates=listed(fields, "certificate"),
        requests=requests,
        options=options,
    )
    if request.loss() is None:
        raise UsageError('[together] needs the price of all questions: rho = "1/10", or epsilon')
    return request


# A plan: a TOML file that names a table, a budget and several questions.


_FIELDS = {
    "the plan": ("source", "unit", "budget", "together", "question"),
    "[together]": FIELDS,
    "[source]": ("path", "table", "name", *ReadOptions.__annotations__, "memory_limit", "threads"),
    "[unit]": ("person", "rows", "groups"),
    "[budget]": ("epsilon", "delta", "rho", "ledger"),
    "[[question]]": ("name", "sql", *ROWS, "keys_file", *PRICE, "free", "plot", "certificate"),
}


def read_plan(path: str) -> ReleaseRun:
    """Return the job of a plan; paths in it are relative to the plan."""
    file = Path(path).expanduser()
    plan = read_toml(file, f"the plan {path}")
    try:
        return _job(plan, file.parent)
    except UsageError as error:
        raise type(error)(f"the plan {path}: {error}") from None


def _job(plan: Mapping[str, Any], folder: Path) -> ReleaseRun:
    if "tables" in plan:
        raise UsageError(
            "this is the declaration of a data set, which is named like a table, tacit release "
            'visits.toml --count, or in a plan, [source] path = "visits.toml"'
        )
    known_fields(plan, _FIELDS["the plan"], "the plan")
    source = _part(plan, "source")
    read, codebook = csv_of_plan(source), text_of(source, "codebook", "[source]")
    if codebook is not None:
        read["codebook"] = _path(codebook, folder)
    table = RunTable(
        _path(text_of(source, "path", "[source]", required=True), folder),
        text_of(source, "table", "[source]"),
        text_of(source, "name", "[source]"),
        read,
        text_of(source, "memory_limit", "[source]"),
        source.get("threads"),
    )
    budget = _part(plan, "budget")
    ledger = text_of(budget, "ledger", "[budget]")
    questions = plan.get("question", [])
    if not isinstance(questions, list) or not questions:
        raise UsageError("there is no question: add one with [[question]]")
    requests = tuple(_request(question, folder, table.path) for question in questions)
    if "together" in plan:
        together = joint_request(_part(plan, "together"), requests)
        paths = tuple(_path(path, folder) for path in together.certificates)
        requests = (replace(together, certificates=paths),)
    return ReleaseRun(
        table,
        _unit(plan),
        read_loss(budget.get("epsilon"), budget.get("delta"), budget.get("rho")),
        None if ledger is None else _path(ledger, folder),
        requests,
    )


def _unit(plan: Mapping[str, Any]) -> OneRowEach | PersonUnit | None:
    """Return whom the answers protect, if the plan specifies it."""
    if plan.get("unit") == "row":
        return one_row_each
    if isinstance(plan.get("unit"), str):
        raise UsageError(
            'unit is "row", where every row is another person, or [unit] with person and rows'
        )
    unit = _part(plan, "unit")
    person = unit.get("person")
    if not isinstance(person, list):
        person = text_of(unit, "person", "[unit]")
    return unit_of(person, unit.get("rows"), unit.get("groups"))


def _request(question: Any, folder: Path, source: str) -> QuestionRequest:
    known_fields(mapping(question, "[[question]]"), _FIELDS["[[question]]"], "[[question]]")
    file = text_of(question, "keys_file", "[[question]]")
    keys = None if file is None else partial(_keys_of, file=_path(file, folder), source=source)
    plot = text_of(question, "plot", "[[question]]")
    if not isinstance(question.get("free", False), bool):
        raise UsageError("free in [[question]] is true or false")
    request = replace(
        read_question(question, is_declared(source), keys),
        free=question.get("free", False),
        name=text_of(question, "name", "[[question]]"),
        plot=None if plot is None else _path(plot, folder),
        certificates=tuple(_path(path, folder) for path in listed(question, "certificate")),
    )
    request.loss()
    return request


def _keys_of(by: Sequence[str], file: str, source: str) -> Any:
    return keys_reader(by, (), file, source)


def _part(plan: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = mapping(plan.get(name, {}), f"[{name}]")
    known_fields(part, _FIELDS[f"[{name}]"], f"[{name}]")
    return part


def _path(path: str | None, folder: Path) -> str:
    """Return a path relative to the folder of the plan."""
    assert path is not None
    if not path:
        raise UsageError("a path is empty: name a file or a folder ('.' is that of the plan)")
    return path if "://" in path else str(folder / Path(path).expanduser())
