"""Readers that others wrote: the numbers, missing cells and labels that arrive are those that left.

Each test reads one file that is hard to read, of ``tests/support/tables/published.py``.
"""

import itertools
import json
import math

import pytest

from support.tables.published import ABOUT, FACTS, KEYS, LABELS, cube, statistics
from tacit.tables.export import columns_of
from tacit.tables.publish.cube import MEASURES, Cube
from tacit.tables.publish.formats import STATUS, csvw, json_stat, px, sdmx_csv

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
STRUCTURE = "ME:VISITS(1.0)"
INSTALL = "pip install 'tacit-dp[readers]'"


def left(made: Cube, what="codes"):
    """Return the cells that left, by their codes or labels."""
    parts = itertools.product(*(getattr(one, what) for one in made.dimensions))
    return dict(zip(parts, made.cells, strict=True))


def same(arrived, number):
    """Return whether a number arrived, exactly; a missing one as one that is not a number."""
    if number is None:
        return arrived is None or arrived == "" or math.isnan(float(arrived))
    return float(arrived) == float(number)


@pytest.mark.parametrize("given", [{"structure": STRUCTURE}, {"dataflow": STRUCTURE}], ids=str)
@pytest.mark.parametrize("way", ["2.0", "1.0", "names"])
def test_pysdmx(tmp_path, given, way):
    io = pytest.importorskip("pysdmx.io", reason=INSTALL)
    if way == "1.0" and "structure" in given:
        given = {"dataflow": STRUCTURE}
    how = {"names": True} if way == "names" else {"version": way}
    path = tmp_path / "data.csv"
    path.write_text(sdmx_csv(cube(), **given, **how), encoding="utf-8")
    (data,) = io.read_sdmx(path, validate=False).data
    assert data.short_urn.endswith(f"={STRUCTURE}")
    frame, cells = data.data, left(cube())
    assert len(frame) == len(cells)
    for row in frame.to_dict("records"):
        cell = cells[row["SITE"], row["YEAR"], row["STATISTIC"]]
        assert same(row["OBS_VALUE"], cell.value)
        assert (row["OBS_STATUS"], row["CONF_STATUS"]) == STATUS[cell.state]
        for name in ("standard_error", "lower", "upper"):
            assert same(row[name.upper()], getattr(cell, name))
        assert row["COMMENT_DSET"] == "data set: visits; privacy loss: epsilon(1)"


def test_pysdmx_reads_codes_that_are_all_numbers_as_numbers(tmp_path):
    # See findings/pysdmx-codes-become-numbers.sh: the page says so.
    io = pytest.importorskip("pysdmx.io", reason=INSTALL)
    path = tmp_path / "data.csv"
    text = "STRUCTURE,STRUCTURE_ID,ACTION,SITE,OBS_VALUE\n"
    path.write_text(text + "datastructure,ME:V(1.0),I,0101,1\n")
    assert list(io.read_sdmx(path, validate=False).data[0].data["SITE"]) == ["101"]


@pytest.mark.parametrize("names", [False, True])
def test_sdmx1(tmp_path, names):
    sdmx = pytest.importorskip("sdmx", reason=INSTALL)
    from sdmx.model import common, v30

    attributes = ("OBS_STATUS", "CONF_STATUS", "STANDARD_ERROR", "LOWER", "UPPER", "COMMENT_DSET")
    agency = common.Agency(id="ME")
    definition = v30.DataStructureDefinition(id="VISITS", maintainer=agency, version="1.0")
    for name in ("SITE", "YEAR", "STATISTIC"):
        definition.dimensions.append(v30.Dimension(id=name))
    definition.measures = v30.MeasureDescriptor()
    definition.measures.append(v30.Measure(id="OBS_VALUE"))
    for name in attributes:
        definition.attributes.append(v30.DataAttribute(id=name))
    path = tmp_path / "data.csv"
    path.write_text(sdmx_csv(cube(), structure=STRUCTURE, names=names), encoding="utf-8")
    with path.open("rb") as file:  # it leaves a path open
        message = sdmx.read_sdmx(file, format="csv", structure=definition)
    frame = sdmx.to_pandas(message.data[0], attributes="o").reset_index()
    cells = left(cube())
    assert len(frame) == len(cells)
    assert frame["value"].dtype == "float64"
    for row in frame.to_dict("records"):
        cell = cells[row["SITE"], row["YEAR"], row["STATISTIC"]]
        assert same(row["value"], cell.value)
        assert (row["OBS_STATUS"], row["CONF_STATUS"]) == STATUS[cell.state]
        assert same(row["STANDARD_ERROR"], cell.standard_error)
        assert same(row["UPPER"], cell.upper)


@pytest.mark.parametrize("naming", ["label", "id"])
def test_pyjstat(naming):
    pyjstat = pytest.importorskip("pyjstat.pyjstat", reason=INSTALL)
    data = pyjstat.Dataset.read(json_stat(cube(), time="year"))
    frame = data.write("dataframe", naming=naming)
    cells = left(cube(), f"{naming}s" if naming == "label" else "codes")
    measures = dict([(text, code) for code, text in MEASURES] if naming == "label" else MEASURES)
    assert len(frame) == len(cells) * 4
    for row in frame.to_dict("records"):
        cell = cells[row["site"], row["year"], row["statistic"]]
        name = measures[row["measure"]] if naming == "label" else row["measure"]
        assert same(row["value"], getattr(cell, name))
    again = json.loads(data.write("jsonstat"))
    status = json.loads(json_stat(cube()))["status"]
    assert again["status"] == status


def test_pyaxis(tmp_path):
    pyaxis = pytest.importorskip("pyaxis.pyaxis", reason=INSTALL)
    path = tmp_path / "table.px"
    path.write_text(px(cube()), encoding="utf-8")
    read = pyaxis.parse(str(path), encoding="utf-8")
    plain = {text.replace('"', "'"): text for text in cube().dimensions[0].labels}
    cells, measures = left(cube(), "labels"), {text: code for code, text in MEASURES}
    assert len(read["DATA"]) == len(cells) * 4
    for row in read["DATA"].to_dict("records"):
        cell = cells[plain[row["site"]], row["year"], row["statistic"]]
        number = getattr(cell, measures[row["measure"]])
        if number is None and cell.state in ("suppressed", "refused"):
            assert isinstance(row["DATA"], float)
            assert math.isnan(row["DATA"])
        elif number is None:
            assert row["DATA"] == ""
        else:
            assert same(row["DATA"], number)
    codes = [code.replace('"', "'") for code in cube().dimensions[0].codes]
    assert read["METADATA"]["CODES(site)"] == codes
    assert "privacy loss: epsilon(1)" in read["METADATA"]["NOTE"][0]


def csvw_files(tmp_path, form):
    columns = columns_of(["site", "year"], KEYS, statistics(), form)
    table, metadata = csvw(
        "sites.csv", columns, 2, labels=["n", "mean"], title="n, mean",
        about=ABOUT, facts=FACTS, key_labels=LABELS,
    )  # fmt: skip
    path = tmp_path / "sites.csv"
    path.write_text(table, encoding="utf-8")
    (tmp_path / "sites.csv-metadata.json").write_text(metadata, encoding="utf-8")
    return path, columns


@pytest.mark.parametrize("form", ["wide", "long"])
def test_csvw(tmp_path, form):
    library = pytest.importorskip("csvw", reason=INSTALL)
    path, columns = csvw_files(tmp_path, form)
    read = library.CSVW(str(path), validate=True)
    assert read.is_valid
    rows = list(read.tables[0].iterdicts())
    assert len(rows) == len(columns[0].values)
    for column in columns:
        for row, left_value in zip(rows, column.values, strict=True):
            assert row[column.name] == left_value
            assert type(row[column.name]) in (type(left_value), float)
    assert "privacy loss: epsilon(1)" in read.tables[0].common_props["dc:description"]


def test_frictionless(tmp_path):
    frictionless = pytest.importorskip("frictionless", reason=INSTALL)
    path, columns = csvw_files(tmp_path, "wide")
    described = json.loads((tmp_path / "sites.csv-metadata.json").read_text())["tableSchema"]
    types = {"double": "number"}
    fields = [
        {"name": one["titles"], "type": types.get(one["datatype"], one["datatype"]),
         "missingValues": [one["null"]]}
        for one in described["columns"]
    ]  # fmt: skip
    schema = frictionless.Schema.from_descriptor({"fields": fields})
    resource = frictionless.Resource(
        path=path.name, basepath=str(tmp_path), schema=schema, encoding="utf-8"
    )
    assert resource.validate().valid
    rows = resource.read_rows()
    for column in columns:
        for row, value in zip(rows, column.values, strict=True):
            arrived = row[column.name]
            assert arrived == value or same(arrived, value)
