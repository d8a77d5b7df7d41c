"""Checking a certificate: the chain is built again from the page, and its maps asked again."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.accounting import Budget, Ledger
from tacit.accounting.parts import parts_of
from tacit.core import Measurement, compose, measure_from, space_from, step_from
from tacit.core.explain import distances
from tacit.errors import TacitError
from tacit.report.covered import covered

__all__ = ["Verification", "digest", "verify_body"]

_ROOMS = (
    "tacit.transformations",
    "tacit.mechanisms",
    "tacit.tables.steps",
    "tacit.tables.quantile",
    "tacit.tables.records",
    "tacit.tables.sample_step",
    "tacit.tables.period_counts",
)

_ALWAYS_OPEN = (
    "that the answers came from this data set, by this version of the code",
    "that the noise was drawn as the chain says, from a secure source, and used once",
    "that a unit of privacy in the table is a person in the world",
)

_GROWN = (
    "that the table was only added to while it was counted, and that each read showed what "
    "earlier reads had shown"
)


@dataclass
class Verification:
    """What was checked of a certificate, what could not be, and what failed.

    Truthy when something was checked and nothing failed.
    """

    checked: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.checked) and not self.failures

    def __str__(self) -> str:
        lines = [f"FAILED    {text}" for text in self.failures]
        lines += [f"ok        {text}" for text in self.checked]
        lines += [f"unchecked {text}" for text in self.unchecked]
        return "\n".join(lines)


def verify_body(body: Mapping[str, Any], ledger: Ledger | None) -> Verification:
    """Check a certificate's body; see :meth:`tacit.report.Certificate.verify`."""
    for room in _ROOMS:
        importlib.import_module(room)  # steps make themselves known when their room is opened
    found = Verification()
    _try(found, "the certificate is as it was sealed", lambda: _sealed(body))
    chains: list[Measurement] = []
    listed = body.get("chains")
    for claimed in listed if isinstance(listed, list) else []:
        title = str(claimed.get("title", "a chain")) if isinstance(claimed, Mapping) else "a chain"

        def rebuild(claimed: Mapping[str, Any] = claimed) -> str | None:
            chains.append(_chain(claimed))
            return _distances_hold(claimed, chains[-1])

        _try(found, f"{title}: the distance after every step follows from its map", rebuild)
    _try(found, "every chain starts from the unit that is protected", lambda: _unit(body, chains))
    _try(found, "every answer has its chain, on the rows and groups asked", lambda: covered(body))
    _try(found, "the chains together lose what is claimed", lambda: _composed(body, chains))
    _try(found, "what was paid covers what was lost", lambda: _paid(body))
    if ledger is None:
        found.unchecked.append(
            "that the ledger holds this charge with these answers: give it to look them up"
        )
    else:
        _try(
            found,
            "the ledger holds this charge, with this question, price and answer",
            lambda: _in_ledger(body, ledger),
        )
    steps = [step["step"] for chain in chains for step in chain.describe(1)["steps"]]
    found.unchecked += [_GROWN] if "counts_over_time" in steps else []
    found.unchecked += _ALWAYS_OPEN
    return found


def digest(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a certificate without its own digest."""
    sealed = {name: value for name, value in body.items() if name != "digest"}
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _try(found: Verification, claim: str, check: Callable[[], str | None]) -> None:
    """Run one check: None means that the claim holds, text says how it fails."""
    try:
        trouble = check()
    except (TacitError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as e:
        trouble = f"cannot be derived ({type(e).__name__}: {e})"
    if trouble is None:
        found.checked.append(claim)
    else:
        found.failures.append(f"{claim}: {trouble}")


def _sealed(body: Mapping[str, Any]) -> str | None:
    return None if digest(body) == body["digest"] else "its digest is another: the page was changed"


def _chain(claimed: Mapping[str, Any]) -> Measurement:
    chain: Any = space_from(claimed["space"])
    for recipe in claimed["steps"]:
        chain = chain >> step_from({k: v for k, v in recipe.items() if k != "distance"})
    if not isinstance(chain, Measurement):
        raise ValueError("the chain ends without noise")
    return chain


def _distances_hold(claimed: Mapping[str, Any], chain: Measurement) -> str | None:
    if claimed["d_in"] != "1":
        return f"it starts at a distance of {claimed['d_in']} units instead of 1"
    derived = distances(chain.links, Fraction(1))
    for recipe, distance in zip(claimed["steps"], derived, strict=True):
        if _read(recipe["distance"]) != distance:
            return f"after {recipe['step']} it claims {recipe['distance']}, its map says {distance}"
    return None


def _read(claimed: Any) -> Any:
    if isinstance(claimed, list):
        return tuple(Fraction(part) for part in claimed)
    return Fraction(claimed)


def _unit(body: Mapping[str, Any], chains: list[Measurement]) -> str | None:
    unit = body["protects"]["unit"]
    if body["protects"]["neighbours"] != "unbounded" or body["question"]["query"]["unit"] != unit:
        return "the question was asked about another unit"
    present = {"count_people": unit["groups"] if body["question"]["query"]["by"] else 1}
    present["people_in_bins"] = present["count_people"]
    present["bound_contributions"] = unit["groups"]
    for claimed, chain in zip(body["chains"], chains, strict=True):
        if getattr(chain.input.metric, "column", None) != unit["column"]:
            return f"{claimed['title']} counts another unit"
        for recipe in claimed["steps"]:
            bounds = recipe["step"] in (
                "bound_contributions",
                "counts_over_time",
                "people_in_bins",
            )
            if bounds and recipe["rows"] != unit["rows"]:
                return f"{claimed['title']} bounds people otherwise"
        ends = [recipe for recipe in claimed["steps"] if recipe["step"] in present]
        if "release_keys" in (recipe["step"] for recipe in claimed["steps"]):
            present_here = {**present, "count_people": unit["groups"]}
        else:
            present_here = present
        if any(recipe["groups"] != present_here[recipe["step"]] for recipe in ends):
            return f"{claimed['title']} bounds the groups of people otherwise"
    return None


def _composed(body: Mapping[str, Any], chains: list[Measurement]) -> str | None:
    whole = compose(chains)
    claimed = body["composition"]
    if whole.measure != measure_from(claimed["measure"]):
        return f"they lose in {whole.measure}"
    loss = whole.map(1)
    return None if loss == _read(claimed["loss"]) else f"the maps say {loss}"


def _paid(body: Mapping[str, Any]) -> str | None:
    cost = Budget.from_json(body["spent"]["cost"])
    kinds = {"PureDP": "pure", "ApproximateDP": "approximate", "ZeroConcentratedDP": "concentrated"}
    loss = _read(body["composition"]["loss"])
    epsilon, delta = loss if isinstance(loss, tuple) else (loss, Fraction(0))
    lost = Budget(kinds[body["composition"]["measure"]["measure"]], epsilon, delta)  # type: ignore[arg-type]
    if not cost.covers(lost.cost_in(cost.kind)):
        return f"it lost {lost!r} and paid {cost!r}"
    budget = Budget.from_json(body["spent"]["budget"])
    return None if budget.covers(cost) else f"it paid {cost!r} out of a budget of {budget!r}"


def _in_ledger(body: Mapping[str, Any], ledger: Ledger) -> str | None:
    claimed = body["ledger"]
    if ledger.id != claimed["id"]:
        return "this is another ledger"
    if not ledger.contains(int(claimed["sequence"]), str(claimed["hash"])):
        return "it is not in this ledger, which may be an older copy"
    ledger.verify_chain()
    entry = next(e for e in ledger.history() if e.sequence == claimed["sequence"])
    if entry.answer is None:
        return "the ledger holds no answer to it"
    answer = entry.answer
    if "noise" in entry.question:  # a count over time: what is published grows, and stays
        from tacit.tables.period_answer import published

        parts = parts_of(ledger, entry)
        answer = {**answer, **published(entry.question, parts, len(body["answer"]["keys"]))}
    stands = {
        "question": (entry.question, body["question"]),
        "price": (entry.cost.to_json(), body["spent"]["cost"]),
        "data set": (ledger.dataset, body["dataset"]),
        "unit": (ledger.terms.get("unit"), body["protects"]["unit"]),
        "time": (entry.when, claimed["when"]),
        "answer": ({name: answer[name] for name in ("keys", "columns")}, body["answer"]),
        "chain": ([answer["chains"], answer["composition"]], [body["chains"], body["composition"]]),
        "remainder": (answer["remaining"], body["spent"]["remaining"]),
    }
    other = [name for name, (kept, shown) in stands.items() if kept != shown]
    return f"the ledger holds another {', another '.join(other)}" if other else None
