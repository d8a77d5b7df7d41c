"""``tacit local`` from end to end: a column, files of reports, sums, tables and pictures."""

from __future__ import annotations

import io
import json
from pathlib import Path

import duckdb
import pytest

from tacit.cli.local import OracleOptions, answers_of, items_of, reader_of
from tacit.errors import DataSourceError, UsageError
from tacit.local import (
    AttributeSplitting,
    DirectEncoding,
    Duchi,
    HierarchicalRanges,
    Items,
    KeyValue,
    PaddedSets,
    RandomizedResponse,
    UnaryEncoding,
    Wire,
    write_reports,
)
from tacit.tables.open_source import open_source

PERTURB = "local perturb people.csv --column site --items a,b,c --mechanism unary --epsilon 2"


@pytest.mark.full
def test_from_a_column_to_a_table_and_a_picture(tacit, folder: Path) -> None:
    assert "600 reports" in tacit(f"{PERTURB} --out day.reports").err
    done = tacit("local collect day.reports --out day.state --replay exact --json")
    assert done.json == {"added": 600, "n": 600, "refused": {}}
    again = tacit("local collect day.reports --out day.state --resume --json").json
    assert again == {"added": 0, "n": 600, "refused": {"replay": 600}}
    told = tacit("local estimate day.state --json --poisoned 3 --shuffled-delta 1e-6").json
    assert [row["item"] for row in told["items"]] == ["a", "b", "c"]
    for row in told["items"]:
        assert row["low"] < row["count"] < row["high"]
        assert abs(row["count"] - 200) < 6 * (row["high"] - row["low"]) / 4
    assert told["shuffled_epsilon"] < told["epsilon"]
    assert "3 poisoned" in told["poisoned"]
    shown = tacit("local estimate day.state --together --plot day.png")
    assert "600 reports" in shown.out
    assert "refused: 600 (replay)" in shown.err
    assert (folder / "day.png").stat().st_size > 5000
    straight = tacit("local estimate day.reports --json").json
    assert straight["items"] == told["items"]


def test_sums_of_several_machines(tacit, folder: Path) -> None:
    for day in "12":
        tacit(f"{PERTURB} --out {day}.reports --no-ids")
        tacit(f"local collect {day}.reports --out {day}.state")
    assert tacit("local estimate 1.state 2.state --json").json["n"] == 1200
    assert tacit("local estimate 1.reports 2.reports --json").json["n"] == 1200


@pytest.mark.few(4)
@pytest.mark.parametrize("mechanism", ["direct", "unary", "hashing", "hadamard", "subset"])
def test_every_mechanism_and_whole_numbers(mechanism: str, tacit, folder: Path) -> None:
    asked = f"--items 0..99 --mechanism {mechanism} --epsilon 1"
    assert tacit(f"local perturb people.csv --column age {asked} --out r").code == 0
    told = tacit("local estimate r --json").json
    assert told["n"] == 600
    assert told["items"][5]["item"] == 5


def test_missing_answers_are_reported_like_any_other(tacit, folder: Path) -> None:
    (folder / "one.csv").write_text("job\nsales\n\ncraft\n\n\nmagician\n")
    (folder / "two.csv").write_text("job,x\nsales,1\n,2\n\nmagician,3\n")
    flags = "--column job --items sales,craft --other else --missing none --epsilon 1"
    for name, rows in (("one", 6), ("two", 3)):
        assert tacit(f"local perturb {name}.csv {flags} --out {name}.reports").code == 0
        assert tacit(f"local estimate {name}.reports --json").json["n"] == rows
    bare = "--column job --items sales,craft --epsilon 1 --out bare.reports"
    done = tacit(f"local perturb one.csv {bare}")
    assert done.code == 2
    assert "magician" not in done.err
    assert not (folder / "bare.reports").exists()


def ask(tacit, monkeypatch: pytest.MonkeyPatch, typed: str, *words: str):
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    asked = ["local", "ask", "Ever cheated?", "--items", "yes,no"]
    return tacit(*asked, "--mechanism", "two-coins", "-p", "3/4", *words)


def test_one_person(tacit, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = []
    for typed in ("yes\n", "1\n", "YES\n"):
        done = ask(tacit, monkeypatch, typed, "--out", "class.reports")
        assert done.code == 0
        wire = Wire(RandomizedResponse(["yes", "no"], p="3/4"))
        result = wire.read_json(done.out)
        assert isinstance(result, tuple)
        reports.append(int(result.report))
    told = tacit("local estimate class.reports --json").json
    assert told["n"] == 3
    assert told["items"][0]["count"] == 2 * (reports.count(0) - 3 / 4)
    for typed in ("", "maybe\n", "3\n", "0\n", "\n"):
        done = ask(tacit, monkeypatch, typed, "--out", "class.reports")
        assert done.code == 2
        assert "maybe" not in done.err
        assert done.out == ""
    assert tacit("local estimate class.reports --json").json["n"] == 3


def test_a_page_to_serve(tacit, folder: Path) -> None:
    words = ["--items", "yes,no", "-p", "3/4", "--page", "survey", "--send-to", "/report"]
    assert tacit("local", "ask", "Ever cheated?", *words).code == 0
    assert "Ever cheated?" in (folder / "survey" / "survey.html").read_text()
    assert (folder / "survey" / "tacit-local.js").exists()


@pytest.mark.full
def test_choosing(tacit, folder: Path) -> None:
    done = tacit("local choose --items 0..1023 --epsilon 1 -n 10000 --plot a.png --json")
    by_name = {option["mechanism"]: option for option in done.json}
    assert round(by_name["direct encoding (GRR)"]["influence"]) == 596
    errors = [option["standard_error"] for option in done.json]
    assert errors == sorted(errors)
    assert (folder / "a.png").exists()
    assert "Hadamard" in tacit("local choose --items 0..1023 --epsilon 1 -n 10000").out


def test_questions_from_files(tacit, folder: Path) -> None:
    (folder / "answers.txt").write_text("a\nb\nc\n")
    (folder / "q.json").write_text(json.dumps(UnaryEncoding(["a", "b", "c"], epsilon=2).describe()))
    base = "local perturb people.csv --column site"
    assert tacit(f"{base} --items-file answers.txt --epsilon 2 --mechanism unary --out 1").code == 0
    assert tacit(f"{base} --question q.json --out 2").code == 0
    assert tacit(f"{base} --question 1 --out 3").code == 0
    assert tacit("local collect 1 2 3 --out all --question q.json --json").json["n"] == 1800


def test_a_foreign_file_is_counted_and_the_rest_goes_on(tacit, folder: Path) -> None:
    tacit(f"{PERTURB} --out day.reports")
    write_reports(folder / "foreign", RandomizedResponse(p="3/4"), [0, 1])
    (folder / "notes.txt").write_text("milk")
    done = tacit("local collect day.reports foreign notes.txt --out s --json")
    assert done.json == {"added": 600, "n": 600, "refused": {"not a report": 1, "mechanism": 2}}


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("local perturb people.csv --column site --items a,b,c --out r", "either epsilon or"),
        ("local perturb people.csv --column site --epsilon 1 --out r", "--items"),
        ("local perturb people.csv --column stie --items a --epsilon 1 --out r", "2 to 2**32"),
        ("local perturb people.csv --column stie --items a,b --epsilon 1 --out r", "'site'"),
        ("local perturb none.csv --column site --items a,b --epsilon 1 --out r", "file not found"),
        ("local perturb people.csv --column site --items a,b --epsilon 0 --out r", "above zero"),
        ("local perturb people.csv --column site --items a,b --epsilon nan --out r", "number"),
        ("local perturb people.csv --column site --items a,b --epsilon -1 --out r", "above zero"),
        ("local perturb people.csv --column site --items a,a,b --epsilon 1 --out r", "twice"),
        ("local perturb people.csv --column site --items a,b -p 3/4 -q 1/4 --out r", "-q"),
        (
            "local perturb people.csv --column site --items a,b --epsilon 1 --out people.csv",
            "exists",
        ),
        (f"{PERTURB} --mechanism unray --out r", "'unary'"),
        (
            "local perturb people.csv --column age --items 0..9999999999 --epsilon 1 --out r",
            "2**32",
        ),
        ("local collect none --out s", "cannot be read"),
        ("local collect people.csv --out s", "neither the description of a question"),
        ("local collect people.csv --out s --resume", "cannot be read"),
        ("local estimate people.csv", "neither the description of a question"),
        ("local estimate none", "cannot be read"),
        ("local choose --items a,b -n 10", "--epsilon 1"),
        ("local choose --items a,b -n -1 --epsilon 1", "at least"),
    ],
)
def test_used_wrongly(command: str, says: str, tacit, folder: Path) -> None:
    done = tacit(command)
    assert done.code == 2, done
    assert says in done.err
    assert not (folder / "r").exists()
    assert not (folder / "s").exists()


OPTIONS = {
    "comma": ("job,x\nsales,1\ncraft,2\n,3\nspäter,4\n", "utf-8", ""),
    "mark": ("job,x\nsales,1\ncraft,2\n,3\nspäter,4\n", "utf-8-sig", ""),
    "semicolon": ("x;job\n1;sales\n2;craft\n3;\n4;später\n", "utf-8", "--delimiter ;"),
    "tab": ("x\tjob\n1\tsales\n2\tcraft\n3\t\n4\tspäter\n", "utf-8", "--delimiter tab"),
    "latin": ("job,x\nsales,1\ncraft,2\n,3\nspäter,4\n", "latin-1", "--encoding latin-1"),
    "null": ("job,x\nsales,1\ncraft,2\nNA,3\nspäter,4\n", "utf-8", "--null NA"),
    "header": ("sales,1\ncraft,2\n,3\nspäter,4\n", "utf-8", "--header job,x"),
    "quote": ("job,x\n'sales',1\ncraft,2\n,3\nspäter,4\n", "utf-8", "--quote '"),
    "lines": ('job,x\nsales,"a\nb"\ncraft,2\n,3\nspäter,4\n', "utf-8", "--multiline 2"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_column_is_read_with_the_options_of_other_commands(
    name: str, tacit, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, encoding, flags = OPTIONS[name]
    (folder / "jobs.csv").write_bytes(text.encode(encoding))
    asked = "--items sales,craft,später --missing none --epsilon 1"
    seen = answers_seen(monkeypatch)
    done = tacit(f"local perturb jobs.csv --column job {asked} {flags} --out r")
    assert done.code == 0, done.err
    assert seen == [0, 1, 3, 2]


def answers_seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that fills with the places of the answers that are randomised."""
    seen: list[int] = []
    draw = DirectEncoding._draw

    def seeing(oracle, places):
        seen.extend(places.tolist())
        return draw(oracle, places)

    monkeypatch.setattr(DirectEncoding, "_draw", seeing)
    return seen


def test_declared_kinds_and_other_formats(tacit, folder: Path, monkeypatch) -> None:
    seen = answers_seen(monkeypatch)
    (folder / "days.csv").write_text("day,smokes\n31.01.2024,yes\n01.02.2024,no\n")
    words = "--items 2024-01-31,2024-02-01 --epsilon 1 --types day=date --date-format %d.%m.%Y"
    assert tacit(f"local perturb days.csv --column day {words} --out d").code == 0
    duckdb.sql(
        "copy (select * from (values (1, true), (2, null), (3, false)) t(n, b)) "
        "to 'numbers.parquet'"
    )
    words = "--items 1..2 --other 9 --epsilon 1"
    assert tacit(f"local perturb numbers.parquet --column n {words} --out n").code == 0
    coins = DirectEncoding(Items([False, True], missing="none"), p="3/4")
    (folder / "coins.json").write_text(json.dumps(coins.describe()))
    asked = "--question coins.json"
    assert tacit(f"local perturb numbers.parquet --column b {asked} --out b").code == 0
    (folder / "coins.csv").write_text("b,x\ntrue,1\n,2\nFALSE,3\n")
    assert tacit(f"local perturb coins.csv --column b {asked} --out c").code == 0
    assert seen == [0, 1, 0, 1, 2, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize(
    ("flags", "labels"),
    [
        ("--items 1..2", [1, 2]),
        ("--items 0..2", [0, 1, 2]),
        ("--items -1..1", [-1, 0, 1]),
        ("--items 1..3,7", [1, 2, 3, 7]),
        ("--items a, b c ,d", ["a", "b c", "d"]),
        ('--items a, "b, c"', ["a", "b, c"]),
        ("--items-file marked.txt", ["a", "b c"]),
    ],
)
def test_ranges_and_files_of_answers(flags: str, labels: list, folder: Path) -> None:
    (folder / "marked.txt").write_bytes(b"\xef\xbb\xbfa \r\n b c\r\n\r\n")
    name, text = flags.split(maxsplit=1)
    asked = OracleOptions(**{name.removeprefix("--").replace("-", "_"): text})
    assert list(items_of(asked).labels) == labels


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--items 2..1", "reversed"),
        ("--items a,1..2", "--items-file"),
        ("--items 1..999999", "too long"),
        ("--items-file latin.txt", "UTF-8"),
    ],
)
def test_answers_that_cannot_be_listed(flags: str, says: str, tacit, folder: Path) -> None:
    (folder / "latin.txt").write_bytes(b"sp\xe4t\n")
    done = tacit(f"local perturb people.csv --column site {flags} --epsilon 1 --out r")
    assert done.code == 2
    assert says in done.err


# Answers of a CSV file, as each kind of local question takes them.


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,job,likes\n31,craft,tea; milk\n\n,,\n07,care,\n", encoding="utf-8")
    with open_source(path) as table:
        yield table


GOODS = Items(["tea", "milk"], other="nothing")


@pytest.mark.parametrize(
    ("column", "oracle", "answers"),
    [
        ("job", DirectEncoding(["craft", "care"], epsilon=1), ["craft", None, "care"]),
        ("age", DirectEncoding(100, epsilon=1), ["31", None, "07"]),
        ("age", HierarchicalRanges(100, epsilon=1), ["31", None, "07"]),
        ("age", Duchi(0, 99, epsilon=1), ["31", None, "07"]),
        ("likes", PaddedSets(UnaryEncoding(GOODS, epsilon=1), 2), [["tea", "milk"], [], []]),
        (None, KeyValue(["age", "likes"], 0, 99, epsilon=1), 3),
    ],
    ids=lambda x: type(x).__name__,
)
def test_one_answer_a_line(people, column, oracle, answers):
    result = list(answers_of(people, column, oracle))
    assert result == answers or len(result) == answers
    if column is None:
        assert result == [
            {"age": "31", "likes": "tea; milk"},
            {"age": None, "likes": None},
            {"age": "07", "likes": None},
        ]


def test_attributes_are_read_each_by_its_own_question(people):
    parts = {
        "age": DirectEncoding(100, epsilon=1),
        "job": RandomizedResponse(["care", "craft"], p="3/4"),
    }
    oracle = AttributeSplitting(parts)
    assert list(answers_of(people, None, oracle)) == [["31", "craft"], [None, None], ["07", "care"]]
    with pytest.raises(UsageError, match="leave out --column"):
        answers_of(people, "age", oracle)
    with pytest.raises(UsageError, match="several answers"):
        reader_of(oracle)


def test_what_is_missing_or_broken_is_said(people, tmp_path):
    oracle = DirectEncoding(["craft", "care"], epsilon=1)
    with pytest.raises(UsageError, match="--column COL"):
        answers_of(people, None, oracle)
    with pytest.raises(DataSourceError, match="did you mean 'job'"):
        list(answers_of(people, "jab", oracle))
    (tmp_path / "odd.csv").write_bytes(b"a,job\n1,craft\n2\n3,\xff\n4,care\n5,a,b\n")
    with open_source(tmp_path / "odd.csv") as table:  # as every other command reads these lines
        assert list(answers_of(table, "job", oracle)) == ["craft", None, None, "care", None]
