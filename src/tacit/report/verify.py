"""Certificates checked without the data, and answers that follow from others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tacit.accounting import Budget, Entry, Ledger
from tacit.accounting.ledger import parts_of
from tacit.accounting.ledger_chain import canonical
from tacit.accounting.odometer import Spending
from tacit.report.derived import check_derived, columns_at, without_derived
from tacit.report.issued import (
    ACCURACY,
    ASSUMED,
    FIRST_FORMAT,
    FOLLOWING,
    FORMAT,
    ReplannedQuestion,
    Verification,
    difference,
    digest,
    fields_of,
    issued_body,
    planner,
    protects,
    sealed,
    short,
    versions,
)

# Whether the certificate of an answer that follows from earlier releases holds.


_PARTS = {
    *("format", "dataset", "protects", "question", "table", "sources", "from", "spent", "answer"),
    *("accuracy", "versions", "digest"),
}
_ACCURACY = "errors and 95% intervals count the noise of the releases that it follows from"
_SAME_TABLE = "that the table was the same one when these releases were made"


def following_body(
    question: Mapping[str, Any],
    answer: Mapping[str, Any],
    by_label: Mapping[str, int],
    sources: Sequence[Mapping[str, Any]],
    versions: Mapping[str, str],
    texts: Sequence[bytes] | None = None,
) -> dict[str, Any]:
    """Return the body of the certificate of an answer that follows from releases."""
    first = sources[0]
    kind = first["spent"]["budget"]["kind"]
    body = {
        "format": FOLLOWING,
        "dataset": first["dataset"],
        "protects": first["protects"],
        "question": dict(question),
        "table": first["table"],
        "sources": [dict(source) for source in sources],
        "from": dict(by_label),
        "spent": {"cost": Budget.nothing(kind).charged_json()},
        "answer": dict(answer),
        "accuracy": _ACCURACY,
        "versions": dict(versions),
    }
    fields = None if texts is None else {"sources": texts}
    return {**body, "digest": digest(body, fields)}


def recorded_part(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a ledger keeps of an answer that follows: what was asked, and from which."""
    # Where a charge is on someone's account its certificate does not tell its hash.
    return {
        "follows": body["question"],
        "from": [source["ledger"]["hash"] or source["digest"] for source in body["sources"]],
        "digest": body["digest"],
    }


def verify_following(
    body: Mapping[str, Any],
    ledger: Ledger | None,
    verify: Callable[[Mapping[str, Any], Ledger | None], Verification],
) -> Verification:
    """Check a certificate of an answer that follows from others."""
    verification = Verification()
    verification.check("the certificate is as it was sealed", lambda: _sealed(body))
    verification.check(
        "it has the parts of a certificate, and no others", lambda: _missing_part(body)
    )
    about = "the releases that it follows from are of the same data set, and protect the same unit"
    verification.check(about, lambda: _about(body))
    for index, source in enumerate(_sources(body), 1):
        _one(verification, index, source, verify(source, ledger))
    claim = "the answer, its errors and its intervals follow from these releases alone"
    verification.check(claim, lambda: _answers(body))
    check_derived(verification, body)
    verification.check("it costs nothing: no row was read for it", lambda: _cost(body))
    if ledger is not None:
        verification.check(
            "the ledger says from which releases it follows", lambda: _in(body, ledger)
        )
    verification.unchecked += [_SAME_TABLE] if len(_sources(body)) > 1 else []
    return verification


def _sources(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    texts = body.get("sources")
    return [s for s in texts if isinstance(s, Mapping)] if isinstance(texts, list) else []


def _one(verification: Verification, index: int, source: Any, result: Verification) -> None:
    name = f"release {index} ({str(source.get('digest'))[:12]})"
    verification.failures += [f"{name}: {text}" for text in result.failures]
    verification.unchecked += [
        text for text in result.unchecked if text not in verification.unchecked
    ]
    if result:
        verification.checked.append(
            f"{name} holds: {len(result.checked)} checks of its certificate passed"
        )


def _sealed(body: Mapping[str, Any]) -> str | None:
    return None if digest(body) == body["digest"] else "its digest is another: the page was changed"


def _missing_part(body: Mapping[str, Any]) -> str | None:
    if set(body) - {"derived"} != _PARTS or set(body["question"]) != {"query", "tag"}:
        return f"it has the parts {', '.join(map(str, body))}"
    if not body["sources"] or any(source["format"] == FOLLOWING for source in body["sources"]):
        return "it follows from releases, one at least"
    return None if body["accuracy"] == _ACCURACY else "it says something else of its accuracy"


def _about(body: Mapping[str, Any]) -> str | None:
    for source in body["sources"]:
        for name in ("dataset", "protects", "table"):
            other = difference(body[name], source[name], name)
            if other is not None:
                return other
        if source["question"]["tag"] != body["question"]["tag"]:
            return "a release has another tag: it may be of another version of the table"
    terms = body["protects"]
    unit = {"unit": terms["unit"], "neighbours": terms["neighbours"]}
    stated = {name: value for name, value in terms.items() if name != "assumes"}
    return difference(stated, protects(unit))


def _answers(body: Mapping[str, Any]) -> str | None:
    again = planner().follow(body["question"]["query"], body["table"], body["sources"])
    if again is None:
        return "it does not follow from these releases"
    answer, by_label = again
    if by_label != body["from"] or set(by_label.values()) != set(range(len(body["sources"]))):
        return "it is said to follow from others of these releases"
    return difference(body["answer"], answer, "answer", close=True)


def _cost(body: Mapping[str, Any]) -> str | None:
    kind = body["sources"][0]["spent"]["budget"]["kind"]
    return difference(body["spent"], {"cost": Budget.nothing(kind).charged_json()}, "spent")


def _in(body: Mapping[str, Any], ledger: Ledger) -> str | None:
    bare = without_derived(body)
    wanted = recorded_part({**bare, "digest": digest(bare)})
    for entry in ledger.history():
        if any(difference(part, wanted) is None for part in parts_of(ledger, entry)):
            return None
    return "it holds no record of this answer"


# Checking a certificate: its question is planned again, and all that follows is compared.


_ALWAYS_OPEN = (
    "that the answers came from this data set, by this version of the code",
    "that the noise was drawn as the chain says, from a secure source, and used once",
    "that a unit of privacy in the table is a person in the world",
)

_GROWN = (
    "that the table was only added to while it was counted, as was each table joined to it, and "
    "that each read showed what earlier reads had shown"
)

_RELEASED = (
    "the released numbers themselves, and in them the digits beyond the ninth of what follows "
    "from them, where machines may differ"
)
_CHOICES = (
    "the expected errors that a method was chosen by: the privacy loss does not depend on them"
)
_SUMS = (
    "that the numbers released for a quantile are of the sums of counts that its step states; the "
    "privacy loss and the intervals are those of the stated sums"
)
_KEYS = "that these groups, and no others, were above the threshold"
_JOINED = "that the public table which was joined has the rows that its digest is of"
_WITHOUT_LEDGER = (
    "the data set's name, the place, hash and time of the charge, the tag, the versions, the "
    "budget and what remains of it: give the ledger to look them up"
)
_DECLARED = "what the data set declares of the columns: give the ledger to look it up"
_KINDS = "that the columns of the table are of the kinds that are stated"
_FIRST_KINDS = "the kinds of the columns, which a certificate of the first format does not state"
_FIRST_ANSWERS = (
    "the answers, and of means, variances, quantiles and tests the errors and all intervals: a "
    "certificate of the first format does not hold the numbers that they follow from"
)
_FIRST_TIMES = (
    "the versions, and the budget as it was then: ledgers of the first format hold neither"
)
_ASSUMES = "that the teams which were answered do not compare their answers: it is assumed"
_UNUSED = "the delta that was asked for: nothing used it, and it was not paid"
_LEFT = "what was left of the budget: that follows from all charges, which its ledger holds"
_PAID_MORE = "why more was paid than the privacy loss: another version charged so"


def verify_body(body: Mapping[str, Any], ledger: Ledger | None) -> Verification:
    """Check a certificate's body; see :meth:`tacit.report.Certificate.verify`."""
    if body.get("format") == FOLLOWING:
        return verify_following(body, ledger, verify_body)
    verification = Verification()
    verification.check("the certificate is as it was sealed", lambda: _sealed(body))
    verification.check(
        "it has the parts of a certificate, and no others", lambda: _verify_whole(body)
    )
    about = "it protects the unit of the question, in a table of these columns"
    verification.check(about, lambda: _verify_about(body))
    planned: list[ReplannedQuestion] = []
    verification.check("its question can be planned again", lambda: _plan(body, planned))
    for again in planned:
        _compare(verification, body, again)
    _tell_version(verification, body)
    if ledger is None:
        verification.unchecked.append(_WITHOUT_LEDGER)
        verification.unchecked += [_DECLARED] if "declared" in body else []
    else:
        verification.unchecked += [_FIRST_TIMES] if body.get("format") == FIRST_FORMAT else []
        verification.check(
            "the ledger holds all of it, to the letter", lambda: _in_ledger(body, ledger)
        )
    assumes = _mapping(_mapping(body.get("protects")).get("assumes"))
    verification.unchecked += [_ASSUMES] if assumes.get("analysts") in ASSUMED else []
    verification.unchecked += _ALWAYS_OPEN
    return verification


def _tell_version(verification: Verification, body: Mapping[str, Any]) -> None:
    """Note on failures that another version of Tacit made the certificate, if so."""
    made, here = (v.get("tacit") for v in (_mapping(body.get("versions")), versions()))
    if isinstance(made, str) and made != here:
        verification.failures[:] = [
            f"{text} (made by Tacit {short(made)}, and this is {here}: where they plan this "
            "question otherwise, check it with that version)"
            for text in verification.failures
        ]


def _mapping(part: object) -> Mapping[str, Any]:
    return part if isinstance(part, Mapping) else {}


def _verify_whole(body: Mapping[str, Any]) -> str | None:
    for path, names in fields_of(body["format"]).items():
        part = body[path] if path else {n: body[n] for n in body if n not in _OPTIONAL}
        if set(part) != set(names):
            return f"{path or 'it'} has the parts {', '.join(map(str, part))}"
    wrong = _declared(body.get("declared"))
    if wrong is not None:
        return wrong
    charge = body["ledger"]
    unplaced = charge["sequence"] is None and charge["hash"] is None
    named = ("id", "when") if unplaced else ("id", "hash", "when")
    texts = [body["dataset"], *body["versions"].values(), *map(charge.get, named)]
    if not all(isinstance(text, str) for text in texts):
        return "its names, times and versions are text"
    if not unplaced and (type(charge["sequence"]) is not int or charge["sequence"] < 1):
        return "the place of a charge is a whole number"
    return None if body["accuracy"] == ACCURACY else "it says something else of its accuracy"


def _declared(declared: Any) -> str | None:
    """Return what is wrong with the declarations of columns; None if nothing is."""
    if declared is None:
        return None
    kinds: dict[str, type] = {"meaning": str, "unit": str, "bounds": list, "keys_beyond": list}
    kinds |= {"keys": str, "labels": list}
    for fields in declared.values():
        if not fields or not all(isinstance(fields[name], kinds[name]) for name in fields):
            return (
                "what is declared of a column is its meaning, its unit, its bounds, its keys or "
                "the labels of its values"
            )
    return None if declared else "it says that something is declared of the columns, and not what"


def _verify_about(body: Mapping[str, Any]) -> str | None:
    query = body["question"]["query"]
    tables = query.get("tables")  # of a declared data set; its ledger counts in those of the first
    unit_of_rows = query.get("inner", query)[
        "unit"
    ]  # of the rows; a table of people has one row each
    unit = {**unit_of_rows, "column": tables[0][1]} if tables else unit_of_rows
    terms = {"unit": unit, "neighbours": "unbounded"}
    if "assumes" in body["protects"]:
        terms["assumes"] = body["protects"]["assumes"]["analysts"]
        if terms["assumes"] not in ASSUMED:
            return "it assumes something of those who are answered that is not known here"
    other = difference(body["protects"], protects(terms))
    if other is not None:
        return f"the question was asked about another unit: {other}"
    name, _, rest = body["dataset"].rpartition(" (")
    columns = tables or body["chains"][0]["space"]["domain"]["columns"]
    if rest != f"{planner().identity(name, columns)[:16]})":
        return "the digest of the data set is not that of its name and these columns"
    return None


def _plan(body: Mapping[str, Any], planned: list[ReplannedQuestion]) -> str | None:
    again = planner().replan(body)
    if sum(len(chain["steps"]) for chain in body["chains"]) != again.steps:
        return "its chains have more steps, or fewer, than those of the question"
    planned.append(again)
    return None


def _compare(verification: Verification, body: Mapping[str, Any], again: ReplannedQuestion) -> None:
    described: dict[str, Any] = {}

    def chains() -> str | None:
        described.update(again.describe())
        if body["format"] == FORMAT:
            return difference(body["chains"], described["chains"], "chains") or difference(
                body["table"], described["table"], "table"
            )
        return difference(body["chains"], described["chains"], "chains")

    verification.check(
        "every chain is that of the question: bounds, grids, noise and distances", chains
    )
    verification.check(
        "the privacy losses of the chains add up to what is claimed",
        lambda: difference(body["composition"], described["composition"], "composition"),
    )
    paid = "what was paid is the privacy loss, within the budget"
    verification.check(paid, lambda: _paid(verification, body, again))
    verification.check(
        "the answers, errors and intervals follow from it", lambda: _verify_answers(body, again)
    )
    check_derived(verification, body, columns_at(body) if body.get("format") == FORMAT else None)
    first = body["format"] == FIRST_FORMAT
    verification.unchecked += [_FIRST_KINDS, _FIRST_ANSWERS] if first else [_KINDS, _RELEASED]
    verification.unchecked += [_KEYS] if again.unknown_keys else []
    verification.unchecked += [_CHOICES] if again.chooses else []
    counted = any(s["step"] == "sum_cells" for chain in body["chains"] for s in chain["steps"])
    verification.unchecked += [_SUMS] if counted else []
    verification.unchecked += [_GROWN] if again.grows else []
    verification.unchecked += [_JOINED] if again.joins_public else []


def _paid(
    verification: Verification, body: Mapping[str, Any], again: ReplannedQuestion
) -> str | None:
    spent = body["spent"]
    left, cost, budget = (Budget.from_json(spent[n]) for n in ("remaining", "cost", "budget"))
    stated: dict[str, object] = {"budget": budget.to_json(), "remaining": left.to_json()}
    stated["cost"] = cost.charged_json()
    if canonical(stated) != canonical(spent):
        return "an amount is not in the form that Tacit writes"
    lost = again.cost.cost_in(budget.kind)
    if not cost.covers(lost):
        return f"its privacy loss is {lost!r} and it paid {cost!r}"
    # where there is a delta, what is left is not a difference but what fits on its own
    filtered = budget.kind == "approximate" and budget.delta > 0
    if cost.parts and cost.parts != lost.parts:
        return "it was paid as the sum of other losses than those of its chains"
    apart = Spending.begun(budget).affords(cost) and budget.covers(left)
    if not (apart if filtered else budget.covers(cost + left)):
        return f"it paid {cost!r} out of a budget of {budget!r}, and {left!r} is said to be left"
    if "delta" in body["question"]["request"] and not lost.delta:
        verification.unchecked.append(_UNUSED)
    if filtered:
        verification.unchecked.append(_LEFT)
    as_one = budget.kind == "approximate" and cost.parts != lost.parts
    if cost != lost or as_one:
        verification.unchecked.append(_PAID_MORE)
    return None


def _verify_answers(body: Mapping[str, Any], again: ReplannedQuestion) -> str | None:
    claimed = body["answer"]
    if body["format"] == FORMAT:
        derived = again.answer(claimed["keys"], claimed["released"])
        return difference(claimed, derived, "answer", close=True)
    known = again.columns(claimed["keys"])
    if len(known) != len(claimed["columns"]):
        return "there are more answers, or fewer, than were asked for"
    groups = len(claimed["keys"])
    for column, derived in zip(claimed["columns"], known, strict=True):
        stated = {name: column[name] for name in column if name in derived or name not in _VALUES}
        if derived.get("method", {}).get("used") == "ptr":
            derived = {**derived, "refused": [value is None for value in column["value"]]}
        other = difference(stated, derived, str(derived["label"]), close=True)
        if other is not None:
            return other
        if any(len(column[name]) != groups for name in _VALUES):
            return f"{derived['label']} does not have one value a group"
    return None


_OPTIONAL = ("declared", "derived", "intervals")
_VALUES = ("value", "standard_error", "low", "high")


def _in_ledger(body: Mapping[str, Any], ledger: Ledger) -> str | None:
    claimed = body["ledger"]
    if ledger.id != claimed["id"]:
        return "this is another ledger"
    entry = _charge(body, ledger)
    if entry is None:
        return "it is not in this ledger, which may be an older copy"
    ledger.verify_chain()
    if entry.answer is None:
        return "the ledger holds no answer to it"
    if "noise" in entry.question:  # a count over time: what is published grows, and stays
        published = planner().published(
            entry.question, parts_of(ledger, entry), len(body["answer"]["keys"])
        )
        entry = replace(entry, answer={**entry.answer, **published})
    body = sealed(without_derived(body))  # formulas are of those who read the answer
    issued = sealed(issued_body(entry, ledger))
    if issued["format"] == FIRST_FORMAT:
        return difference(_first_in_ledger(body), _first_in_ledger(issued))
    return difference(body, issued)


def _charge(body: Mapping[str, Any], ledger: Ledger) -> Entry | None:
    """Return the charge that a certificate names: by its place, or by its question alone."""
    claimed, history = body["ledger"], ledger.history()
    if claimed["sequence"] is None:
        same = (e for e in history if e.question == body["question"])
        return next((e for e in same if ledger.about(e)[0] == body["dataset"]), None)
    if not ledger.contains(int(claimed["sequence"]), str(claimed["hash"])):
        return None
    return next(e for e in history if e.sequence == claimed["sequence"])


def _first_in_ledger(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a ledger holds of a certificate of the first format."""
    # Not the versions, nor the budget before it was raised; and the intervals of a count over time
    # are those of today's version, which works them out of the recorded blocks.
    spent = {**body["spent"], "budget": None}
    comparable = {**body, "spent": spent, "versions": None, "digest": None}
    if "noise" in body["question"]:
        columns = [{**column, "low": None, "high": None} for column in body["answer"]["columns"]]
        comparable["answer"] = {**body["answer"], "columns": columns}
    return comparable
