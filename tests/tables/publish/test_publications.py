"""Answers as files of official statistics: the structure of what is written."""

import csv
import io
import json

import pandas as pd
import pytest

import tacit as tc
from support.tables.published import ABOUT, KEYS, LABELS, cube
from tacit.errors import UsageError
from tacit.tables.export import ExportColumn, ExportStatistic
from tacit.tables.publish.cube import cube_of
from tacit.tables.publish.formats import csvw, json_stat, px, sdmx_csv
from tacit.tables.publish.publications import FORMATS, PublishOptions, files_of

STRUCTURE = "ME:VISITS(1.0)"


@pytest.fixture(scope="module")
def session():
    rows = 40
    frame = pd.DataFrame(
        {
            "site": ["01", "02", None, "rare"] * (rows // 4) + ["once"],
            "year": [2024, 2025, 2025, 2024] * (rows // 4) + [2025],
            "x": range(rows + 1),
            "p": range(rows + 1),
        }
    )
    with tc.Session(
        frame, unit=tc.unit("p", rows=1), budget=tc.epsilon_delta(900, "1e-3"), ledger=tc.in_memory
    ) as session:
        yield session


@pytest.fixture(scope="module")
def listed(session):
    keys = {"site": ["01", "02"], "year": [2024, 2025]}
    return session.group_by("site", "year", keys=keys).agg(n=tc.count()).release(epsilon=9)


@pytest.fixture(scope="module")
def selected(session):
    return session.group_by("site", "year").agg(n=tc.count()).release(epsilon=9, delta="1e-6")


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_cube_has_a_cell_for_each_combination():
    made = cube()
    names = [one.name for one in made.dimensions]
    assert names == ["site", "year", "statistic"]
    sizes = [len(one.codes) for one in made.dimensions]
    assert sizes == [len(KEYS), 2, 2]
    assert len(made.cells) == len(KEYS) * 2 * 2
    released = [cell.value for cell in made.cells if cell.state == "released"]
    assert len(released) == 2 * len(KEYS) - 2
    states = [cell.state for cell in made.cells]
    assert states.count("suppressed") == 2 * len(KEYS)
    assert states.count("refused") == states.count("unknown") == 1
    assert cube(selected=False).cells.count(made.cells[2]) == 0  # those of listed keys are absent


def test_codes_and_labels_are_distinct_and_none_is_empty():
    site = cube().dimensions[0]
    assert site.codes[:2] == ("0101", "0102")
    assert site.labels[:3] == ("North (0101)", "North (0102)", LABELS["site"]["NA"])
    named = zip(KEYS, site.codes, site.labels, strict=True)
    by_key = {key: (code, label) for (key, _), code, label in named}
    assert by_key[None] == ("_U", "missing (_U)")  # as a site is named "missing"
    assert by_key["missing"] == ("missing", "missing (missing)")
    assert by_key[""] == ("_EMPTY", "(empty)")
    assert len({*site.codes}) == len({*site.labels}) == len(KEYS)


def test_codes_of_missing_keys_give_way_to_those_of_the_table():
    one = [
        ExportStatistic("n", {p: [1, 2, 3, 4] for p in ("value", "standard_error", "low", "high")})
    ]
    keys = [("_U",), (None,), (True,), ("_U_",)]
    assert cube_of(["g"], keys, one).dimensions[0].codes == ("_U", "_U__", "True", "_U_")


def test_columns_named_as_dimensions_have_another_name():
    one = [ExportStatistic("n", {p: [1] for p in ("value", "standard_error", "low", "high")})]
    made = cube_of(["statistic", "measure"], [("a", 1)], one)
    assert [d.name for d in made.dimensions] == ["group_statistic", "group_measure", "statistic"]


def test_groups_that_were_not_released_are_suppressed_and_listed_ones_absent(selected, listed):
    rows = rows_of(selected.to_sdmx_csv(structure=STRUCTURE))
    assert {row["SITE"] for row in rows} == {"01", "02", "_U", "rare"}
    assert len(rows) == 8  # every combination of the released sites and years
    by_status = {status: [r for r in rows if r["OBS_STATUS"] == status] for status in "EQ"}
    assert len(by_status["E"]) == len(selected.keys) == 4
    assert {(r["OBS_VALUE"], r["CONF_STATUS"]) for r in by_status["Q"]} == {("NaN", "C")}
    for row in by_status["E"]:
        key = (None if row["SITE"] == "_U" else row["SITE"], int(row["YEAR"]))
        assert int(row["OBS_VALUE"]) == selected.value("n", *key)
        assert float(row["STANDARD_ERROR"]) == selected.column("n")["standard_error"][0]
        ends = int(row["LOWER"]), int(row["UPPER"])
        assert ends == selected.interval("n", *key)
        assert "epsilon" in row["COMMENT_DSET"]
    assert len(rows_of(listed.to_sdmx_csv(structure=STRUCTURE))) == 4


def test_groups_that_a_question_leaves_out_are_not_suppressed(session):
    query = "select site, year, count(*) as n from table group by site, year having site {}"
    some = session.sql(query.format("in ('01', '02')")).release(epsilon=9, delta="1e-6")
    assert [*some.keys] == [("01", 2024), ("02", 2025)]
    states = json.loads(some.to_json_stat())["status"]
    assert {*states.values()} == {"suppressed"}  # no release has the other two pairs
    one = [ExportStatistic("n", {p: [1, 2] for p in ("value", "standard_error", "low", "high")})]
    made = cube_of(["site", "year"], some.keys, one, hidden=[("01", 2025)], selected=True)
    assert [cell.state for cell in made.cells] == ["released", "absent", "suppressed", "released"]
    assert len(sdmx_csv(made, structure=STRUCTURE).splitlines()) == 1 + 3
    left = {tuple(key) for key in some.certificate.body["answer"]["keys"]} - {*some.keys}
    assert {tuple(key) for key in some._hidden} == left
    assert len(left) == 2


def test_json_stat_names_what_is_missing():
    data = json.loads(json_stat(cube(), time="year"))
    assert (data["version"], data["class"]) == ("2.0", "dataset")
    assert data["id"] == ["site", "year", "statistic", "measure"]
    assert data["role"] == {"time": ["year"], "metric": ["statistic", "measure"]}
    assert len(data["value"]) == len(KEYS) * 2 * 2 * 4
    missing = {str(i) for i, value in enumerate(data["value"]) if value is None}
    assert missing == {*data["status"]}
    words = {"suppressed", "refused", "not available"}
    assert {*data["status"].values()} == words
    assert data["extension"]["tacit"]["privacy_loss"] == {"kind": "pure", "epsilon": "1"}
    assert "privacy loss: epsilon(1)" in data["note"]


def test_px_is_lines_of_numbers_without_exponents():
    text = px(cube(), time="year")
    head, _, body = text.partition("DATA=\n")
    assert 'CODEPAGE="utf-8";' in head
    assert 'STUB="site",\n"year",\n"statistic";\nHEADING="measure";' in head
    assert '"q\'q"' in head
    assert "TIMEVAL" not in head  # a year has four digits
    lines = body.removesuffix(";\n").splitlines()
    assert len(lines) == len(KEYS) * 2 * 2
    assert lines[:3] == [
        "-1 1.5 -100000000000000000000 8 ",
        '0.1 "." 0.0000001 "." ',
        '".." ".." ".." ".." ',
    ]
    assert 'DATASYMBOL2="suppressed to protect people";' in head


@pytest.mark.parametrize(
    ("codes", "line"),
    [
        (["2025", "2026"], 'TIMEVAL("t")=TLIST(A1),"2025","2026";'),
        (["2025-Q1"], 'TIMEVAL("t")=TLIST(Q1),"2025Q1";'),
        (["2025-01", "2025-12"], 'TIMEVAL("t")=TLIST(M1),"2025M01","2025M12";'),
        (["2025-01-31"], 'TIMEVAL("t")=TLIST(D1),"20250131";'),
        (["2025", "2025-01"], None),
    ],
)
def test_px_states_times_of_one_form(codes, line):
    parts = ("value", "standard_error", "low", "high")
    one = [ExportStatistic("n", {part: [1] * len(codes) for part in parts})]
    text = px(cube_of(["t"], [(code,) for code in codes], one), time="t")
    assert ("TIMEVAL" in text) == (line is not None)
    assert line is None or line in text.splitlines()


def test_sdmx_csv_follows_a_data_structure(listed):
    text = listed.to_sdmx_csv(
        dataflow="ESTAT:VISITS(1.0)",
        version="1.0",
        ids={"site": "REF_AREA", "year": "TIME_PERIOD", "statistic": "INDICATOR"},
        constants={"FREQ": "A"},
    )
    head = text.splitlines()[0].split(",")
    assert head[:5] == ["DATAFLOW", "FREQ", "REF_AREA", "TIME_PERIOD", "INDICATOR"]
    assert [row["REF_AREA"] for row in rows_of(text)] == ["01", "01", "02", "02"]
    assert {row["FREQ"] for row in rows_of(text)} == {"A"}
    names = rows_of(sdmx_csv(cube(), structure=STRUCTURE, names=True))
    assert [names[0][n] for n in ("SITE", "site")] == ["0101", "North (0101)"]


def test_csvw_describes_each_column(selected, tmp_path):
    path = tmp_path / "sites.csv"
    selected.to_csvw(path)
    assert path.read_text() == selected.to_csv()
    metadata = json.loads((tmp_path / "sites.csv-metadata.json").read_text())
    assert metadata["url"] == "sites.csv"
    columns = metadata["tableSchema"]["columns"]
    types = {column["titles"]: column["datatype"] for column in columns}
    assert types["site"] == "string"
    assert types["year"] == types["n"] == types["n_low"] == "integer"
    assert types["n_error"] == "double"
    facts = metadata["notes"][0]["tacit"]
    assert facts["privacy_loss"]["epsilon"] == "9"
    assert facts["unit_of_privacy"]["column"] == "p"
    assert facts["certificate"] == selected.certificate.body["digest"]
    assert "interval" in facts["intervals"]


def test_csvw_tells_an_empty_text_from_a_missing_one():
    column = ExportColumn("site", ["", None, "NULL"], False)
    table, metadata = csvw("t.csv", [column], 1, labels=[], title="t", about=ABOUT, facts={})
    assert table == 'site\n""\nNULL_\nNULL\n'
    assert json.loads(metadata)["tableSchema"]["columns"][0]["null"] == "NULL_"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: a.to_sdmx_csv(), "names one structure"),
        (lambda a: a.to_sdmx_csv(structure="X:Y(1.0)", dataflow="X:Y(1.0)"), "names one structure"),
        (lambda a: a.to_sdmx_csv(structure="VISITS"), "'ESTAT:VISITS"),
        (lambda a: a.to_sdmx_csv(structure=STRUCTURE, version="1.0"), "dataflow="),
        (lambda a: a.to_sdmx_csv(structure=STRUCTURE, version="3"), "'2.0' or '1.0'"),
        (lambda a: a.to_sdmx_csv(structure=STRUCTURE, ids={"sit": "A"}), "did you mean 'site'"),
        (lambda a: a.to_sdmx_csv(structure=STRUCTURE, ids={"site": "YEAR"}), "two columns"),
        (lambda a: a.to_sdmx_csv(structure=STRUCTURE, ids={"site": "é"}), "an id of SDMX"),
        (lambda a: a.to_sdmx_csv(structure=STRUCTURE, ids={"site": "ACTION"}), "two columns"),
        (lambda a: a.to_sdmx_csv(structure=STRUCTURE, constants={"FREQ": ""}), "constants are"),
        (lambda a: a.to_json_stat(time="yeer"), "did you mean 'year'"),
        (lambda a: a.to_json_stat(labels="n"), "is a list"),
        (lambda a: a.to_px(labels=["m"]), "there is no answer"),
        (lambda a: a.to_csvw("x.csv", form="tall"), "has no form"),
        (lambda a: a.to_px("no/such/folder/x.px"), "cannot be written"),
        (lambda a: files_of(a, "sdmx", "x", PublishOptions()), "there is no format"),
        (lambda a: files_of(a, "px", "x", PublishOptions(names=True)), "an option of sdmx-csv"),
        (lambda a: files_of(a, "csvw", "x", PublishOptions(time="year")), "not of csvw"),
        (lambda a: a.to_sdmx_csv(dataflow=STRUCTURE, version="1.0", names=True), "version 2.0"),
    ],
)
def test_a_wrong_call_says_what_to_do(listed, call, words):
    with pytest.raises(UsageError, match=words):
        call(listed)


def test_answers_of_different_dimensions_need_a_choice(session):
    question = session.agg(n=tc.count(), h=tc.histogram("x", [0, 20, 40]))
    answer = question.release(epsilon=9)
    for write in (answer.to_json_stat, answer.to_px):
        with pytest.raises(UsageError, match=r"labels=\['n'\] or labels=\['h'\]"):
            write()
    data = json.loads(answer.to_json_stat(labels=["h"]))
    assert data["id"] == ["bin", "statistic", "measure"]
    assert data["size"] == [2, 1, 4]
    assert json.loads(answer.to_json_stat(labels=["n"]))["value"][0] == answer.value("n")


def test_an_answer_that_follows_from_others_is_published(session, tmp_path):
    session.agg(h=tc.histogram("x", [0, 10, 20, 40])).release(epsilon=9)
    free = session.agg(h=tc.histogram("x", [0, 20, 40])).free_answer()
    data = json.loads(free.to_json_stat())
    assert data["value"][::4] == free.value("h")
    assert "updated" not in data
    assert data["extension"]["tacit"]["certificate"] == free.certificate.body["digest"]
    assert "CREATION-DATE" not in free.to_px()
    assert len(rows_of(free.to_sdmx_csv(structure=STRUCTURE))) == 2
    free.to_csvw(tmp_path / "free.csv")


def test_each_answer_of_a_plan_is_published(session):
    questions = [session.agg(n=tc.count()), session.agg(h=tc.histogram("x", [0, 20, 40]))]
    for answer in session.plan(questions).release(epsilon=9):
        data = json.loads(answer.to_json_stat())
        assert data["extension"]["tacit"]["privacy_loss"]["epsilon"] == "9"
        assert data["updated"]


def test_labels_of_keys_are_those_of_the_answer(listed, monkeypatch):
    monkeypatch.setattr(type(listed), "key_labels", {"site": {"01": "North", "02": "South"}})
    site = json.loads(listed.to_json_stat())["dimension"]["site"]["category"]
    assert site["label"] == {"01": "North", "02": "South"}
    assert 'VALUES("site")="North",\n"South";' in listed.to_px()
    assert "South" in listed.to_sdmx_csv(structure=STRUCTURE, names=True)
    assert "South" not in listed.to_sdmx_csv(structure=STRUCTURE)


def test_an_answer_without_groups_has_no_cell_to_publish(session):
    answer = session.group_by("site").agg(n=tc.count()).release(epsilon="1e-3", delta="1e-9")
    assert not answer.keys
    for write in (answer.to_json_stat, answer.to_px):
        with pytest.raises(UsageError, match="no group"):
            write()


@pytest.mark.parametrize("key", [(["a", "b"],), ({"a": 1},), (b"a",)])
def test_a_nested_key_is_refused(key):
    with pytest.raises(UsageError, match="a key is text"):
        cube_of(["g"], [key], [])


def test_a_text_answer_is_refused():
    parts = ("standard_error", "low", "high")
    one = ExportStatistic("mode", {"value": ["x"], **{part: [None] for part in parts}})
    with pytest.raises(UsageError, match="'mode' is text"):
        cube_of(["g"], [("a",)], [one])


def test_a_cube_of_too_many_combinations_is_refused():
    n = 1200
    one = ExportStatistic("n", {p: [1] * n for p in ("value", "standard_error", "low", "high")})
    with pytest.raises(UsageError, match="1,440,000 combinations"):
        cube_of(["a", "b"], [(i, i) for i in range(n)], [one])


def test_px_refuses_texts_that_are_too_long():
    one = ExportStatistic("n", {p: [1] for p in ("value", "standard_error", "low", "high")})
    with pytest.raises(UsageError, match="256 characters"):
        px(cube_of(["g"], [("x" * 300,)], [one]))


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_has_a_name(listed, format):
    options = PublishOptions(dataflow=STRUCTURE) if "sdmx" in format else PublishOptions()
    files = files_of(listed, format, "a.csv", options)
    assert list(files) == ["a.csv", "a.csv-metadata.json"][: len(files)]
    assert len(files) == (2 if format == "csvw" else 1)
    assert all(files.values())
