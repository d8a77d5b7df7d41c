"""Certificates as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tacit.accounting import Budget
from tacit.accounting.budget import share
from tacit.arithmetic.exact import show
from tacit.display.card import Card, Share, Shares, drawing, render
from tacit.display.svg_chart import PHONE_WIDTH, Mark, budget_bar, chart
from tacit.errors import UsageError
from tacit.report.issued import FOLLOWING, Verification
from tacit.report.odds import STATED_DELTA, Odds, probability_words
from tacit.report.text import (
    aggregate_words,
    answer_words,
    budget_words,
    declared_words,
    distance_words,
    labelled_key,
    labels_in,
    number,
    people_words,
    protects_line,
    question_words,
    recipe,
    step_words,
    unit_words,
    value_words,
)

# The answers of a certificate: what a page shows of them, as charts and tables.


_MAX_MARKS = 60
_MAX_PANELS = 12
# Answers with their ranges in one line of the table; of more each has a line of its own.
_MAX_SIDE_BY_SIDE = 2


def answers(body: Mapping[str, Any], width: int = 720) -> dict[str, Any]:
    """Return what the template shows: each answer with its chart, then all of them as a table."""
    query = body["question"]["query"]
    aggregates = dict(query["aggregates"])
    by = [str(name) for name in query["by"]]
    labels = labels_in(body.get("declared"), by)
    keys = [
        [labelled_key(part, known) for part, known in zip(key, labels, strict=False)]
        for key in body["answer"]["keys"]
    ]
    if any("periods" in aggregate for aggregate in aggregates.values()):
        by = ["period"]  # not a column of the table
    if not keys:
        none = "period is over yet" if by == ["period"] else "group was above the threshold"
        return {"none": none}
    columns = [*body["answer"]["columns"], *body.get("derived", ())]
    plain = [column for column in columns if column.get("bins") is None]
    tidy = len(plain) > _MAX_SIDE_BY_SIDE
    return {
        "none": None,
        "columns": [
            _shown(one, aggregates.get(one["label"], one), keys, by, width) for one in columns
        ],
        "by": by,
        "labels": [str(column["label"]) for column in plain],
        "tidy": tidy,
        "table": (_tidy(plain, keys) if tidy else _table(plain, keys)) if plain else None,
    }


def _shown(
    column: Mapping[str, Any],
    aggregate: Mapping[str, Any],
    keys: Sequence[Sequence[str]],
    by: Sequence[str],
    width: int,
) -> dict[str, Any]:
    """Return one answer: its words, its chart or panels, and its table of bins."""
    words = aggregate_words(aggregate) + (f", by {', '.join(by)}" if by else "")
    name, heading = answer_words(str(column["kind"])).each
    head = {"head": [*by, name], "heading": heading}
    shown: dict[str, Any] = {"chart": None, "narrow": None, "panels": None, "bins": None, **head}
    if column.get("bins") is None:
        shown |= _chart(column, [" / ".join(key) for key in keys], words, width)
    else:
        shown |= _histogram(column, keys, by, words, width)
    return {
        "label": str(column["label"]),
        "words": words,
        "choice": _choice(column.get("method", {})),
        **shown,
    }


def _choice(method: Mapping[str, Any]) -> str:
    """Describe what ``auto`` chose, and by which numbers; empty if a method was named."""
    if method.get("asked") != "auto":
        return ""
    errors = ", ".join(f"{name} {number(error)}" for name, error in method["errors"].items())
    chosen = f"Answered by the method {method['used']}: of the expected errors on "
    chosen += f"{method['rows']:,} synthetic rows ({errors}) it has the least."
    return chosen.replace("_", " ")


def _chart(
    column: Mapping[str, Any], labels: Sequence[str], words: str, width: int
) -> dict[str, Any]:
    if not 0 < len(labels) <= _MAX_MARKS:
        return {}
    marks = [_mark(column, label, (index,)) for index, label in enumerate(labels)]
    return _drawn(marks, answer_words(str(column["kind"])).amount, words, width)


def _drawn(marks: Sequence[Mark], bars: bool, words: str, width: int) -> dict[str, Any]:
    """Return a chart, and a narrow one for phones, of which a style shows one."""
    drawn = {"chart": drawing(chart(marks, bars, words, width))}
    if width > PHONE_WIDTH:
        drawn["narrow"] = drawing(chart(marks, bars, words, PHONE_WIDTH))
    return drawn


def _histogram(
    column: Mapping[str, Any],
    keys: Sequence[Sequence[str]],
    by: Sequence[str],
    words: str,
    width: int,
) -> dict[str, Any]:
    bins = [str(name) for name in column["bins"]]
    bars = answer_words(str(column["kind"])).amount
    lines = {"bins": _bins(column, keys)}  # all values, with their ranges, below any chart
    if not by and len(bins) <= _MAX_MARKS:
        marks = [_mark(column, name, (0, i)) for i, name in enumerate(bins)]
        return lines | _drawn(marks, bars, words, width)
    if not by or len(keys) > _MAX_PANELS or len(bins) > 20:
        return lines
    panels = []
    for index, key in enumerate(keys):
        marks = [_mark(column, name, (index, i)) for i, name in enumerate(bins)]
        title = " / ".join(f"{name} {part}" for name, part in zip(by, key, strict=True))
        panels.append((title, drawing(chart(marks, bars, f"{words}, {title}", width=350))))
    return lines | {"panels": panels}


def _bins(column: Mapping[str, Any], keys: Sequence[Sequence[str]]) -> list[Any]:
    """Return the lines of a histogram as a table: one a bin and group."""
    return [
        ([*key, str(name)], [_cell(column, (index, i))])
        for index, key in enumerate(keys)
        for i, name in enumerate(column["bins"])
    ]


def _tidy(columns: Sequence[Mapping[str, Any]], keys: Sequence[Sequence[str]]) -> list[Any]:
    """Return the lines of all other answers: one per group and answer, as wide as a page."""
    return [
        ([*key, str(column["label"])], [_cell(column, (index,))])
        for index, key in enumerate(keys)
        for column in columns
    ]


def _table(columns: Sequence[Mapping[str, Any]], keys: Sequence[Sequence[str]]) -> list[Any]:
    """Return the lines of all other answers: one per group."""
    return [
        (key, [_cell(column, (index,)) for column in columns]) for index, key in enumerate(keys)
    ]


def _cell(column: Mapping[str, Any], index: tuple[int, ...]) -> dict[str, Any]:
    value, low, high = value_words(*_parts(column, index))
    return {
        "value": value,
        "low": low,
        "high": high,
        "refused": bool(column.get("refused") and column["refused"][index[0]]),
        "unknown": _at(column["low"], index) is None and _at(column["high"], index) is None,
    }


def _mark(column: Mapping[str, Any], label: str, index: tuple[int, ...]) -> Mark:
    value, error, low, high = _parts(column, index)
    return Mark(label, value, low, high, value_words(value, error, low, high)[0])


def _parts(column: Mapping[str, Any], index: tuple[int, ...]) -> tuple[Any, Any, Any, Any]:
    value, error, low, high = (
        _at(column[part], index) for part in ("value", "standard_error", "low", "high")
    )
    return value, error, low, high


def _at(column: Any, position: tuple[int, ...]) -> Any:
    for index in position:
        column = column[index]
    return column


# The certificate as a page for a reviewer: one file, no script, nothing from outside.
#
# What the page says is in ``templates``, which escape all that a certificate says; a
# certificate may come from anyone.  Here is what they are filled with.


# What a certificate that is not whole may raise.
PARSE_ERRORS = (
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError),
)
_BELIEFS = (1, 10, 50, 90)


def certificate_page(body: Mapping[str, Any], verify: Callable[[], Verification]) -> str:
    """Return the body of a certificate as one HTML page, checked while it is written.

    >>> from tacit.report import Certificate
    >>> Certificate({}).to_html()
    Traceback (most recent call last):
    tacit.errors.UsageError: this certificate is incomplete, so no page can be made from it ...
    """
    following = body.get("format") == FOLLOWING
    try:
        given = _followed(body, verify()) if following else _given(body, verify())
    except PARSE_ERRORS as error:
        raise UsageError(
            "this certificate is incomplete, so no page can be made from it "
            f"({type(error).__name__}: {error}); verify() says more"
        ) from None
    return render(__package__, "following.html" if following else "certificate.html", given)


def summary(body: Mapping[str, Any]) -> list[str]:
    """Return the lines that tell a certificate in text; the first names whom it protects."""
    if body.get("format") == FOLLOWING:
        more = _sources(body)
    else:
        cost = budget_words(Budget.from_json(body["spent"]["cost"]))
        more = [("Released", f"{_when(body)}, at {cost}")]
    facts = [*_released(body), *more, ("Digest", str(body["digest"]))]
    first = protects_line(body["question"]["query"]["unit"])
    return [first, *(f"{name.lower()}: {text}" for name, text in facts)]


def certificate_card(body: Mapping[str, Any]) -> Card:
    """Return what a notebook shows of a certificate; nothing of it is checked for that."""
    first, *facts = summary(body)
    if body.get("format") == FOLLOWING:
        todo = "not checked yet: .verify() derives it again, .save('name.html') writes the page"
        return Card(f"Free answer: {_name(body)}", first, [], [*facts, todo])
    cost = Budget.from_json(body["spent"]["cost"])
    budget, odds = _budget(body, cost), _odds(body, cost)
    bar = Shares(budget["total"], [Share(*part) for part in budget["parts"]])
    sure = (
        f"someone who is 10% sure that a person is in the table could become at most "
        f"{odds['first']}% sure from this release"
    )
    todo = "not checked yet: .verify() derives the loss again, .save('name.html') writes the page"
    return Card(f"Certificate: {_name(body)}", first, [bar], [*facts, sure, todo])


def _shared(body: Mapping[str, Any], verification: Verification) -> dict[str, Any]:
    """Return what both pages show, as text and lists of text."""
    return {
        "name": _name(body),
        "protects": protects_line(body["question"]["query"]["unit"]),
        "holds": bool(verification),
        "checked_count": len(verification.checked),
        "failed_count": len(verification.failures),
        "released": _released(body),
        "answers": answers(body),
        "checks": _checks(verification),
    }


def _given(body: Mapping[str, Any], verification: Verification) -> dict[str, Any]:
    """Return all that the page of a release shows."""
    cost = Budget.from_json(body["spent"]["cost"])
    return _shared(body, verification) | {
        "when": _when(body),
        "cost": budget_words(cost),
        "protected": _protected(body),
        "odds": _odds(body, cost),
        "budget": _with_bar(_budget(body, cost)),
        "chains": _chains(body),
        "foot": _foot(body, _charged(body["ledger"])),
    }


def _followed(body: Mapping[str, Any], verification: Verification) -> dict[str, Any]:
    """Return all that the page of an answer shows that follows from earlier releases."""
    return _shared(body, verification) | {"sources": _sources(body), "foot": _foot(body)}


def _sources(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the releases that an answer follows from, each with what follows from it."""
    rows = []
    for index, source in enumerate(body["sources"]):
        labels = ", ".join(label for label, of in body["from"].items() if of == index)
        cost = budget_words(Budget.from_json(source["spent"]["cost"]))
        words = f"{question_words(source['question'])}, released {_when(source)} at {cost}"
        rows.append((f"{labels} from", f"{words}; digest {str(source['digest'])[:16]}"))
    return rows


def _name(body: Mapping[str, Any]) -> str:
    """Return the public name of the data set, without the digest of its columns."""
    return str(body["dataset"]).rpartition(" (")[0] or str(body["dataset"])


def _when(body: Mapping[str, Any]) -> str:
    day, _, time = str(body["ledger"]["when"]).partition("T")
    return f"{day} at {time[:5]} UTC"


def _released(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [("Data set", _name(body)), ("Question", question_words(body["question"]))]
    sentences = declared_words(body.get("declared", {}), body["question"]["query"])
    facts += [("Declared", "; ".join(sentences))] if sentences else []
    tag = body["question"].get("tag")
    return [*facts, ("Tag", str(tag))] if tag else facts


def _protected(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    unit = body["protects"]["unit"]
    who = "one row" if unit["column"] is None else "one person, with all their rows,"
    compared = (
        f"the table as it is, and the same table with {who} added or removed. The answers are "
        "nearly as likely from one as from the other, so they do not reveal which it was"
    )
    facts = [("Who is protected", unit_words(unit)), ("What is compared", compared)]
    if "assumes" in body["protects"]:
        facts.append(("What is assumed", str(body["protects"]["assumes"]["meaning"])))
    query = body["question"]["query"]
    if "inner" in query:
        row = (
            "all rows of a person are made into one row of that person first, and that row counts "
            "in full: none is down-weighted"
        )
        facts.append(("In this release", row))
    tables = query.get("tables", ())
    if len(tables) < 2:
        return facts
    shared = f"{people_words(tables)}: a person is added to or removed from all of them at once"
    return [*facts, ("In several tables", shared)]


def _odds(body: Mapping[str, Any], cost: Budget) -> dict[str, Any]:
    total = Budget.from_json(body["spent"]["budget"])
    odds = [Odds.of(loss, steps) for loss in (cost, total) for steps in (1, 2)]
    exception = max(o.exception for o in odds)
    return {
        "first": show(odds[0].percent(10)),
        "whole": show(odds[2].percent(10)),
        "rows": [(p, [f"{o.percent(p):.1f}" for o in odds]) for p in _BELIEFS],
        "concentrated": cost.kind == "concentrated",
        "delta": show(STATED_DELTA),
        "exception": probability_words(exception) if exception else None,
    }


def _budget(body: Mapping[str, Any], cost: Budget) -> dict[str, Any]:
    total, left = (Budget.from_json(body["spent"][name]) for name in ("budget", "remaining"))
    gone = total.amount - left.amount - cost.amount
    delta = total.delta - left.delta - cost.delta
    before = Budget(total.kind, max(gone, Fraction(0)), max(delta, Fraction(0)))
    parts = [("before", "spent before", before), ("this", "this release", cost)]
    parts.append(("left", "left", left))
    bars = [(css, name, budget_words(one), share(one, total)) for css, name, one in parts]
    return {"total": budget_words(total), "parts": bars}


def _with_bar(budget: Mapping[str, Any]) -> dict[str, Any]:
    parts = budget["parts"]
    bar = drawing(budget_bar(*(one for *_, one in parts)))
    return {**budget, "bar": bar, "parts": [part[:-1] for part in parts]}


def _chains(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    titles = [str(chain["title"]) for chain in body["chains"]]
    shown = []
    for index, chain in enumerate(body["chains"]):
        same = titles.count(titles[index])
        nth = f", {titles[: index + 1].count(titles[index])} of {same}" if same > 1 else ""
        shown.append({"title": titles[index] + nth, **_chain(chain)})
    return shown


def _chain(chain: Mapping[str, Any]) -> dict[str, Any]:
    measure = str(chain["measure"]["measure"])
    last = len(chain["steps"]) - 1
    steps = [
        {
            "words": step_words(step),
            "recipe": recipe(step),
            "distance": distance_words(step, measure, index == last),
        }
        for index, step in enumerate(chain["steps"])
    ]
    return {"start": str(chain["d_in"]), "steps": steps}


def _checks(verification: Verification) -> list[tuple[str, str, Sequence[str]]]:
    """Return the lists of claims, each with its title and its mark; every claim once."""
    lists = [
        ("Checked, without the data", "✓", verification.checked),
        ("Cannot be checked from here", "○", verification.unchecked),
    ]
    if verification.failures:
        lists.insert(0, ("Failed", "✗", verification.failures))
    return [(title, mark, list(dict.fromkeys(claims))) for title, mark, claims in lists]


def _foot(
    body: Mapping[str, Any], charged: Sequence[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    made_with = ", ".join(f"{name} {one}" for name, one in body["versions"].items())
    return [("Made with", made_with), *charged, ("Digest", str(body["digest"]))]


def _charged(ledger: Mapping[str, Any]) -> list[tuple[str, str]]:
    if ledger["sequence"] is None:
        return [("Ledger", f"{ledger['id']}, which finds the charge by its question")]
    event = f"{ledger['id']}, event {ledger['sequence']}"
    return [("Ledger", event), ("Charge", str(ledger["hash"]))]
