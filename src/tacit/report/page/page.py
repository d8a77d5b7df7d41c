"""The certificate as a page for a reviewer: one file, no script, nothing from outside.

What the page says stands in ``templates``, which escape all that a certificate says; a certificate
may come from anybody.  Here is what they are filled with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tacit.accounting import Budget
from tacit.accounting.budgets.shares import share
from tacit.arithmetic.exact import show
from tacit.display.card import Card, Share, Shares
from tacit.display.svg_chart import budget_bar
from tacit.display.templating import drawing, render
from tacit.errors import UsageError
from tacit.report.check.format import FOLLOWING
from tacit.report.check.verification import Verification
from tacit.report.page.answers import answers
from tacit.report.text.chain_sentences import distance_words, recipe, step_words
from tacit.report.text.odds import STATED_DELTA, Odds, probability_words
from tacit.report.text.words import (
    budget_words,
    declared_words,
    people_words,
    protects_line,
    question_words,
    unit_words,
)

__all__ = ["BROKEN", "certificate_card", "certificate_page", "summary"]

BROKEN = (*(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError),)
"""What a certificate that is not whole may raise."""
_BELIEFS = (1, 10, 50, 90)


def certificate_page(body: Mapping[str, Any], verify: Callable[[], Verification]) -> str:
    """Return the body of a certificate as one HTML page, checked while it is written.

    Raises:
        UsageError: the certificate lacks something that a page shows.
        MissingExtraError: jinja2 is not installed.

    >>> from tacit.report import Certificate
    >>> Certificate({}).to_html()
    Traceback (most recent call last):
    tacit.errors.UsageError: this certificate is incomplete, so no page can be made from it ...
    """
    following = body.get("format") == FOLLOWING
    try:
        given = _followed(body, verify()) if following else _given(body, verify())
    except BROKEN as error:
        raise UsageError(
            "this certificate is incomplete, so no page can be made from it "
            f"({type(error).__name__}: {error}); verify() says more"
        ) from None
    return render(__package__, "following.html" if following else "certificate.html", given)


def summary(body: Mapping[str, Any]) -> list[str]:
    """Return the lines that tell a certificate in text; the first names whom it protects."""
    if body.get("format") == FOLLOWING:
        facts = [*_released(body), *_sources(body), ("Digest", str(body["digest"]))]
        first = protects_line(body["question"]["query"]["unit"])
        return [first, *(f"{name.lower()}: {told}" for name, told in facts)]
    cost = Budget.from_json(body["spent"]["cost"])
    facts = [*_released(body), ("Released", f"{_when(body)}, at {budget_words(cost)}")]
    facts += [("Digest", str(body["digest"]))]
    first = protects_line(body["question"]["query"]["unit"])
    return [first, *(f"{name.lower()}: {told}" for name, told in facts)]


def certificate_card(body: Mapping[str, Any]) -> Card:
    """Return what a notebook shows of a certificate; nothing of it is checked for that.

    Raises:
        Exception: one of :data:`BROKEN`, where the certificate is not whole.
    """
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


def _given(body: Mapping[str, Any], found: Verification) -> dict[str, Any]:
    """Return all that the page shows, as text and lists of text."""
    cost = Budget.from_json(body["spent"]["cost"])
    return {
        "name": _name(body),
        "protects": protects_line(body["question"]["query"]["unit"]),
        "when": _when(body),
        "cost": budget_words(cost),
        "holds": bool(found),
        "checked_count": len(found.checked),
        "failed_count": len(found.failures),
        "released": _released(body),
        "protected": _protected(body),
        "odds": _odds(body, cost),
        "answers": answers(body),
        "budget": _with_bar(_budget(body, cost)),
        "chains": _chains(body),
        "checks": _checks(found),
        "foot": _foot(body),
    }


def _followed(body: Mapping[str, Any], found: Verification) -> dict[str, Any]:
    """Return all that the page of an answer shows that follows from earlier releases."""
    unit = body["question"]["query"]["unit"]
    foot = [("Made with", ", ".join(f"{name} {one}" for name, one in body["versions"].items()))]
    return {
        "name": _name(body),
        "protects": protects_line(unit),
        "holds": bool(found),
        "checked_count": len(found.checked),
        "failed_count": len(found.failures),
        "released": _released(body),
        "sources": _sources(body),
        "answers": answers(body),
        "checks": _checks(found),
        "foot": [*foot, ("Digest", str(body["digest"]))],
    }


def _sources(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the releases that an answer follows from, each with what follows from it."""
    told = []
    for place, source in enumerate(body["sources"]):
        labels = ", ".join(label for label, of in body["from"].items() if of == place)
        cost = budget_words(Budget.from_json(source["spent"]["cost"]))
        words = f"{question_words(source['question'])}, released {_when(source)} at {cost}"
        told.append((f"{labels} from", f"{words}; digest {str(source['digest'])[:16]}"))
    return told


def _name(body: Mapping[str, Any]) -> str:
    """Return the public name of the data set, without the digest of its columns."""
    return str(body["dataset"]).rpartition(" (")[0] or str(body["dataset"])


def _when(body: Mapping[str, Any]) -> str:
    day, _, time = str(body["ledger"]["when"]).partition("T")
    return f"{day} at {time[:5]} UTC"


def _released(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [("Data set", _name(body)), ("Question", question_words(body["question"]))]
    told = declared_words(body.get("declared", {}), body["question"]["query"])
    facts += [("Declared", "; ".join(told))] if told else []
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
    told = [(css, name, budget_words(one), share(one, total)) for css, name, one in parts]
    return {"total": budget_words(total), "parts": told}


def _with_bar(budget: Mapping[str, Any]) -> dict[str, Any]:
    parts = budget["parts"]
    bar = drawing(budget_bar(*(one for *_, one in parts)))
    return {**budget, "bar": bar, "parts": [part[:-1] for part in parts]}


def _chains(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    titles = [str(chain["title"]) for chain in body["chains"]]
    shown = []
    for place, chain in enumerate(body["chains"]):
        same = titles.count(titles[place])
        nth = f", {titles[: place + 1].count(titles[place])} of {same}" if same > 1 else ""
        shown.append({"title": titles[place] + nth, **_chain(chain)})
    return shown


def _chain(chain: Mapping[str, Any]) -> dict[str, Any]:
    measure = str(chain["measure"]["measure"])
    last = len(chain["steps"]) - 1
    steps = [
        {
            "words": step_words(step),
            "recipe": recipe(step),
            "distance": distance_words(step, measure, place == last),
        }
        for place, step in enumerate(chain["steps"])
    ]
    return {"start": str(chain["d_in"]), "steps": steps}


def _checks(found: Verification) -> list[tuple[str, str, Sequence[str]]]:
    """Return the lists of claims, each with its title and its mark; every claim once."""
    lists = [
        ("Checked, without the data", "✓", found.checked),
        ("Cannot be checked from here", "○", found.unchecked),
    ]
    if found.failures:
        lists.insert(0, ("Failed", "✗", found.failures))
    return [(title, mark, list(dict.fromkeys(claims))) for title, mark, claims in lists]


def _foot(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    ledger = body["ledger"]
    return [
        ("Made with", ", ".join(f"{name} {one}" for name, one in body["versions"].items())),
        *_charged(ledger),
        ("Digest", str(body["digest"])),
    ]


def _charged(ledger: Mapping[str, Any]) -> list[tuple[str, str]]:
    if ledger["sequence"] is None:
        return [("Ledger", f"{ledger['id']}, which finds the charge by its question")]
    place = f"{ledger['id']}, event {ledger['sequence']}"
    return [("Ledger", place), ("Charge", str(ledger["hash"]))]
