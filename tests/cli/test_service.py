"""``tacit token``: the operator's own way to tokens."""

from __future__ import annotations

import io
import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from support.service.client import running
from support.service.hosting import hosted_clinic, released
from support.service.server import free_port
from tacit.audit.attack_suite import run
from tacit.audit.attack_suite.run import AttackResult, AttackTable, load_cases
from tacit.audit.attack_suite.system import FALLS, CaseOutcome
from tacit.local import (
    AttributeSampling,
    AttributeSplitting,
    Duchi,
    Items,
    KeyValue,
    OptimizedLocalHashing,
    PaddedSets,
    PrefixExtending,
    RandomizedResponse,
    Rappor,
    UnaryEncoding,
    Wire,
)
from tacit.service.demo import write_demo
from tacit.service.folder import open_store
from tacit.service.settings import Settings
from tacit.service.tokens import Tokens


@pytest.fixture
def clinic(folder: Path) -> Path:
    write_demo(folder / "clinic")
    return folder / "clinic"


def test_create_list_narrow_revoke(clinic: Path, tacit) -> None:
    made = tacit(
        "token create --folder clinic --role analyst --role reviewer --dataset visits --name ada "
        "--team oncology --days 1"
    )
    assert made.code == 0
    text = made.out.strip()
    assert text not in made.err
    (one,) = tacit("token list --folder clinic --json").json
    assert one["team"] == "oncology"
    assert [grant["role"] for grant in one["grants"]] == ["analyst", "reviewer"]
    assert text not in tacit("token list --folder clinic").out
    narrow = tacit(f"token narrow {one['id']} --folder clinic --role reviewer --dataset visits")
    database, key = open_store(Settings.load(clinic))
    tokens = Tokens(database, key)
    assert tokens.check(text).name == "ada"
    assert tokens.check(narrow.out.strip()).roles == ["reviewer"]
    assert "2 tokens" in tacit(f"token revoke {one['id']} --folder clinic").out
    assert {one["ended"] for one in tacit("token list --folder clinic --json").json} == {"revoked"}
    database.close()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("token create --folder clinic --name ada", "--role"),
        ("token create --folder clinic --name ada --role analist", "did you mean 'analyst'"),
        ("token create --folder clinic --name ada --role analyst --dataset visit", "did you mean"),
        ("token create --folder clinic --name ada --role analyst --days 400", "366"),
        ("token create --folder clinic --name ada --role analyst --days nan", "366"),
        ("token create --folder nothere --name ada --role analyst", "there is no folder"),
        ("token revoke 00 --folder clinic", "there is no token"),
        ("token narrow 00 --folder clinic", "there is no token"),
    ],
)
@pytest.mark.usefixtures("clinic")
def test_what_is_refused(words: str, told: str, tacit) -> None:
    done = tacit(words)
    assert done.code == 2
    assert told in done.err


@pytest.mark.usefixtures("clinic")
def test_narrowing_never_widens(tacit) -> None:
    tacit("token create --folder clinic --role analyst --dataset visits --name ada")
    (one,) = tacit("token list --folder clinic --json").json
    done = tacit(f"token narrow {one['id']} --folder clinic --role curator")
    assert done.code == 2
    assert "does not" in done.err


# ``tacit local`` with every kind of question: numbers, ranges, words, sets, attributes, keys.


AGES = "local perturb people.csv --column age"


def described(folder: Path, oracle: Any) -> str:
    (folder / "question.json").write_text(json.dumps(oracle.describe()))
    return "--question question.json"


@pytest.mark.few(4)
@pytest.mark.parametrize("mechanism", ["duchi", "piecewise", "hybrid", "laplace"])
def test_means_of_numbers(mechanism: str, tacit, folder: Path) -> None:
    asked = f"--mechanism {mechanism} --bounds 0:100 --epsilon 4"
    assert tacit(f"{AGES} {asked} --out r").code == 0
    collected = tacit("local collect r --out s --replay exact --json").json
    assert collected == {"added": 600, "n": 600, "refused": {}}
    told = tacit("local estimate s --level 0.999999 --crafted 5 --json").json
    assert told["n"] == 600
    assert told["low"] < 47.5 < told["high"]
    assert "move the mean" in told["poisoned"]
    shown = tacit("local estimate s")
    assert "mean" in shown.out
    assert tacit("local estimate s --plot m.png").code == 2


@pytest.mark.full
def test_a_spread_of_numbers(tacit, folder: Path) -> None:
    asked = "--mechanism square-wave --bounds 0:80 --epsilon 4"
    assert tacit(f"{AGES} {asked} --out r").code == 0
    told = tacit("local estimate r --together --level 0.999999 --plot wave.png --json").json
    assert [row["item"] for row in told["items"]] == [[10.0 * i, 10.0 * i + 10] for i in range(8)]
    true = [0, 20, 100, 100, 100, 100, 100, 80]
    assert all(row["low"] <= t <= row["high"] for row, t in zip(told["items"], true, strict=True))
    assert (folder / "wave.png").exists()
    assert "0 to 10" in tacit("local estimate r").out


def test_missing_numbers(tacit, folder: Path) -> None:
    (folder / "pay.csv").write_text("pay,x\n10,1\n,2\nmuch,3\n")
    flags = "--column pay --mechanism duchi --bounds 0:10 --epsilon 1"
    done = tacit(f"local perturb pay.csv {flags} --out r")
    assert done.code == 2
    assert "missing" in done.err
    done = tacit(f"local perturb pay.csv {flags} --missing 5 --out r")
    assert done.code == 2
    assert "much" not in done.err
    assert not (folder / "r").exists()
    (folder / "pay.csv").write_text("pay,x\n10,1\n,2\n")
    assert tacit(f"local perturb pay.csv {flags} --missing 5 --out r").code == 0
    assert tacit("local estimate r --json").json["n"] == 2


def test_ranges(tacit, folder: Path) -> None:
    assert tacit(f"{AGES} --mechanism ranges --items 0..99 --epsilon 4 --out r").code == 0
    words = "local estimate r --ranges 18..47,48..77 --level 0.999999 --json"
    told = tacit(words).json
    assert [row["item"] for row in told["items"]] == [[18, 47], [48, 77]]
    assert all(row["low"] <= 300 <= row["high"] for row in told["items"])
    assert len(tacit("local estimate r --json").json["items"]) == 8
    assert tacit("local estimate r --ranges 5..3").code == 2
    assert tacit("local estimate r --ranges some").code == 2
    assert len(tacit("local estimate r --json --crafted 3").json["poisoned"]) > 1


@pytest.mark.few(3)
@pytest.mark.parametrize("mechanism", ["sketch", "hadamard-sketch", "rappor"])
def test_any_text(mechanism: str, tacit, folder: Path) -> None:
    epsilon = "" if mechanism == "rappor" else "--epsilon 4"
    asked = f"--column site --mechanism {mechanism} {epsilon}"
    assert tacit(f"local perturb people.csv {asked} --out r").code == 0
    assert tacit("local collect r --out s").code == 0
    told = tacit("local estimate s --candidates a,b,c,d --json").json
    assert [row["item"] for row in told["items"]] == ["a", "b", "c", "d"]
    done = tacit("local estimate s")
    assert done.code == 2
    assert "--candidates" in done.err


def test_heavy_hitters(tacit, folder: Path) -> None:
    lines = [str(51966)] * 3000 + [str(i) for i in range(500)]
    (folder / "codes.csv").write_text("\n".join(["code", *lines]) + "\n")
    asked = described(folder, PrefixExtending(16, epsilon=4, step=8))
    assert tacit(f"local perturb codes.csv --column code {asked} --out r").code == 0
    told = tacit("local estimate r --heaviest 3 --json").json
    assert told["items"][0]["item"] == 51966
    assert told["items"][0]["low"] < 3000 < told["items"][0]["high"]
    assert len(told["items"]) == 3
    assert "all at once" in tacit("local estimate r").out


def test_sets_in_one_field(tacit, folder: Path) -> None:
    rows = ["milk; tea", "milk", "", "bread"] * 200
    (folder / "baskets.csv").write_text("\n".join(["goods,x", *(f"{r},1" for r in rows)]) + "\n")
    goods = Items(["milk", "bread", "tea"], other="nothing")
    asked = described(folder, PaddedSets(UnaryEncoding(goods, epsilon=4), 2))
    assert tacit(f"local perturb baskets.csv --column goods {asked} --out r").code == 0
    told = tacit("local estimate r --level 0.999999 --crafted 2 --json").json
    by_item = {row["item"]: row for row in told["items"]}
    for item, true in (("milk", 400), ("tea", 200), ("bread", 200)):
        assert by_item[item]["low"] < true < by_item[item]["high"]


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", [AttributeSplitting, AttributeSampling])
def test_several_attributes_in_columns_of_their_names(kind: type, tacit, folder: Path) -> None:
    parts = {
        "sex": RandomizedResponse(["f", "m"], epsilon=3),
        "age": Duchi(0, 100, epsilon=3),
        "pay": OptimizedLocalHashing(Items(1000), epsilon=3),
    }
    asked = described(folder, kind(parts))
    assert tacit(f"local perturb people.csv {asked} --out r").code == 0
    told = tacit("local estimate r --json --crafted 4").json
    assert told["n"] == 600
    assert set(told["attributes"]) == set(parts)
    assert abs(told["attributes"]["age"]["mean"] - 47.5) < 30
    assert len(told["attributes"]["pay"]["items"]) == 1000
    assert len(told["poisoned"]) == 3
    shown = tacit("local estimate r")
    assert "sex: " in shown.out
    assert tacit("local estimate r --plot a.png").code == 2
    assert tacit(f"local perturb people.csv --column age {asked} --out t").code == 2


def test_keys_and_values(tacit, folder: Path) -> None:
    (folder / "stars.csv").write_text("film,book\n" + "5,\n4,1\n,3\n,\n" * 300)
    asked = described(folder, KeyValue(["film", "book"], 1, 5, epsilon=4))
    assert tacit(f"local perturb stars.csv {asked} --out r").code == 0
    told = tacit("local estimate r --level 0.999999 --json").json
    film = told["items"][0]
    assert film["item"] == "film"
    assert film["low"] < 0.5 < film["high"]
    assert film["mean_low"] < 4.5 < film["mean_high"]
    assert "book" in tacit("local estimate r").out


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("words", "typed"),
    [
        ("--mechanism duchi --bounds 0:100 --epsilon 1", "37.5\n"),
        ("--mechanism square-wave --bounds 0:100 --epsilon 1", "37.5\n"),
        ("--mechanism ranges --items 0..99 --epsilon 1", "37\n"),
        ("--mechanism rappor", "any word\n"),
        ("--mechanism sketch --epsilon 1", "any word\n"),
        ("--mechanism summation --items a,b --epsilon 1", "b\n"),
        ("--mechanism threshold --items a,b --epsilon 1", "1\n"),
    ],
)
def test_one_person_is_asked(words: str, typed: str, tacit, folder: Path, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    done = tacit("local", "ask", "Well?", *words.split(), "--out", "class.reports")
    assert done.code == 0, done
    assert json.loads(done.out)["tacit_report"] == 1
    assert typed.strip() not in done.err.replace("Well?", "").split("Your answer: ")[1]
    assert tacit("local collect class.reports --out s --json").json["n"] == 1


def test_questions_that_one_person_cannot_answer_here(tacit, folder: Path, monkeypatch) -> None:
    parts = {"a": RandomizedResponse(epsilon=1), "b": RandomizedResponse(epsilon=1)}
    asked = described(folder, AttributeSplitting(parts))
    monkeypatch.setattr("sys.stdin", io.StringIO("x\n"))
    done = tacit("local", "ask", "Well?", *asked.split())
    assert done.code == 2
    assert "several answers" in done.err
    page = "--mechanism duchi --bounds 0:1 --epsilon 1 --page survey"
    done = tacit("local", "ask", "Well?", *page.split())
    assert done.code == 2
    assert "one answer of a list" in done.err


def test_a_report_of_the_command_line_is_one_of_the_library(tacit, folder: Path) -> None:
    oracle = Rappor()
    tacit("local perturb people.csv --column site --mechanism rappor --out r")
    tacit("local collect r --out s")
    assert Wire(oracle).payload_bytes + 16 == ((folder / "r").stat().st_size // 600)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--mechanism duchi --epsilon 1", "--bounds 0:100"),
        ("--mechanism duchi --bounds 5:1 --epsilon 1", "below upper"),
        ("--mechanism duchi --bounds 0:1 --items a,b --epsilon 1", "for a number"),
        ("--mechanism direct --bounds 0:1 --items a,b --epsilon 1", "for numbers"),
        ("--mechanism sketch --items a,b --epsilon 1", "takes any answer"),
        ("--mechanism rappor --epsilon 1", "rappor takes -p and -q"),
        ("--mechanism ranges --items a,b --epsilon 1", "0..99"),
        ("--mechanism laplace --bounds 0:1 -p 1/2", "laplace takes --epsilon"),
        ("--mechanism square-wave --bounds 0:1 -p 1/2", "takes --epsilon"),
        ("--mechanism duchi --bounds 0:1 --epsilon 0", "above zero"),
    ],
)
def test_flags_that_do_not_make_a_question(flags: str, says: str, tacit, folder: Path) -> None:
    done = tacit(f"{AGES} {flags} --out r")
    assert done.code == 2, done
    assert says in done.err
    assert not (folder / "r").exists()


def test_flags_that_an_estimate_has_no_use_for(tacit, folder: Path) -> None:
    tacit(f"{AGES} --mechanism duchi --bounds 0:99 --epsilon 1 --out r")
    for flag in ("--candidates a", "--ranges 1..2", "--heaviest 3"):
        done = tacit(f"local estimate r {flag}")
        assert done.code == 2
        assert "leave it out" in done.err
    done = tacit("local perturb people.csv --items a,b --epsilon 1 --out t")
    assert done.code == 2
    assert "--column" in done.err


# ``tacit serve``: what it refuses, and its check.


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("serve", "tacit serve FOLDER"),
        ("serve a b", "tacit serve FOLDER"),
        ("serve check", "there is no folder 'check'"),
        ("serve nothere", "there is no folder"),
        ("serve . --host 0.0.0.0", "plain text"),
        ("serve . --tls-certificate people.csv", "go together"),
        ("serve . --tls-certificate a.pem --tls-key b.pem", "there is no file"),
        ("serve . --port 0", "port"),
        ("serve . --workers 0", "workers"),
    ],
)
def test_serve_what_is_refused(words: str, told: str, tacit) -> None:
    done = tacit(words)
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize("words", ["serve .", "serve --demo"])
def test_a_port_in_use_is_named_before_anything_is_made(words: str, folder: Path, tacit) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = tacit(f"{words} --port {port}")
    assert done.code == 2
    assert f"port {port}: Address already in use; choose another" in done.err
    assert not done.out  # no link, which would lead to another service
    assert not (folder / "service.key").exists()


def test_a_port_of_the_wire_that_is_in_use_is_named(folder: Path, tacit) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (folder / "service.toml").write_text(f"[wire]\nport = {port}\n")
        done = tacit(f"serve . --port {free_port()}")
    assert done.code == 2
    assert f"port {port}: Address already in use; choose another: port of [wire]" in done.err
    assert not (folder / "service.key").exists()


def test_a_declaration_that_cannot_be_read_stops_it(folder: Path, tacit) -> None:
    (folder / "visits.toml").write_text("name = 5")
    done = tacit("serve .")
    assert done.code == 2
    assert "visits.toml" in done.err


def test_check(folder: Path, tacit) -> None:
    write_demo(folder)
    done = tacit("serve check .")
    assert done.code == 0
    assert "visits" in done.out
    assert {one["level"] for one in tacit("serve check . --json").json} == {"good", "weakens"}
    (folder / "visits.toml").write_text('name = "visits"\nunit = "?"\n[tables.v]\npath = "v.csv"\n')
    done = tacit("serve check .")
    assert done.code == 1
    assert "STOPS" in done.out


@pytest.mark.full
def test_a_file_that_was_mistyped_is_corrected_until_something_is_spent(
    tmp_path: Path, tacit
) -> None:
    hosted_clinic(tmp_path)
    file = tmp_path / "visits.toml"
    right = file.read_text()
    wrong = re.sub("rows = [0-9]+", "rows = 9", right)
    file.write_text(wrong)
    with running(tmp_path) as client:
        token = client.token("analyst")
        assert client.get("/v1/datasets/visits", token=token).json()["unit"]["rows"] == 9
    file.write_text(right)
    done = tacit(f"serve check {tmp_path}")
    assert "its ledger begins again as it is declared now" in done.out
    with running(tmp_path) as client:
        assert client.get("/v1/datasets/visits", token=token).json()["unit"]["rows"] < 9
        assert released(client, token)["state"] == "done"
    file.write_text(re.sub("epsilon = [0-9]+", "epsilon = 7", right))
    assert "whatever the file says" in tacit(f"serve check {tmp_path}").out
    file.write_text(re.sub("(?m)^name = .*", 'name = "stays"', right))
    assert "the ledger of dataset visits" in tacit(f"serve check {tmp_path}").out
    file.write_text(wrong)
    assert "STOPS" in tacit(f"serve check {tmp_path}").out
    with running(tmp_path) as client:
        assert client.get("/v1/datasets/visits", token=token).status_code == 503


@pytest.mark.full
def test_a_copy_of_a_ledger_from_before_a_correction_does_not_begin_again(tmp_path: Path) -> None:
    hosted_clinic(tmp_path)
    file, ledger, copy = (tmp_path / n for n in ("visits.toml", "visits.ledger", "copy"))
    right = file.read_text()
    file.write_text(re.sub("rows = [0-9]+", "rows = 9", right))
    with running(tmp_path) as client:
        token = client.token("analyst")
        assert client.get("/v1/datasets/visits", token=token).status_code == 200
    copy.write_bytes(ledger.read_bytes())
    file.write_text(right)
    with running(tmp_path) as client:
        assert released(client, token)["state"] == "done"
    copy.replace(ledger)
    with running(tmp_path) as client:
        reply = client.get("/v1/datasets/visits", token=token)
    assert reply.status_code == 503


# ``tacit choose-epsilon``: the epsilon of a disclosure risk.


def test_choose_epsilon(tacit, folder: Path) -> None:
    ask = "choose-epsilon median --records 1,2,3,10 --size 3 --risk 1/3"
    done = tacit(f"{ask} --plot risk.png")
    assert done.code == 0
    assert "2.772588" in done.out
    assert (folder / "risk.png").exists()
    shown = tacit(f"{ask} --json").json
    assert shown["bound"] <= shown["epsilon"] < 2.7726
    assert shown["worlds"] == 4


# The table of attacks on the command line.


def test_the_cases_are_listed(tacit):
    done = tacit("audit", "attacks", "--only", "NaN")
    assert done.code == 0
    assert "NaN/sum" in done.out


@pytest.mark.parametrize(
    "flags",
    [("--systems", "nobody"), ("--only", "nothing"), ("--python", "x"), ("--html", "page.txt")],
)
def test_wrong_flags_are_refused(tacit, flags):
    assert tacit("audit", "attacks", *flags).code == 2


def test_json_stands_alone_where_a_system_falls(tacit, monkeypatch, tmp_path):
    case = next(case for case in load_cases() if case.attack == "NaN")
    fallen = AttackResult("pydp", "1", {case.id: CaseOutcome(FALLS, "no number")})
    monkeypatch.setattr(run, "attacks", lambda *_, **__: AttackTable([case], [fallen]))
    page = tmp_path / "table.html"
    flags = ("audit", "attacks", "--systems", "pydp", "--html", str(page))
    done = tacit(*flags, "--json")
    assert done.code == 1
    assert json.loads(done.out + done.err)["results"][0]["system"] == "pydp"
    assert "no number" in page.read_text(encoding="utf-8")
    told = tacit(*flags)
    assert told.code == 1
    assert "no number" in told.err


@pytest.mark.full
def test_a_system_is_attacked_and_told_as_json_and_as_a_page(tacit, tmp_path):
    page = tmp_path / "table.html"
    only = ("--only", "sums in a tree")
    done = tacit(
        *("audit", "attacks", "--systems", "tacit-framework", "--json", "--html", str(page)), *only
    )
    assert done.code == 0
    (result,) = json.loads(done.out)["results"]
    assert {verdict for verdict, _ in result["outcomes"].values()} == {"holds"}
    assert "holds 3/3" in page.read_text(encoding="utf-8")
