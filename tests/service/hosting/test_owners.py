"""Whose budget a data set spends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.errors import UsageError
from tacit.service.hosting.declaring import collusion_words, owners_of
from tacit.service.settings import Settings
from tacit.tables.dataset.declaration import Dataset

BY_PERSON = {"person": "person", "rows": 5}
SERVER = "postgresql://ann@db.example/clinic"


def dataset(name: str, path: str = "", **more: Any) -> Dataset:
    said = {"unit": BY_PERSON, "budget": {"epsilon": 1}, **more}
    return Dataset(name, tables={"visits": {"path": path or f"{name}.csv"}}, **said)


def owners(*datasets: Dataset, **said: Any) -> Any:
    settings = Settings.from_fields(said, Path())
    return owners_of({one.name: one for one in datasets}, settings)


def of(**people: str) -> dict[str, Any]:
    return {"datasets": {name: {"people": said} for name, said in people.items()}}


def test_a_data_set_alone_has_a_budget_of_its_own() -> None:
    found = owners(dataset("visits"), dataset("births"))
    assert [(o.name, o.people, o.place) for o in found.values()] == [
        ("visits", False, "./visits.ledger"),
        ("births", False, "./births.ledger"),
    ]
    assert found["visits"].key("oncology") == "dataset visits"


def test_data_sets_of_the_same_people_have_one() -> None:
    found = owners(dataset("may"), dataset("june"), **of(may="patients", june="patients"))
    assert found["may"] is found["june"]
    assert (found["may"].name, found["may"].people) == ("patients", True)
    assert found["may"].terms == {"people": "patients", "neighbours": "unbounded"}
    assert found["may"].place == "people.patients.ledger"


def test_one_of_them_may_say_the_budget() -> None:
    unsaid = dataset("june", budget=None)
    found = owners(dataset("may"), unsaid, **of(may="patients", june="patients"))
    assert found["june"].budget == dataset("may").whole_budget


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"budget": {"epsilon": 2}}, "declare the same budget"),
        ({"unit": "row"}, "must name the person"),
        ({"ledger": "june.ledger"}, "leave its own ledger out"),
    ],
)
def test_what_people_cannot_share(other: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        owners(dataset("may"), dataset("june", **other), **of(may="patients", june="patients"))


def test_people_have_one_collusion_and_the_same_caps() -> None:
    said = of(may="patients", june="patients")
    said["datasets"]["june"]["collusion"] = "teams apart"
    with pytest.raises(UsageError, match="same collusion and caps"):
        owners(dataset("may"), dataset("june"), **said)


def test_another_name_for_a_table_begins_no_budget() -> None:
    twins = dataset("may", "visits.csv"), dataset("june", "./sub/../visits.csv")
    with pytest.raises(UsageError, match="read the same table"):
        owners(*twins)
    with pytest.raises(UsageError, match="read the same table"):
        owners(*twins, **of(may="patients", june="others"))
    assert owners(*twins, **of(may="patients", june="patients"))


def test_a_public_table_may_stand_in_several_data_sets() -> None:
    sites = {"path": "sites.csv", "public": True, "key": "site"}
    both = [
        Dataset(name, BY_PERSON, {"rows": {"path": f"{name}.csv"}, "sites": sites}, {"epsilon": 1})
        for name in ("may", "june")
    ]
    assert len(owners(*both)) == 2


def test_on_a_server_ledgers_stand_in_its_database() -> None:
    said = {"database": SERVER, **of(june="patients of ward 7")}
    kept = dataset("births", ledger="births.ledger")
    found = owners(dataset("visits"), dataset("june"), kept, **said)
    assert found["visits"].place == f"{SERVER}?ledger=visits"
    assert found["june"].place.startswith(f"{SERVER}?ledger=patients_of_ward_7_")
    assert found["births"].place == "./births.ledger"


def test_teams_apart_have_a_ledger_each() -> None:
    found = owners(dataset("visits"), collusion="teams apart")["visits"]
    assert found.key("oncology") == "dataset visits, team oncology"
    assert found.place_of("oncology") == "visits.oncology.ledger"
    assert found.place_of("Oncology") != found.place_of("oncology")
    assert "one team is answered" in collusion_words(found)
    there = owners(dataset("visits"), collusion="teams apart", database=SERVER)["visits"]
    places = {there.place_of(team) for team in ("a", "A", "a b", None)}
    assert len(places) == 4
    assert all(len(place.rpartition("=")[2]) <= 40 for place in places)


def test_by_default_everyone_may_compare() -> None:
    assert "even if all of them compare" in collusion_words(owners(dataset("visits"))["visits"])


@pytest.mark.parametrize(
    "path", ["data/v*.csv", "data", "data/**/*.csv", "link.csv", "hard.csv", "data/.././data/[v]*"]
)
def test_a_pattern_a_folder_or_a_link_begins_no_budget_for_a_table(
    path: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "visits.csv"
    file.write_text("person\n1\n")
    (tmp_path / "link.csv").symlink_to(file)
    (tmp_path / "hard.csv").hardlink_to(file)
    (tmp_path / "births.csv").write_text("person\n1\n")
    may, june, births = (
        dataset("may", "data/visits.csv", folder=tmp_path),
        dataset("june", path, folder=tmp_path),
        dataset("births", "b*.csv", folder=tmp_path),
    )
    for twins in ((may, june), (june, may)):
        with pytest.raises(UsageError, match="read the same table"):
            owners(*twins)
        assert owners(*twins, **of(may="patients", june="patients"))
    assert owners(june, births)


@pytest.mark.parametrize("path", ["data/circle.csv", "data/c*.csv", "data"])
def test_links_in_a_circle_name_no_table_of_another(path: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "circle.csv").symlink_to(tmp_path / "data" / "circle.csv")
    may = dataset("may", "may.csv", folder=tmp_path)
    assert set(owners(may, dataset("june", path, folder=tmp_path))) == {"may", "june"}
