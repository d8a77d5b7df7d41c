"""What a certificate knows of an entry of the registry, in the registry's words."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tacit.accounting import Budget
from tacit.arithmetic.exact import as_fraction, decimal, show
from tacit.report.text.chain_sentences import distance_words, step_words
from tacit.report.text.words import (
    budget_words,
    declared_words,
    people_words,
    question_words,
    unit_words,
)

__all__ = [
    "VARIANTS",
    "composition",
    "data_domain",
    "description",
    "grows",
    "many_releases",
    "mechanisms",
    "parameters",
    "parameters_words",
    "preparation",
    "release_words",
    "unit_name",
    "unit_sentences",
]

Body = Mapping[str, Any]
"""A certificate, as JSON."""

VARIANTS = {
    "PureDP": "Pure DP",
    "ApproximateDP": "Approximate DP",
    "ZeroConcentratedDP": "Zero-concentrated DP",
}


def parameters(body: Body) -> dict[str, float]:
    """Return the privacy parameters of the release, never below the exact ones.

    They are those in which the release was proven: a conversion to others would lose something.
    """
    return {name: decimal(exact) for name, exact in _loss(body).items()}


def parameters_words(body: Body) -> str:
    """Say the exact parameters, and what the ledger lets all releases spend together."""
    spent = {n: Budget.from_json(body["spent"][n]) for n in ("cost", "budget", "remaining")}
    exact = ", ".join(f"{name} = {value}" for name, value in _loss(body).items())
    return (
        f"Exactly: {exact}. This is one release; all releases that are paid from the same ledger "
        f"together are at most {budget_words(spent['budget'])}, of which this one took "
        f"{budget_words(spent['cost'])}; {budget_words(spent['remaining'])} was left after it. "
        "What would go beyond is refused."
    )


def _loss(body: Body) -> dict[str, Fraction]:
    loss, measure = body["composition"]["loss"], body["composition"]["measure"]["measure"]
    if isinstance(loss, list):
        return dict(zip(("epsilon", "delta"), map(as_fraction, loss), strict=True))
    return {"rho" if measure == "ZeroConcentratedDP" else "epsilon": as_fraction(loss)}


def unit_name(body: Body) -> str:
    """Name the unit of privacy in a word."""
    return "Row" if body["protects"]["unit"]["column"] is None else "Person"


def unit_sentences(body: Body) -> str:
    """Say which data sets are adjacent, exactly."""
    told = unit_words(body["protects"]["unit"])
    tables = body["question"]["query"].get("tables", ())
    several = f" In several tables: {people_words(tables)}." if len(tables) > 1 else ""
    return (
        f"The guarantee is about {told}.{several} Adjacent are {body['protects']['meaning']} "
        "(unbounded: the number of units is not public). The metric is the number of units in "
        "which two data sets differ, and adjacent data sets are at distance 1."
    )


def data_domain(body: Body) -> str:
    """Say which data sets there might have been."""
    columns = body.get("table") or [[n] for n in body["chains"][0]["space"]["domain"]["columns"]]
    named = ", ".join(f"{c[0]} ({c[1]})" if len(c) > 1 else str(c[0]) for c in columns)
    return (
        f"All tables with the columns {named}: any number of rows, with any values of these kinds, "
        "missing ones among them."
    )


def description(body: Body) -> str:
    """Say what was asked."""
    return f"{question_words(body['question'])}. Of the data set {body['dataset']}."


def grows(body: Body) -> bool:
    """Return whether the release is of data that more are added to."""
    kinds = [str(asked["kind"]) for _, asked in body["question"]["query"]["aggregates"]]
    return any(kind.endswith("_over_time") for kind in kinds)


def many_releases(body: Body) -> bool:
    """Return whether the ledger shows that there were other releases of the same data."""
    spent = {n: Budget.from_json(body["spent"][n]) for n in ("cost", "budget", "remaining")}
    return spent["budget"].amount - spent["remaining"].amount > spent["cost"].amount


def release_words(body: Body) -> str:
    """Say where the release stands among those of its ledger."""
    ledger = body["ledger"]
    if grows(body):
        return "Counts are published period by period, all of them paid for at once."
    told = "Other releases were paid from it before. " if many_releases(body) else ""
    return (
        f"Paid from the ledger {ledger['id']} on {str(ledger['when'])[:10]}. {told}A question "
        "that was answered is not answered a second time: asked again, the recorded answer is "
        "shown."
    )


def composition(body: Body) -> str:
    """Say how the losses of the parts add up."""
    parts = []
    for chain in body["chains"]:
        last = chain["steps"][-1]
        told = distance_words(last, str(chain["measure"]["measure"]), True)
        parts.append(f"- {chain['title']}: {told}")
    total = ", ".join(f"{name} {show(value)}" for name, value in _loss(body).items())
    add = "Sequential composition; the losses of the parts add up to"
    return "\n".join([f"{add if len(parts) > 1 else 'One part, of'} {total}:", *parts])


def preparation(body: Body) -> str:
    """Say what is done to the rows before the noise, step by step; all of it is in the proof."""
    lines = []
    for chain in body["chains"]:
        for step in chain["steps"][:-1]:
            line = f"- {step_words(step)}"
            if line not in lines:
                lines.append(line)
    told = declared_words(body.get("declared", {}), body["question"]["query"])
    return "\n".join(
        [
            "All preparation is part of the chain whose sensitivity is proven:",
            *lines,
            *(f"- Declared: {one}" for one in told),
        ]
    )


def mechanisms(body: Body) -> str:
    """Say how the noise is made, and what the library does against the known attacks."""
    noise = list(dict.fromkeys(f"- {step_words(c['steps'][-1])}" for c in body["chains"]))
    versions = ", ".join(f"{name} {one}" for name, one in body["versions"].items())
    return "\n".join(
        [
            *noise,
            f"- Library: Tacit ({versions}).",
            "- Floating point: values are clamped to public bounds, put on a public grid and "
            "summed as integers; the noise is an exact integer draw, and floats appear after it.",
            "- Timing: the time of a draw does not depend on its size; the time of a query shows "
            "roughly how large the table is.",
            "- Platform: random bits are those of OpenSSL and of the operating system, with no "
            "seed; the budget is charged durably before a row is read; errors quote no value.",
        ]
    )
