"""What flags spell: answers, keys, ranges, kinds of columns; what is not whole is refused."""

from __future__ import annotations

import datetime
import inspect
import json
import os
import re
import signal
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.odd_values import COMMANDS

import tacit as tc
from tacit.accounting import epsilon, epsilon_delta
from tacit.arithmetic.exact import decimal
from tacit.cli import run
from tacit.cli.release.release import release
from tacit.cli.shared.flag_values import (
    aggregates,
    codes_by_column,
    column_types,
    csv_of,
    csv_of_plan,
    cuts,
    integer_range,
    numbers,
    of_people,
    typed_keys,
)
from tacit.cli.shared.options import FormatOptions, TableOptions, amounts, with_kinds
from tacit.cli.shared.output import (
    Ends,
    Publisher,
    check_files,
    in_flags,
    note,
    print_json,
    print_table,
    working,
)
from tacit.client.remote_question import RemoteJob
from tacit.client.transport import Transport
from tacit.errors import ServiceError, TacitError, UsageError
from tacit.expressions.schema import Column, Schema
from tacit.tables.statistics.base import statistics

SCHEMA = Schema(
    [
        Column("site", "text", "VARCHAR"),
        Column("year", "integer", "BIGINT"),
        Column("day", "date", "DATE"),
        Column("smokes", "boolean", "BOOLEAN"),
        Column("said", "undeclared", "VARCHAR"),
    ]
)


def keys(by: list[str], *given: str) -> Any:
    return typed_keys(by, given, None, SCHEMA, "people.csv")


def test_answers_are_asked_by_flag_and_labelled() -> None:
    asked = aggregates({"count": True, "mean": ["age:0:99", "pay:0:1e3"], "median": ["age:0:99"]})
    assert set(asked) == {"count", "mean_age", "mean_pay", "median_age"}
    assert str(asked["mean_pay"]) == "mean(pay, 0, 1000)"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mean": ["age"]}, "--mean age:0:100"),
        ({"mean": ["age:0"]}, "is incomplete"),
        ({"mean": ["age:9:0"]}, "must be in order"),
        ({"mean": ["age:0:x"]}, "^--mean age:0:x: upper bound must be a number"),
        ({"median": ["age:0:x"]}, "^--median age:0:x: "),
        ({"histogram": ["age:0,x"]}, "^--histogram age:0,x: an edge must be a number"),
        ({"covariance": ["age:0:x,pay:0:1"]}, "^--covariance age:0:x,pay:0:1: "),
        ({"mean": ["age:0:9", "age:0:99"]}, "mean_age"),
    ],
)
def test_answers_that_are_not_whole_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        aggregates(given)


@pytest.mark.parametrize(
    ("text", "found"),
    [("3", [3]), ("-1..2", [-1, 0, 1, 2]), (" 1 , 4..5", [1, 4, 5]), ("7..7", [7])],
)
def test_whole_numbers_are_listed_or_a_range(text: str, found: list[int]) -> None:
    assert integer_range(text, "distance") == found


@pytest.mark.parametrize("text", ["", "1,", "1.5", "a", "1..", "3..1", "0..100000", "1...3"])
def test_ranges_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="distance"):
        integer_range(text, "distance")


def test_numbers_are_checked_and_kept_as_written() -> None:
    assert numbers("1, 1/3,2.50", "an edge") == ["1", "1/3", "2.50"]
    with pytest.raises(UsageError, match="an edge"):
        numbers("1,,2", "an edge")


def test_kinds_of_columns_and_cuts_name_their_column() -> None:
    assert column_types(["a=b=integer"]) == {"a=b": "integer"}  # the kind stands behind the last
    assert column_types([]) is None
    assert list(cuts(["a:b:0,1"])) == ["a:b_group"]
    for wrong in (["age"], ["=text"]):
        with pytest.raises(UsageError, match="column=kind"):
            column_types(wrong)
    for wrong in (["age"], [":0,1"]):
        with pytest.raises(UsageError, match="is incomplete"):
            cuts(wrong)


def test_codes_are_numbers_ranges_and_texts() -> None:
    given = ["age=98, 99.5,1e3", "age=-9..-1", "x=.5..1", 'said="99","a ""b"", c",k=9, no answer']
    assert codes_by_column(given) == {
        "age": [98, Decimal("99.5"), 1000, [-9, -1]],
        "x": [[Decimal("0.5"), 1]],
        "said": ["99", 'a "b", c', "k=9", "no answer"],
    }
    assert codes_by_column([]) is None
    for wrong in ("age", "=9", "age=", 'age="9', 'age="9"9', "age=1,,2"):
        with pytest.raises(UsageError, match="--missing"):
            codes_by_column([wrong])


def test_keys_have_the_kind_of_their_column() -> None:
    assert keys(["site"], 'a, "b, c",12') == {"site": ["a", "b, c", "12"]}
    assert keys(["year"], "2020..2022,2030") == {"year": [2020, 2021, 2022, 2030]}
    assert keys(["day"], "2024-12-31") == {"day": [datetime.date(2024, 12, 31)]}
    assert keys(["smokes"], "TRUE,false") == {"smokes": [True, False]}
    assert keys(["said"], "1,-2,0") == {"said": [1, -2, 0]}
    assert keys(["said"], "1,02") == {"said": ["1", "02"]}  # 02 is no number as written: all text
    assert keys(["said"], "3..5") == {"said": [3, 4, 5]}
    assert keys(["site", "year"], "site=a,b", "year=1..2") == {"site": ["a", "b"], "year": [1, 2]}
    assert keys(["site"]) is None


@pytest.mark.parametrize(
    ("by", "given", "said"),
    [
        (["year"], ["a"], "holds whole numbers"),
        (["day"], ["31.12.2024"], "dates such as"),
        (["smokes"], ["yes"], "true or false"),
        (["site", "year"], ["a,b"], "--keys once for each"),
        (["site"], ["1..3"], "list the keys"),
        (["site"], ["a,1..3"], "list the keys"),
        (["stie"], ["a"], "did you mean 'site'"),
    ],
)
def test_keys_that_are_none_are_refused(by: list[str], given: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        keys(by, *given)


@pytest.mark.parametrize(
    "given",
    [
        "[a,b]",
        "['a','b']",
        "{a,b}",
        "(a,b)",
        "range(1,4)",
        "'a'",
        "'a','b'",
        "a,b,",
        "a,,b",
        "said:a",
    ],
)
def test_keys_in_the_syntax_of_another_language_are_refused(given: str) -> None:
    """Each part was a group of no rows, answered and charged."""
    for text in (given, f"said={given}"):
        with pytest.raises(UsageError, match="values that commas part, --keys a,b,c"):
            keys(["said"], text)


def test_keys_in_double_quotes_are_any_text() -> None:
    texts = ["[0, 10)", "'a'", "", "said:a", "(b"]
    assert keys(["said"], ",".join(f'"{text}"' for text in texts)) == {"said": texts}
    assert keys(["said"], "O'Brien,a (b),c:d") == {"said": ["O'Brien", "a (b)", "c:d"]}


def test_keys_of_a_file_are_its_rows_once(tmp_path: Path) -> None:
    path = tmp_path / "keys.csv"
    path.write_text("\ufeffyear,more,site\n2020,x,a\n\n2021,y,b\n2020,z,a\n")
    result = typed_keys(["site", "year"], (), str(path), SCHEMA, "people.csv")
    assert result == [("a", 2020), ("b", 2021)]
    with pytest.raises(UsageError, match="not both"):
        typed_keys(["site"], ("a",), str(path), SCHEMA, "people.csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("stie\na\n", "did you mean 'stie'|has no column 'site'"),
        ("site,year\na\n", "more or fewer fields"),
    ],
)
def test_a_file_of_keys_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "keys.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        typed_keys(["site"], (), str(path), SCHEMA, "people.csv")


def test_the_private_table_is_no_file_of_keys(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("site\na\n")
    (tmp_path / "link.csv").symlink_to(path)
    for other in (path, tmp_path / "link.csv"):
        with pytest.raises(UsageError, match="the private table itself"):
            typed_keys(["site"], (), str(other), SCHEMA, str(path))
    with pytest.raises(UsageError, match="cannot be read"):
        typed_keys(["site"], (), str(tmp_path / "none.csv"), SCHEMA, str(path))


def test_an_error_names_the_flag_as_it_was_typed() -> None:
    with pytest.raises(UsageError, match=r"^--per-person total=sum:cost:0:x: upper bound"):
        of_people(["total=sum:cost:0:x"])
    with pytest.raises(UsageError, match=r"^--cut age:0,x: an edge"):
        cuts(["age:0,x"])


# What flags and plans say of a CSV file: only what was said, in the words of Python.


@pytest.mark.parametrize(
    ("flags", "meant"),
    [
        ({}, {"types": {}}),
        (
            {"header": "no", "types": ["age=integer"]},
            {"header": False, "types": {"age": "integer"}},
        ),
        ({"header": "yes"}, {"header": True, "types": {}}),
        ({"header": "id, age"}, {"header": ["id", "age"], "types": {}}),
        ({"delimiter": "tab"}, {"delimiter": "\t", "types": {}}),
        ({"quote": ""}, {"quote": "", "types": {}}),
        ({"null": []}, {"types": {}}),
        ({"multiline": 3}, {"multiline": 3, "types": {}}),
    ],
    ids=str,
)
def test_flags(flags, meant):
    result = dict(csv_of(TableOptions(**flags)))
    assert {k: v for k, v in result.items() if k != "types" or v} == {
        k: v for k, v in meant.items() if k != "types" or v
    }


def test_a_plan_says_the_same_in_its_own_fields():
    assert csv_of_plan({"path": "a.csv", "delimiter": ";", "header": False}) == {
        "delimiter": ";",
        "header": False,
    }


# What commands print and write: files are looked at before anything is spent.


def test_a_table_is_as_wide_as_its_cells_where_nobody_reads_it(capsys):
    long = "x" * 300
    print_table(["name", "[bold]n"], [[long, "1"], ["b", "22"]], right=[1], title="all")
    lines = capsys.readouterr().out.splitlines()
    assert "all" in lines[0]
    assert any(long in line and line.rstrip().endswith(" 1") for line in lines)
    assert any("[bold]n" in line for line in lines)  # names are text, never markup


def test_notes_go_beside_what_is_piped(capsys):
    with working("asking"):
        note("paid")
        print_json({"näme": [1, None]})
    printed = capsys.readouterr()
    assert printed.err == "paid\n"
    assert printed.out == '{\n  "näme": [\n    1,\n    null\n  ]\n}\n'


@pytest.mark.parametrize(
    ("plot", "certificates", "why"),
    [
        ("a.gif", (), "plot"),
        (None, ("a.txt",), "certificate"),
        (None, ("a.json", "nowhere/a.json"), "nowhere"),
    ],
)
def test_a_file_that_could_not_be_written_is_refused(
    plot, certificates, why, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=why):
        check_files(plot, certificates)
    assert list(tmp_path.iterdir()) == []


# The help of every command: no type of Python, and a word behind what takes a value.


WORDS = ["", *COMMANDS, "ledger", "local", "token"]


@pytest.mark.few(4)
@pytest.mark.parametrize("words", WORDS)
def test_help_has_no_types_of_python(tacit, words: str) -> None:
    done = tacit(*words.split(), "--help")
    assert done.code == 0
    assert not re.findall(r"<[a-z]+[\[>]|list\[|\bbool\b|\bstr\b|\bNone\b", done.out)


def test_numbers_and_texts_are_named(tacit) -> None:
    text = tacit("local", "choose", "--help").out
    assert re.search(r"--plot +TEXT ", text)
    assert re.search(r"--json +Print", text)
    assert re.search(r"--size +NUMBER ", tacit("sensitivity", "--help").out)


# Amounts in JSON: decimals on the safe side, and the exact fractions beside.


AMOUNTS = st.fractions(0, 1000, max_denominator=10**30)


@given(AMOUNTS)
def test_what_is_read_is_never_better_than_what_is_meant(amount: Fraction) -> None:
    below, above = (Fraction(json.dumps(decimal(amount, up=up))) for up in (False, True))
    assert below <= amount <= above
    assert above - below <= amount / 2**50


def test_a_loss_is_rounded_up_and_what_is_left_down() -> None:
    third = epsilon_delta("1/3", "1e-7")
    assert amounts(third, left=True) == {
        "kind": "approximate",
        "epsilon": 0.3333333333333333,
        "delta": 1e-7,
        "exact": {"epsilon": "1/3", "delta": "1/10000000"},
    }
    assert Fraction(repr(amounts(third)["epsilon"])) > Fraction(1, 3)
    assert json.dumps(amounts(epsilon("0.1"))["epsilon"]) == "0.1"


# Flags of the kinds of answers: made when a command that has them is run.


BARE = inspect.signature(release).parameters
WHOLE = inspect.signature(with_kinds(release)).parameters


def test_every_kind_has_a_flag_before_the_method() -> None:
    names = list(WHOLE)
    place = names.index("method")
    asked = [known.kind for known in statistics()]
    assert names[place - len(asked) : place] == asked
    assert [name for name in names if name not in asked] == list(BARE)


def test_a_wrong_flag_is_refused_and_a_near_one_is_told(tacit) -> None:
    done = tacit("release", "people.csv", "--one-row-each", "--mea", "age:0:9")
    assert done.code == 2
    assert "--mean" in done.err


@pytest.mark.parametrize("command", ["release", "preview"])
def test_the_help_has_the_flags(command: str, tacit) -> None:
    text = tacit(command, "--help").out
    for flag in ("--count-people", "--percentile", "COL:Q:LOW:HIGH", "--method"):
        assert flag in text


# Signals that end a command: SIGTERM raises in the block, and is as before after it.


def test_sigterm_ends_the_block_and_is_put_back():
    before = signal.getsignal(signal.SIGTERM)
    assert before == signal.SIG_DFL
    ends = Ends()
    with pytest.raises(KeyboardInterrupt), ends:  # noqa: PT012
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    assert ends.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Ends() as ends:
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert ends.signal == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_of_the_main_thread_nothing_changes():
    seen = []

    def run():
        with Ends() as ends:
            seen.append((ends.signal, signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    assert seen == [(0, signal.SIG_DFL)]


# An error on the command line names flags, not calls of Python.


SAID = {
    "a total is split by weights: release(epsilon={'n': 1}, total='1/2')": None,
    "use a budget such as tc.epsilon_delta(1, '1e-6') and release(epsilon=..., delta=...), or": (
        "use --budget-epsilon 1 --budget-delta 1e-6 and --epsilon ... --delta ..., or"
    ),
    "takes a delta; release(epsilon=..., delta='1e-7'), or list the keys with keys=[...]": (
        "takes a delta; --epsilon ... --delta 1e-7, or list the keys with --keys a,b,c"
    ),
    "or a budget tc.rho('1/10')": "or --budget-rho 1/10",
    "cut it first: with_columns(bin=tc.col('age').cut([...]))": ("cut it first: --cut age:0,10,20"),
    'keep rows with filter(tc.col("age") >= 18)': 'keep rows with --where "age >= 18"',
    'with_columns(old=tc.col("age") >= 65)': '--with "old = age >= 65"',
    "nothing is asked; use .agg(n=tc.count(), ...)": "nothing is asked; use --count",
    "name the categories: tc.top_k(\"site\", 3, ['a', 'b'])": (
        "name the categories: --top-k site:3:a,b"
    ),
    "call it: tc.count_people(...)": "call it: --count-people",
    "this release costs epsilon(100), and epsilon(0) is left of epsilon('1/3')": (
        "this release costs epsilon 100, and epsilon 0 is left of epsilon 1/3"
    ),
    "it has the budget epsilon_delta(1, '1e-6'), not rho('1/10'): raise it with extend(...)": (
        "it has the budget epsilon 1, delta 1e-6, not rho 1/10: raise it with tacit ledger extend"
    ),
    "ask it by itself, session.group_by(...).agg(...).release(...)": (
        "ask it by itself, with tacit release"
    ),
    "epsilon={...} holds weights: release(epsilon={'n': 1, 'cost': 3}, total='1/2')": (
        "--epsilon holds weights: --epsilon n=1,cost=3 --total 1/2"
    ),
    "the budget is epsilon(...) and the release costs rho(1)": (
        "the budget is in epsilon and the release costs rho 1"
    ),
    "the column 'tc' holds release(s)": None,
}


@pytest.mark.parametrize("message", SAID)
def test_a_call_is_the_flags_that_do_the_same(message: str) -> None:
    assert in_flags(message) == (SAID[message] or message)


@pytest.mark.parametrize(
    "asked",
    [
        ["--sum", "cost:0:9"],
        ["--histogram", "cost:0:5", "--epsilon", "1"],
        ["--mean", "cost:0:9", "--method", "ptr", "--epsilon", "1"],
        ["--mean", "cost:0:9", "--method", "ptr", "--bound", "1/2", "--epsilon", "1"],
        ["--mean", "cost:0:9", "--method", "smooth", "--distribution", "laplace", "--epsilon", "1"],
        ["--count", "--rho", "1/10"],
    ],
    ids=" ".join,
)
def test_no_refusal_of_a_release_shows_python(asked, tmp_path, capsys) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("site,cost\nA,1\nB,2\n")
    unit = ["--one-row-each", "--budget-epsilon", "5"]
    assert run(["release", str(path), *unit, *asked]) == 2
    said = capsys.readouterr().err
    assert said.startswith("Error: ")
    assert "--" in said
    for python in ("tc.", "release(", "bound=", "delta="):
        assert python not in said


class Waiting:
    """A service in which no reviewer has decided yet."""

    def get(self, _path: str, wait: int | None = None) -> dict[str, str]:
        return {"id": "r1", "state": "waiting"}


def test_a_release_that_waits_names_the_commands() -> None:
    job = RemoteJob(cast("Transport", Waiting()), {"id": "r1", "state": "waiting"})
    with pytest.raises(ServiceError) as refused:
        job.result()
    said = in_flags(str(refused.value))
    assert said.startswith("release r1 waits for a reviewer, and costs nothing until then: tacit ")
    assert "tacit ledger show DATASET --server ADDRESS" in said
    assert "run the same command again" in said
    assert "connection" not in said


def test_python_itself_says_calls() -> None:
    with pytest.raises(TacitError, match=r"tc\.histogram\("):
        tc.histogram("cost", [5])


# One question of a job: its statistics, rows, people and keys.


RELEASE = "release people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5"


@pytest.mark.full
def test_every_statistic_has_its_flag(tacit) -> None:
    done = tacit(
        "release people.csv --person person --rows 2 --count --count-people --sum pay:0:1000 "
        "--mean age:0:100 --var age:0:100 --std age:0:100 --median pay:0:1000 "
        "--percentile pay:90:0:1000 --min age:0:100 --max age:0:100 --histogram age:0,30,60,100 "
        "--epsilon 5 --json"
    )
    labels = set(done.json["releases"][0]["answers"][0]) - {"key"}
    assert labels == {
        "count", "people", "sum_pay", "mean_age", "var_age", "std_age", "median_pay",
        "percentile_90_pay", "min_age", "max_age", "histogram_age",
    }  # fmt: skip


def test_where_keeps_rows(tacit) -> None:
    words = [
        "release",
        "people.csv",
        "--one-row-each",
        "--count",
        "--epsilon",
        "50",
        "--yes",
        "--json",
    ]
    done = tacit(*words, "--where", "sex = 'f' and not age < 30", "--ledger", "a.ledger").json
    # Half of the rows are of women, and of 60 ages in turn 48 are 30 or more.
    assert abs(done["releases"][0]["answers"][0]["count"]["value"] - 240) < 20


PEOPLE = (
    "--person site --rows 2 --per-person n=count --per-person ages=sum:age:0:200 --where age>0 "
    "--where-person n>1 --mean ages --count --cut n:0,1,9 --by n_group --epsilon 1000"
)


def test_people_are_made_first(tacit, folder: Path) -> None:
    done = tacit(f"release people.csv {PEOPLE} --yes --json")
    record = {r["key"]["n_group"]: r for r in done.json["releases"][0]["answers"]}
    assert record["[0, 1)"]["count"]["value"] == 0
    (folder / "plan.toml").write_text("""
[source]
path = "people.csv"
[[question]]
where = "age > 0"
where_person = "n > 1"
cut = { n_group = { column = "n", edges = [0, 1, 9] } }
by = ["n_group"]
epsilon = 1000
[question.per_person]
n = { statistic = "count" }
ages = { statistic = "sum", column = "age", lower = 0, upper = 200 }
[question.answers]
count = { statistic = "count" }
mean_ages = { statistic = "mean", column = "ages" }
""")
    again = tacit("release --plan plan.toml --json --yes").json["releases"][0]
    assert again["replayed"]  # one identity
    assert again["answers"] == done.json["releases"][0]["answers"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("--per-person total=sum:age", "needs public bounds"),
        ("--per-person total", "is incomplete"),
        ("--per-person n=count:age", "is incomplete"),
        ("--per-person n=median:age:0:9", "median cannot be made of the rows of one person"),
        ("--per-person n=count --per-person n=count", "twice"),
        ("--where-person n>1", "--per-person"),
    ],
)
def test_people_that_cannot_be_made_are_refused(tacit, said: str, told: str) -> None:
    done = tacit(f"release people.csv --person site --rows 2 {said} --count --epsilon 1")
    assert done.code == 2
    assert told in " ".join(done.err.split())


def test_keys_come_from_a_public_file(tacit, folder: Path) -> None:
    (folder / "public.csv").write_text("sex,site\nf,a\nm,b\nf,a\n")
    done = tacit(f"{RELEASE} --by site,sex --keys-file public.csv --json").json
    keys = [record["key"] for record in done["releases"][0]["answers"]]
    assert keys == [{"site": "a", "sex": "f"}, {"site": "b", "sex": "m"}]


def test_keys_of_several_columns_are_all_pairs(tacit) -> None:
    done = tacit(f"{RELEASE} --by site,age --keys site=a,b --keys age=20..21 --json").json
    keys = [tuple(r["key"].values()) for r in done["releases"][0]["answers"]]
    assert keys == [("a", 20), ("a", 21), ("b", 20), ("b", 21)]


def test_a_column_of_numbers_is_cut_into_groups(tacit) -> None:
    ask = "release people.csv --one-row-each --count --cut age:18,30,80 --epsilon 50 --yes --json"
    alone = tacit(f"{ask} --by age_group --ledger a.ledger").json["releases"][0]["answers"]
    assert [r["key"]["age_group"] for r in alone] == ["[18, 30)", "[30, 80]"]
    assert abs(alone[0]["count"]["value"] - 120) < 20  # 12 of 60 ages, of 600 rows
    both = tacit(f"{ask} --by site,age_group --keys site=a,b --ledger b.ledger").json
    assert len(both["releases"][0]["answers"]) == 4
    assert tacit(f"{ask} --by site,age_group --ledger c.ledger").code == 2


def flags(**given) -> FormatOptions:
    empty = dict.fromkeys(("format", "output", "structure", "dataflow", "ids", "constants"))
    return FormatOptions(**{**empty, "names": False, "labels": None, **given})


def test_without_a_format_nothing_is_written(capsys) -> None:
    publisher = Publisher(flags())
    publisher.check(["--json"], 3)
    publisher.write(None)
    assert capsys.readouterr().out == ""


def test_a_file_has_its_metadata_next_to_it(tmp_path: Path, capsys) -> None:
    table = pyarrow.table({"site": ["a", "b"]})
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=tc.in_memory)
    answer = session.group_by("site", keys=["a", "b"]).agg(n=tc.count()).release(epsilon=1)
    publisher = Publisher(flags(format="csvw", output=str(tmp_path / "t.csv")))
    publisher.check([], 1)
    publisher.write(answer)
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "t.csv-metadata.json"}
    assert capsys.readouterr().err.count("wrote ") == 2
    Publisher(flags(format="px"), "site").write(answer)
    assert capsys.readouterr().out == answer.to_px(time="site")


@pytest.mark.parametrize(
    ("given", "tables", "words"),
    [
        ({"format": "px"}, 2, "the plan has several"),
        ({"format": "px", "output": "no/such/t.px"}, 1, "there is no folder"),
        ({"format": "json-stat", "dataflow": "A:B(1.0)"}, 1, "an option of sdmx-csv"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_first(given, tables, words) -> None:
    with pytest.raises(UsageError, match=words):
        Publisher(flags(**given)).check([], tables)
