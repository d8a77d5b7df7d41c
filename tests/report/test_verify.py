"""Certificates: what is true verifies, and each way to change one is caught where it must be."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from local.local_laws import reproducible
from tacit import Certificate, local
from tacit.accounting import Budget
from tacit.core import compose, space_from, step_from
from tacit.errors import UsageError, VerificationError
from tacit.report import registry as known
from tacit.report.issued import digest
from tacit.report.odds import Odds, Result, Wanted, percent_at_most, probability_words, results_of
from tacit.report.registry import REGISTRY_FIELDS, read_answers, registry_entry, yaml_text
from tacit.report.verify import digest as certificate_versions_digest
from tacit.report.verify import verify_body


@pytest.fixture(scope="module", name="released")
def _released():
    place = np.arange(400)
    data = pd.DataFrame({"x": place % 50, "g": place % 2, "person": place // 4})
    with tc.Session(data, unit=tc.unit("person", rows=4, groups=2), budget=tc.epsilon(10)) as s:
        s.agg(n=tc.count()).release(epsilon=1)
        question = s.filter(tc.col("x") > 2).group_by("g", keys=[0, 1, 2])
        question = question.agg(
            n=tc.count(), p=tc.count_people(), x=tc.mean("x", 0, 50), q=tc.median("x", 0, 500)
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


def no_interval(body):
    """Leave out the chain of the median and its interval."""
    name = "count_near_quantiles"
    (median,) = (i for i, c in enumerate(body["chains"]) if c["steps"][-1]["step"] == name)
    del body["chains"][median]
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
    "the chain of a median removed": no_interval,
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


# A certificate that another version of Tacit planned otherwise says which version that was.


@pytest.mark.parametrize("version", ["0.0.1", None])
def test_what_fails_names_the_version_that_made_it(version: str | None) -> None:
    with tc.Session(
        pa.table({"x": [1.0, 2.0]}), unit=tc.one_row_each, budget=tc.epsilon(1)
    ) as session:
        body = dict(session.agg(m=tc.mean("x", 0, 1)).release(epsilon="1/2").certificate.body)
    versions = body["versions"] if version is None else {**body["versions"], "tacit": version}
    told = {**body, "versions": versions}
    sealed = {**told, "digest": certificate_versions_digest(told)}
    assert verify_body(sealed, None)  # the version alone is no reason to refuse
    other = {**sealed, "composition": {**sealed["composition"], "loss": "7"}}
    found = verify_body({**other, "digest": certificate_versions_digest(other)}, None)
    assert found.failures
    assert all(("made by Tacit 0.0.1" in text) == (version is not None) for text in found.failures)


# The odds of the page are true: held against Bayes' rule on mechanisms that attain the loss.


BELIEFS = st.integers(1, 99)
EPSILONS = st.fractions(0, 55)


def exact_percent(epsilon: Fraction, before: int) -> mpmath.mpf:
    with mpmath.workdps(60):
        ratio = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        p = mpmath.mpf(before) / 100
        return 100 * ratio * p / (ratio * p + 1 - p)


@given(EPSILONS, BELIEFS)
def test_percent_is_rounded_up_to_a_tenth(epsilon: Fraction, before: int) -> None:
    truth = exact_percent(epsilon, before)
    shown = percent_at_most(epsilon, before)
    assert truth - mpmath.mpf(10) ** -9 <= shown <= truth + mpmath.mpf("0.1000001")


@given(st.fractions(Fraction(1, 100), 5), BELIEFS)
def test_randomized_response_attains_the_odds(epsilon: Fraction, before: int) -> None:
    """Keeping a bit with probability e^eps / (1 + e^eps) moves a belief by exactly the bound."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    p = before / 100
    after = 100 * keep * p / (keep * p + (1 - keep) * (1 - p))
    assert 0 <= Odds.of(Budget("pure", epsilon)).percent(before) - after <= 0.1 + 1e-9


@given(st.fractions(Fraction(1, 100), 5))
def test_which_values_is_two_steps(epsilon: Fraction) -> None:
    assert Odds.of(Budget("pure", epsilon), 2) == Odds.of(Budget("pure", 2 * epsilon))


@given(
    st.lists(st.integers(0, 1000), min_size=2, max_size=8),
    st.lists(st.integers(0, 1000), min_size=2, max_size=8),
    st.floats(0.01, 4),
)
def test_the_exception_bounds_the_answers_beyond_the_odds(
    left: list[int], right: list[int], epsilon: float
) -> None:
    """For any two distributions, with the least delta that they satisfy at epsilon."""
    size = min(len(left), len(right))
    if not sum(left[:size]) or not sum(right[:size]):
        return
    u = [Fraction(x, sum(left[:size])) for x in left[:size]]
    v = [Fraction(x, sum(right[:size])) for x in right[:size]]
    grown = Fraction(math.nextafter(math.exp(epsilon), math.inf))
    delta = sum(max(a - grown * b, Fraction(0)) for a, b in zip(u, v, strict=True))
    delta = max(delta, sum(max(b - grown * a, Fraction(0)) for a, b in zip(u, v, strict=True)))
    if not 0 < delta < 1:
        return
    odds = Odds.of(Budget("approximate", Fraction(math.nextafter(epsilon, 9)), delta))
    limit = Fraction(math.exp(odds.epsilon) * (1 - 1e-12))
    beyond = sum(a for a, b in zip(u, v, strict=True) if a > limit * b)
    assert beyond <= odds.exception


def test_a_rho_is_told_at_its_delta() -> None:
    budget = Budget("concentrated", Fraction(1, 10))
    odds = Odds.of(budget)
    assert odds.epsilon == budget.epsilon_at("1e-6") + Fraction(1, 10)
    assert Fraction(1, 10**6) < odds.exception < Fraction(11, 10**6)
    assert Odds.of(budget, 2).epsilon == Odds.of(Budget("concentrated", Fraction(2, 5))).epsilon


@pytest.mark.parametrize("epsilon", [Fraction(61), Fraction(10**6)])
def test_a_loss_beyond_all_odds(epsilon: Fraction) -> None:
    assert Odds.of(Budget("pure", epsilon)).percent(1) == 100
    assert Odds.of(Budget("approximate", epsilon, Fraction(1, 9)), 2).exception == 1


@given(st.fractions(Fraction(1, 10**12), Fraction(49, 100)))
def test_a_chance_is_never_told_below_what_it_is(probability: Fraction) -> None:
    told = probability_words(probability).removeprefix("1 in ").replace(",", "")
    assert Fraction(1, int(told)) >= probability >= Fraction(1, 2 * int(told))


# What is reported of the answers to a local question: every kind, as cells and as JSON.


def records(oracle: Any, answers: list[Any], **wanted: Any) -> list[dict[str, Any]]:
    state = oracle.aggregate(oracle.perturb_many(answers))
    return [one.record for one in results_of(oracle, state, Wanted(**wanted))]


def test_counts_have_intervals_around_them() -> None:
    oracle = local.UnaryEncoding(["a", "b"], epsilon=2)
    state = oracle.aggregate(oracle.perturb_many(["a"] * 60 + ["b"] * 40))
    (record,) = (one.record for one in results_of(oracle, state, Wanted()))
    assert record["n"] == 100
    assert [row["item"] for row in record["items"]] == ["a", "b"]
    assert all(row["low"] < row["count"] < row["high"] for row in record["items"])
    (together,) = (one.record for one in results_of(oracle, state, Wanted(together=True)))
    width = [one["items"][0]["high"] - one["items"][0]["low"] for one in (record, together)]
    assert width[0] < width[1]
    json.dumps(record)


def test_ranges_are_as_asked_or_equal_parts() -> None:
    oracle = local.HierarchicalRanges(64, epsilon=4)
    (record,) = records(oracle, [3] * 50, ranges="0..9,10..63")
    assert [row["item"] for row in record["items"]] == [[0, 9], [10, 63]]
    (parts,) = records(oracle, [3] * 50)
    assert len(parts["items"]) == 8
    with pytest.raises(UsageError, match="write ranges as"):
        records(oracle, [3], ranges="0-9")


def test_each_attribute_has_its_own() -> None:
    parts = {
        "site": local.DirectEncoding(["a", "b"], epsilon=1),
        "ill": local.DirectEncoding(["yes", "no"], epsilon=1),
    }
    oracle = local.AttributeSampling(parts)
    answers = [{"site": "a", "ill": "no"}] * 20
    state = oracle.aggregate(oracle.perturb_many(answers))
    assert [one.name for one in results_of(oracle, state, Wanted())] == ["site", "ill"]


@pytest.mark.parametrize(
    ("option", "value"), [("candidates", ["a"]), ("ranges", "0..1"), ("heaviest", 3)]
)
def test_what_a_question_has_no_use_for_is_refused(option: str, value: Any) -> None:
    oracle = local.DirectEncoding(["a", "b"], epsilon=1)
    with pytest.raises(UsageError, match=f"^--{option} is not for DirectEncoding"):
        records(oracle, ["a"], **{option: value}, flag="--")
    with pytest.raises(UsageError, match=f"^{option} is not for DirectEncoding"):
        records(oracle, ["a"], **{option: value})


def wanted(**more: Any) -> Wanted:
    plain: dict[str, Any] = dict.fromkeys(("candidates", "ranges", "heaviest"))
    return Wanted(**{"level": "0.95", "together": False, "flag": "--", **plain, **more})


def shown(oracle: Any, answers: list[Any], **more: Any) -> list[Result]:
    with reproducible(4):
        state = oracle.aggregate(oracle.perturb_many(answers))
    return list(results_of(oracle, state, wanted(**more)))


def test_answers_come_by_their_size_and_the_record_keeps_their_order() -> None:
    (one,) = shown(local.DirectEncoding(["a", "b", "c"], epsilon=8), ["b"] * 90 + ["c"] * 10)
    assert one.cells[0][0] == "b"
    assert one.header == ["answer", "people", "95% range", "share"]
    assert [item["item"] for item in one.record["items"]] == ["a", "b", "c"]
    for item in one.record["items"]:
        assert 0 <= item["low"] <= max(item["count"], 0) <= item["high"] <= 100
    assert one.record["n"] == 100


def test_only_the_hundred_largest_are_printed() -> None:
    (one,) = shown(local.UnaryEncoding(130, epsilon=4), [7] * 50)
    assert (len(one.cells), len(one.record["items"])) == (100, 130)
    assert one.notes == ["the 100 largest of 130 answers; all of them with --json"]


def test_a_mean_has_its_range() -> None:
    (one,) = shown(local.Duchi(0, 10, epsilon=4), [3] * 500)
    assert one.header == ["mean", "95% range"]
    assert one.record["low"] <= one.record["mean"] <= one.record["high"]


def test_keys_have_shares_and_means_and_none_where_nobody_has_the_key() -> None:
    (one,) = shown(local.KeyValue(["a", "b"], 0, 1, epsilon=8), [{"a": 1}] * 400)
    assert one.header == ["key", "share", "95% range", "mean", "95% range"]
    assert [item["item"] for item in one.record["items"]] == ["a", "b"]
    assert one.record["items"][0]["share"] == pytest.approx(1, abs=0.3)


def test_words_are_looked_for_among_candidates_alone() -> None:
    sketch = local.CountMeanSketch(epsilon=4, functions=8, buckets=64)
    with pytest.raises(UsageError, match="--candidates a,b"):
        shown(sketch, ["red"] * 5)
    (one,) = shown(sketch, ["red"] * 200, candidates=["red", "blue"])
    assert [row[0] for row in one.cells] == ["red", "blue"]


# An entry of the registry: its fields, its tiers, what is missing, and its files.


FIXTURES = Path(__file__).parents[0] / "fixtures"
SECTIONS = {
    "basic": "name data_curators intended_use data_product_type data_product_region description "
    "publication_date data_product_sector",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details privacy_parameters "
    "privacy_parameters_details",
    "deployment_model": "model_name model_name_details actors release_type release_type_details "
    "data_source_type data_source_type_details access_type access_type_details",
    "accounting": "post_processing composition",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms justification",
    "administrative": "sources notes registry_authors",
}
"""The registry's own names."""

ANSWERS: dict[str, str | list[str]] = {
    asked.name: asked.choices[0][0] if asked.choices else f"({asked.name})"
    for asked in REGISTRY_FIELDS
    if asked.tier
}
"""An answer to each question that is asked."""


def body(name: str = "mean_by") -> dict:
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))


def test_an_entry_has_the_fields_of_the_registry() -> None:
    entry = registry_entry(body(), {})
    fields = json.loads(json.dumps(entry.fields))
    assert list(fields) == ["url_slug", "status", "tier", "deployment"]
    found = {name: " ".join(section) for name, section in fields["deployment"].items()}
    assert found == SECTIONS


def test_every_answer_stands_in_the_entry() -> None:
    whole = {**ANSWERS, "notes": "(notes)", "source": ["(one)", "(two)"], "published": "2027-01-31"}
    entry = registry_entry(body(), whole)
    text = entry.to_yaml()
    for asked in REGISTRY_FIELDS:
        for answer in [whole.get(asked.name, [])] if asked.name != "source" else whole["source"]:
            said = dict(asked.choices).get(str(answer), answer)
            assert not said or str(said) in text, asked.name
    assert entry.missing == ()
    assert entry.fields["tier"] == 3
    assert entry.fields["url_slug"] == "name-curator-2027"


@pytest.mark.few(7)
@pytest.mark.parametrize(
    "asked", [one for one in REGISTRY_FIELDS if one.tier], ids=lambda one: one.name
)
def test_the_tier_is_the_highest_of_which_nothing_is_missing(asked) -> None:
    entry = registry_entry(body("sum"), {n: a for n, a in ANSWERS.items() if n != asked.name})
    if asked.name == "releases":  # the ledger shows that there were others
        assert (entry.missing, entry.fields["tier"]) == ((), 3)
    else:
        assert entry.missing == (asked.name,)
        assert entry.fields["tier"] == max(1, asked.tier - 1)


def test_what_a_certificate_shows_is_not_asked() -> None:
    entry = registry_entry(body("over_time"), {})
    assert {"releases", "data_source"}.isdisjoint(entry.missing)


def test_a_day_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="published is a day"):
        registry_entry(body(), {"published": "soon"})


def test_a_certificate_that_does_not_hold_has_no_entry() -> None:
    changed = body()
    changed["spent"]["cost"]["epsilon"] = "1/100"
    with pytest.raises(VerificationError, match="does not hold"):
        Certificate(changed).registry_entry()


@pytest.mark.full
def test_an_entry_is_saved(tmp_path: Path) -> None:
    entry = Certificate(body()).registry_entry({"name": "Ages"})
    entry.save(tmp_path / "ages.json")
    assert json.loads((tmp_path / "ages.json").read_text()) == entry.fields
    entry.save(tmp_path / "ages.yaml")
    assert (tmp_path / "ages.yaml").read_text() == entry.to_yaml()
    with pytest.raises(UsageError, match="cannot be written"):
        entry.save(tmp_path / "no" / "ages.yaml")


# What a certificate knows for the registry, from every kind of certificate that there was.


KNOWN_FIXTURES = sorted((Path(__file__).parents[0] / "fixtures").glob("*.json"))


@pytest.fixture(params=KNOWN_FIXTURES, ids=lambda path: path.stem)
def known_body(request: pytest.FixtureRequest) -> dict:
    return json.loads(request.param.read_text(encoding="utf-8"))


@pytest.mark.few(9)
def test_parameters_are_never_below_the_exact_ones(known_body: dict) -> None:
    loss = known_body["composition"]["loss"]
    exact = [Fraction(part) for part in (loss if isinstance(loss, list) else [loss])]
    stated = [Fraction(repr(value)) for value in known.parameters(known_body).values()]
    assert all(0 <= s - e <= e / 10**12 for s, e in zip(stated, exact, strict=True))
    told = known.parameters_words(known_body)
    assert all(str(value) in told for value in exact)


@pytest.mark.few(9)
def test_every_text_is_whole_sentences_without_a_name_of_the_code(known_body: dict) -> None:
    makers = (known.description, known.data_domain, known.unit_sentences, known.composition)
    for make in (*makers, known.preparation, known.mechanisms, known.release_words):
        text = make(known_body)
        assert text[0].isupper() or text[0] == "-"
        assert not any(word in text for word in ("None", "{", "bound_contributions", "Fraction"))


def test_counts_over_time_are_of_data_that_grow() -> None:
    of = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in KNOWN_FIXTURES}
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


# Answers of people for the registry: read, or refused in a sentence.


def test_every_question_has_a_name_of_its_own_and_a_tier() -> None:
    names = [asked.name for asked in REGISTRY_FIELDS]
    assert len(set(names)) == len(names)
    assert {asked.tier for asked in REGISTRY_FIELDS} == {0, 1, 2, 3}
    assert all(asked.flag == "--" + asked.name.replace("_", "-") for asked in REGISTRY_FIELDS)


def test_blank_answers_are_none() -> None:
    assert read_answers({"name": "  ", "curator": [], "notes": None}) == {}


def test_a_choice_may_be_given_in_the_words_of_the_registry() -> None:
    given = read_answers({"releases": "One release", "access": "interactive"})
    assert given == {"releases": ["One release"], "access": ["Interactive"]}


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"curators": "Ada"}, "did you mean 'curator'"),
        ({"releases": "two"}, "one or many"),
        ({"name": ["a", "b"]}, "one answer, not 2"),
        ({"name": 3}, "must be text, not a int"),
    ],
)
def test_a_wrong_answer_is_refused(answers: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_answers(answers)


# YAML that is written: read back it is the same, whatever the texts hold.


NAMES = st.from_regex("[a-z][a-z_]{0,9}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ODD = st.sampled_from(
    ["no", "1e5", "- a", "a: b", "#x", "a\n b", " a\nb", "a\nb\n", "|", "'", '"', "~"]
)
PLAIN = st.one_of(TEXTS, ODD, st.integers(), st.floats(allow_nan=False, allow_infinity=False))
LEAVES = st.one_of(PLAIN, st.lists(PLAIN, max_size=3))
TREES = st.dictionaries(
    NAMES, st.one_of(LEAVES, st.dictionaries(NAMES, LEAVES, max_size=2)), min_size=1, max_size=3
)


@pytest.mark.full
@given(TREES)
def test_what_is_written_is_read_back(tree: dict) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML reads it back; pip install pyyaml")
    assert yaml.safe_load(yaml_text(tree)) == tree


def test_a_small_delta_stays_a_number_for_every_reader() -> None:
    # YAML 1.1 takes 1e-06, without a point, for text
    assert yaml_text({"delta": 1e-06, "rho": 0.5}) == "delta: 1.0e-06\nrho: 0.5\n"
