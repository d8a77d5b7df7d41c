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
from tacit.tables.question import Question, charge_of, question_parts
from tacit.tables.question_formats import ROWS, read_question
from tacit.tables.release.answer import Answer
from tacit.tables.release.release import QueryCharge
from tacit.tables.session import Session

# A released answer in the formats of the API: JSON, CSV, Arrow and Parquet, wide or long.
#
# Everything here is a new arrangement of released numbers.  The length of a reply is a function of
# them and of the question, so it reveals nothing that the answer itself does not.


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
    """Return the format of an ``Accept`` header; JSON if it names none of ours.

    >>> format_of("text/csv"), format_of("application/vnd.apache.parquet;q=1"), format_of(None)
    ('csv', 'parquet', 'json')
    """
    for part in (accept or "").split(","):
        media_type = part.partition(";")[0].strip().lower()
        for name, media in FORMATS.items():
            if media_type == media.partition(";")[0]:
                return name
    return "json"


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain JSON values: groups, and for each label values and intervals."""
    # Unknown values are null.
    return {
        "by": list(answer.by),
        "keys": [list(key) for key in answer.keys],
        **_labels(answer),
        "columns": [finite_json({"label": n, **answer.column(n)}) for n in answer.labels],
        "protects": answer.protects,
        "about": answer.about,
    }


def _labels(answer: Answer) -> dict[str, Any]:
    """Return the labels of keys, as pairs by column; nothing where there are none."""
    known = {name: list(map(list, pairs.items())) for name, pairs in answer.key_labels.items()}
    return {"key_labels": known} if known else {}


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


def finite_json(value: Any) -> Any:
    """Return JSON that every reader takes: an infinity and NaN are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite_json(one) for name, one in value.items()}
    return [finite_json(one) for one in value] if isinstance(value, list) else value


# The question of a request: in SQL, in the fields of a plan, or as a program describes it.
#
# The question and its price are plain JSON from outside.  They are read by the parsers that the
# command line and Python use.


_WAYS = ("sql", "question", "described")
_PRICE = ("epsilon", "delta", "rho", "total")
_FIELDS = (*_WAYS, *_PRICE, "free", "tag", "table")


@dataclass(frozen=True)
class Ask:
    """A question and its price, as a request has them."""

    way: str  # ``sql``, ``question`` or ``described``
    content: Any
    # those of its fields that are set, numbers exact
    price: Price = field(default_factory=lambda: Price())
    table: str | None = None  # the protected table; None for the first
    free: bool = False  # True if it is answered from earlier releases, and not released

    @classmethod
    def from_json(cls, payload: Mapping[str, Any]) -> Ask:
        """Read the JSON of a request.

        >>> ask = Ask.from_json({"sql": "select count(*) from visits", "epsilon": 0.1})
        >>> ask.way, ask.price
        ('sql', {'epsilon': '0.1'})
        """
        # A decimal fraction is read exactly: ``0.1`` is a tenth.
        known_fields(payload, _FIELDS, "the request")
        given = [way for way in _WAYS if payload.get(way) is not None]
        if len(given) != 1:
            raise UsageError("ask in one way: sql, question (the fields of a plan), or described")
        (way,) = given
        question = payload[way]
        if way == "sql":  # comments are no part of it, and get into no cache, job or log
            text(payload, "sql", "the request")
            question = without_comments(question)
        else:
            mapping(question, way)
        price: Any = {n: _exact(payload[n]) for n in _PRICE if payload.get(n) is not None}
        free = payload.get("free", False)
        if not isinstance(free, bool):
            raise UsageError("free in the request is true or false")
        if free and price:
            raise UsageError("free takes no price: it answers from earlier releases, at no cost")
        tag, table = text(payload, "tag", "the request"), text(payload, "table", "the request")
        if tag is not None:
            price["tag"] = _optional(tag, "tag")
        return cls(way, question, price, _optional(table, "table"), free)

    def to_json(self) -> dict[str, Any]:
        fields = {self.way: self.content, **self.price, "table": self.table}
        fields |= {"free": True} if self.free else {}
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def tag(self) -> str | None:
        """The label that makes it a new, separately paid release."""
        return self.price.get("tag")

    @property
    def text(self) -> str:
        """The request as canonical text: equal requests, equal texts."""
        return canonical(self.to_json(), "request")

    def question(self, hosted: Hosted, caller: Caller, *, dry_run: bool = True) -> Question:
        """Return the question to a data set, on account of a caller; nothing is spent yet."""
        content = {self.way: self.content}
        if self.way == "question":  # its fields are read together with its price
            content |= self.price
        canonical_text = canonical(content, "request")
        return hosted.question(caller, self.table, canonical_text, self._build, dry_run=dry_run)

    def _build(self, session: Session) -> Question:
        if self.way == "sql":
            return session.sql(self.content)
        if self.way == "described":
            return session.described(self.content)
        known_fields(self.content, ROWS, "the question")
        keys = self.content.get("keys")
        if keys is not None and keys != "labels" and not isinstance(keys, (list, dict)):
            raise UsageError("keys is a list of values, or of each column a list of values")
        return read_question({**self.content, **self.price}, declared=True).question(session)


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
    """Return the cost of a release and its expected errors; reads no row."""
    # free: returns of each label the standard error of the answer that follows from what the caller
    #   may see, and the release it is from; nothing where it does not follow.
    if ask.free:
        return _free_preview(ask.question(hosted, caller), hosted.left(caller), notes, free)
    charge, expected, words = hosted.previews.of(
        (caller.name, caller.team, ask.text, rows, confidence),
        lambda: _dry_preview(ask, hosted, caller, rows, confidence),
    )
    entry = charge.look()
    cost, left, charged = charge.cost_of(entry), hosted.left(caller), entry.is_charged
    answered = entry.is_answered and not hides(charge.key)
    follows = {} if charged else free(ask.question(hosted, caller))
    shown: Any = expected.to_json()
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
            "method": expected.methods.get(label),
        }
        for label, unit in expected.units.items()
    ]
    return _reply(expected, shown, left, words, follows) | {
        "cost": cost.to_json(),
        "affordable": affordable,
        "replay": answered,
        "open": charged and not answered,
        "rows": list(rows),
        "columns": columns,
    }


def _free_preview(
    question: Question,
    left: Left,
    notes: tuple[str, ...],
    free: Callable[[Question], dict[str, dict[str, Any]]],
) -> dict[str, Any]:
    ledger, follows = question_parts(question).ledger, free(question)
    protects = protects_line(question_parts(question).query.unit.describe())
    preview = Preview(
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
    return _reply(preview, preview.to_json(), left, words_of(question), follows)


def _reply(
    preview: Preview, shown: Any, left: Left, words: str, follows: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the reply of a preview, as of a question that costs nothing."""
    return {
        "cost": shown["cost"],
        "remaining": shown["remaining"],
        "limited_by": list(left.limits),
        "affordable": True,
        "replay": False,
        "open": False,
        "text": words,
        "protects": preview.protects,
        "rows": [],
        "columns": [],
        "notes": shown["notes"],
        "weak": preview.weak,
        "free": follows,
        "preview": shown,
    }


def _capped(left: Left) -> tuple[str, ...]:
    """Name the caps that leave less than the budget does."""
    if not left.capped:
        return ()
    return (
        f"{budget_words(left.remaining)} is left under {left.capped}; of the whole budget "
        f"{budget_words(left.budget)} is left",
    )


def _errors(follows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {label: one["standard_error"] for label, one in follows.items()}


def _dry_preview(
    ask: Ask, hosted: Hosted, caller: Caller, rows: tuple[int, ...], confidence: str | None
) -> tuple[QueryCharge, Preview, str]:
    """Return the part of a preview that public facts decide; the rest is looked up each time."""
    question = ask.question(hosted, caller)
    expected = question.preview(**ask.price, rows=rows, confidence=confidence)
    return charge_of(question, **ask.price), expected, words_of(question, ask.tag)


def words_of(question: Question, tag: str | None = None) -> str:
    """Describe a question in words, with the tag of its release."""
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
