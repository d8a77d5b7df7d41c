"""Whether the certificate of an answer that follows from earlier releases holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.accounting import Budget, Ledger
from tacit.accounting.ledger.installments import parts_of
from tacit.report.check.derived import check_derived, without_derived
from tacit.report.check.format import FOLLOWING, protects
from tacit.report.check.issued import digest
from tacit.report.check.json_difference import difference
from tacit.report.check.planner import planner
from tacit.report.check.verification import Verification

__all__ = ["following_body", "recorded_part", "verify_following"]

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
    """Return the body of the certificate of an answer that follows from releases.

    Args:
        question: ``query`` and ``tag``, as a ledger has them.
        answer: keys and columns.
        by_label: of each label the place of the source that it follows from.
        sources: the bodies of the certificates of these releases.
        versions: of the software.
        texts: the sources, written before.
    """
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
    told = None if texts is None else {"sources": texts}
    return {**body, "digest": digest(body, told)}


def recorded_part(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a ledger keeps of an answer that follows: what was asked, and from which."""
    # Where a charge is on somebody's account its certificate does not tell its hash.
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
    """Check a certificate of an answer that follows from others.

    Args:
        body: of the certificate.
        ledger: where the releases that it follows from were charged, or None.
        verify: checks the certificate of a release.
    """
    found = Verification()
    found.check("the certificate is as it was sealed", lambda: _sealed(body))
    found.check("it has the parts of a certificate, and no others", lambda: _whole(body))
    about = "the releases that it follows from are of the same data set, and protect the same unit"
    found.check(about, lambda: _about(body))
    for place, source in enumerate(_sources(body), 1):
        _one(found, place, source, verify(source, ledger))
    claim = "the answer, its errors and its intervals follow from these releases alone"
    found.check(claim, lambda: _answers(body))
    check_derived(found, body)
    found.check("it costs nothing: no row was read for it", lambda: _cost(body))
    if ledger is not None:
        found.check("the ledger says from which releases it follows", lambda: _in(body, ledger))
    found.unchecked += [_SAME_TABLE] if len(_sources(body)) > 1 else []
    return found


def _sources(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    told = body.get("sources")
    return [s for s in told if isinstance(s, Mapping)] if isinstance(told, list) else []


def _one(found: Verification, place: int, source: Any, told: Verification) -> None:
    name = f"release {place} ({str(source.get('digest'))[:12]})"
    found.failures += [f"{name}: {text}" for text in told.failures]
    found.unchecked += [text for text in told.unchecked if text not in found.unchecked]
    if told:
        found.checked.append(f"{name} holds: {len(told.checked)} checks of its certificate passed")


def _sealed(body: Mapping[str, Any]) -> str | None:
    return None if digest(body) == body["digest"] else "its digest is another: the page was changed"


def _whole(body: Mapping[str, Any]) -> str | None:
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
    told = {name: value for name, value in terms.items() if name != "assumes"}
    return difference(told, protects(unit))


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
