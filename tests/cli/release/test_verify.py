"""``tacit verify``: certificates that hold, that were changed, or are of another ledger."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.odd_values import COMMANDS
from tacit.accounting import open_ledger
from tacit.report.registry import REGISTRY_FIELDS as REGISTRY_ASKED
from tacit.tables.plan.preview import Preview
from tacit.tables.question import Question

RELEASE = "release people.csv --one-row-each --count --epsilon 0.5 --certificate c.json"


def test_a_certificate_is_verified(tacit, folder: Path) -> None:
    tacit(RELEASE)
    done = tacit("verify c.json --ledger people.ledger --html page.html")
    assert done.code == 0
    assert "unchecked" in done.out
    assert (folder / "page.html").exists()
    assert tacit("verify c.json --json").json["holds"] is True
    assert tacit("verify c.json --html page.txt").code == 2


def test_a_certificate_that_was_changed_is_refused(tacit, folder: Path) -> None:
    tacit(RELEASE)
    body = json.loads((folder / "c.json").read_text())
    body["spent"]["cost"]["epsilon"] = "1/4"
    (folder / "bad.json").write_text(json.dumps(body))
    done = tacit("verify bad.json")
    assert done.code == 1
    assert "FAILED" in done.out
    assert "does not hold" in done.err
    assert tacit("verify bad.json --json").json["failures"]


def test_a_certificate_of_another_ledger_is_refused(tacit) -> None:
    tacit(RELEASE)
    tacit("ledger create people.csv --one-row-each --budget-epsilon 1 --ledger other.ledger")
    assert tacit("verify c.json --ledger other.ledger").code == 1
    assert tacit("verify c.json --ledger nowhere.ledger").code == 2


@pytest.mark.parametrize("ledger", ["", " --ledger people.ledger"])
def test_a_page_tells_what_was_verified_and_verifies_no_more(tacit, folder, monkeypatch, ledger):
    from tacit import Certificate

    tacit("release people.csv --one-row-each --count --epsilon 0.5 --certificate c.json")
    verify, asked = Certificate.verify, []
    monkeypatch.setattr(
        Certificate, "verify", lambda page, kept=None: (asked.append(kept), verify(page, kept))[1]
    )
    assert tacit(f"verify c.json --html page.html{ledger}").code == 0
    assert len(asked) == 1
    looked_up = "the ledger holds all of it" in (folder / "page.html").read_text()
    assert looked_up == bool(ledger)


# Columns that a command or a plan computes: one question with Python's, its bounds and groups.


DECLARED = """
name = "people"
unit = "row"
budget = { epsilon = 10 }
[tables.people]
path = "people.csv"
columns.pay = { kind = "integer", bounds = [0, 1000] }
columns.age = { kind = "integer" }
columns.site = { kind = "text", keys = ["a", "b", "c"] }
columns.day = { kind = "date" }
"""
ASKED = [
    *("--with", "double = pay * 2"),
    *("--with", "young = age < 40"),
    *("--with", "weekday = weekday(day)"),
    *("--where", "length(sex) = 1 and double >= 0"),
    *("--by", "site,young", "--mean", "double", "--count", "--epsilon", "2"),
]


@pytest.fixture
def declared(folder: Path) -> Path:
    (folder / "people.toml").write_text(DECLARED)
    return folder / "people.toml"


def asked(session: tc.Session) -> tc.tables.Question:
    """The same in Python."""
    pay, age = tc.col("pay"), tc.col("age")
    question = session.with_columns(double=pay * 2).with_columns(young=age < 40)
    question = question.with_columns(weekday=tc.col("day").dt.weekday())
    question = question.filter((tc.col("sex").str.len_chars() == 1) & (tc.col("double") >= 0))
    return question.group_by("site", "young").agg(count=tc.count(), mean_double=tc.mean("double"))


def test_a_command_asks_what_python_asks(tacit, declared: Path) -> None:
    done = tacit("release", "people.toml", *ASKED, "--json")
    (release,) = done.json["releases"]
    assert not release["replayed"]
    with tc.open(declared) as session:
        again = asked(session).release(epsilon=2)
    assert again.replayed
    assert again.keys == [(s, y) for s in "abc" for y in (False, True)]
    plan = """
[source]
path = "people.toml"
[[question]]
with = { double = "pay * 2", young = "age < 40", weekday = "weekday(day)" }
where = "length(sex) = 1 and double >= 0"
by = ["site", "young"]
epsilon = 2
[question.answers]
count = { statistic = "count" }
mean_double = { statistic = "mean", column = "double" }
"""
    Path("plan.toml").write_text(plan)
    (planned,) = tacit("release --plan plan.toml --json").json["releases"]
    assert planned["replayed"]
    assert planned["answers"] == release["answers"]


def test_the_preview_shows_the_bounds_that_follow(tacit, declared: Path) -> None:
    shown = tacit("preview", "people.toml", *ASKED)
    assert "mean_double: clamped to [0, 2000]" in shown.out
    result = tacit("preview", "people.toml", *ASKED, "--json").json
    assert result["previews"][0]["bounds"] == {"mean_double": ["0", "2000"]}


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        ("g = weekday(read_date(day))", [1, 2, 3, 4, 5, 6, 7]),
        (
            "g = when(age < 30, 'young', when(age < 50, 'middle', 'old'))",
            ["young", "middle", "old"],
        ),
        ("g = to_integer(clamp(age, 0, 99) / 50)", [0, 1]),
        ("g = modulo(read_number(age), 3)", None),
        ("g = substring(site, 1, 1)", None),
        ("g = cut(age, 18, 40, 78)", ["[18, 40)", "[40, 78]"]),
    ],
)
def test_groups_that_follow_need_no_keys(tacit, column: str, keys: list[object] | None) -> None:
    command = ["release", "people.csv", "--one-row-each", "--count", "--by", "g", "--epsilon", "9"]
    done = tacit(*command, "--with", column, "--json")
    if keys is None:
        assert done.code == 2
        assert "keys" in done.err or "modulo" in done.err
        return
    answers = done.json["releases"][0]["answers"]
    assert [answer["key"]["g"] for answer in answers] == keys
    counts = [answer["count"]["value"] for answer in answers]
    assert abs(sum(counts) - 600) < 50


def test_keys_of_one_column_go_with_those_that_follow(tacit, folder: Path) -> None:
    command = "release people.csv --one-row-each --count --by site,old --keys site=a,b --epsilon 5"
    done = tacit(*command.split(), "--with", "old = age >= 50", "--json")
    result = [answer["key"] for answer in done.json["releases"][0]["answers"]]
    assert [(key["site"], key["old"]) for key in result] == [
        ("a", False),
        ("a", True),
        ("b", False),
        ("b", True),
    ]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--with", "x = pay +"], "where a column, a number or a text is expected"),
        (["--with", "pay = age"], "there is a column 'pay' already"),
        (["--with", "x = age", "--with", "x = pay"], "'x' is given twice"),
        (["--with", "age_group = pay", "--cut", "age:0,50"], "a column 'age_group' already"),
        (["--with", "x = nothing * 2"], "there is no column 'nothing'"),
        (["--with", "x = system('true')"], "'system', which is not a function"),
        (["--with", "x = pay * 2", "--mean", "x"], "none follow for"),
    ],
)
def test_a_column_that_cannot_be_is_refused(tacit, folder: Path, words, says: str) -> None:
    command = ["release", "people.csv", "--one-row-each", "--count", "--epsilon", "1", *words]
    done = tacit(*command)
    assert done.code == 2
    assert says in " ".join(done.err.split())
    assert not (folder / "people.ledger").exists()


def test_a_plan_says_its_columns_itself(tacit) -> None:
    done = tacit("release", "--plan", "plan.toml", "--with", "x = 1")
    assert done.code == 2
    assert "leave with out" in done.err


@pytest.mark.parametrize("said", ['"x"', "{ x = 3 }", '{ x = "pay +" }', '{ pay = "age" }'])
def test_a_plan_with_a_column_that_cannot_be_is_refused(tacit, folder: Path, said: str) -> None:
    question = f"[[question]]\nepsilon = 1\nwith = {said}\nanswers.n = {{ statistic = 'count' }}\n"
    source = json.dumps(str(folder / "people.csv"))
    (folder / "plan.toml").write_text(f'unit = "row"\n[source]\npath = {source}\n{question}')
    assert tacit("release --plan plan.toml").code == 2
    assert not (folder / "people.ledger").exists()


# ``tacit registry``: an entry of the registry of deployments, and what is missing in it.


WHOLE = [
    word
    for asked in REGISTRY_ASKED
    if asked.tier
    for word in (asked.flag, asked.choices[0][0] if asked.choices else f"({asked.name})")
]


def test_what_is_missing_is_listed_and_the_exit_code_says_so(tacit, folder: Path) -> None:
    tacit(RELEASE)
    done = tacit("registry c.json --name Ages --out ages.yaml")
    assert done.code == 1
    assert "13 missing" in done.err
    assert "--intended-use: What it is for" in done.err
    assert 'name: "Ages"' in (folder / "ages.yaml").read_text()
    whole = tacit("registry", "c.json", *WHOLE, "--json")
    assert whole.code == 0
    assert whole.json["missing"] == []
    assert whole.json["entry"]["deployment"]["privacy_loss"]["privacy_parameters"] == {
        "epsilon": 0.5
    }


@pytest.mark.full
def test_wrong_answers_and_files_are_refused(tacit, folder: Path) -> None:
    tacit(RELEASE)
    assert tacit("registry c.json --out ages.txt").code == 2
    assert "one or many" in tacit("registry c.json --releases two").err
    assert tacit("registry none.json").code == 2
    text = (folder / "c.json").read_text().replace('"epsilon": "1/2"', '"epsilon": "1/4"')
    (folder / "c.json").write_text(text)
    done = tacit("registry c.json")
    assert (done.code, done.out) == (1, "")


def test_on_a_terminal_what_is_missing_is_asked(tacit, folder: Path, monkeypatch) -> None:
    tacit(RELEASE)
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    answers = iter(["Ages", "Ada; Bob", "use", "", "Health", "Me", "two", "one", *["static"] * 9])
    monkeypatch.setattr("typer.prompt", lambda *said, **how: next(answers))
    done = tacit("registry c.json --access interactive --out ages.yaml")
    assert "releases is one or many, not 'two'" in done.err
    assert "1 missing" in done.err
    assert "--region" in done.err
    assert '- "Bob"' in (folder / "ages.yaml").read_text()
    assert done.code == 1


@pytest.mark.full
def test_every_question_is_a_flag_with_words(tacit) -> None:
    text = tacit("registry --help").out
    assert all(asked.flag in text for asked in REGISTRY_ASKED)
    assert "registry" in COMMANDS


# ``tacit check`` says that it is not private.


def test_check_says_that_it_is_not_private(tacit, odd):
    done = tacit("check people.csv")
    assert done.code == 0
    assert (done.out + done.err).count("NOT PRIVATE") == 1
    assert "age=integer" in done.out
    assert "pay=integer" in done.out


def test_check_prints_json_that_says_that_it_is_not_private(tacit, odd):
    done = tacit("check odd.csv --delimiter ; --header age,day --encoding latin-1 --json")
    assert done.code == 0, done.err
    assert "NOT PRIVATE" in done.err
    result = done.json
    assert (result["private"], result["rows"], result["types"]["day"]) == (False, 5, "text")
    assert result["columns"]["age"]["missing_as"]["integer"] == 3
    done = tacit("check people.csv --memory-limit much --json")
    assert (done.code, done.out) == (2, "")


def test_a_wrong_delimiter_is_noted_in_the_flags_of_the_command(tacit, folder):
    (folder / "semicolons.csv").write_text("age;pay\n31;5\n")
    for more in ("", " --json"):
        done = tacit(f"check semicolons.csv{more}")
        assert done.code == 0
        assert "--delimiter ';'" in done.err
        assert "Warning" not in done.err
        assert ".py" not in done.err
        assert str(folder) not in done.err


def test_a_declared_kind_that_fits_no_cell_is_said_in_text_as_in_json(tacit, folder):
    (folder / "commas.csv").write_text("n\n" + '"12,5"\n' * 100)
    done = tacit("check commas.csv --types n=float")
    assert "100 cells filled, and NONE of them is read as float" in done.out


def test_a_wrong_delimiter_of_a_declaration_is_noted_once(tacit, folder):
    (folder / "semicolons.csv").write_text("age;pay\n31;5\n")
    (folder / "declared.toml").write_text(
        'name = "declared"\nunit = "row"\nbudget = { epsilon = 1 }\n'
        '[tables.declared]\npath = "semicolons.csv"\n'
    )
    for command in ("check declared.toml", "preview declared.toml --count --epsilon 1"):
        done = tacit(command)
        assert done.code == 0, done.err
        assert done.err.count("delimiter=';'") == 1
        assert "Warning" not in done.err


# A preview spends nothing, begins no ledger and asks the table nothing.


PREVIEW_RELEASE = "release people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5"


def test_preview_spends_nothing_and_begins_no_ledger(tacit, folder: Path) -> None:
    done = tacit(
        "preview people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5 --sizes 10,1000"
    )
    assert done.code == 0
    assert "1000 rows" in done.out
    assert not list(folder.glob("*.ledger"))
    tacit(f"{PREVIEW_RELEASE} --budget-epsilon 1")
    before = (folder / "people.ledger").read_bytes()
    shown = tacit("preview people.csv --one-row-each --count --epsilon 0.75 --json").json[
        "previews"
    ][0]
    assert not shown["affordable"]
    assert tacit(
        "preview people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5 --json"
    ).json["previews"][0]["answered"]
    with open_ledger(folder / "people.ledger") as ledger:
        assert str(ledger.spent) == "epsilon 0.5"
    assert (folder / "people.ledger").read_bytes() == before


def test_preview_draws_no_noise_and_asks_the_table_nothing(tacit, monkeypatch) -> None:
    from tacit.tables.release import opened_table

    def never(*_: object) -> None:
        raise AssertionError("a preview must not look at the data")

    monkeypatch.setattr(opened_table.PlanRunner, "collect", never)
    assert (
        tacit("preview people.csv --one-row-each --count --median age:0:100 --epsilon 0.5").code
        == 0
    )


@pytest.mark.parametrize("end", ["", "."])
def test_a_note_ends_in_one_full_stop(tacit, monkeypatch, end: str) -> None:
    before = Question.preview

    def noted(*given: Any, **more: Any) -> Preview:
        return replace(before(*given, **more), notes=(f"All analysts spend one budget{end}",))

    monkeypatch.setattr(Question, "preview", noted)
    done = tacit("preview people.csv --one-row-each --count --epsilon 0.5")
    assert "All analysts spend one budget." in done.out.splitlines()


# ``tacit sql`` and the same text in plans: one identity with flags and with Python.


QUERY = "select count(*) as count, avg(clamp(age, 0, 100)) as mean_age from people"


def sql_asked(tacit, line: str):
    return tacit(*shlex.split(line))


def test_a_query_is_answered_and_paid_once(tacit, folder: Path) -> None:
    line = f'sql people.csv "{QUERY}" --one-row-each --epsilon 0.5'
    first = sql_asked(tacit, f"{line} --budget-epsilon 2 --json").json
    assert first["remaining"]["exact"]["epsilon"] == "3/2"
    flags = "release people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5 --json"
    again = tacit(flags).json
    assert again["releases"][0]["replayed"]
    assert again["releases"][0]["answers"] == first["releases"][0]["answers"]
    assert sql_asked(tacit, f"{line} --csv").out.startswith("count,count_error")


def test_computing_with_aggregates_pays_for_them_alone(tacit, folder: Path) -> None:
    """Also with comments in the text, which are white space."""
    text = "/* BI */ select sum(clamp(age, 0, 100)) / count(*) as m -- mean\n from people"
    rest = "--one-row-each --epsilon 0.5 --budget-epsilon 2"
    done = sql_asked(tacit, f'sql people.csv "{text}" {rest} --certificate m.json')
    assert done.code == 0
    assert "m: sum_age / count, computed from the released answers" in done.out + done.err
    assert sql_asked(tacit, "verify m.json --ledger people.ledger").code == 0
    plain = "select sum(clamp(age, 0, 100)), count(*) from people"
    both = sql_asked(tacit, f'sql people.csv "{plain}" {rest} --json').json["releases"][0]
    again = sql_asked(tacit, f'sql people.csv "{text}" {rest} --json').json["releases"][0]
    assert both["replayed"]
    assert again["replayed"]
    result, (released,) = again["answers"][0]["m"], both["answers"]
    assert result["value"] == released["sum_age"]["value"] / released["count"]["value"]
    assert again["computed"]["m"].startswith("m: sum_age / count")
    assert sql_asked(tacit, f'sql people.csv "{text}" {rest} --csv').out.startswith(
        "m,m_error,m_low"
    )
    shown = sql_asked(tacit, f'sql people.csv "{text}" {rest} --preview')
    assert "sum_age" in shown.out


def test_a_preview_spends_nothing(tacit, folder: Path) -> None:
    done = sql_asked(
        tacit,
        'sql people.csv "select max(clamp(age, 0, 9)) as m from people" --one-row-each '
        "--epsilon 0.5 --preview",
    )
    assert done.code == 0
    assert "m is a value that a handful of rows may be beyond" in done.out
    assert not (folder / "people.ledger").exists()


def test_the_same_text_stands_in_a_plan(tacit, folder: Path) -> None:
    plan = folder / "plan.toml"
    question = f"[[question]]\nsql = '''{QUERY}'''\nepsilon = 0.5\n"
    plan.write_text(
        f'unit = "row"\n[source]\npath = "people.csv"\n[budget]\nepsilon = 1\n{question}'
    )
    first = json.loads(tacit("release --plan plan.toml --json").out)
    again = sql_asked(tacit, f'sql people.csv "{QUERY}" --one-row-each --epsilon 0.5 --json').json
    assert again["releases"][0]["replayed"]
    assert again["releases"][0]["answers"] == first["releases"][0]["answers"]
    plan.write_text(plan.read_text() + 'by = ["sex"]\n')
    done = tacit("release --plan plan.toml")
    assert done.code == 2
    assert "leave by out" in done.err


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("drop table people", "line 1, column 1: DROP changes something"),
        ("select age from people", "line 1, column 8: rows of a private table are never shown"),
        ("select count(*) from nowhere", "line 1, column 22: there is no table 'nowhere'"),
    ],
)
def test_what_has_no_translation_ends_with_two(tacit, folder, query: str, told: str) -> None:
    done = sql_asked(
        tacit, f'sql people.csv "{query}" --one-row-each --epsilon 0.5 --budget-epsilon 1'
    )
    assert done.code == 2
    assert told in done.err
    assert not (folder / "people.ledger").exists()


def test_a_query_must_be_there(tacit) -> None:
    done = tacit("sql people.csv --one-row-each --epsilon 0.5")
    assert done.code == 2
    assert "write the query" in done.err
