"""``tacit release`` and ``tacit preview``: what they print, write, spend and replay."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path

import pytest

from tacit import Certificate
from tacit.accounting import open_ledger

RELEASE = "release people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5"


def test_release_prints_the_answer_and_keeps_the_budget(tacit, folder: Path) -> None:
    done = tacit(f"{RELEASE} --budget-epsilon 2")
    assert done.code == 0
    assert "count" in done.out
    assert "mean_age" in done.out
    assert "spent epsilon 0.5; epsilon 1.5 is left of epsilon 2" in done.err
    with open_ledger(folder / "people.ledger") as ledger:
        assert str(ledger.remaining) == "epsilon 1.5"


def test_the_same_release_is_free_and_the_same(tacit) -> None:
    first = tacit(f"{RELEASE} --json").json
    again = tacit(f"{RELEASE} --json").json
    assert again["releases"][0]["replayed"]
    assert again["releases"][0]["answers"] == first["releases"][0]["answers"]
    assert again["remaining"] == first["remaining"]
    assert first["remaining"] == {"kind": "pure", "epsilon": 0, "exact": {"epsilon": "0"}}


@pytest.mark.full
def test_a_tag_makes_another_release(tacit) -> None:
    assert tacit(f"{RELEASE} --budget-epsilon 1").code == 0
    assert tacit(f"{RELEASE} --tag july --json").json["remaining"]["exact"]["epsilon"] == "0"


def test_json_has_one_record_a_group(tacit) -> None:
    done = tacit(f"{RELEASE} --by site --keys a,b,c --json").json
    records = done["releases"][0]["answers"]
    assert [record["key"] for record in records] == [{"site": s} for s in "abc"]
    for record in records:
        for label in ("count", "mean_age"):
            part = record[label]
            assert part["low"] <= part["value"] <= part["high"]
            assert part["standard_error"] > 0


def test_csv_is_a_table(tacit) -> None:
    done = tacit(f"{RELEASE} --by site --keys a,b --csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["site"] for row in rows] == ["a", "b"]
    assert {"count", "count_error", "mean_age_low", "mean_age_high"} <= set(rows[0])


def test_unknown_keys_take_a_delta(tacit) -> None:
    refused = tacit("release people.csv --one-row-each --count --by site --epsilon 1")
    assert refused.code == 2
    assert "--keys" in refused.err
    assert "--delta" in refused.err
    done = tacit(
        "release people.csv --one-row-each --count --by site --epsilon 5 --delta 1e-6 --json"
    )
    assert [r["key"]["site"] for r in done.json["releases"][0]["answers"]] == ["a", "b", "c"]


def test_rho_pays_from_a_rho_budget(tacit) -> None:
    done = tacit("release people.csv --one-row-each --count --rho 0.1 --budget-rho 1/5 --json").json
    assert done["remaining"]["kind"] == "concentrated"
    # The scale is rational, so a little may be left over.
    left = Fraction(done["remaining"]["exact"]["rho"])
    assert 0 <= left - Fraction(1, 10) < Fraction(1, 10**12)


def test_certificates_and_plots_are_written(tacit, folder: Path) -> None:
    done = tacit(f"{RELEASE} --certificate c.json --certificate c.html --plot p.png")
    assert done.code == 0
    assert Certificate.load(folder / "c.json").verify()
    assert (folder / "c.html").read_text().startswith("<!DOCTYPE html>")
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
    assert done.err.count("wrote ") == 3


def test_what_was_paid_for_is_printed_where_no_plot_can_be_drawn(tacit, folder: Path) -> None:
    done = tacit(f"{RELEASE} --by age --keys 0..99 --plot p.png --csv")
    assert done.code == 0
    assert len(done.out.splitlines()) == 101
    assert "No plot was drawn: a figure shows 1 to 80 groups" in done.err
    assert not (folder / "p.png").exists()
