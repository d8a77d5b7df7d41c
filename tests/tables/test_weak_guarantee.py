"""A loss that protects hardly anybody is told: in a preview, with a warning, and before --yes."""

import math
import warnings
from fractions import Fraction

import pyarrow as pa
import pytest

import tacit as tc
from tacit.accounting import Budget
from tacit.cli import run
from tacit.errors import WeakGuaranteeWarning
from tacit.report.odds import weak_guarantee


def session(budget):
    return tc.Session(pa.table({"x": [1, 2]}), unit=tc.one_row_each, budget=budget, name="two")


@pytest.mark.parametrize("amount", ["10.01", "11", "12", "15", "19", "20", "21", "1000"])
def test_the_odds_are_never_understated(amount):
    told = weak_guarantee(tc.epsilon(amount))
    assert told is not None
    if float(amount) > 20:
        assert told.endswith("someone who is 10% sure could become practically certain")
        return
    shown = Fraction(told.rpartition("at most ")[2].partition("%")[0])
    doubt = Fraction(9 * math.exp(-float(amount)))
    truth = 100 / (1 + doubt)
    assert truth - Fraction(1, 10**12) <= shown <= 100
    assert shown < 100
    assert 100 - shown >= (100 - truth) / 10


def test_where_it_begins():
    assert weak_guarantee(tc.epsilon(10)) is None
    assert weak_guarantee(tc.rho("0.1")) is None
    assert "an epsilon of" in (weak_guarantee(tc.rho(3)) or "")
    assert weak_guarantee(tc.epsilon_delta(1, "1e-5")) is None
    assert "a data set may declare" in (weak_guarantee(tc.epsilon_delta(1, "1.1e-5")) or "")
    assert weak_guarantee(tc.epsilon_delta(1, "1/5001"), 5000) is None
    assert "is 1/5000, one divided" in (weak_guarantee(tc.epsilon_delta(1, "1/5000"), 5000) or "")
    assert "1/5000" in (weak_guarantee(tc.epsilon_delta(1, "1/4999"), 5000) or "")
    assert weak_guarantee(Budget.nothing("approximate")) is None


def test_a_release_warns_before_it_is_charged_and_a_preview_says_it():
    with session(tc.epsilon(100)) as s:
        question = s.agg(n=tc.count())
        assert "someone who is 10% sure" in str(question.preview(epsilon=11))
        assert question.preview(epsilon=10).weak is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(WeakGuaranteeWarning, match=r"99\.99% sure"):
                question.release(epsilon=11)
            assert s.history() == []
            question.release(epsilon=10)
        with pytest.warns(WeakGuaranteeWarning) as told:
            question.release(epsilon=11)
        assert told[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert question.release(epsilon=11).replayed


def test_a_preview_says_of_a_delta_that_no_answer_uses_that_it_is_too_large():
    with session(tc.epsilon_delta(3, "1/2")) as s:
        question = s.agg(n=tc.count())
        for asked in (question, s.plan([question])):
            assert "no answer uses this delta" in asked.preview(epsilon=1, delta="1/2").weak
            assert asked.preview(epsilon=1, delta="1e-6").weak is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            question.release(epsilon=1, delta="1/2")  # which costs no delta


@pytest.mark.full
def test_a_budget_warns_where_the_size_is_declared(people, capsys):
    (people / "people.toml").write_text(
        'unit = "row"\nbudget = { epsilon = 1, delta = "1/2000" }\nname = "p"\n'
        '[tables.people]\npath = "people.csv"\nsize = 2000\n'
        '[tables.people.columns]\nage = { kind = "integer" }\nsite = { kind = "text" }\n'
    )
    with pytest.warns(WeakGuaranteeWarning, match="0.0005 is 1/2000, one divided") as told:
        tc.open(people / "people.toml", ledger=tc.in_memory).close()
    assert told[0].filename == __file__
    assert run(["check", "people.toml"]) == 0
    assert "1/2000" in capsys.readouterr().err
    for delta, size in (("1/2001", 2000), ("1/2000", None)):
        said = (people / "people.toml").read_text().replace('"1/2000"', f'"{delta}"')
        said = said if size else said.replace("size = 2000\n", "")
        (people / "other.toml").write_text(said)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tc.open(people / "other.toml", ledger=tc.in_memory).close()


def test_counts_over_time_warn_once():
    with session(tc.epsilon(100)) as s:
        counter = s.count_over_time("x", start=0, every=1, periods=4, epsilon=11)
        with pytest.warns(WeakGuaranteeWarning) as told:
            counter.update(now=2)
        assert told[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            counter.update(now=3)


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age,site\n31,a\n45,b\n")
    return tmp_path


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--count --epsilon 11", "99.99% sure"),
        ("--count --rho 3", "rho 3, an epsilon of"),
        ("--count --by site --epsilon 1 --delta 1e-4", "delta 0.0001 is above 1/100000"),
        ("--count --epsilon 1 --delta 0.5", "delta 0.5 is above"),  # which no count needs
    ],
)
def test_the_command_asks_for_a_yes(people, capsys, flags, says):
    words = f"release people.csv --one-row-each {flags}".split()
    assert run(words) == 2
    told = capsys.readouterr()
    assert says in told.err
    assert "--yes" in told.err
    assert told.out == ""
    assert list(people.glob("*.ledger")) == []
    assert run([*words, "--yes"]) == 0
    assert "Warning" not in capsys.readouterr().err
    assert run(words) == 0  # answered from the ledger: there is nothing to ask


def typed(words, *more):
    return run([*words.split(), *more])


def test_counts_over_time_ask_too(people, capsys):
    words = (
        "count-over-time people.csv --one-row-each --types age=integer --time age --start 0 "
        "--every 50 --periods 2 --now 50 --epsilon 11"
    )
    assert typed(words) == 2
    assert "--yes" in capsys.readouterr().err
    assert list(people.glob("*.ledger")) == []
    assert typed(words, "--yes") == 0
    assert typed(words) == 0


def test_a_terminal_is_asked(people, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    words = ["release", "people.csv", "--one-row-each", "--count", "--epsilon", "11", "--csv"]
    asked = []

    def answer(text, **_):
        asked.append(text)
        return len(asked) > 1

    monkeypatch.setattr("typer.confirm", answer)
    assert run(words) == 2
    assert "nothing was spent" in capsys.readouterr().err
    assert run(words) == 0
    assert all("10% sure" in text for text in asked)


def test_a_declared_size_says_what_is_too_much(people, capsys):
    (people / "p.toml").write_text(
        'name = "p"\nunit = "row"\nbudget = { epsilon = 5, delta = "0.1" }\n'
        '[tables.people]\npath = "people.csv"\nsize = 2000\n'
    )
    words = ["release", "p.toml", "--count", "--by", "site", "--epsilon", "1", "--delta"]
    assert run([*words, "1/1999"]) == 2
    assert "1/2000, one divided by the number of people" in capsys.readouterr().err
    assert run([*words, "1/2000"]) == 2
    assert "is 1/2000, one divided" in capsys.readouterr().err
    assert run([*words, "1/2001"]) == 0


def test_a_large_budget_is_told_when_its_ledger_begins(people, capsys):
    words = "release people.csv --one-row-each --count --epsilon 1 --budget-epsilon 50"
    assert typed(words) == 0
    assert "The whole budget is large: epsilon 50 is above 10" in capsys.readouterr().err
