"""Pages of data sets, questions, budgets, releases and administration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any
from urllib.parse import quote

from tacit.accounting.budget import Budget
from tacit.display.card import drawing
from tacit.display.svg_chart import PHONE_WIDTH, Mark, chart
from tacit.report import Certificate
from tacit.report.derived import without_derived
from tacit.report.odds import odds_words
from tacit.report.page import answers
from tacit.report.text import (
    budget_words,
    code_words,
    listed,
    number,
    protects_line,
    together_words,
)
from tacit.service.access import EVERYTHING, RIGHTS, Caller, decide
from tacit.service.pages.frame import bar, budget_of, when
from tacit.tables.plan.preview import Preview

# Pages of data sets, from replies of the API.


_MAX_KEYS = 12
_APPROVAL = "a reviewer decides on each release before it is made"
_MAX_BARS = 40  # of a chart
_NUMBERS = ("integer", "float", "decimal", "undeclared")


def home_of(name: str) -> str:
    """Return the address of a data set's page.

    >>> home_of("visits 2/3")
    '/datasets/visits%202%2F3'
    """
    return f"/datasets/{quote(name, safe='')}"


def protection(line: str) -> str:
    """Return whom answers protect, as a sentence without its full stop.

    >>> protection("protects: each row, which is another person")
    'Answers protect each row, which is another person'
    """
    return f"Answers protect {line.removeprefix('protects: ')}" if line else ""


def card(reply: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    name = str(reply["name"])
    asks = decide(caller, "preview", name).allowed
    return {
        "name": name,
        "href": home_of(name),
        "purpose": reply.get("purpose") or "",
        "protects": protection(str(reply.get("protects") or "")),
        "budget": _bar(reply),
        "wrong": reply.get("wrong", ""),
        "ask": f"{home_of(name)}/ask" if asks else None,
    }


def shown_dataset(
    reply: Mapping[str, Any], caller: Caller, *, from_page: bool = False
) -> dict[str, Any]:
    name = str(reply["name"])
    about = [
        ("Purpose", reply.get("purpose")),
        ("Owner", reply.get("owner")),
        ("Answers", _latency(reply.get("latency"))),
        ("Approval", _APPROVAL if reply.get("approval") else ""),
    ]
    notes = [reply.get("collusion"), reply.get("refreshes")]
    return {
        "name": name,
        "protects": protection(str(reply.get("protects") or "")),
        "about": [(title, words) for title, words in about if words],
        "whole": _bar(reply),
        "notes": [words for words in notes if words],
        "caps": [_cap(one) for one in reply.get("accounts") or ()],
        "tables": [_table(name, one) for name, one in reply["tables"].items()],
        "ask": f"{home_of(name)}/ask" if decide(caller, "preview", name).allowed else None,
        "plan": f"{home_of(name)}/plan" if decide(caller, "preview", name).allowed else None,
        "releases": f"/releases?dataset={quote(name, safe='')}",
        "count": f"{home_of(name)}/count" if decide(caller, "preview", name).allowed else None,
        "schedule": f"{home_of(name)}/schedule"
        if decide(caller, "preview", name).allowed
        else None,
        "change": f"{home_of(name)}/declaration"
        if from_page and decide(caller, "declare", name).allowed
        else None,
        "budgets": f"{home_of(name)}/budget"
        if decide(caller, "set_budget", name).allowed
        else None,
    }


def questionable(reply: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the columns of the first table that can be chosen by clicking."""
    # Returns: ``numbers`` with declared bounds, of which statistics are asked; and ``groups`` with
    # declared categories.
    columns = reply["tables"][reply["table"]]["columns"]
    numbers = [c["name"] for c in columns if c["kind"] in _NUMBERS and c.get("bounds")]
    groups = [c["name"] for c in columns if c.get("keys")]
    return {"numbers": numbers, "groups": groups}


def _bar(reply: Mapping[str, Any]) -> dict[str, Any] | None:
    total, remaining = reply.get("budget"), reply.get("remaining")
    return bar(total, remaining) if total and remaining else None


def _latency(seconds: Any) -> str:
    if not seconds:
        return ""
    many = "1 second" if seconds == 1 else f"{seconds:g} seconds"
    return f"leave on public ticks, {many} after a question and later"


def _cap(one: Mapping[str, Any]) -> dict[str, str]:
    return {
        "account": account_words(str(one["name"])),
        "total": budget_of(one.get("cap")) or "no share of its own",
        "spent": budget_of(one.get("spent")),
        "left": budget_of(one.get("remaining")),
    }


def _table(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    unit, size = table.get("unit"), table.get("size")
    if unit is None:
        key = ", ".join(table.get("key") or ())
        text = "This table is public; it costs nothing to join it" + (
            f", by {key}." if key else "."
        )
    else:
        text = f"{protection(protects_line(unit))}."
        text += f" About {size:,} people." if size else ""
    codes = (table.get("reading") or {}).get("missing", {})
    return {
        "name": name,
        "heading": f"Table {name}" + (" (public)" if unit is None else ""),
        "protects": text,
        "columns": [_column(one, codes.get(one["name"], ())) for one in table["columns"]],
    }


def _column(one: Mapping[str, Any], codes: Sequence[Any]) -> dict[str, str]:
    missing = f"missing: {', '.join(map(code_words, codes))}" if codes else ""
    known = [_known(one.get("bounds"), one.get("keys")), missing]
    meaning, unit = one.get("meaning") or "", one.get("unit")
    return {
        "name": str(one["name"]),
        "kind": str(one["kind"]),
        "known": "; ".join(filter(None, known)),
        "meaning": f"{meaning} (in {unit})".strip() if unit else meaning,
    }


def _known(bounds: Sequence[str] | None, keys: Sequence[Any] | None) -> str:
    if bounds:
        return f"{bounds[0]} to {bounds[1]}"
    if not keys:
        return ""
    shown = ", ".join("missing" if key is None else str(key) for key in keys[:_MAX_KEYS])
    return shown + (f" and {len(keys) - _MAX_KEYS} more" if len(keys) > _MAX_KEYS else "")


# Pages of questions: the query builder, and the preview.


# Statistics of the query builder: the function of SQL, and its words.
STATISTICS = (
    ("count", "how many rows"),
    ("avg", "the mean"),
    ("sum", "the sum"),
    ("median", "the median"),
    ("stddev", "the standard deviation"),
)
# The loss that a release spends, by kind of budget.
LOSSES = {"pure": "epsilon", "approximate": "epsilon", "concentrated": "rho"}


def sql_of(table: str, statistic: str, column: str, by: str) -> str:
    """Return a question that was chosen by clicking as SQL.

    >>> print(sql_of("visits", "avg", "cost", "site"))
    select "site", count(*) as n, avg("cost") as "avg_cost"
    from "visits"
    group by "site"
    """
    known = [name for name, _ in STATISTICS]
    columns = [_quoted(by)] if by else []
    columns.append("count(*) as n")
    if column and statistic in known and statistic != "count":
        columns.append(f"{statistic}({_quoted(column)}) as {_quoted(f'{statistic}_{column}')}")
    lines = [f"select {', '.join(columns)}", f"from {_quoted(table)}"]
    return "\n".join([*lines, *([f"group by {_quoted(by)}"] if by else [])])


def expected(
    reply: Mapping[str, Any], *, approval: bool, may_ask: bool, key: str
) -> dict[str, Any]:
    # key: the idempotency key of the release that may follow.
    preview, cost = Preview.from_json(reply["preview"]), Budget.from_json(reply["cost"])
    free = reply["replay"] or reply["open"]
    return {
        "verdict": _verdict(reply, cost),
        "odds": [odds_words(preview.cost)],
        "sizes": [f"{size:,}" for size in preview.rows],
        "rows": [
            {
                "label": label,
                "unit": preview.units[label],
                "cells": [number(each, each / 10) for each in errors],
            }
            for label, errors in preview.errors.items()
        ],
        "charts": [(label, _chart(preview, label)) for label in preview.intervals],
        "notes": _notes(preview),
        "free": _free(reply),
        "may_free": may_ask and "plan" not in reply,
        "may_release": may_ask and bool(reply["affordable"]),
        "button": "Show the answer, free" if free else f"Release, and spend {budget_words(cost)}",
        "approval": approval and not free,
        "key": key,
        "plan": _together(reply["plan"], reply["free"]) if "plan" in reply else None,
    }


def _together(plan: Mapping[str, Any], free: Mapping[str, Any]) -> dict[str, Any]:
    """Return the questions of a plan, its strategy, and its errors with and without it."""
    sizes = [(one, one["planned"], one["alone"]) for one in plan["answers"]]
    times = [
        (str(one["label"]), alone / planned) for one, planned, alone in sizes if planned and alone
    ]
    marks = [Mark(label, each, None, None, f"{each:.2f}") for label, each in times[:_MAX_BARS]]
    words = "How many times larger the error is when asked one by one"
    return {
        "rows": f"{plan['rows']:,}",
        "questions": [
            {
                "text": one["text"],
                "labels": ", ".join(one["labels"]),
                "free": _free_labels({n: free[n] for n in one["labels"]}) if one["free"] else "",
            }
            for one in plan["questions"]
        ],
        "answers": [
            {
                "label": one["label"],
                "question": one["question"],
                "unit": one["unit"],
                "planned": _error(planned),
                "alone": _error(alone),
                "share": _percent(one["share"]),
            }
            for one, planned, alone in sizes
        ],
        "strategy": [
            {
                "columns": " and ".join(map(str, one["columns"])) or "all rows",
                "cells": f"{one['cells']:,}",
                "share": _percent(one["share"]),
            }
            for one in plan["strategy"]
        ],
        "chart": drawing(chart(marks, bars=True, title=words, width=PHONE_WIDTH)) if marks else "",
    }


def _error(error: float | None) -> str:
    return "not known" if error is None else number(error, error / 10)


def _percent(share: str) -> str:
    """Format a share of a loss.

    >>> _percent("77/128")
    '60.2%'
    """
    return f"{float(Fraction(share)):.1%}"


def _verdict(reply: Mapping[str, Any], cost: Budget) -> str:
    left = budget_words(Budget.from_json(reply["remaining"]))
    limits = listed(reply["limited_by"])
    text = reply["text"]
    if "plan" in reply:  # the list of the questions has their words
        text = together_words(len(reply["plan"]["questions"]))
    if reply["replay"]:
        return f"{text}: this was asked before, and is free. {left} is left under {limits}."
    if reply["scheduled"]:
        remedy = "Wait for it, or ask with another tag, at a price of its own."
        return f"{text}: {reply['scheduled']}. {remedy}"
    if reply["open"]:
        return f"{text}: this was charged before, and is answered at no further cost."
    verdict = f"{text}: this costs {budget_words(cost)} of the {left} that is left under {limits}."
    do = "does" if len(reply["limited_by"]) == 1 else "do"
    return (
        verdict
        if reply["affordable"]
        else f"{verdict} {limits[:1].upper()}{limits[1:]} {do} not cover it."
    )


def _free(reply: Mapping[str, Any]) -> str:
    """Describe the answer that follows from earlier releases; empty if there is none."""
    if not reply["free"]:
        return ""
    labels = _free_labels(reply["free"])
    if "plan" in reply:
        return (
            f"These follow from releases that you can see, at no cost: {labels}. Ask them alone, "
            "free, and plan the others: they have less error then for the same loss."
        )
    return f"It follows from releases that you can see, at no cost: {labels}."


def _free_labels(follows: Mapping[str, Any]) -> str:
    errors = {label: one["standard_error"] for label, one in follows.items()}
    return ", ".join(
        f"{label} with a standard error of {number(error, error / 10)}"
        for label, error in errors.items()
    )


def _chart(preview: Preview, label: str) -> Any:
    """Plot the distance of an answer from the true value, at each size of a group."""
    halves = zip(preview.rows, preview.intervals[label], strict=True)
    marks = [
        Mark(f"{size:,} rows", 0.0, -half, half, f"± {number(half, half / 10)}")
        for size, half in halves
    ]
    return drawing(
        chart(marks, bars=False, title=f"{label}: distance from the true value", width=PHONE_WIDTH)
    )


def _notes(preview: Preview) -> list[str]:
    lines = [*preview.methods.items(), *preview.clamped().items()]
    notes = [f"{label}: {text}" for label, text in lines]
    notes += [
        f"{label}: refused with probability {text}" for label, text in preview.refused().items()
    ]
    if preview.threshold is not None:
        notes.append(f"A group is shown if it has about {preview.threshold} people or more.")
    return [*notes, *preview.notes, *([preview.weak] if preview.weak else [])]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# The page on which a curator raises a budget and sets caps, from replies of the API.


# Holders of a cap, and their words in the form.
CAP_HOLDERS = (
    ("team", "the team"),
    ("analyst", "the analyst"),
    ("team:*", "each team without a cap of its own"),
    ("analyst:*", "each analyst without a cap of their own"),
    ("dataset", "the data set, of several"),
)


def account_words(name: str) -> str:
    """Return the name of an account as pages show it.

    >>> account_words("team:*"), account_words("dataset:visits"), account_words("team:a")
    ('each other team', 'data set visits', 'team a')
    """
    kind, _, who = name.partition(":")
    kind = "data set" if kind == "dataset" else kind
    return f"each other {kind}" if who == "*" else f"{kind} {who}"


def account_in(one: Callable[[str], str]) -> str:
    """Return the account that a form names.

    >>> account_in({"whose": "team", "who": "oncology"}.__getitem__)
    'team:oncology'
    """
    kind, who = one("whose"), one("who").strip()
    return kind if kind.endswith("*") else f"{kind}:{who}"


def shown_budget(
    name: str, reply: Mapping[str, Any], left_open: Sequence[Mapping[str, Any]], per_team: bool
) -> dict[str, Any]:
    return {
        "name": name,
        "home": home_of(name),
        "whole": bar(reply["budget"], reply["remaining"]),
        "belongs_to": reply["belongs_to"],
        "collusion": reply["collusion"],
        "kind": reply["budget"]["kind"],
        "per_team": per_team,
        "holders": CAP_HOLDERS,
        "accounts": [_account(one) for one in reply["accounts"]],
        "left_open": [
            {
                "id": one["id"],
                "question": one["question"],
                "asked_by": one["asked_by"],
                "when": when(one["asked_at"]),
                "cost": budget_of(one["cost"]),
            }
            for one in left_open
        ],
    }


def _account(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "account": account_words(str(one["name"])),
        "total": budget_of(one.get("cap")) or "no cap",
        "spent": budget_of(one.get("spent")),
        "left": budget_of(one.get("remaining")),
        "bar": bar(one["cap"], one["remaining"]) if one.get("cap") else None,
    }


# Pages of releases, from replies of the API.


PENDING = ("queued", "running")  # the states in which an answer is on its way
_STATE_TEXT = {
    "waiting": "A reviewer decides first; nothing is spent before that.",
    "queued": "It is on its way.",
    "running": "It is on its way.",
    "done": "",
    "refused": "A reviewer refused it; nothing was spent.",
    "failed": "It could not be answered, and it stays charged. Ask the same again, at the same "
    "price: it is answered under that charge and costs no more.",
    "cancelled": "It was cancelled before it was charged; nothing was spent.",
}
_CANCELLED_LATE = (
    "It was cancelled, and it stays charged. Ask the same again, at the same price: it is answered "
    "under that charge and costs no more."
)
_MAX_GROUPS = 1000  # on a page
_BY_GROUP = ("value", "standard_error", "low", "high", "refused")
_DOWNLOADS = (
    ("csv", "wide", "CSV"),
    ("csv", "long", "CSV, a row for each number"),
    ("parquet", "wide", "Parquet"),
    ("arrow", "wide", "Arrow"),
    ("json", "wide", "JSON"),
    ("csvw", "wide", "CSV with its metadata (CSVW)"),
)
_CUBES = (("json-stat", "wide", "JSON-stat"), ("px", "wide", "PC-Axis"))  # of one set of bins


def _asked_sql(one: Mapping[str, Any]) -> str:
    """Return the SQL of a release, if it was asked in SQL: shorter than its words."""
    return str((one.get("request") or {}).get("sql") or "")


def row(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": one["id"],
        "question": _asked_sql(one) or one.get("question") or one["id"],
        "words": one.get("question") or "",
        "dataset": one["dataset"],
        "asked_by": one.get("asked_by") or "",
        "when": when(one.get("asked_at")),
        "cost": budget_of(one.get("cost")),
        "odds": odds_words(Budget.from_json(one["cost"])) if one.get("cost") else "",
        "state": one["state"],
    }


def reviewed(review: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reviewer decides by: what to expect, and who asked what before."""
    shown = expected(review["preview"], approval=True, may_ask=False, key="")
    return {**shown, "earlier": [row(one) for one in review["earlier"]]}


def shown_release(one: Mapping[str, Any], *, may_cancel: bool, may_decide: bool) -> dict[str, Any]:
    """Return the contents of the page of a release, without its answer."""
    state = str(one["state"])
    shown = row(one)
    team = one.get("team")
    about = [
        ("Requested by", shown["asked_by"] + (f" ({team})" if team else "")),
        ("Requested", shown["when"]),
        ("Cost", shown["cost"] + (", paid before: a replay" if one.get("replayed") else "")),
        ("Decided by", one.get("decided_by")),
        ("Reason", one.get("reason")),
        ("Tag", (one.get("request") or {}).get("tag")),
        ("Follows from", ", ".join(dict.fromkeys((one.get("follows_from") or {}).values()))),
        ("Data as of", when(one.get("data_from"))),
    ]
    error = one.get("error")
    count = len((one.get("request") or {}).get("questions", ()))
    if count:
        about.insert(0, ("Question", shown["question"]))
    elif _asked_sql(one):
        about.insert(0, ("In words", one.get("question")))
    return {
        **shown,
        "heading": together_words(count) if count else shown["question"],
        "home": home_of(shown["dataset"]),
        "word": state,
        "state_text": _CANCELLED_LATE
        if state == "cancelled" and one.get("left_open")
        else _STATE_TEXT.get(state, ""),
        "wrong": None if not error else error.get("error", error),
        "running": state in PENDING,
        "progress": one.get("progress") or 0,
        "about": [(title, words) for title, words in about if words],
        "schedule": (one.get("links") or {}).get("schedule", "").removeprefix("/v1"),
        "cancel": may_cancel and state in ("waiting", *PENDING),
        "decide": may_decide and state == "waiting",
        "review": None,
        "parts": [],
        "seal": None,
    }


def answered(
    one: Mapping[str, Any],
    certificate: Certificate,
    queries: Sequence[tuple[Mapping[str, Any], str]] = (),
    *,
    part: int = 1,
    first: int = 1,
) -> dict[str, Any]:
    """Return the answers and the certificate for the page of a release."""
    # queries: of a plan, each as the answer to it describes it, and in words.
    # first: the number of the group with which the answer to question ``part`` begins.
    address = f"/v1/releases/{quote(str(one['id']), safe='')}"
    body: Any = without_derived(certificate.body)
    if one["answers"] is None:
        parts = [_part(body, one["answer"], f"{address}/answer?", "", first)]
    else:
        asked = zip(queries, one["answers"], strict=True)
        parts = [
            _part(
                {"question": {"query": query}},
                answer,
                f"{address}/answer?question={index}&",
                words,
                first if index == part else 1,
            )
            for index, ((query, words), answer) in enumerate(asked, 1)
        ]
    verification = certificate.verify()
    many = len(verification.checked)
    words = f"The certificate holds: {many} checks passed when this page was written."
    if not verification:
        words = "The certificate does not hold; do not rely on this answer."
    return {
        "parts": parts,
        "certificate": f"{address}/certificate",
        "seal": {"words": words, "digest": certificate.body["digest"]},
    }


def _part(
    body: Mapping[str, Any], answer: Mapping[str, Any], address: str, words: str, first: int
) -> dict[str, Any]:
    """Return the answer to one question, from a group on, and the files of it."""
    groups = len(answer["keys"])
    first = min(first, max(1, groups))
    after = first + _MAX_GROUPS
    bins = {tuple(column.get("bins") or ()) for column in answer["columns"]}
    formats = (*_DOWNLOADS, *(_CUBES if len(bins) == 1 and answer["keys"] else ()))
    return {
        "words": words,
        "answers": answers({**body, "answer": _groups(answer, first)}, width=PHONE_WIDTH),
        "groups": None
        if groups <= _MAX_GROUPS
        else {
            "words": f"Groups {first:,} to {min(groups, after - 1):,} of {groups:,}",
            "before": max(1, first - _MAX_GROUPS) if first > 1 else None,
            "after": after if after <= groups else None,
        },
        "downloads": [(f"{address}format={f}&form={form}", name) for f, form, name in formats],
    }


def programs(address: str) -> list[tuple[str, str]]:
    """Return how a program gets an answer: by curl, and in R without a package.

    >>> [name for name, _ in programs("https://statistics.example/v1/releases/1/answer?format=csv")]
    ['curl', 'R']
    """
    # The token is named and not shown: what is on a page is copied into notebooks and tickets.
    curl = f'curl -H "Authorization: Bearer $TACIT_TOKEN" "{address}"'
    r = (
        'token <- paste("Bearer", Sys.getenv("TACIT_TOKEN"))\n'
        f'answer <- read.csv(url("{address}", headers = c(Authorization = token)))'
    )
    return [("curl", curl), ("R", r)]


def _groups(answer: Mapping[str, Any], first: int) -> dict[str, Any]:
    """Return the groups of an answer that a page shows, from one on."""
    shown = slice(first - 1, first - 1 + _MAX_GROUPS)
    columns = [
        {name: one[shown] if name in _BY_GROUP else one for name, one in column.items()}
        for column in answer["columns"]
    ]
    return {"keys": answer["keys"][shown], "columns": columns}


# Pages of tokens and of the audit log, from replies of the API.


def token(one: Mapping[str, Any], now: float) -> dict[str, Any]:
    ended = one.get("ended")
    void = ended or ("expired" if now >= one["expires"] else None)
    kinds = {"session": "a sign-in", "once": "a link"}
    names = {EVERYTHING: "all data sets"}
    grants = [f"{g['role']} on {names.get(g['dataset'], g['dataset'])}" for g in one["grants"]]
    return {
        "id": one["id"],
        "name": one["name"],
        "team": one.get("team"),
        "may": ", ".join(grants),
        "until": when(one["expires"]),
        "state": void or kinds.get(str(one.get("kind")), "valid"),
        "revoke": void is None,
    }


def roles(caller: Caller) -> list[str]:
    """Return the roles that a caller may grant somewhere; none where they may make no token."""
    return sorted(RIGHTS) if decide(caller, "tokens").allowed else []


def event(one: Mapping[str, Any]) -> dict[str, Any]:
    details = one.get("details") or {}
    more = ", ".join(
        f"{name} {when(value) if name == 'expires' else value}"
        for name, value in details.items()
        if isinstance(value, (str, int)) and not isinstance(value, bool)
    )
    team = one.get("team")
    return {
        "number": one["sequence"],
        "when": str(one["when"])[:19].replace("T", " "),
        "who": one["who"] + (f" ({team})" if team else ""),
        "action": str(one["action"]).replace("_", " "),
        "more": more,
        "dataset": one.get("dataset") or "",
        "outcome": one["outcome"],
    }
