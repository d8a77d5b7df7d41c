"""Counting over time in a terminal: paid once, continued for nothing, refused before it costs."""

from __future__ import annotations

import pytest

ASKED = (
    "count-over-time people.csv --one-row-each --time day --start 2024-01-01 --every 1d --periods 4"
)
PAID = f"{ASKED} --epsilon 100000 --yes --ledger l --budget-epsilon 200000"


def spent(tacit):
    return float(tacit("ledger show l --json").json["spent"]["epsilon"])


def test_it_pays_once_and_goes_on_for_nothing(tacit):
    first = tacit(*f"{PAID} --json --now 2024-01-02".split())
    assert (first.code, first.json["periods"]["count"]) == (0, [0])
    assert "1 of 4 periods are published" in first.err
    later = tacit(*f"{ASKED} --epsilon 100000 --yes --ledger l --json --now 2024-01-04".split())
    assert later.json["periods"]["count"] == [0, 600, 0]
    assert later.json["periods"]["total"] == [0, 600, 600]
    assert later.json["remaining"] == first.json["remaining"]
    assert tacit("ledger verify l").code == 0


@pytest.mark.full
def test_a_table_a_csv_a_plot_and_a_certificate(tacit, folder):
    done = tacit(*f"{PAID} --certificate c.json --plot p.png --where sex='f'".split())
    assert (done.code, (folder / "p.png").exists()) == (0, True)
    assert "300" in done.out
    assert "2024-01-02" in done.out
    assert tacit("verify c.json --ledger l").code == 0
    table = tacit(*f"{PAID} --csv --where sex='f'".split()).out.splitlines()
    assert table[0].startswith("period,count,")
    assert len(table) == 5


def test_people_rho_whole_numbers_and_grace(tacit):
    words = (
        "count-over-time people.csv --person person --rows 2 --time age --start 18 --every 20 "
        "--periods 3 --grace 5 --rho 1e9 --yes --ledger l --now 63 --json --tag a --branching 2"
    )
    done = tacit(words)
    assert done.json["periods"]["count"] == [200, 200]
    assert "0" in done.json["remaining"]["exact"]["rho"]


def test_a_preview_begins_no_ledger(tacit, folder):
    done = tacit(f"{ASKED} --epsilon 1 --preview")
    assert (done.code, "once for all periods" in done.out) == (0, True)
    found = tacit(f"{ASKED} --epsilon 1 --preview --json").json
    assert (found["periods"], found["affordable"]) == (4, True)
    assert sorted(path.name for path in folder.iterdir()) == ["people.csv"]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (ASKED, 2, "loss|spend"),
        (
            ASKED.replace("day", "site") + " --types site=text --epsilon 1",
            2,
            "holds text values, not times",
        ),
        (ASKED.replace("1d", "often") + " --epsilon 1", 2, "every"),
        (f"{ASKED} --epsilon 1 --json --csv", 2, "not both"),
        (f"{ASKED} --epsilon 2 --ledger l --budget-epsilon 1", 1, "remains|left"),
    ],
)
def test_what_is_wrong_begins_no_count(tacit, words, code, told):
    done = tacit(words)
    assert done.code == code
    assert any(word in done.err for word in told.split("|")), done.err
