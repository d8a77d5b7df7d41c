"""Certificates: what is true verifies, and each way to change one is caught where it must be."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.core import compose, space_from, step_from
from tacit.errors import UsageError
from tacit.report.issued import digest


@pytest.fixture(scope="module", name="released")
def _released():
    place = np.arange(400)
    data = pd.DataFrame({"x": place % 50, "g": place % 2, "person": place // 4})
    with tc.Session(data, unit=tc.unit("person", rows=4, groups=2), budget=tc.epsilon(10)) as s:
        s.agg(n=tc.count()).release(epsilon=1)
        question = s.filter(tc.col("x") > 2).group_by("g", keys=[0, 1, 2])
        question = question.agg(
            n=tc.count(), p=tc.count_people(), x=tc.mean("x", 0, 50), q=tc.median("x", 0, 50)
        )
        yield question.release(epsilon=2).certificate, s.ledger


def steps(body, name):
    return [s for chain in body["chains"] for s in chain["steps"] if s["step"] == name]


def set_all(found, **fields):
    assert found
    for step in found:
        step.update(fields)


def drop_chain(body):
    del body["chains"][1]


def one_third_interval(body):
    """Leave out the chain of one end of the median's interval."""
    ends = [i for i, c in enumerate(body["chains"]) if c["steps"][-1]["step"] == "choose_quantile"]
    del body["chains"][ends[-1]]
    relabel_loss(body)


def rebuilt(chain):
    """The chain that a certificate shows."""
    built = space_from(chain["space"])
    for step in chain["steps"]:
        built = built >> step_from({k: v for k, v in step.items() if k != "distance"})
    return built


def relabel_loss(body):
    """Claim the loss that the chains on the page do have."""
    body["composition"]["loss"] = str(compose([rebuilt(c) for c in body["chains"]]).map(1))


TAMPERINGS = {
    "a value": lambda b: b["answer"]["columns"][0]["value"].__setitem__(0, 10**6),
    "an interval": lambda b: b["answer"]["columns"][1]["low"].__setitem__(0, -5.0),
    "a key": lambda b: b["answer"]["keys"].__setitem__(0, [7]),
    "the data set": lambda b: b.update(dataset="another"),
    "the remainder": lambda b: b["spent"]["remaining"].update(epsilon="1/9"),
    "the time": lambda b: b["ledger"].update(when="2020-01-01T00:00:00+00:00"),
}
"""Changes of what the chain does not imply."""

DERIVED = {
    "rows": lambda b: set_all(steps(b, "bound_contributions"), rows=1),
    "groups": lambda b: set_all(steps(b, "bound_contributions"), groups=1),
    "groups of people": lambda b: (set_all(steps(b, "count_people"), groups=1), relabel_loss(b)),
    "scale": lambda b: set_all(steps(b, "laplace"), scale="1000"),
    "scale and its loss": lambda b: (set_all(steps(b, "laplace"), scale="1000"), relabel_loss(b)),
    "distance": lambda b: steps(b, "laplace")[0].update(distance="1/1000"),
    "start": lambda b: b["chains"][0].update(d_in="0"),
    "loss": lambda b: b["composition"].update(loss="1/1000"),
    "measure": lambda b: b["composition"].update(measure={"measure": "ZeroConcentratedDP"}),
    "cost": lambda b: b["spent"]["cost"].update(epsilon="1/1000", amount="1/1000"),
    "unit": lambda b: b["protects"].update(unit={"column": None, "rows": 1, "groups": 1}),
    "unit of the chains": lambda b: [c["space"]["metric"].update(column=None) for c in b["chains"]],
    "neighbours": lambda b: b["protects"].update(neighbours="bounded"),
    "a chain removed": drop_chain,
    "all chains removed": lambda b: b.update(chains=[]),
    "an end of an interval removed": one_third_interval,
    "noise removed": lambda b: b["chains"][0]["steps"].pop(),
    "filter removed": lambda b: [c["steps"].pop(0) for c in b["chains"]],
    "groups of the chains": lambda b: set_all(steps(b, "moments"), by=[]),
    "a question more": lambda b: b["question"]["query"]["aggregates"].append(
        ["s", {"kind": "sum", "column": "z", "lower": "0", "upper": "1"}]
    ),
    "unknown keys": lambda b: b["question"]["query"].update(keys=None),
    "no step": lambda b: b["chains"][0]["steps"].append({"step": "os.system", "distance": "0"}),
    "no sense": lambda b: b.update(chains="none", composition=3, spent=None),
    "a giant": lambda b: set_all(steps(b, "laplace"), scale="1e-99999999"),
    "giant moments": lambda b: set_all(steps(b, "moments"), degree=10**9),
    "a parameter more": lambda b: set_all(steps(b, "moments"), function="x"),
}
"""Changes that the page itself gives away, even with its seal made again ..."""
"""Changes that the page itself gives away, even with its seal made again."""


def changed(certificate, change, reseal):
    body = copy.deepcopy(certificate.body)
    change(body)
    assert body != certificate.body
    if reseal:
        body["digest"] = digest(body)
    return tc.Certificate(body)


def test_what_is_true_verifies(released, tmp_path):
    certificate, ledger = released
    without = certificate.verify()
    assert without
    assert any("ledger" in text for text in without.unchecked)
    whole = certificate.verify(ledger)
    assert whole, str(whole)
    assert len(whole.checked) > len(without.checked)
    certificate.save(tmp_path / "a.json")
    loaded = tc.Certificate.load(tmp_path / "a.json")
    assert loaded == certificate
    assert loaded.verify(ledger)
    assert "ok " in str(whole)


@pytest.mark.few(4)
@pytest.mark.parametrize("change", [*TAMPERINGS, *DERIVED])
def test_a_change_breaks_the_seal(released, change):
    certificate, _ = released
    assert not changed(certificate, {**TAMPERINGS, **DERIVED}[change], reseal=False).verify()


@pytest.mark.parametrize("change", DERIVED)
def test_a_change_of_the_proof_is_caught_without_the_ledger(released, change):
    certificate, _ = released
    report = changed(certificate, DERIVED[change], reseal=True).verify()
    assert not report
    assert report.failures


@pytest.mark.few(4)
@pytest.mark.parametrize("change", [*TAMPERINGS, *DERIVED])
def test_every_change_is_caught_with_the_ledger(released, change):
    certificate, ledger = released
    tampered = changed(certificate, {**TAMPERINGS, **DERIVED}[change], reseal=True)
    report = tampered.verify(ledger)
    assert not report, str(report)


def test_another_ledger_and_another_place_in_it_are_caught(released):
    certificate, ledger = released
    from tacit.accounting import open_ledger

    other = open_ledger(None, dataset=ledger.dataset, budget=ledger.total, terms=ledger.terms)
    assert "another ledger" in str(certificate.verify(other))
    first = ledger.history()[0]
    moved = changed(
        certificate,
        lambda b: b["ledger"].update(sequence=first.sequence, hash=first.hash),
        reseal=True,
    )
    assert not moved.verify(ledger)
    assert not changed(certificate, lambda b: b["ledger"].update(hash="0" * 64), True).verify(
        ledger
    )


def test_what_is_no_certificate_is_refused(tmp_path):
    for name, text in (("a.json", "{}"), ("b.json", "not json"), ("c.json", "[1]")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match="certificate"):
            tc.Certificate.load(tmp_path / name)
    with pytest.raises(UsageError, match="cannot be read"):
        tc.Certificate.load(tmp_path / "none.json")
    for body in ({}, {"chains": [3]}, {"chains": [{}]}, {"chains": {"a": 1}}, {"chains": None}):
        assert not tc.Certificate(body).verify()
