"""Questions of callers, and the formats of answers."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from tacit.accounting.budget import Budget
from tacit.accounting.ledger_chain import canonical
from tacit.errors import UnsupportedQueryError, UsageError, need
from tacit.report.text import budget_words, protects_line, question_words, together_words
from tacit.service.access import Caller
from tacit.service.hosting.datasets import Asked, DryPreview, Hosted, Left
from tacit.sql.parse import without_comments
from tacit.tables.dataset.table import known_fields, mapping, text
from tacit.tables.joint_plans.planning import (
    QuestionPlan,
    comparison_of,
    plan_parts,
    strategy_in_words,
)
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.price import Price
from tacit.tables.plan.query import Query
from tacit.tables.publish.publications import FORMATS as PUBLISHED
from tacit.tables.publish.publications import PublishOptions, files_of, packed, pairs
from tacit.tables.question import Question, charge_of, question_parts
from tacit.tables.question_formats import ROWS, read_question
from tacit.tables.release.answer import Answer
from tacit.tables.session import Session
from tacit.workload.cells import loss_of

# A released answer in the formats of the API: JSON, CSV, Arrow and Parquet, wide or long, and those
# of official statistics.
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
    **{name: one.media_type for name, one in PUBLISHED.items()},
}
# The ends of the names of their files.
ENDINGS = {name: one.ending for name, one in PUBLISHED.items()}
CERTIFICATE = "tacit.certificate"  # the name of the certificate in the metadata of a schema


def format_of(accept: str | None) -> str:
    """Return the format of an ``Accept`` header; JSON if it names none of ours.

    >>> format_of("text/csv"), format_of("application/vnd.apache.parquet;q=1"), format_of(None)
    ('csv', 'parquet', 'json')
    >>> format_of("application/vnd.sdmx.data+csv;version=1.0.0")
    'sdmx-csv-1'
    """
    for part in (accept or "").split(","):
        media_type, *parameters = (one.strip().lower() for one in part.split(";"))
        version = [one for one in parameters if one.startswith("version=")]
        for name, media in FORMATS.items():
            known, *its = (one.strip() for one in media.split(";"))
            if media_type == known and (not version or version[0] in its or "version" not in media):
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


def as_bytes(
    answer: Answer, format: str, form: Form, options: PublishOptions | None = None
) -> bytes:
    """Return an answer as a file of a format."""
    # A file of Arrow or Parquet carries the certificate of the answer, as JSON, in the metadata of
    # its schema, under :data:`CERTIFICATE`.
    if format == "csv":
        return answer.to_csv(form=form).encode()
    if format in PUBLISHED:
        files = files_of(answer, format, "answer.csv", options or PublishOptions())
        return packed(files) if len(files) > 1 else next(iter(files.values())).encode()
    table, out = answer.to_arrow(form=form), io.BytesIO()
    known = table.schema.metadata or {}
    table = table.replace_schema_metadata({**known, CERTIFICATE: answer.certificate.to_json()})
    if format == "parquet":
        need("pyarrow.parquet", "arrow").write_table(table, out)
    else:
        with need("pyarrow", "arrow").ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


def publish_options(
    format: str,
    structure: str | None,
    dataflow: str | None,
    ids: Sequence[str],
    constants: Sequence[str],
    names: bool,
    time: str | None,
    labels: Sequence[str],
    form: Form,
) -> PublishOptions:
    """Return the options of a format of official statistics, as a request has them.

    Raises:
        UsageError: the format does not take them, or they are invalid.
    """
    options = PublishOptions(
        structure,
        dataflow,
        pairs(ids, "ids"),
        pairs(constants, "constants"),
        names,
        time,
        tuple(labels) or None,
        form,
    )
    options.check(format)
    return options


def finite_json(value: Any) -> Any:
    """Return JSON that every reader takes: an infinity and NaN are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite_json(one) for name, one in value.items()}
    return [finite_json(one) for one in value] if isinstance(value, list) else value


# The question of a request: in SQL, in the fields of a plan, or as a program describes it; or
# several of them, which are planned together and paid as one.
#
# The question and its price are plain JSON from outside.  They are read by the parsers that the
# command line and Python use.


_WAYS = ("sql", "question", "described")
_PRICE = ("epsilon", "delta", "rho", "total")
_FIELDS = (*_WAYS, *_PRICE, "free", "tag", "table")
_PLAN = ("questions", "weights", "least", "unlisted", "nonnegative", "cheapest")
_PLAN_FIELDS = (*_PLAN, "epsilon", "delta", "rho", "tag", "table")
_AIM = ("targets", "confidence", "rows")
MAX_QUESTIONS = 100  # of one plan


@dataclass(frozen=True)
class Ask:
    """A question or a plan of several, and its price, as a request has them."""

    way: str  # ``sql``, ``question``, ``described``, or ``questions``: a plan
    content: Any  # of a plan its fields: the questions, each ``{way: content}``, and its options
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
        if "questions" in payload:
            return cls._plan_from(payload)
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

    @classmethod
    def _plan_from(cls, payload: Mapping[str, Any]) -> Ask:
        known_fields(payload, _PLAN_FIELDS, "the request")
        questions = payload["questions"]
        if not isinstance(questions, list) or not 0 < len(questions) <= MAX_QUESTIONS:
            raise UsageError(f"questions is a list of 1 to {MAX_QUESTIONS} questions")
        members = []
        for number, one in enumerate(questions, 1):
            with _in_question(number):
                paid = next((name for name in _PRICE if name in mapping(one, "the question")), None)
                if paid is not None:
                    raise UsageError(f"{paid} is of the whole plan: write it beside questions")
                known_fields(one, _WAYS, "the question")
                member = cls.from_json(one)
                members.append({member.way: member.content})
        content: dict[str, Any] = {"questions": members}
        content |= {n: payload[n] for n in _PLAN[1:] if payload.get(n) is not None}
        if "cheapest" in content:
            content["cheapest"] = _exact(mapping(content["cheapest"], "cheapest"))
            known_fields(content["cheapest"], _AIM, "cheapest")
        price: Any = {n: _exact(payload[n]) for n in _PRICE if payload.get(n) is not None}
        tag, table = text(payload, "tag", "the request"), text(payload, "table", "the request")
        if tag is not None:
            price["tag"] = _optional(tag, "tag")
        return cls("questions", content, price, _optional(table, "table"))

    @property
    def is_plan(self) -> bool:
        """True if it has several questions, which are answered together."""
        return self.way == "questions"

    def to_json(self) -> dict[str, Any]:
        own = self.content if self.is_plan else {self.way: self.content}
        fields = {**own, **self.price, "table": self.table}
        fields |= {"free": True} if self.free else {}
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def tag(self) -> str | None:
        """The label that makes it a new, separately paid release."""
        return self.price.get("tag")

    @property
    def body(self) -> str:
        """The request as a job stores it."""
        # In the order in which it names answers and derived columns: another is another question.
        return json.dumps(self.to_json())

    @property
    def text(self) -> str:
        """The request as text: equal for requests that name the same in the same order."""
        content = canonical({self.way: self.content}, "request", sort=False)
        return content + canonical([self.price, self.table, self.free], "request")

    def question(self, hosted: Hosted, caller: Caller, *, dry_run: bool = True) -> Question:
        """Return the question to a data set, on account of a caller; nothing is spent yet."""
        # That of a plan asks for the answers to all of its questions.
        asked = self.asked(hosted, caller, dry_run=dry_run)
        return plan_parts(asked).question if isinstance(asked, QuestionPlan) else asked

    def asked(self, hosted: Hosted, caller: Caller, *, dry_run: bool = True) -> Asked:
        """Return the question, or the plan of several; nothing is spent yet."""
        content = {self.way: self.content}
        if self.way == "question":  # its fields are read together with its price
            content |= self.price
        canonical_text = canonical(content, "request", sort=False)
        return hosted.question(caller, self.table, canonical_text, self._build, dry_run=dry_run)

    def _build(self, session: Session) -> Asked:
        if not self.is_plan:
            return _question(session, self.way, self.content, self.price)
        fields = dict(self.content)
        questions = []
        for number, one in enumerate(fields.pop("questions"), 1):
            ((way, content),) = one.items()
            with _in_question(number):
                questions.append(_question(session, way, content, {}))
        aim = fields.pop("cheapest", None)
        plan = session.plan(questions, **fields)
        return plan if aim is None else plan.cheapest(**{"targets": {}, **aim}).plan


def _question(session: Session, way: str, content: Any, price: Mapping[str, Any]) -> Question:
    if way == "sql":
        return session.sql(content)
    if way == "described":
        return session.described(content)
    known_fields(content, ROWS, "the question")
    keys = content.get("keys")
    if keys is not None and keys != "labels" and not isinstance(keys, (list, dict)):
        raise UsageError("keys is a list of values, or of each column a list of values")
    return read_question({**content, **price}, declared=True).question(session)


@contextmanager
def _in_question(number: int) -> Iterator[None]:
    """Name the question of a plan in the message of an error."""
    where = f"question {number} of the plan"
    try:
        yield
    except UnsupportedQueryError as error:
        raise UnsupportedQueryError(f"{where}: {error.reason}", error.position) from None
    except UsageError as error:
        raise type(error)(f"{where}: {error}") from None


def members_of(asked: Asked) -> list[tuple[Mapping[str, str], Query]]:
    """Return the questions that are asked, each with the names of its labels in the answer."""
    # Labels that are named as in the question may be left out.
    if isinstance(asked, QuestionPlan):
        return [(member.labels, member.query) for member in plan_parts(asked).plan.members]
    return [({}, question_parts(asked).query)]


def preview_of(
    ask: Ask,
    hosted: Hosted,
    caller: Caller,
    *,
    rows: tuple[int, ...] = (100, 1_000, 10_000),
    confidence: str | None = "0.95",
    notes: tuple[str, ...] = (),
    hides: Callable[[str], bool] = lambda _: False,
    waits: Callable[[str], str | None] = lambda _: None,
    free: Callable[[Asked], dict[str, dict[str, Any]]] = lambda _: {},
) -> dict[str, Any]:
    """Return the cost of a release and its expected errors; reads no row."""
    # waits: returns in words when a schedule makes the release of a key; None where none does.
    # free: returns of each label the standard error of the answer that follows from what the caller
    #   may see, and the release it is from; nothing where it does not follow.
    if ask.free:
        return _free_preview(ask.question(hosted, caller), hosted.left(caller), notes, free)
    charge, expected, words, plan = hosted.previews.of(
        (caller.name, caller.team, ask.text, rows, confidence),
        lambda: _dry_preview(ask, hosted, caller, rows, confidence),
    )
    entry, left = hosted.look(charge)
    cost, charged = charge.cost_of(entry), entry.is_charged
    answered = entry.is_answered and not hides(charge.key)
    follows = {} if charged else free(ask.asked(hosted, caller))
    shown: Any = expected.to_json()
    shown["free"] = _errors(follows)
    shown["remaining"] = left.remaining.to_json()
    shown["limited_by"] = list(left.limits)
    scheduled = waits(charge.key) if charged and not answered else None
    affordable = shown["granted"] = scheduled is None and (charged or left.covers(cost))
    shown["whereabouts"] = ""  # a place on the machine of the service
    shown["notes"] = [*shown["notes"], *capped_words(left), *notes]
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
        "open": charged and not answered and scheduled is None,
        "scheduled": scheduled,
        "rows": list(rows),
        "columns": columns,
        **({} if plan is None else {"plan": _with_free(plan, follows)}),
    }


def _with_free(plan: dict[str, Any], follows: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a plan, with which of its questions follow from earlier releases."""
    questions = [
        {**one, "free": all(label in follows for label in one["labels"])}
        for one in plan["questions"]
    ]
    return {**plan, "questions": questions}


def _free_preview(
    question: Question,
    left: Left,
    notes: tuple[str, ...],
    free: Callable[[Asked], dict[str, dict[str, Any]]],
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
        notes=(*question.notes, *capped_words(left), *notes),
        granted=True,
        free=_errors(follows),
        limited_by=left.limits,
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
        "scheduled": None,
        "text": words,
        "protects": preview.protects,
        "rows": [],
        "columns": [],
        "notes": shown["notes"],
        "weak": preview.weak,
        "free": follows,
        "preview": shown,
    }


def capped_words(left: Left) -> tuple[str, ...]:
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
) -> DryPreview:
    """Return the part of a preview that public facts decide; the rest is looked up each time."""
    asked, question = ask.asked(hosted, caller), ask.question(hosted, caller)
    price: Any = ask.price  # that of a plan has one amount
    expected = asked.preview(**price, rows=rows, confidence=confidence)
    charge, words = charge_of(question, **ask.price), words_of(asked, ask.tag)
    plan = None
    if isinstance(asked, QuestionPlan):
        made = charge.requested_plan()
        plan = _plan_json(asked, ask, made, rows[len(rows) // 2])
    return DryPreview(charge, expected, words, plan)


def _plan_json(plan: QuestionPlan, ask: Ask, made: Plan, rows: int) -> dict[str, Any]:
    """Return the strategy of a plan, and its errors next to those of asking one by one."""
    # rows: the size of the table for which the errors of means and the like are.
    price: Any = ask.price
    loss = loss_of(price.get("epsilon"), price.get("rho"))
    members = members_of(plan)
    number = {own: index for index, (labels, _) in enumerate(members, 1) for own in labels.values()}
    answers = [
        {
            "label": one.label,
            "question": number[one.label],
            "numbers": one.numbers,
            "planned": one.planned,
            "alone": one.alone,
            "unit": one.unit,
            "share": str(one.part_share),
            "share_alone": str(one.share),
        }
        for one in comparison_of(plan, loss, rows, made).answers
    ]
    questions = [
        {
            "text": words_of(question),
            "labels": list(labels.values()),
            "described": question.described(),
        }
        for question, (labels, _) in zip(plan_parts(plan).questions, members, strict=True)
    ]
    strategy = [{**one, "share": str(one["share"])} for one in strategy_in_words(plan)]
    aim = ask.content.get("cheapest")
    least = {} if aim is None else {"least_loss": plan.cheapest(**aim).loss.to_json()}
    return {
        "rows": rows,
        "questions": questions,
        "answers": [finite_json(one) for one in answers],
        "strategy": strategy,
        **least,
    }


def words_of(asked: Asked, tag: str | None = None) -> str:
    """Describe a question in words, with the tag of its release."""
    if isinstance(asked, QuestionPlan):
        whole, number = words_of(plan_parts(asked).question, tag), len(members_of(asked))
        return f"{together_words(number)}: {whole[0].lower()}{whole[1:]}"
    return query_words(asked.described(), tag)


def query_words(query: Mapping[str, Any], tag: str | None = None) -> str:
    """Describe what is asked, without how its table is read."""
    # That is declared with the data set, and shown there.
    query = {**query, "reading": None}
    if "inner" in query:
        query["inner"] = {**query["inner"], "reading": None}
    return question_words({"query": query, "tag": tag})


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
