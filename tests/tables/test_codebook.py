"""Codebooks of a table: DDI, Table Schema and CSVW, held against readers that no one here wrote."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.cli import run
from tacit.errors import DataSourceError, TacitError, UsageError
from tacit.tables.codebook import read_codebook
from tacit.tables.dataset.draft import draft
from tacit.tables.engines.files import ConfinedPath
from tacit.tables.open_source import open_source


def variable(name: str, start: int, width: int, inside: str = "", **fields: str) -> str:
    given = {"dcml": "0", "intrvl": "discrete", "type": "numeric", **fields}
    kind, place = given.pop("type"), f'StartPos="{start}" EndPos="{start + width - 1}"'
    spoken = " ".join(f'{key}="{value}"' for key, value in given.items())
    return (
        f'<var ID="{name}" name="{name}" files="F1" {spoken}><location {place} width="{width}"/>'
        f'<labl>{name.title()}</labl>{inside}<varFormat type="{kind}" schema="other"/></var>'
    )


def category(value: str, label: str, more: str = "") -> str:
    return f"<catgry{more}><catValu>{value}</catValu><labl>{label}</labl></catgry>"


SEX = "".join(
    [
        *(category(str(n), label) for n, label in enumerate(("Male", "Female", "Other"), 1)),
        category("4", "Other"),
        category("9", "Unknown", ' missing="Y"'),
    ]
)
VARIABLES = [
    variable("SERIAL", 1, 4),
    variable("PERNUM", 5, 2),
    variable("PERWT", 7, 8, dcml="2", intrvl="contin"),
    variable("SEX", 15, 1, SEX),
    variable("AGE", 16, 3, '<valrng><range min="0" max="130"/></valrng>' + category("000", "None")),
    variable("NAME", 19, 5, type="character"),
    variable(
        "INC", 24, 7, '<invalrng><item VALUE="9999999"/><range min="-9" max="-1"/></invalrng>'
    ),
]
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5"><fileDscr ID="F1"><fileTxt>
<fileName>usa.dat</fileName><fileStrc type="rectangular"/><fileType charset="ISO-8859-1"/>
</fileTxt></fileDscr><dataDscr>"""
DDI = HEAD + "".join(VARIABLES) + "</dataDscr></codeBook>"
PEOPLE = [
    (1, 1, 1234.56, 1, 34, "Zoë", 12000),
    (1, 2, 10.0, 2, 5, "Bob", 9999999),
    (2, 1, 99.99, 9, 130, "Ann", -500),
    (2, 2, 0.01, 4, 0, None, -3),
]
READ = [
    (1, 1, 1234.56, 1, 34, "Zoë", 12000),
    (1, 2, 10.0, 2, 5, "Bob", None),
    (2, 1, 99.99, None, 130, "Ann", -500),
    (2, 2, 0.01, 4, 0, None, None),
]


@pytest.fixture
def usa(tmp_path: Path) -> Path:
    lines = [
        f"{s:04d}{p:02d}{round(w * 100):08d}{x}{a:03d}{n or '':<5}{i:07d}"
        for s, p, w, x, a, n, i in PEOPLE
    ]
    (tmp_path / "usa.dat").write_bytes("\n".join([*lines, ""]).encode("latin-1"))
    (tmp_path / "usa.xml").write_text(DDI, encoding="utf-8")
    return tmp_path / "usa.dat"


def rows_of(path: Path, book: Path, **options: Any) -> list[tuple[Any, ...]]:
    with open_source(path, codebook=book, **options) as source:
        return source.engine.rows(f"select * from {source.relation}")


def test_a_file_of_ipums_is_read_as_its_codebook_says(usa: Path) -> None:
    """The truth beside the file is also what ipumspy 0.9.0 reads, but for the missing codes."""
    with open_source(usa, codebook=usa.with_suffix(".xml")) as source:
        assert source.engine.rows(f"select * from {source.relation}") == READ
        assert source.labels["SEX"] == {1: "Male", 2: "Female", 3: "Other", 4: "Other"}
        assert source.labels["AGE"] == {0: "None"}
        kinds = ["integer", "integer", "float", "integer", "integer", "text", "integer"]
        assert [column.kind for column in source.schema.values()] == kinds
        read = source.reading.describe(["SEX", "PERWT", "INC"])
    assert read["missing"] == {"INC": [9999999, [-9, -1]], "SEX": [9]}
    assert read["layout"] == {"INC": [24, 30], "PERWT": [7, 14, 2], "SEX": [15, 15]}


def test_the_same_codebook_reads_a_csv_file_by_names(usa: Path, tmp_path: Path) -> None:
    names = ["SERIAL", "PERNUM", "PERWT", "SEX", "AGE", "NAME", "INC"]
    pd.DataFrame(PEOPLE, columns=names).to_csv(
        tmp_path / "usa.csv", index=False, encoding="latin-1"
    )
    assert rows_of(tmp_path / "usa.csv", usa.with_suffix(".xml")) == READ
    pd.DataFrame(PEOPLE, columns=names).to_parquet(tmp_path / "usa.parquet")
    assert rows_of(tmp_path / "usa.parquet", usa.with_suffix(".xml")) == READ


def test_a_code_with_implied_decimals_is_written_as_a_field_is(tmp_path: Path) -> None:
    codes = category("99999", "Unknown", ' missing="Y"') + category("999.97", "No", ' missing="Y"')
    codes += category("0100", "One") + '<invalrng><range min="-0200" max="-100"/></invalrng>'
    wage = variable("wage", 1, 6, codes, dcml="2")
    (tmp_path / "w.xml").write_text(HEAD + wage + "</dataDscr></codeBook>")
    fields = ["099999", "999.97", "999.99", "000100", "  -150", "   -99", "099997", "099998"]
    (tmp_path / "w.dat").write_text("\n".join(fields) + "\n")
    with open_source(tmp_path / "w.dat", codebook=tmp_path / "w.xml") as source:
        cells = [cell for (cell,) in source.engine.rows(f"select * from {source.relation}")]
        assert cells == [None, None, None, 1.0, None, -0.99, None, 999.98]
        assert source.labels == {"wage": {1: "One"}}


def test_labels_are_keys_and_beside_them_and_people_are_of_two_columns(usa: Path) -> None:
    book, unit = usa.with_suffix(".xml"), tc.unit(["SERIAL", "PERNUM"], rows=1)
    with tc.Session(usa, unit, tc.epsilon(9), tc.in_memory, codebook=book) as session:
        answer = session.group_by("SEX", keys="labels").agg(n=tc.count()).release(epsilon=8)
    assert list(answer.to_pandas()["SEX_label"]) == ["Male", "Female", "Other", "Other"]
    assert answer.certificate.verify()


def test_a_draft_has_no_key_that_is_missing(tmp_path: Path) -> None:
    """A missing value of a Table Schema is none before its constraints are looked at."""
    (tmp_path / "t.csv").write_text("sex\n1\n9\n")
    field = {"name": "sex", "type": "integer", "missingValues": ["9"]}
    book = tmp_path / "s.json"
    book.write_text(json.dumps({"fields": [{**field, "constraints": {"enum": [1, 2, 9]}}]}))
    drafted: Any = draft(tmp_path / "t.csv", codebook=book).tables["t"]
    assert drafted.columns["sex"].keys == (1, 2)


def test_a_draft_takes_what_is_valid_and_nothing_that_occurs(usa: Path) -> None:
    book = usa.with_suffix(".xml")
    book.write_text(DDI.replace("</var>", '<sumStat type="max">77</sumStat></var>'))
    out = usa.with_name("usa.toml")
    assert run(["init", str(usa), "--codebook", str(book), "--out", str(out)]) == 0
    fields = tomllib.loads(out.read_text())
    table = fields["tables"]["usa"]
    assert (table["path"], table["codebook"]) == ("usa.dat", "usa.xml")
    assert fields["unit"]["person"] == ["SERIAL", "PERNUM"]
    assert table["columns"]["AGE"]["bounds"] == [0, 130]
    assert table["columns"]["INC"] == {"kind": "integer", "meaning": "Inc", "bounds": "?"}
    assert table["columns"]["SEX"]["keys"] == "?"
    assert "77" not in out.read_text()


def test_a_declaration_names_its_codebook_and_joined_tables_have_labels_too(
    usa: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (usa.parent / "visits.csv").write_text("home,line,cost\n1,1,5\n2,2,7\n")
    path = usa.parent / "visits.toml"
    path.write_text("""
name = "visits"
unit = { person = ["home", "line"], rows = 2 }
budget = { epsilon = 99 }
[tables.visits]
path = "visits.csv"
columns = { home = { kind = "integer" }, line = { kind = "integer" } }
[tables.people]
path = "usa.dat"
codebook = "usa.xml"
person = ["SERIAL", "PERNUM"]
columns.SEX = { keys = "labels" }
columns.AGE = { bounds = [0, 130] }
""")
    assert run(["check", str(path)]) == 0, capsys.readouterr().err
    with tc.open(path, ledger=tc.in_memory) as session:
        joint = session.join("people").group_by("SEX").agg(n=tc.count(), age=tc.mean("AGE"))
        answer = joint.release(epsilon=90)
        assert list(answer.to_pandas()["SEX_label"]) == ["Male", "Female", "Other", "Other"]
        assert answer.certificate.verify()
        by_hand = session.join("people").group_by("SEX", keys="labels").agg(n=tc.count())
        assert by_hand._query.keys == ((1,), (2,), (3,), (4,))
    path.write_text(path.read_text().replace("columns.SEX", "columns.NAME"))
    with tc.open(path, ledger=tc.in_memory) as session, pytest.raises(UsageError, match="NAME"):
        session.join("people")


SCHEMA: dict[str, Any] = {
    "missingValues": ["", "-99", "refused"],
    "fields": [
        {"name": "id", "type": "integer", "title": "The person"},
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 120},
            "description": "At last\nbirthday",
        },
        {"name": "pay", "type": "number", "missingValues": ["-1", "-1.5"]},
        {"name": "site", "type": "string", "constraints": {"enum": ["north", "south"]}},
        {"name": "seen", "type": "date"},
        {"name": "ok", "type": "boolean"},
        {
            "name": "sex",
            "type": "integer",
            "categories": [{"value": 1, "label": "Male"}, {"value": 2, "label": "Female"}],
        },
    ],
}
CSV = """id,age,pay,site,seen,ok,sex
1,30,2.5,north,2024-01-02,true,1
2,-99,-1,refused,,false,2
3,41,-1.5,south,2024-02-29,,-99
"""


def written(folder: Path, name: str, body: Any) -> Path:
    (folder / "t.csv").write_text(CSV)
    (folder / name).write_text(json.dumps(body))
    return folder / name


def plain(value: Any) -> Any:
    return str(value)[:10] if hasattr(value, "isoformat") else value


@pytest.mark.full  # frictionless takes seconds to load
def test_a_table_schema_reads_what_frictionless_reads(tmp_path: Path) -> None:
    frictionless = pytest.importorskip("frictionless")
    book = written(tmp_path, "schema.json", SCHEMA)
    schema = frictionless.Schema.from_descriptor(str(book))
    with frictionless.system.use_context(trusted=True):
        resource = frictionless.Resource(path=str(tmp_path / "t.csv"), schema=schema)
        theirs = [[plain(v) for v in row.to_list()] for row in resource.read_rows()]
    ours = [[plain(v) for v in row] for row in rows_of(tmp_path / "t.csv", book)]
    theirs = [
        [float(v) if i == 2 and v is not None else v for i, v in enumerate(r)] for r in theirs
    ]
    assert ours == theirs


def test_a_table_schema_declares_bounds_categories_and_labels(tmp_path: Path) -> None:
    book = written(tmp_path, "schema.json", SCHEMA)
    ours = [[plain(v) for v in row] for row in rows_of(tmp_path / "t.csv", book)]
    assert ours == [
        [1, 30, 2.5, "north", "2024-01-02", True, 1],
        [2, None, None, None, None, False, 2],
        [3, 41, None, "south", "2024-02-29", None, None],
    ]
    columns = {one.name: one for one in read_codebook(book).columns}
    assert columns["age"].bounds == (Fraction(0), Fraction(120))
    assert columns["age"].meaning == "At last birthday"
    assert columns["site"].keys == ("north", "south")
    assert columns["sex"].labels == {1: "Male", 2: "Female"}
    fields: Any = draft(tmp_path / "t.csv", codebook=book).to_fields()["tables"]
    assert fields["t"]["columns"]["site"]["keys"] == ("north", "south")
    assert fields["t"]["columns"]["seen"] == {"kind": "date"}


def test_a_codebook_names_the_columns_of_json_lines(usa: Path, tmp_path: Path) -> None:
    names = ["SERIAL", "PERNUM", "PERWT", "SEX", "AGE", "NAME", "INC"]
    lines = [json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in PEOPLE]
    (tmp_path / "usa.jsonl").write_text("".join(lines))
    assert rows_of(tmp_path / "usa.jsonl", usa.with_suffix(".xml")) == READ
    fields = [{"name": "SEX", "type": "any"}, {"name": "PERWT", "type": "number"}]
    package = {"path": "usa.csv", "dialect": {"delimiter": ";"}, "schema": {"fields": fields}}
    book = written(tmp_path, "usa.json", {"resources": [package]})
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "a.ndjson").write_text("".join(lines[:2]))
    assert rows_of(tmp_path / "lines", book) == [("1", 1234.56), ("2", 10.0)]
    assert tc.check(tmp_path / "usa.jsonl", codebook=book).rows == 4


def test_a_label_is_one_line_without_signs_that_a_terminal_obeys(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="pip install 'tacit-dp[files]'")
    label = "x\x1b[31mRED\nfake  line\u202e " + 400 * "9"
    field = {"name": "id", "type": "integer", "categories": [{"value": 1, "label": label}]}
    book = written(tmp_path, "labels.json", {"fields": [field]})
    (tmp_path / "labels.csv").write_text("id\n1\n")
    frame = pd.DataFrame({"id": [1]})
    pyreadstat.write_dta(frame, tmp_path / "a.dta", variable_value_labels={"id": {1: label}})
    for name, options in (("labels.csv", {"codebook": book}), ("a.dta", {})):
        with open_source(tmp_path / name, **options) as source:
            shown = source.labels["id"][1]
        assert shown.startswith("x [31mRED fake line  999"), shown
        assert len(shown) == 300


def test_a_data_package_says_how_its_file_is_written(tmp_path: Path) -> None:
    package = {
        "resources": [
            {"name": "other", "path": "o.csv", "schema": {"fields": [{"name": "x"}]}},
            {
                "name": "t",
                "path": "data/t.csv",
                "encoding": "latin-1",
                "dialect": {"delimiter": ";", "quoteChar": "'"},
                "schema": {
                    "fields": [
                        {"name": "name", "type": "string"},
                        {"name": "pay", "type": "number", "decimalChar": ",", "groupChar": "."},
                        {"name": "day", "type": "date", "format": "%d.%m.%Y"},
                    ]
                },
            },
        ]
    }
    book = written(tmp_path, "datapackage.json", package)
    (tmp_path / "t.csv").write_bytes(
        "name;pay;day\n'Zoë; x';1.234,5;29.02.2024\n".encode("latin-1")
    )
    ((name, pay, day),) = rows_of(tmp_path / "t.csv", book)
    assert (name, pay, str(day)) == ("Zoë; x", 1234.5, "2024-02-29")
    package["resources"][1]["dialect"] = {"header": False}
    unnamed = read_codebook(written(tmp_path, "unnamed.json", package), tmp_path / "t.csv")
    assert unnamed.options["header"] == ["name", "pay", "day"]
    (tmp_path / "x.csv").write_text("x\n")
    with pytest.raises(UsageError, match=r"several tables, none of which is 'x.csv'"):
        open_source(tmp_path / "x.csv", codebook=book)
    package["resources"] = [{"path": "t.csv", "schema": "../schema.json"}]
    with pytest.raises(UsageError, match="nothing is read over the network"):
        open_source(tmp_path / "t.csv", codebook=written(tmp_path, "datapackage.json", package))


CSVW: dict[str, Any] = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "t.csv",
    "null": ["", "-99", "refused"],
    "tableSchema": {
        "columns": [
            {"name": "id", "titles": "id", "datatype": "integer"},
            {
                "titles": "age",
                "datatype": {"base": "integer", "minimum": 0, "maximum": "120"},
                "dc:description": {"en": "At last birthday"},
            },
            {"titles": "pay", "datatype": "double", "null": ["-1", "-1.5"]},
            {"titles": "site", "datatype": "string"},
            {"titles": "seen", "datatype": "date"},
            {"titles": "ok", "datatype": "boolean"},
            {"titles": "sex", "datatype": "integer"},
            {"name": "made", "virtual": True, "default": "x"},
        ]
    },
}


def test_csvw_metadata_reads_what_the_library_csvw_reads(tmp_path: Path) -> None:
    csvw = pytest.importorskip("csvw")
    book = written(tmp_path, "t.csv-metadata.json", CSVW)
    theirs = [
        [plain(row.get(name)) for name in ("id", "age", "pay", "site", "seen", "ok", "sex")]
        for row in csvw.Table.from_file(book)
    ]
    ours = [[plain(v) for v in row] for row in rows_of(tmp_path / "t.csv", book)]
    assert ours == theirs
    age = read_codebook(book).columns[1]
    assert (age.bounds, age.meaning) == ((Fraction(0), Fraction(120)), "At last birthday")


def test_a_codebook_that_contradicts_its_file_is_refused_before_a_row_is_read(
    usa: Path, tmp_path: Path
) -> None:
    book = usa.with_suffix(".xml")
    (tmp_path / "t.csv").write_text("SERIAL,PERNUM\n1,1\n")
    with pytest.raises(TacitError, match="'PERWT'"):
        open_source(tmp_path / "t.csv", codebook=book)
    frame = pd.DataFrame(PEOPLE, columns=["SERIAL", "PERNUM", "PERWT", "SEX", "AGE", "NAME", "INC"])
    frame.assign(AGE="x").to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataSourceError, match=r"'AGE' as integer, and t.parquet holds text"):
        open_source(tmp_path / "t.parquet", codebook=book)
    frame.drop(columns="AGE").to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataSourceError, match=r"the column 'AGE', which t.parquet has not"):
        open_source(tmp_path / "t.parquet", codebook=book)


BOMB = '<!DOCTYPE codeBook [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><codeBook>&b;</codeBook>'
OUTSIDE = '<!DOCTYPE codeBook [<!ENTITY x SYSTEM "file:///etc/passwd">]><codeBook>&x;</codeBook>'


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("a.xml", BOMB, "declares entities"),
        ("a.xml", OUTSIDE, "declares entities"),
        ("a.xml", DDI[:-30], "not valid XML: line 4, column"),
        ("a.xml", "<html/>", "not a DDI codebook: its first element is html"),
        ("a.xml", HEAD + "</dataDscr></codeBook>", "declares no column"),
        ("a.xml", HEAD + 2 * VARIABLES[0] + "</dataDscr></codeBook>", "one of them twice"),
        ("a.xml", DDI.replace('EndPos="4"', 'EndPos="9"'), "'SERIAL' .* contradicts itself"),
        ("a.xml", DDI.replace('StartPos="1"', 'StartPos="x"'), "contradicts itself"),
        ("a.xml", DDI.replace('dcml="2"', 'dcml="-2"'), "'PERWT' .* has '-2' decimals"),
        ("a.xml", DDI.replace('min="0"', 'min="200"'), "least value is above its greatest"),
        ("a.xml", DDI.replace('"rectangular"/>', '"h"><recGrp/></fileStrc>'), "hierarchical"),
        ("a.xml", DDI.replace("ISO-8859-1", "EBCDIC-9"), "encoding"),
        ("a.json", '{"a": 1}', "not a Table Schema"),
        ("a.json", "[1]", "not a Table Schema"),
        ("a.json", '{"fields": 3}', "without a list of fields"),
        ("a.json", '{"fields": [{"type": "integer"}]}', "has no name"),
        ("a.json", '{"resources": 3}', "no list of tables"),
        ("a.json", '{"resources": [{"path": "t.csv"}]}', "has no schema"),
        (
            "a.json",
            '{"resources": [{"schema": {"fields": 3}, "dialect": {"header": false}}]}',
            "without a list of fields",
        ),
        ("a.json", '{"tableSchema": "http://x/y.json"}', "at an address is not read"),
        ("a.json", '{"fields": [', "not JSON"),
        ("a.txt", "x", "not named .xml"),
    ],
)
def test_what_is_no_codebook_is_refused_where_it_is_wrong(
    usa: Path, name: str, text: str, named: str
) -> None:
    book = usa.with_name(name)
    book.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=named):
        open_source(usa, codebook=book)


def test_a_codebook_that_is_gone_or_outside_of_the_folder_of_a_service(usa: Path) -> None:
    with pytest.raises(DataSourceError, match="it is not there"):
        open_source(usa, codebook=usa.with_name("gone.xml"))
    outside = ConfinedPath(str(usa.parent / ".." / usa.parent.name / "usa.xml"), usa.parent)
    with pytest.raises(UsageError, match="a table must be a file in the folder"):
        read_codebook(outside, usa)
    with pytest.raises(UsageError, match=r"codebook= belong where the table is opened"):
        open_source(open_source(usa, codebook=usa.with_suffix(".xml")), codebook="usa.xml")


@pytest.mark.full
def test_flags_and_checks_take_a_codebook(usa: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--codebook", str(usa.with_suffix(".xml"))]
    assert run(["check", str(usa), *flags, "--json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert seen["rows"] == 4
    question = ["--one-row-each", "--budget-epsilon", "9", "--mean", "PERWT:0:99"]
    assert run(["release", str(usa), *flags, *question, "--epsilon", "1", "--yes"]) == 0
    plan = usa.with_name("plan.toml")
    plan.write_text(
        'unit = "row"\n[source]\npath = "usa.dat"\ncodebook = "usa.xml"\n[budget]\nepsilon = 1\n'
        'ledger = "p.ledger"\n[[question]]\nname = "n"\nepsilon = 1\n'
        '[question.answers]\nn = { statistic = "count" }\n'
    )
    assert run(["preview", "--plan", str(plan)]) == 0, capsys.readouterr().err
