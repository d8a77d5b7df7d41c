"""Questions of callers, and the formats of answers."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tacit.accounting.budget import Budget
from tacit.accounting.ledger_chain import canonical
from tacit.errors import BudgetError, UsageError, need
from tacit.report.text import budget_words, protects_line, question_words
from tacit.service.access import Caller
from tacit.service.hosting.datasets import Hosted, Left
from tacit.sql.parse import without_comments
from tacit.tables.dataset.table import known_fields, mapping, text
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import Price
from tacit.tables.question import Question, charge_of, held_by
from tacit.tables.question_formats import ROWS, read_question
from tacit.tables.release.answer import Answer
from tacit.tables.release.release import QueryCharge
from tacit.tables.session import Session

__all__ = [
    "CERTIFICATE",
    "FORMATS",
    "Ask",
    "Form",
    "answer_json",
    "as_bytes",
    "format_of",
    "preview_of",
    "words_of",
]

# A released answer in the formats of the API: JSON, CSV, Arrow and Parquet, wide or long.
#
# Everything here is a new arrangement of released numbers.  The length of a reply is a function of
# them and of the question, so it says nothing that the answer itself does not.


Form = Literal["wide", "long"]
# The media type of each format.
FORMATS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.file",
    "parquet": "application/vnd.apache.parquet",
}
CERTIFICATE = "tacit.certificate"  # the name of the certificate in the metadata of a schema


def format_of(accept: str | None) -> str:
    """Return the format that an ``Accept`` header asks for; JSON where it asks for none of ours.

    >>> format_of("text/csv"), format_of("application/vnd.apache.parquet;q=1"), format_of(None)
    ('csv', 'parquet', 'json')
    """
    for part in (accept or "").split(","):
        asked = part.partition(";")[0].strip().lower()
        for name, media in FORMATS.items():
            if asked == media.partition(";")[0]:
                return name
    return "json"


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain JSON values: groups, and for each label values and intervals."""
    # What is not known is null.
    return {
        "by": list(answer.by),
        "keys": [list(key) for key in answer.keys],
        "columns": [_plain({"label": n, **answer.column(n)}) for n in answer.labels],
        "protects": answer.protects,
        "about": answer.about,
    }


def as_bytes(answer: Answer, format: str, form: Form) -> bytes:
    """Return an answer as a file of a format."""
    # A file of Arrow or Parquet carries the certificate of the answer, as JSON, in the metadata of
    # its schema, under :data:`CERTIFICATE`.
    if format == "csv":
        return answer.to_csv(form=form).encode()
    table, out = answer.to_arrow(form=form), io.BytesIO()
    known = table.schema.metadata or {}
    table = table.replace_schema_metadata({**known, CERTIFICATE: answer.certificate.to_json()})
    if format == "parquet":
        need("pyarrow.parquet", "arrow").write_table(table, out)
    else:
        with need("pyarrow", "arrow").ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


def _plain(value: Any) -> Any:
    """Return JSON that every reader takes: an infinity and NaN are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


# What a request asks: a question in SQL, in the fields of a plan, or as a program describes it.
#
# What is asked, and at which price, is plain JSON from outside.  It is read by the parsers that the
# command line and Python use, through the doors that a user's own question goes through.


_WAYS = ("sql", "question", "described")
_PRICE = ("epsilon", "delta", "rho", "total")
_FIELDS = (*_WAYS, *_PRICE, "free", "tag", "table")


@dataclass(frozen=True)
class Ask:
    """A question and what it may spend, as a request says them."""

    way: str  # ``sql``, ``question`` or ``described``
    said: Any
    # of ``epsilon``, ``delta``, ``rho`` and ``total`` what is said, as exact numbers
    price: Price = field(default_factory=lambda: Price())
    tag: str | None = None  # a label that makes it a new, separately paid release
    table: str | None = None  # the protected table; the first where none is named
    free: bool = False  # whether it is answered from earlier releases, and not released

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Ask:
        """Read the JSON of a request.

        >>> ask = Ask.from_json({"sql": "select count(*) from visits", "epsilon": 0.1})
        >>> ask.way, ask.price
        ('sql', {'epsilon': '0.1'})
        """
        # A number with a fraction is read as its decimal digits say: ``0.1`` is a tenth.
        known_fields(said, _FIELDS, "the request")
        given = [way for way in _WAYS if said.get(way) is not None]
        if len(given) != 1:
            raise UsageError("ask in one way: sql, question (the fields of a plan), or described")
        (way,) = given
        question = said[way]
        if way == "sql":  # comments are no part of it, and get into no cache, job or log
            text(said, "sql", "the request")
            question = without_comments(question)
        else:
            mapping(question, way)
        price: Any = {n: _exact(said[n]) for n in _PRICE if said.get(n) is not None}
        free = said.get("free", False)
        if not isinstance(free, bool):
            raise UsageError("free in the request is true or false")
        if free and price:
            raise UsageError("free takes no price: it answers from earlier releases, at no cost")
        tag, table = text(said, "tag", "the request"), text(said, "table", "the request")
        return cls(way, question, price, _optional(tag, "tag"), _optional(table, "table"), free)

    def to_json(self) -> dict[str, Any]:
        """Return what :meth:`from_json` reads."""
        whole = {self.way: self.said, **self.price, "tag": self.tag, "table": self.table}
        whole |= {"free": True} if self.free else {}
        return {name: value for name, value in whole.items() if value is not None}

    @property
    def text(self) -> str:
        """The request as one certain text: equal requests, equal texts."""
        return canonical(self.to_json(), "request")

    def question(self, hosted: Hosted, caller: Caller, *, on_paper: bool = True) -> Question:
        """Return the question to a data set, on account of a caller; nothing is spent yet."""
        asked = {self.way: self.said}
        if self.way == "question":  # its fields are read together with its price
            asked |= {**self.price, "tag": self.tag}
        said = canonical(asked, "request")
        return hosted.question(caller, self.table, said, self._asked, on_paper=on_paper)

    def _asked(self, session: Session) -> Question:
        if self.way == "sql":
            return session.sql(self.said)
        if self.way == "described":
            return session.described(self.said)
        known_fields(self.said, ROWS, "the question")
        keys = self.said.get("keys")
        if keys is not None and not isinstance(keys, (list, dict)):
            raise UsageError("keys is a list of values, or of each column a list of values")
        price = {**self.price, **({"tag": self.tag} if self.tag else {})}
        return read_question({**self.said, **price}, declared=True).question(session)


def preview_of(
    ask: Ask,
    hosted: Hosted,
    caller: Caller,
    *,
    rows: tuple[int, ...] = (100, 1_000, 10_000),
    confidence: str | None = "0.95",
    notes: tuple[str, ...] = (),
    hides: Callable[[str], bool] = lambda _: False,
    free: Callable[[Question], dict[str, dict[str, Any]]] = lambda _: {},
) -> dict[str, Any]:
    """Return what a release would cost and how far off its answers would be; reads no row."""
    # free: returns of each label the standard error of the answer that follows from what the caller
    #   may see, and the release it is from; nothing where it does not follow.
    if ask.free:
        return _free_preview(ask.question(hosted, caller), hosted.left(caller), notes, free)
    charge, found, words = hosted.previews.of(
        (caller.name, caller.team, ask.text, rows, confidence),
        lambda: _on_paper(ask, hosted, caller, rows, confidence),
    )
    standing = charge.look()
    cost, left, charged = charge.cost_of(standing), hosted.left(caller), standing.is_charged
    answered = standing.is_answered and not hides(charge.key)
    follows = {} if charged else free(ask.question(hosted, caller))
    shown: Any = found.to_json()
    shown["free"] = _errors(follows)
    shown["remaining"] = left.remaining.to_json()
    affordable = shown["granted"] = charged or _covers(hosted, caller, cost)
    shown["whereabouts"] = ""  # a place on the machine of the service
    shown["notes"] = [*shown["notes"], *_capped(left), *notes]
    columns = [
        {
            "label": label,
            "error_in": unit,
            "expected_error": shown["errors"][label],
            "interval": shown["intervals"].get(label),
            "method": found.methods.get(label),
        }
        for label, unit in found.units.items()
    ]
    return {
        "cost": cost.to_json(),
        "remaining": shown["remaining"],
        "limited_by": list(left.limits),
        "affordable": affordable,
        "replay": answered,
        "open": charged and not answered,
        "text": words,
        "protects": found.protects,
        "rows": list(rows),
        "columns": columns,
        "notes": shown["notes"],
        "weak": found.weak,
        "free": follows,
        "preview": shown,
    }


def _free_preview(
    question: Question,
    left: Left,
    notes: tuple[str, ...],
    free: Callable[[Question], dict[str, dict[str, Any]]],
) -> dict[str, Any]:
    """Return the preview of a question that may spend nothing."""
    ledger, follows = held_by(question).ledger, free(question)
    protects = protects_line(held_by(question).query.unit.describe())
    found = Preview(
        Budget.nothing(ledger.kind),
        left.remaining,
        (),
        {},
        {},
        protects=protects,
        notes=(*question.notes, *_capped(left), *notes),
        granted=True,
        free=_errors(follows),
    )
    shown: Any = found.to_json()
    return {
        "cost": shown["cost"],
        "remaining": shown["remaining"],
        "limited_by": list(left.limits),
        "affordable": True,
        "replay": False,
        "open": False,
        "text": words_of(question),
        "protects": protects,
        "rows": [],
        "columns": [],
        "notes": shown["notes"],
        "weak": None,
        "free": follows,
        "preview": shown,
    }


def _capped(left: Left) -> tuple[str, ...]:
    """Say which cap leaves less than the budget does."""
    if not left.capped:
        return ()
    return (
        f"{budget_words(left.remaining)} is left under {left.capped}; of the whole budget "
        f"{budget_words(left.budget)} is left",
    )


def _errors(follows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {label: one["standard_error"] for label, one in follows.items()}


def _on_paper(
    ask: Ask, hosted: Hosted, caller: Caller, rows: tuple[int, ...], confidence: str | None
) -> tuple[QueryCharge, Preview, str]:
    """Return of a preview what public facts alone decide; what remains is looked up each time."""
    question = ask.question(hosted, caller)
    found = question.preview(**ask.price, rows=rows, confidence=confidence)
    return charge_of(question, tag=ask.tag, **ask.price), found, words_of(question, ask.tag)


def words_of(question: Question, tag: str | None = None) -> str:
    """Say in words what a question asks, with the tag of its release."""
    return question_words({"query": question.described(), "tag": tag})


def _covers(hosted: Hosted, caller: Caller, cost: Budget) -> bool:
    try:
        hosted.require(caller, cost)
    except BudgetError:
        return False
    return True


def _exact(value: Any) -> Any:
    """Return a number of JSON as it was written."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return {str(name): _exact(one) for name, one in value.items()}
    return value


def _optional(value: Any, name: str) -> str | None:
    if value is not None and not (isinstance(value, str) and value.isprintable()):
        raise UsageError(f"{name} of the request is a line of text, or left out")
    return value
