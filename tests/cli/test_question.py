"""``tacit local`` with every kind of question: numbers, ranges, words, sets, attributes, keys."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

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
