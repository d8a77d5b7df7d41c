"""What is public of a table, said and read back."""

import json

import pytest

import tacit as tc
from support.clinic import make_clinic
from tacit.errors import UsageError
from tacit.tables.dataset.draft import TableShape, shapes_of


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    return shapes_of(tc.Dataset.load(make_clinic(tmp_path_factory.mktemp("clinic"))))


def test_every_table_is_told_and_read_back(shapes):
    assert list(shapes) == ["visits", "patients", "sites"]
    for name, shape in shapes.items():
        told = json.loads(json.dumps(shape.to_json()))
        again = TableShape.from_json(name, told)
        assert again.to_json() == told
        assert (again.unit, again.bounds, again.told) == (shape.unit, shape.bounds, shape.told)


def test_whom_a_table_protects(shapes):
    assert shapes["visits"].unit == tc.unit("person", rows=5, groups=2)
    assert shapes["patients"].unit == tc.unit("id", rows=5, groups=2)
    assert shapes["sites"].public
    assert shapes["sites"].key == ("site",)


def test_what_is_declared_of_a_column(shapes):
    columns = {c["name"]: c for c in shapes["visits"].to_json()["columns"]}
    assert columns["cost"] == {
        "name": "cost",
        "kind": "float",
        "bounds": ["0", "1000"],
        "keys": None,
        "meaning": "of the visit",
        "unit": "euro",
    }
    assert columns["site"]["keys"] == [1, 2, 3]


@pytest.mark.parametrize("said", [{}, {"columns": 3, "unit": None}, {"columns": [{}], "unit": {}}])
def test_what_is_no_table_is_refused(said):
    with pytest.raises(UsageError, match="description of the table"):
        TableShape.from_json("visits", said)
