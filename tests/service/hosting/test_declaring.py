"""Data sets that curators declare while a service runs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.declaring import FIELDS as DATASETS_FIELDS
from support.service.declaring import HERE, body, columns, declaring_clinic, put, table
from support.service.hosting import COUNT, released
from tacit.accounting.open_ledger import in_memory
from tacit.errors import DataSourceError, UsageError
from tacit.service.database import Database
from tacit.service.folder import declarations
from tacit.service.hosting.datasets import Datasets, OpenTables
from tacit.service.hosting.declaring import (
    DeclaredStore,
    SentDeclaration,
    collusion_words,
    columns_of,
    owners_of,
)
from tacit.service.hosting.declaring import files_to_declare as data_files
from tacit.service.problem import Problem
from tacit.service.settings import Settings
from tacit.tables.dataset.declaration import Dataset, open_dataset


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(declaring_clinic(tmp_path)) as client:
        yield client


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A service to which nothing is declared in the end, and links that lead out of its folder."""
    folder = declaring_clinic(tmp_path_factory.mktemp("refusing"))
    shutil.copy(folder / "visits.csv", folder / "visits-of-others.csv")
    (folder / "data" / "sub").mkdir()
    (folder / "data" / "links").mkdir()
    (folder / "data" / "out.csv").symlink_to(folder / "visits-of-others.csv")
    (folder / "data" / "links" / "out.csv").symlink_to(folder / "visits-of-others.csv")
    (folder / "data" / "up").symlink_to(folder)
    (folder / "data" / "circle.csv").symlink_to(folder / "data" / "circle.csv")
    with running(folder) as client:
        yield client


def test_a_declared_data_set_is_asked_at_once_and_by_other_processes(client: Client) -> None:
    curator = client.token("curator")
    reply = put(client, curator)
    assert reply.status_code == 201, reply.text
    assert reply.json()["budget"]["epsilon"] == "3"
    with running(client.state.settings.folder) as later:
        assert later.state.datasets.names == ["stays", "visits"]
    assert released(client, curator)["state"] == "done"  # the data set that was there before
    asked = client.post(f"{HERE}/releases", json=COUNT, token=curator)
    assert asked.status_code == 202
    result = client.get(f"{asked.json()['href']}?wait=30", token=curator).json()
    assert (result["state"], result["dataset"]) == ("done", "stays")
    actions = [event.action for event in client.state.audit.read(0, 100)]
    assert "declaration_changed" in actions
    # of the same table no other data set begins a budget
    reply = put(client, curator, "/v1/datasets/twin")
    assert reply.status_code == 400
    assert "same people" in reply.json()["error"]["message"]
    assert client.get("/v1/datasets/twin", token=curator).status_code == 404


def test_codes_of_columns_are_declared_and_shown(client: Client) -> None:
    curator = client.token("curator")
    fields = {**table(path="data/stays.csv", missing={"cost": [99, [-9, -1]]})}
    assert put(client, curator, tables=fields).status_code == 201
    shown = client.get(HERE, token=curator).json()["tables"]["visits"]
    assert shown["reading"]["missing"] == {"cost": [99, [-9, -1]]}
    for codes, says in (({"costs": [99]}, "did you mean 'cost'"), ({"person": [-1]}, "a person")):
        wrong = table(path="data/stays.csv", missing=codes)
        reply = put(client, curator, tables=wrong, replaces=1)
        assert reply.status_code in (400, 409, 422)
        assert says in reply.text
    other = table(path="data/stays.csv", missing={"cost": [98]})
    assert put(client, curator, tables=other, replaces=1).status_code == 200
    shown = client.get(HERE, token=curator).json()["tables"]["visits"]
    assert shown["reading"]["missing"] == {"cost": [98]}


@pytest.mark.full
def test_another_process_that_runs_finds_it(client: Client) -> None:
    with running(client.state.settings.folder) as other:
        assert put(client, client.token("curator")).status_code == 201
        result = other.get(HERE, token=other.token("analyst", "stays"))
        assert result.json()["remaining"]["epsilon"] == "3"
        listed = other.get("/v1/datasets", token=other.token("analyst")).json()["items"]
        assert [one["name"] for one in listed] == ["stays", "visits"]


def test_only_curators_of_it_declare(refusing: Client) -> None:
    for role in ("analyst", "reviewer", "auditor", "device"):
        assert put(refusing, refusing.token(role)).status_code == 403
    assert put(refusing, refusing.token("curator", "visits")).status_code == 403


OUTSIDE = (
    *("visits.csv", "data", "data/../visits.csv", "data/../../etc/passwd", "/etc/passwd"),
    *("service.key", "s3://bucket/visits.csv", "data/out.csv", "data/circle.csv"),
    *("data/**/../visits.csv", "data/**/../../**/visits.csv", "data/sub/../../visits.csv"),
    *("data/*.csv", "data/**", "data/**/*.csv", "data/links", "data/links/*.csv", "data/up/v*"),
    *("data/*/visits.csv", "data/up", "data/sub/../stays.csv", "*.csv", "data/[.][.]/visits.csv"),
)


def test_what_the_operator_did_not_put_there_is_refused(refusing: Client) -> None:
    """The text of a pattern was checked, and its expansion may drop a recursive wildcard."""
    curator = refusing.token("curator")
    for path in OUTSIDE:
        reply = put(refusing, curator, tables=table(path=path))
        if path.startswith("data/["):
            assert reply.status_code == 400, path
        else:
            assert reply.status_code == 400, path
            assert "in the folder data/" in reply.json()["error"]["message"], path
        with pytest.raises((UsageError, DataSourceError)):
            columns_of(path, refusing.state.settings)
    public = {"path": "data/**/../visits.csv", "public": True, "key": ["person"]}
    both = {**table(path="data/stays.csv"), "codes": public}
    reply = put(refusing, curator, tables=both)
    assert reply.status_code == 400
    assert "in the folder data/" in reply.json()["error"]["message"]
    assert refusing.state.datasets.store.all() == {}
    assert data_files(refusing.state.settings.folder) == ["data/stays.csv"]


def test_a_link_that_comes_later_is_not_followed(client: Client) -> None:
    """A pattern is checked whenever it is opened, not when it is declared alone."""
    folder = client.state.settings.folder
    assert put(client, client.token("curator"), tables=table(path="data/s*.csv")).status_code == 201
    dataset = client.state.datasets.of("stays").dataset
    dataset.check()
    (folder / "data" / "s2.csv").symlink_to(folder / "visits.csv")
    with pytest.raises(UsageError, match="in the folder data/"):
        dataset.check()
    with pytest.raises(UsageError, match="in the folder data/"):
        open_dataset(dataset, ledger=in_memory)


NONE: tuple[tuple[dict[str, Any], int], ...] = (
    ({"tables": table(url="postgresql://db.example/x", table="t")}, 400),
    ({"ledger": "visits.ledger"}, 400),
    ({"name": "other"}, 400),
    ({"budget": None}, 400),
    ({"budget": "?"}, 400),
    ({"unit": "?"}, 400),
    ({"tables": table(path="data/nothere.csv")}, 400),
    ({"unit": {"person": "nobody", "rows": 5}}, 400),
    ({"colour": "red"}, 400),
    ({"tables": {}}, 400),
)
STANDS = ("visits", "Visits", "visits%20", "service", "SERVICE")
PATHS = ("..%2Fx", "a%2Fb", ".hidden", "a%00b", "%2e%2e", "x" * 101)


def test_what_is_no_declaration_or_no_name_is_refused_and_nothing_written(
    refusing: Client,
) -> None:
    curator, stands = refusing.token("curator"), refusing.state.settings.folder / "visits.toml"
    before = stands.read_text()
    for changes, status in NONE:
        reply = put(refusing, curator, **changes)
        assert reply.status_code == status, (changes, reply.text)
    for name in STANDS:
        reply = put(refusing, curator, f"/v1/datasets/{name}")
        assert (reply.status_code, reply.json()["error"]["code"]) == (409, "conflict"), name
    for name in PATHS:
        assert put(refusing, curator, f"/v1/datasets/{name}").status_code in (400, 404), name
    assert refusing.state.datasets.store.all() == {}
    assert stands.read_text() == before


@pytest.mark.full
def test_what_a_curator_declared_is_declared_anew(client: Client) -> None:
    curator = client.token("curator")
    assert put(client, curator).status_code == 201
    assert released(client, curator, where="stays")["state"] == "done"
    stands = client.get(f"{HERE}/declaration", token=curator).json()
    assert (stands["number"], stands["declared_by"], stands["hosting"]) == (1, "curator", {})
    wider = columns(cost={"bounds": [0, 0.1], "meaning": "of the stay"})
    said = body(1, {"latency": 0.1, "approval": True}, tables=wider, purpose="beds")
    checked = client.post(f"{HERE}/declaration/check", json=said, token=curator).json()
    assert checked["changes"] == [
        "declaration.purpose",
        "declaration.tables.visits.columns.cost.bounds",
        "declaration.tables.visits.columns.cost.meaning",
        "hosting.approval",
        "hosting.latency",
    ]
    assert client.get(HERE, token=curator).json()["purpose"] is None  # nothing was written
    with running(client.state.settings.folder) as other:
        reply = client.put(HERE, json=said, token=curator)
        assert reply.status_code == 200, reply.text
        for here in (client, other):
            result = here.get(HERE, token=curator).json()
            assert (result["purpose"], result["latency"], result["approval"]) == ("beds", 0.1, True)
            (cost,) = [c for c in result["tables"]["visits"]["columns"] if c["name"] == "cost"]
            assert (cost["bounds"], cost["meaning"]) == (["0", "1/10"], "of the stay")
            assert result["spent"]["epsilon"] == "1/2"  # nothing was given back
            waits = here.post(f"{HERE}/releases", json={**COUNT, "epsilon": 1}, token=curator)
            assert waits.json()["state"] == "waiting"
    event = [e for e in client.state.audit.read(0, 100) if e.action == "declaration_changed"][-1]
    assert "hosting.approval" in event.details["changes"]
    later = put(client, curator, replaces=1)
    assert (later.status_code, later.json()["error"]["code"]) == (409, "conflict")


def test_released_numbers_stay_in_their_groups_when_keys_are_declared_anew(client: Client) -> None:
    curator = client.token("curator")
    sql = "select site, count(*) as n from visits group by site"
    assert put(client, curator, tables=columns(site={"keys": ["a", "b", "c"]})).status_code == 201
    asked = {"questions": [{"sql": sql}, {"sql": COUNT["sql"]}], "epsilon": "1/2"}
    plan = client.post(f"{HERE}/plans", json=asked, token=curator).json()["href"]
    one = {"sql": sql, "epsilon": "1/2"}
    single = client.post(f"{HERE}/releases", json=one, token=curator).json()["href"]
    before = [client.get(f"{at}?wait=30", token=curator).json() for at in (plan, single)]
    assert [each["state"] for each in before] == ["done", "done"]
    anew = {"tables": columns(site={"keys": ["c", "b", "a"]}), "hosting": {"latency": 60}}
    assert put(client, curator, replaces=1, **anew).status_code == 200
    assert client.post(f"{HERE}/releases", json=one, token=curator).status_code == 202
    time.sleep(0.5)  # its answer is in the ledger, and its tick in a minute
    after = [client.get(at, token=curator).json() for at in (plan, single)]
    assert after[1]["answer"] == before[1]["answer"]
    assert len(after[0]["answers"]) == 1  # as it was released: one answer to all
    (released,) = after[0]["answers"]
    values = {
        tuple(k): v for k, v in zip(released["keys"], released["columns"][0]["value"], strict=True)
    }
    first = before[0]["answers"][0]
    stood = {tuple(k): v for k, v in zip(first["keys"], first["columns"][0]["value"], strict=True)}
    assert values == stood or set(values) != set(stood)


UNBORNE: tuple[tuple[dict[str, Any], str], ...] = (
    ({"unit": {"person": "person", "rows": 6}}, "the unit cannot change"),
    ({"unit": "row"}, "the unit cannot change"),
    ({"budget": {"epsilon": 4}}, "the budget cannot change"),
    ({"tables": {"other": {"path": "data/stays.csv"}}}, "the protected tables"),
    ({"tables": table(path="data/more.csv")}, "where the table 'visits' is"),
    ({"tables": table(path="data/stays.csv", null="x")}, "where the table 'visits' is"),
    ({"tables": columns(person={"kind": "text"})}, "which names a person"),
    ({"hosting": {"approval": False}}, "the approval of questions"),
    ({"hosting": {"approval": True, "people": "patients"}}, "whose people"),
    ({"hosting": {"approval": True, "caps": {"each_team": {"epsilon": 1}}}}, "the caps"),
)


@pytest.mark.full
def test_what_no_ledger_bears_stays_as_it_is(client: Client) -> None:
    folder, curator = client.state.settings.folder, client.token("curator")
    shutil.copy(folder / "visits.csv", folder / "data" / "more.csv")
    assert put(client, curator, hosting={"approval": True}).status_code == 201
    for change, told in UNBORNE:
        reply = put(client, curator, **{"replaces": 1, "hosting": {"approval": True}, **change})
        assert reply.status_code == 409, reply.text
        assert told in reply.json()["error"]["message"]
    assert client.state.datasets.curator_declaration("stays").number == 1  # type: ignore[union-attr]


@pytest.mark.full
def test_a_table_of_people_is_not_joined_as_a_public_one(client: Client) -> None:
    folder, curator = client.state.settings.folder, client.token("curator")
    shutil.copy(folder / "visits.csv", folder / "data" / "more.csv")
    assert put(client, curator).status_code == 201
    free = {"path": "data/stays.csv", "public": True, "key": "person"}
    tables = {"visits": {"path": "data/more.csv"}, "free": free}
    reply = put(client, curator, "/v1/datasets/more", tables=tables)
    assert reply.status_code == 400
    assert "not public" in reply.json()["error"]["message"]


@pytest.mark.full
def test_caps_and_hosting_are_checked_with_it(client: Client) -> None:
    curator = client.token("curator")
    for hosting in (
        {"caps": {"each_team": {"rho": 1}}},
        {"latency": 0},
        {"refresh": "hourly"},
        {"collusion": "teams apart"},
    ):
        assert put(client, curator, hosting=hosting).status_code == 400
    assert (
        put(client, curator, hosting={"caps": {"each_analyst": {"epsilon": 1}}}).status_code == 201
    )
    over = client.post(f"{HERE}/releases", json={**COUNT, "epsilon": 2}, token=curator)
    assert (over.status_code, "cap of analyst:curator" in over.text) == (402, True)
    noted = client.post(
        f"{HERE}/declaration/check", json=body(1, budget={"epsilon": 50}), token=curator
    )
    assert noted.status_code == 409


# Whose budget a data set spends.


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
    result = owners(dataset("visits"), dataset("births"))
    assert [(o.name, o.people, o.location) for o in result.values()] == [
        ("visits", False, "./visits.ledger"),
        ("births", False, "./births.ledger"),
    ]
    assert result["visits"].key("oncology") == "dataset visits"


def test_data_sets_of_the_same_people_have_one() -> None:
    result = owners(dataset("may"), dataset("june"), **of(may="patients", june="patients"))
    assert result["may"] is result["june"]
    assert (result["may"].name, result["may"].people) == ("patients", True)
    assert result["may"].terms == {"people": "patients", "neighbours": "unbounded"}
    assert result["may"].location == "people.patients.ledger"


def test_one_of_them_may_say_the_budget() -> None:
    unsaid = dataset("june", budget=None)
    result = owners(dataset("may"), unsaid, **of(may="patients", june="patients"))
    assert result["june"].budget == dataset("may").whole_budget


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
    stored = dataset("births", ledger="births.ledger")
    result = owners(dataset("visits"), dataset("june"), stored, **said)
    assert result["visits"].location == f"{SERVER}?ledger=visits"
    assert result["june"].location.startswith(f"{SERVER}?ledger=patients_of_ward_7_")
    assert result["births"].location == "./births.ledger"


def test_teams_apart_have_a_ledger_each() -> None:
    result = owners(dataset("visits"), collusion="teams apart")["visits"]
    assert result.key("oncology") == "dataset visits, team oncology"
    assert result.location_of("oncology") == "visits.oncology.ledger"
    assert result.location_of("Oncology") != result.location_of("oncology")
    assert "one team is answered" in collusion_words(result)
    there = owners(dataset("visits"), collusion="teams apart", database=SERVER)["visits"]
    places = {there.location_of(team) for team in ("a", "A", "a b", None)}
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


# Declarations of curators in the database: each stands, and the latest of a name counts.


FIELDS: dict[str, Any] = {"unit": "row", "budget": {"epsilon": 0.1}, "tables": {"t": {"path": "t"}}}


def test_the_latest_of_a_name_counts_and_those_before_it_stand(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/service.db")
    database.create()
    store = DeclaredStore(database)
    assert (store.latest(), store.all()) == (0, {})
    for name, latency in (("visits", 1), ("births", 2), ("visits", 0.3)):
        with store.begin() as run:
            store.add(run, SentDeclaration(name, FIELDS, {"latency": latency}, "cleo", 5.0))
    assert store.latest() == 3
    assert {name: one.number for name, one in store.all().items()} == {"visits": 3, "births": 2}
    assert store.all()["visits"].hosting == {"latency": 0.3}
    read = store.all()["visits"]
    assert read.dataset(tmp_path) == SentDeclaration("visits", FIELDS, {}, "x", 0).dataset(tmp_path)
    assert read.hosted(Settings(tmp_path)).latency == Fraction(3, 10)
    database.close()


def test_what_the_operator_decides_is_no_curators_to_say() -> None:
    settings = Settings.from_fields({"approval": True}, Path())
    for hosting in ({"collusion": "teams apart"}, {"approval": False}):
        with pytest.raises(UsageError):
            SentDeclaration("visits", FIELDS, hosting, "cleo", 0.0).hosted(settings)


# All data sets of a service: those of files, those of curators, and what comes while it runs.


STAYS = SentDeclaration("stays", DATASETS_FIELDS, {"refresh": "every 6 hours"}, "cleo", 0.0)


def opened(folder: Path) -> tuple[Datasets, Database]:
    settings = Settings.load(folder)
    database = Database(settings.database)
    database.create()
    return Datasets(declarations(settings), settings, database, lambda _: 0), database


def test_what_comes_while_it_runs_is_found_and_what_is_wrong_hides_nothing(tmp_path: Path) -> None:
    folder = declaring_clinic(tmp_path)
    (one, base), (other, also) = opened(folder), opened(folder)
    (folder / "wrong.toml").write_text("name = 3")
    assert one.declare(STAYS, None, lambda _: None).name == "stays"
    for datasets in (one, other):
        assert datasets.names == ["stays", "visits"]
        assert datasets.refreshed_when() == {"stays": "every 6 hours", "visits": None}
    with pytest.raises(Problem, match="another declaration"):
        other.declare(STAYS, 7, lambda _: None)
    twin = SentDeclaration("twin", DATASETS_FIELDS, {}, "cleo", 0.0)
    with pytest.raises(UsageError, match="same people"):
        other.declare(twin, None, lambda _: None)
    for datasets, database in ((one, base), (other, also)):
        datasets.close()
        database.close()


@pytest.mark.full
def test_a_name_of_a_file_and_of_a_curator_at_once_is_refused(tmp_path: Path) -> None:
    folder = declaring_clinic(tmp_path)
    datasets, database = opened(folder)
    datasets.declare(STAYS, None, lambda _: None)
    datasets.close()
    database.close()
    text = (folder / "visits.toml").read_text()
    (folder / "stays.toml").write_text(text.replace('name = "visits"', 'name = "stays"'))
    with pytest.raises(UsageError, match="by a curator"):
        opened(folder)


# The data sets whose tables are open: those asked last.


class QuestionParts:
    def __init__(self) -> None:
        self.let = 0

    def evict(self) -> None:
        self.let += 1


def test_those_asked_longest_ago_are_let_go_of() -> None:
    tables, held = OpenTables(4), [QuestionParts() for _ in range(3)]
    for k in (0, 1, 0, 2, 2, 0):
        tables.touch(held[k], 2)
    assert [one.let for one in held] == [0, 1, 0]
    tables.touch(held[1], 3)
    assert [one.let for one in held] == [1, 1, 1]


def test_a_data_set_with_more_tables_than_fit_keeps_its_own() -> None:
    tables, held = OpenTables(1), [QuestionParts(), QuestionParts()]
    tables.touch(held[0], 0)
    tables.touch(held[1], 5)
    assert [one.let for one in held] == [1, 0]
