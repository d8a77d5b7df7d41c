"""A draft is made of names and declared types, and asks where a person must decide."""

from pathlib import Path

import pytest

import tacit as tc
from tacit.errors import DataSourceError
from tacit.tables.dataset.draft import draft, draft_text


def test_rows_change_nothing_of_a_draft(tmp_path):
    drafts = set()
    for rows in ("1,20,2020-01-01\n", "", "secret,\x00,\n" * 3):
        (tmp_path / "visits.csv").write_text("patient_id,cost,day\n" + rows)
        drafts.add(draft_text(draft(tmp_path / "visits.csv"), tmp_path))
    assert len(drafts) == 1


def test_the_person_is_guessed_by_name_and_the_rest_is_asked(tmp_path):
    (tmp_path / "visits.csv").write_text("day,patient_id,cost\n1,2,3\n")
    found = draft(tmp_path / "visits.csv")
    assert found.name == "visits"
    assert found.open_fields() == [
        "unit.rows",
        "unit.groups",
        "budget.epsilon",
        *(f"tables.visits.columns.{name}.kind" for name in ("day", "patient_id", "cost")),
    ]
    assert found.unit == {"person": "patient_id", "rows": "?", "groups": "?"}


def test_a_finished_draft_opens(tmp_path):
    (tmp_path / "my visits.csv").write_text("person,cost\n1,2\n")
    text = draft_text(draft(tmp_path / "my visits.csv"), tmp_path)
    assert 'path = "my visits.csv"' in text
    text = (
        text.replace('rows = "?"', "rows = 3")
        .replace('groups = "?"', "groups = 1")
        .replace('epsilon = "?"', "epsilon = 1")
    )
    (tmp_path / "v.toml").write_text(text.replace('kind = "?"', 'kind = "integer"'))
    with tc.open(tmp_path / "v.toml", ledger=tc.in_memory) as session:
        assert session.agg(n=tc.count()).release(epsilon=1).replayed is False


@pytest.mark.parametrize("absolute", [False, True])
def test_a_draft_in_another_folder_names_the_same_file(tmp_path, monkeypatch, absolute):
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text("person,cost\n1,2\n")
    Path("declared").mkdir()
    source = tmp_path / "visits.csv" if absolute else "visits.csv"
    text = draft_text(draft(source), Path("declared"))
    assert 'path = "../visits.csv"' in text


def test_declared_types_are_taken_over(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install pyarrow")
    columns = {"cost": [1.5], "site": ["a"], "ok": [True], "user": [7]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    found = draft(tmp_path / "t.parquet").to_fields()["tables"]["t"]["columns"]
    assert {name: one["kind"] for name, one in found.items()} == {
        "cost": "float",
        "site": "text",
        "ok": "boolean",
        "user": "integer",
    }
    assert found["user"] == {"kind": "integer"}


def test_what_is_not_there_is_not_drafted(tmp_path):
    with pytest.raises(DataSourceError):
        draft(tmp_path / "none.csv")


def test_a_draft_asks_for_the_groups_and_warns_of_codes(tmp_path):
    (tmp_path / "visits.csv").write_text("person,code\n1,01001\n")
    text = draft_text(draft(tmp_path / "visits.csv"), tmp_path)
    assert 'groups = "?"' in text
    assert "as many as rows if left" in text
    assert "01001 and 1001 are one integer" in text
