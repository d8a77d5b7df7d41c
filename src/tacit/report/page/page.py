"""The certificate as a page for a reviewer: one file, no script, nothing from outside.

All that a certificate says is escaped; a certificate may come from anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from html import escape
from typing import Any

from tacit.accounting import Budget
from tacit.arithmetic.exact import show
from tacit.errors import UsageError
from tacit.report.check.verify import Verification
from tacit.report.page.answers import answers
from tacit.report.page.css import CSS
from tacit.report.page.svg_chart import budget_bar
from tacit.report.text.chain_sentences import distance_words, recipe, step_words
from tacit.report.text.odds import STATED_DELTA, Odds, probability_words
from tacit.report.text.words import budget_words, question_words, unit_words

__all__ = ["certificate_page"]

_BELIEFS = (1, 10, 50, 90)


def certificate_page(body: Mapping[str, Any], verify: Callable[[], Verification]) -> str:
    """Return the body of a certificate as one HTML page, checked while it is written.

    Raises:
        UsageError: the certificate lacks something that a page tells.

    >>> from tacit.report import Certificate
    >>> Certificate({}).to_html()
    Traceback (most recent call last):
    tacit.errors.UsageError: this certificate is not whole, so that no page can be made of it ...
    """
    try:
        verification = verify()
        sections = [
            _head(body),
            _seal(verification),
            _released(body),
            _protected(body),
            _odds(body),
            _section("The answers", answers(body)),
            _budget(body),
            _chains(body),
            _checks(verification),
            _foot(body),
        ]
    except (
        *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError),
    ) as error:
        raise UsageError(
            "this certificate is not whole, so that no page can be made of it "
            f"({type(error).__name__}: {error}); verify() says more"
        ) from None
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>Certificate: {escape(_name(body))}</title>\n<style>{CSS}</style>\n</head>\n"
        f"<body>\n{''.join(sections)}</body>\n</html>\n"
    )


def _name(body: Mapping[str, Any]) -> str:
    """Return the public name of the data set, without the digest of its columns."""
    return str(body["dataset"]).rpartition(" (")[0] or str(body["dataset"])


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{content}</section>\n"


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(k)}</dt><dd>{escape(v)}</dd>' for k, v in facts)}</dl>\n"


def _head(body: Mapping[str, Any]) -> str:
    cost = Budget.from_json(body["spent"]["cost"])
    return (
        '<header><p class="kicker">Certificate of a private release</p>'
        f"<h1>{escape(_name(body))}</h1>"
        f'<p class="quiet">Released {escape(_when(body))} at a privacy loss of '
        f"<strong>{escape(budget_words(cost))}</strong>.</p></header>\n"
    )


def _when(body: Mapping[str, Any]) -> str:
    day, _, time = str(body["ledger"]["when"]).partition("T")
    return f"{day} at {time[:5]} UTC"


def _seal(found: Verification) -> str:
    if found:
        return (
            '<div class="seal"><b>✓</b><p><strong>The privacy loss was derived again from this '
            f"certificate, and it holds.</strong> {len(found.checked)} checks passed when this "
            "page was written. A page can be forged: check the certificate's JSON file itself with "
            "<code>tacit verify</code>.</p></div>\n"
        )
    return (
        '<div class="seal failed"><b>✗</b><p><strong>This certificate does not hold.</strong> '
        f"{len(found.failures)} checks failed; they stand below. Do not rely on it.</p></div>\n"
    )


def _released(body: Mapping[str, Any]) -> str:
    facts = [
        ("Data set", _name(body)),
        ("Question", question_words(body["question"])),
    ]
    if body["question"].get("tag"):
        facts.append(("Tag", str(body["question"]["tag"])))
    note = (
        '<p class="quiet">Bounds, groups and bins are part of the question: they were '
        "stated beforehand and reveal nothing about the data.</p>"
    )
    return _section("What was released", _facts(facts) + note)


def _protected(body: Mapping[str, Any]) -> str:
    unit = body["protects"]["unit"]
    row = unit["column"] is None
    who = "one row" if row else "one person, with all their rows,"
    facts = [
        ("Who is protected", unit_words(unit)),
        (
            "What is compared",
            f"the table as it is, and the same table with {who} added or removed. The answers are "
            "nearly as likely from one as from the other, so they do not reveal which it was",
        ),
    ]
    return _section("Who is protected", _facts(facts))


def _odds(body: Mapping[str, Any]) -> str:
    cost = Budget.from_json(body["spent"]["cost"])
    total = Budget.from_json(body["spent"]["budget"])
    asked = [(loss, steps) for loss in (cost, total) for steps in (1, 2)]
    odds = [Odds.of(loss, steps) for loss, steps in asked]
    rows = "".join(
        f"<tr><td>{before}%</td>{''.join(_odd(o, before, i) for i, o in enumerate(odds))}</tr>"
        for before in _BELIEFS
    )
    heads = 2 * '<th class="n gap">in the table at all</th><th class="n">which values</th>'
    table = (
        "<table><caption>How sure anybody can become about a person, at most</caption>"
        f'<thead><tr><th></th><th class="span" colspan="2">from this release</th>'
        f'<th class="span" colspan="2">from all releases, ever</th></tr>'
        f"<tr><th>sure before</th>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )
    first, whole = odds[0].percent(10), odds[2].percent(10)
    lead = (
        '<p class="lead">Someone who is 10% sure that a given person is in the table could become '
        f"at most <strong>{show(first)}%</strong> sure from this release, and at most "
        f"{show(whole)}% sure from everything that may be released under the whole budget.</p>"
    )
    return _section("What anybody can learn about a person", lead + table + _odds_note(cost, odds))


def _odd(odds: Odds, before: int, place: int) -> str:
    css = "n gap" if place % 2 == 0 else "n"
    return f'<td class="{css}{" strong" if place == 0 else ""}">{odds.percent(before):.1f}%</td>'


def _odds_note(cost: Budget, odds: Sequence[Odds]) -> str:
    note = (
        "“In the table at all” is about whether a given person is in the table. “Which "
        "values” is about somebody who is known to be in it: whether their rows say this or that. "
        "That is two steps, one version leaves and another joins, and counts twice. This holds "
        "whatever else the reader knows, and however they compute. It does not hide facts about "
        "people in general, which the answers are meant to show."
    )
    if cost.kind == "concentrated":
        note += (
            f" The loss is counted as {budget_words(cost)}, and stated here as an epsilon at a "
            f"delta of {show(STATED_DELTA)}."
        )
    exception = max(o.exception for o in odds)
    if exception:
        note += (
            " These figures hold except for answers that have a probability of at most "
            f"{probability_words(exception)}."
        )
    return f'<p class="quiet">{escape(note)}</p>'


def _budget(body: Mapping[str, Any]) -> str:
    spent = body["spent"]
    total, cost, left = (Budget.from_json(spent[n]) for n in ("budget", "cost", "remaining"))
    gone = total.amount - left.amount - cost.amount
    before = Budget(
        total.kind, max(gone, Fraction(0)), max(total.delta - left.delta - cost.delta, Fraction(0))
    )
    parts = [("before", "spent before", before), ("this", "this release", cost)]
    parts.append(("left", "left", left))
    shares = [float(budget.amount / total.amount) for _, _, budget in parts]
    key = "".join(
        f'<span><svg viewBox="0 0 16 16" aria-hidden="true"><rect class="{css}" x="1" y="1" '
        f'width="14" height="14"/></svg>{name}: {escape(budget_words(budget))}</span>'
        for css, name, budget in parts
    )
    text = (
        f"<p>All releases of this data set together may spend {escape(budget_words(total))}. "
        "The ledger refuses what would exceed it.</p>"
    )
    return _section("The budget", f'{text}{budget_bar(*shares)}<p class="key">{key}</p>')


def _chains(body: Mapping[str, Any]) -> str:
    loss = Budget.from_json(body["spent"]["cost"])
    lead = (
        "<p>Each answer is computed in steps. Each line states how far <em>one</em> person can "
        "move the result of its step; for the last step, the noise, that is the privacy loss. The "
        f"losses add up to at most {escape(budget_words(loss))}, which was charged.</p>"
    )
    titles = [str(chain["title"]) for chain in body["chains"]]
    tables = []
    for place, chain in enumerate(body["chains"]):
        same = titles.count(titles[place])
        nth = f", {titles[: place + 1].count(titles[place])} of {same}" if same > 1 else ""
        tables.append(f"<h3>{escape(titles[place] + nth)}</h3>{_chain(chain)}")
    return _section("The proof", lead + "".join(tables))


def _chain(chain: Mapping[str, Any]) -> str:
    measure = str(chain["measure"]["measure"])
    steps = chain["steps"]
    rows = [
        f"<tr><td>Start: one person comes or goes</td><td>{escape(str(chain['d_in']))}</td></tr>"
    ]
    for place, step in enumerate(steps):
        distance = distance_words(step, measure, place == len(steps) - 1)
        rows.append(
            f'<tr><td>{escape(step_words(step))}<span class="recipe mono">{escape(recipe(step))}'
            f"</span></td><td>{escape(distance)}</td></tr>"
        )
    return (
        '<table class="chain"><thead><tr><th>step</th><th>one person moves it by at most</th></tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _checks(found: Verification) -> str:
    def listed(mark: str, claims: Sequence[str]) -> str:
        items = "".join(f"<li><b>{mark}</b>{escape(claim)}</li>" for claim in dict.fromkeys(claims))
        return f'<ul class="checks">{items}</ul>'

    parts = []
    if found.failures:
        parts.append(f"<h3>Failed</h3>{listed('✗', found.failures)}")
    parts.append(f"<h3>Checked, without the data</h3>{listed('✓', found.checked)}")
    parts.append(f"<h3>Cannot be checked from here</h3>{listed('○', found.unchecked)}")
    return _section("What was checked", "".join(parts))


def _foot(body: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in body["versions"].items())
    ledger = body["ledger"]
    facts = [
        ("Made with", versions),
        ("Ledger", f"{ledger['id']}, charge {ledger['sequence']}"),
        ("Charge", str(ledger["hash"])),
        ("Digest", str(body["digest"])),
    ]
    listed = "".join(f'<dt>{escape(k)}</dt><dd class="mono">{escape(v)}</dd>' for k, v in facts)
    return (
        f"<footer><dl>{listed}</dl><p>Written by Tacit. The digest seals the certificate from "
        "which this page was made.</p></footer>\n"
    )
