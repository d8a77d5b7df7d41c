"""``tacit ledger`` and ``tacit verify``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import tacit as tc
from tacit.accounting import create_ledger, epsilon, epsilon_delta
from tacit.accounting.ledger import on_account_of, set_cap, shared_by
from tacit.cli.release.plan_file import read_plan
from tacit.errors import BudgetError, LedgerError, UsageError

CREATE = "ledger create people.csv --budget-epsilon 1"
RELEASE = "release people.csv --one-row-each --count --epsilon 0.5 --certificate c.json"


def test_create_begins_a_ledger_once(tacit, folder: Path) -> None:
    done = tacit(f"{CREATE} --person person --rows 2 --groups 1")
    assert done.code == 0
    shown = tacit("ledger show people.ledger --json").json
    assert shown["budget"] == {"kind": "pure", "epsilon": 1, "exact": {"epsilon": "1"}}
    assert shown["terms"]["unit"] == {"column": "person", "rows": 2, "groups": 1}
    assert shown["releases"] == []
    assert "Nothing was released yet" in tacit("ledger show people.ledger").out
    again = tacit(f"{CREATE} --person person --rows 2")
    assert again.code == 2
    assert "exists already" in again.err


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        (
            "--budget-epsilon 1 --budget-delta 1e-6",
            {"kind": "approximate", "epsilon": "1", "delta": "1/1000000"},
        ),
        ("--budget-rho 1/3", {"kind": "concentrated", "rho": "1/3"}),
    ],
)
def test_create_knows_every_kind_of_budget(tacit, flags: str, shown: dict[str, str]) -> None:
    assert tacit(f"ledger create people.csv --one-row-each {flags} --ledger x.ledger").code == 0
    told = tacit("ledger show x.ledger --json").json["budget"]
    assert {"kind": told["kind"], **told["exact"]} == shown


def test_show_tells_every_release(tacit) -> None:
    tacit(f"{RELEASE} --budget-epsilon 2")
    done = tacit("ledger show people.ledger")
    assert done.code == 0
    for text in (
        "Budget     epsilon 2",
        "Left       epsilon 1.5",
        "25% spent",
        "The number of rows",
    ):
        assert text in done.out
    (release,) = tacit("ledger show people.ledger --json").json["releases"]
    assert (release["state"], release["cost"]["exact"]["epsilon"]) == ("answered", "1/2")
    assert (release["charge"], release["cost"]["epsilon"]) == (1, 0.5)


def test_show_tells_what_many_charges_cost_together(tacit, folder: Path) -> None:
    with create_ledger(
        folder / "d.ledger", dataset="patients", budget=epsilon_delta(1, "1e-6")
    ) as ledger:
        asked = {"unit": None, "by": [], "keys": None, "where": [], "derived": []}
        counted = {**asked, "aggregates": [["n", {"kind": "count"}]]}
        for tag in range(30):
            ledger.charge(f"k{tag}", epsilon("1/32"), {"query": counted, "tag": tag})
    text = tacit("ledger show d.ledger").out
    assert "one by one add up to epsilon 0.9375" in text
    shown = tacit("ledger show d.ledger --json").json
    assert shown["added_up"]["exact"] == {"epsilon": "15/16", "delta": "0"}
    assert 0.7 < shown["spent"]["epsilon"] < 0.8


def test_show_tells_the_accounts_and_who_shares_the_budget(tacit, folder: Path) -> None:
    people = {"unit": None, "neighbours": "unbounded"}
    with create_ledger(folder / "p.ledger", dataset="patients", budget=epsilon(1)) as ledger:
        set_cap(ledger, "team:a", epsilon("1/2"), "half")
        view = on_account_of(shared_by(ledger, "visits", people), "team:a", "analyst:ada")
        asked = {"unit": people, "by": [], "keys": None, "where": [], "derived": []}
        counted = {**asked, "aggregates": [["n", {"kind": "count"}]]}
        view.charge("k", epsilon("1/4"), {"query": counted})
    shown = tacit("ledger show p.ledger --json").json
    quarter = {"kind": "pure", "epsilon": 0.25, "exact": {"epsilon": "1/4"}}
    half = {"kind": "pure", "epsilon": 0.5, "exact": {"epsilon": "1/2"}}
    assert shown["accounts"] == [
        {"name": "analyst:ada", "cap": None, "spent": quarter},
        {"name": "team:a", "cap": half, "spent": quarter},
    ]
    assert shown["datasets"] == ["visits"]
    told = tacit("ledger show p.ledger").out
    for text in ("visits shares it", "analyst:ada", "no cap", "epsilon 0.25"):
        assert text in told


def test_verify_replays_the_chain(tacit) -> None:
    tacit(RELEASE)
    done = tacit("ledger verify people.ledger")
    assert (done.code, done.out[:2]) == (0, "ok")


@pytest.mark.full
def test_extend_raises_in_the_open(tacit) -> None:
    tacit(RELEASE)
    assert (
        tacit("ledger", "extend", "people.ledger", "--budget-epsilon", "2", "--reason", " ").code
        == 2
    )
    assert tacit("ledger extend people.ledger --budget-epsilon 0.4 --reason less").code == 2
    done = tacit("ledger extend people.ledger --budget-epsilon 2 --reason yearly")
    assert done.code == 0
    assert "epsilon 1.5" in done.out
    assert tacit("release people.csv --one-row-each --mean age:0:100 --epsilon 1.5").code == 0


@pytest.mark.full
def test_restore_after_a_move(tacit, folder: Path) -> None:
    tacit(f"{RELEASE} --budget-epsilon 1")
    (folder / "new").mkdir()
    shutil.move("people.ledger", "new/people.ledger")
    ask = (
        "release people.csv --one-row-each --mean age:0:100 --epsilon 0.5 --ledger "
        "new/people.ledger"
    )
    refused = tacit(ask)
    assert refused.code == 2
    assert "moved" in refused.err
    assert tacit("ledger restore new/people.ledger").code == 0
    assert tacit(ask).code == 0
    assert tacit("ledger adopt nowhere.ledger").code == 2


def test_a_series_shows_the_tag_of_each_release(tacit, folder: Path) -> None:
    for month in ("2024-05", "2024-06"):
        done = tacit(
            f"release people.csv --one-row-each --count --epsilon 0.25 --tag {month} "
            "--budget-epsilon 1"
        )
        assert done.code == 0, done.err
    shown = tacit("ledger show people.ledger").out
    assert "tagged '2024-05'" in shown
    assert "tagged '2024-06'" in shown
    releases = tacit("ledger show people.ledger --json").json["releases"]
    assert [one["question"]["tag"] for one in releases] == ["2024-05", "2024-06"]


# A ledger in PostgreSQL, for ``tc.Session`` and in the terminal.


@pytest.fixture
def address(postgres):
    return f"{postgres.dsn()}?ledger=people"


@pytest.fixture
def place(postgres):
    """The address as it may be shown."""
    return f"postgresql://curator@127.0.0.1:{postgres.server.port}/{postgres.name}?ledger=people"


def test_two_sessions_share_one_budget(folder, address):
    with (
        tc.Session(
            "people.csv", unit=tc.one_row_each, budget=tc.epsilon(1), ledger=address
        ) as here,
        tc.Session("people.csv", unit=tc.one_row_each, ledger=address) as there,
    ):
        n = here.agg(n=tc.count()).release(epsilon="1/2")
        again = there.agg(n=tc.count()).release(epsilon="1/2")
        assert (again.value("n"), again.replayed) == (n.value("n"), True)
        assert here.remaining == there.remaining == tc.epsilon("1/2")
        assert here.agg(n=tc.count()).is_answered(epsilon="1/2")
        with pytest.raises(BudgetError):
            there.agg(a=tc.mean("age", 0, 100)).release(epsilon="3/4")
        assert n.certificate.verify(there.ledger)


def test_a_session_refuses_before_it_reads_a_row(folder, address, postgres):
    with pytest.raises(UsageError, match="say how much may be spent in all"):
        tc.Session("people.csv", unit=tc.one_row_each, ledger=address)
    tc.Session("people.csv", unit=tc.one_row_each, budget=tc.epsilon(1), ledger=address).close()
    with pytest.raises(LedgerError, match=r"has the budget epsilon\(1\)"):
        tc.Session("people.csv", unit=tc.one_row_each, budget=tc.epsilon(2), ledger=address)
    reader = f"{postgres.dsn(postgres.server.role('reviewer'))}?ledger=people"
    with pytest.raises(LedgerError, match="lacks a right"):
        tc.Session("people.csv", unit=tc.one_row_each, budget=tc.epsilon(1), ledger=reader)


def test_the_terminal_takes_an_address_for_a_ledger(tacit, address, place, postgres):
    created = tacit(
        f"ledger create people.csv --one-row-each --budget-epsilon 1 --ledger {address}"
    )
    assert created.code == 0
    assert f"{place} starts with epsilon 1" in created.err
    ask = (
        f"release people.csv --one-row-each --count --epsilon 1/2 --ledger {address} "
        f"--certificate n.json"
    )
    first, again = tacit(ask), tacit(ask)
    assert (first.code, again.code) == (0, 0), first.err
    assert place in first.out + first.err
    assert first.out.split()[:8] == again.out.split()[:8]
    released = tacit(
        f"release people.csv --one-row-each --count --epsilon 1/2 --ledger {address} --json"
    )
    assert released.json["ledger"] == place
    shown = tacit(f"ledger show {address}")
    assert "epsilon 0.5" in shown.out
    assert tacit(f"ledger show {address} --json").json["remaining"]["exact"]["epsilon"] == "1/2"
    assert "ok: 3 events" in tacit(f"ledger verify {address}").out
    assert tacit(f"verify n.json --ledger {address}").code == 0
    assert (
        tacit(f"preview people.csv --one-row-each --count --epsilon 1/4 --ledger {address}").code
        == 0
    )
    refused = tacit(f"release people.csv --one-row-each --count --epsilon 3/4 --ledger {address}")
    assert refused.code == 1
    extended = tacit("ledger", "extend", address, "--budget-epsilon", "2", "--reason", "more")
    assert "The budget is epsilon 2" in extended.out
    restored = tacit(f"ledger restore {address}")
    assert f"{place} stays here" in restored.out
    for done in (created, first, again, released, shown, refused, extended, restored):
        assert postgres.server.password not in done.out + done.err


def test_a_first_release_begins_the_ledger_and_shows_no_password(tacit, address, place, postgres):
    done = tacit(f"release people.csv --one-row-each --count --epsilon 1/2 --ledger {address}")
    assert done.code == 0, done.err
    assert f"{place} is created with the price of this release" in " ".join(done.err.split())
    assert postgres.server.password not in done.out + done.err


def test_a_plan_may_name_an_address(tacit, folder, address, postgres):
    (folder / "plan.toml").write_text(f"""
        unit = "row"
        [source]
        path = "people.csv"
        [budget]
        epsilon = 1
        ledger = "{address}"
        [[question]]
        answers = {{ n = {{ statistic = "count" }} }}
        epsilon = "1/2"
    """)
    done = tacit("release --plan plan.toml")
    assert done.code == 0, done.err
    assert postgres.server.password not in done.out + done.err
    with tc.Session("people.csv", unit=tc.one_row_each, ledger=address) as session:
        assert session.spent == tc.epsilon("1/2")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("ledger show {}", "does not exist"),
        ("ledger verify {}", "does not exist"),
        ("ledger restore {}", "does not exist"),
        ("ledger show postgresql://ann:hidd/en@h/d", "the address of the ledger cannot be read"),
        ("release people.csv --one-row-each --count --epsilon 1 --ledger "
        "postgresql://a:hidd/en@h/d", "cannot be"),
        ("ledger show postgresql://ann:hidden@127.0.0.1:1/d", "cannot be reached"),
        ("release people.csv --one-row-each --count --epsilon 1 --ledger "
        "postgresql://a:hidden@127.0.0.1:1/d",
         "cannot be reached"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_without_a_password(tacit, address, postgres, command, told):
    done = tacit(command.format(address))
    assert (done.code, done.out) == (2, "")
    assert told in " ".join(done.err.split())
    for secret in ("hidd", postgres.server.password):
        assert secret not in done.err


# Plans: several questions, paid whole or not at all, and each mistake told.


def test_a_plan_must_say_the_unit(tacit, folder: Path) -> None:
    asked = """
[source]
path = "people.csv"
[[question]]
answers = { n = { statistic = "count" } }
epsilon = 1
"""
    for said, code in (("", 2), ('unit = "person"', 2), ('unit = "row"', 0)):
        (folder / "plan.toml").write_text(said + asked)
        done = tacit("release --plan plan.toml")
        assert done.code == code, done.err
        assert code == 0 or 'unit is "row"' in done.err or 'unit = "row"' in done.err


PLAN = """
[source]
path = "people.csv"
types = { site = "text" }
[unit]
person = "person"
rows = 2
[budget]
epsilon = 1
ledger = "plan.ledger"
[[question]]
name = "by site"
by = ["site"]
keys = ["a", "b"]
epsilon = 0.4
certificate = "site.json"
[question.answers]
people = { statistic = "count_people" }
[[question]]
where = "age >= 30"
epsilon = "3/5"
[question.answers]
p90 = { statistic = "percentile", column = "pay", q = 90, lower = 0, upper = 1000 }
ages = { statistic = "histogram", column = "age", edges = [18, 40, 100] }
"""


@pytest.mark.full
def test_a_plan_asks_several_questions(tacit, folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN)
    done = tacit("release --plan plan.toml --json").json
    assert done["remaining"]["exact"] == {"epsilon": "0"}  # 0.4 is four tenths, exactly
    first, second = done["releases"]
    assert first["name"] == "by site"
    assert set(second["answers"][0]) == {"key", "p90", "ages"}
    assert json.loads((folder / "site.json").read_text())["digest"] == first["digest"]
    again = tacit("release --plan plan.toml --json").json
    assert [r["replayed"] for r in again["releases"]] == [True, True]
    assert tacit("preview --plan plan.toml").code == 0


def test_a_plan_is_paid_whole_or_not_at_all(tacit, folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN.replace('"3/5"', '"61/100"'))
    done = tacit("release --plan plan.toml")
    assert done.code == 1
    assert not (folder / "plan.ledger").exists()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[unit]", "[units]", "did you mean 'unit'"),
        ("rows = 2", "row = 2", "did you mean 'rows'"),
        ('"count_people"', '"count_peple"', "did you mean 'count_people'"),
        ("upper = 1000", "uper = 1000", "uper"),
        (", upper = 1000", "", "lacks upper"),
        ('path = "people.csv"', "path = 3", "text in quotes"),
        ("epsilon = 0.4", "epsilon = -1", "above zero"),
        ('"age >= 30"', '"age >> 30"', "the condition"),
        ('"age >= 30"', '"age >= 2024-01-31"', "write a day as '2024-01-31'"),
        ('"percentile"', '"quantile"', "did you mean 'percentile'"),
        ('path = "people.csv"', 'path = ""', "a path is empty"),
        ('= { statistic = "count_people" }', '= "count_people"', "must be like { statistic ="),
        ("q = 90, lower = 0, upper = 1000", "q = 90, bounds = [0, 9]", "lower = 0, upper ="),
        ("[unit]", "[tables.people]\n[unit]", "the declaration of a data set"),
        ("[[question]]", "[[question", "not TOML"),
        ("age >= 30", "agee >= 30", "did you mean 'age'"),
        ('where = "age >= 30"', 'cut = { old = { column = "age", edge = [1] } }', "edges = ["),
        ('where = "age >= 30"', 'cut = { old = { column = "age", edges = [1] } }', "two edges"),
        ('keys = ["a", "b"]\n', "", "not known to be public"),
        ('keys = ["a", "b"]', "keys = []", "list of keys is empty"),
    ],
)
def test_a_plan_with_a_mistake_spends_nothing(tacit, folder: Path, old, new, said) -> None:
    assert old in PLAN
    (folder / "plan.toml").write_text(PLAN.replace(old, new))
    done = tacit("release --plan plan.toml")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not (folder / "plan.ledger").exists()


def test_a_plan_stands_alone(tacit, folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN)
    for command in ("preview plan.toml", "release plan.toml --count --epsilon 1"):
        assert "run it with tacit release --plan plan.toml" in tacit(command).err
    done = tacit("release people.csv --plan plan.toml")
    assert done.code == 2
    assert "--plan specifies everything" in done.err
    assert tacit("release --plan nowhere.toml").code == 2
    assert tacit("release --plan plan.toml --csv").code == 2


# Questions of a plan file that are answered together.


TOGETHER_PLAN = """
unit = "row"

[source]
path = "rows.csv"
types = {{ sex = "text", age = "integer" }}

[budget]
rho = 1000
ledger = "rows.ledger"

[together]
rho = 100
weights = {{ n = 2 }}
unlisted = "drop"
certificate = "all.json"
{more}

[[question]]
name = "all"
[question.answers]
n = {{ statistic = "count" }}

[[question]]
name = "by sex"
by = "sex"
keys = ["f", "m"]
{own}
[question.answers]
m = {{ statistic = "count" }}
age = {{ statistic = "mean", column = "age", lower = 0, upper = 100 }}
"""


@pytest.fixture
def table(folder: Path) -> None:
    rows = [f"{'fmx'[i % 3]},{i}" for i in range(90)]
    (folder / "rows.csv").write_text("sex,age\n" + "\n".join(rows) + "\n")


def plan_in(folder, more="", own=""):
    (folder / "plan.toml").write_text(TOGETHER_PLAN.format(more=more, own=own))
    return str(folder / "plan.toml")


@pytest.mark.usefixtures("table")
def test_they_have_one_price_one_certificate_and_near_answers(tacit, folder):
    plan = plan_in(folder)
    assert tacit("preview", "--plan", plan).code == 0
    told = tacit("release", "--plan", plan, "--yes", "--json").json
    whole, by_sex = told["releases"]
    assert [whole["name"], by_sex["name"]] == ["all", "by sex"]
    assert whole["digest"] == by_sex["digest"]
    assert abs(whole["answers"][0]["n"]["value"] - 60) < 3
    for index, record in enumerate(by_sex["answers"]):
        assert abs(record["m"]["value"] - 30) < 3
        assert abs(record["age"]["value"] - (43.5 + index)) < 3
    assert tacit("verify", str(folder / "all.json")).code == 0
    again = tacit("release", "--plan", plan, "--yes", "--json").json
    assert all(each["replayed"] for each in again["releases"])
    assert again["remaining"] == told["remaining"]
    assert "by sex" in tacit("release", "--plan", plan, "--yes").out
    assert tacit("release", "--plan", plan, "--yes", "--csv").code == 2


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("more", "own", "said"),
    [
        ("", "rho = 1", r"leave epsilon, delta, rho, total, tag out of the \[\[question\]\]"),
        ("weight = 1", "", "weight"),
        ("epsilon = { n = 1 }", "", "one epsilon or rho"),
    ],
)
def test_what_does_not_go_together_is_refused(folder, more, own, said):
    with pytest.raises(UsageError, match=said):
        read_plan(plan_in(folder, more, own))


@pytest.mark.usefixtures("table")
def test_a_price_is_needed(folder):
    text = TOGETHER_PLAN.format(more="", own="").replace("rho = 100\n", "")
    (folder / "plan.toml").write_text(text)
    with pytest.raises(UsageError, match="needs the price of all questions"):
        read_plan(str(folder / "plan.toml"))
