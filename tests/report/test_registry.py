"""An entry of the registry: its fields, its tiers, what is missing, and its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import Certificate
from tacit.errors import UsageError, VerificationError
from tacit.report.registry import ASKED, registry_entry

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
    for asked in ASKED
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
    for asked in ASKED:
        for answer in [whole.get(asked.name, [])] if asked.name != "source" else whole["source"]:
            said = dict(asked.choices).get(str(answer), answer)
            assert not said or str(said) in text, asked.name
    assert entry.missing == ()
    assert entry.fields["tier"] == 3
    assert entry.fields["url_slug"] == "name-curator-2027"


@pytest.mark.few(7)
@pytest.mark.parametrize("asked", [one for one in ASKED if one.tier], ids=lambda one: one.name)
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
