"""What a certificate knows for the registry, from every kind of certificate that there was."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.report import registry as known

FIXTURES = sorted((Path(__file__).parents[0] / "fixtures").glob("*.json"))


@pytest.fixture(params=FIXTURES, ids=lambda path: path.stem)
def body(request: pytest.FixtureRequest) -> dict:
    return json.loads(request.param.read_text(encoding="utf-8"))


@pytest.mark.few(9)
def test_parameters_are_never_below_the_exact_ones(body: dict) -> None:
    loss = body["composition"]["loss"]
    exact = [Fraction(part) for part in (loss if isinstance(loss, list) else [loss])]
    stated = [Fraction(repr(value)) for value in known.parameters(body).values()]
    assert all(0 <= s - e <= e / 10**12 for s, e in zip(stated, exact, strict=True))
    told = known.parameters_words(body)
    assert all(str(value) in told for value in exact)


@pytest.mark.few(9)
def test_every_text_is_whole_sentences_without_a_name_of_the_code(body: dict) -> None:
    makers = (known.description, known.data_domain, known.unit_sentences, known.composition)
    for make in (*makers, known.preparation, known.mechanisms, known.release_words):
        text = make(body)
        assert text[0].isupper() or text[0] == "-"
        assert not any(word in text for word in ("None", "{", "bound_contributions", "Fraction"))


def test_counts_over_time_are_of_data_that_grow() -> None:
    of = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FIXTURES}
    assert [name for name, body in of.items() if known.grows(body)] == [
        "over_time",
        "over_time_people",
    ]
    assert known.unit_name(of["over_time_people"]) == "Person"
    assert known.unit_name(of["ptr"]) == "Row"
    assert known.parameters(of["rho"]).keys() == {"rho"}
    # what was spent before, from the same ledger, was another release
    assert known.many_releases(of["ptr"])
    first = of["ptr"] | {"spent": of["ptr"]["spent"] | {"remaining": _rest(of["ptr"])}}
    assert not known.many_releases(first)


def _rest(body: dict) -> dict:
    """What would be left if this release were the first."""
    cost, total = body["spent"]["cost"], body["spent"]["budget"]
    left = {n: str(Fraction(total[n]) - Fraction(cost[n])) for n in ("epsilon", "delta")}
    return {"kind": "approximate", **left}
