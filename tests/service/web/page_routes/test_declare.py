"""The pages on which curators declare a data set, and change what they declared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from support.service.client import Client, running
from support.service.declaring import HERE, declaring_clinic
from support.service.pages import browser
from tacit.errors import UsageError
from tacit.service.pages.declare_view import declared_in, form_of

FORM = {
    "name": "stays",
    "file": "data/stays.csv",
    "purpose": "beds",
    "unit": "person",
    "person": "person",
    "rows": "5",
    "epsilon": "3",
    "each_analyst": "1",
    "latency": "0.05",
    "c0": "cost",
    "kind0": "float",
    "low0": "0",
    "high0": "999",
}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(declaring_clinic(tmp_path)) as client:
        yield client


@pytest.mark.full
def test_a_curator_declares_a_data_set_and_changes_it(client: Client) -> None:
    cleo = browser(client, "curator", name="cleo")
    first = cleo.get("/declare")
    assert "<option>data/stays.csv</option>" in first.text
    asked = cleo.get("/declare?name=stays&file=data/stays.csv")
    assert asked.text.count('class="column"') == 4
    seen = cleo.post("/declare", **FORM, action="check")
    assert "The declaration is valid" in seen.text
    assert client.state.datasets.names == ["visits"]
    assert "there is no file" in cleo.get("/declare?name=s&file=data/stay.csv").text
    assert "there is a data set" in cleo.get("/declare?name=Visits&file=data/stays.csv").text
    made = cleo.post("/declare", **FORM, action="declare")
    assert (made.status_code, made.headers["location"]) == (303, "/datasets/stays")
    assert "Change its declaration" in cleo.get("/datasets/stays").text
    page = cleo.get("/datasets/stays/declaration")
    assert 'value="999"' in page.text
    changed = {**FORM, "number": "1", "high0": "500", "approval": "yes", "epsilon": "9"}
    told = cleo.post("/datasets/stays/declaration", **changed, action="check")
    assert "declaration.tables.stays.columns.cost.bounds" in told.text
    assert cleo.post("/datasets/stays/declaration", **changed, action="declare").status_code == 303
    result = client.get(HERE, token=client.token("curator")).json()
    assert (result["approval"], result["budget"]["epsilon"]) == (True, "3")
    stale = cleo.post("/datasets/stays/declaration", **changed, action="declare")
    assert "another declaration" in stale.text


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"epsilon": ""}, "budget"),
        ({"rows": "many"}, "rows"),
        ({"low0": "9", "high0": "1"}, "bounds"),
        ({"file": "visits.csv"}, "data/"),
        ({"file": "data/stays.csv\x00"}, "NUL"),
        ({"file": f"data/{'x' * 5000}.csv"}, "data/"),
        ({"file": f"data/{'x' * 280}.csv"}, "data/"),
        ({"latency": "soon"}, "latency"),
    ],
)
def test_what_cannot_stand_is_said_and_the_form_is_kept(
    client: Client, change: dict[str, str], told: str
) -> None:
    cleo = browser(client, "curator")
    page = cleo.post("/declare", **{**FORM, **change}, action="declare")
    assert (page.status_code, 'role="alert"' in page.text) == (200, True)
    assert told in page.text.partition('role="alert"')[2].partition("</div>")[0]
    assert 'value="beds"' in page.text
    assert client.state.datasets.names == ["visits"]
    first = cleo.get(f"/declare?{urlencode({**FORM, **change})}")
    assert first.status_code in (200, 400)  # 400: longer than any name of a file


@pytest.mark.full
def test_only_curators_come_to_it_and_each_for_their_own(client: Client) -> None:
    for role in ("analyst", "reviewer", "auditor"):
        assert browser(client, role).get("/declare").status_code == 403
    part = browser(client, "curator", "visits")
    assert "data/stays.csv" not in part.get("/declare").text
    page = part.get("/declare?name=stays&file=data/stays.csv")
    assert "curator" in page.text
    assert 'class="column"' not in page.text
    assert part.post("/declare", **FORM, action="declare").status_code == 403
    page = part.get("/datasets/visits/declaration")
    assert page.status_code == 409
    assert '<a href="/datasets">' in page.text  # the menu


def write_more(client: Client) -> None:
    data = client.state.settings.folder / "data"
    rows = ["id,bed", *(f"p{n},{n % 9}" for n in range(20))]
    (data / "beds.csv").write_text("\n".join(rows) + "\n")
    (data / "sites.csv").write_text("site,region\n1,north\n2,south\n3,south\n")


@pytest.mark.full
def test_a_data_set_of_several_tables_is_declared_and_changed(client: Client) -> None:
    write_more(client)
    cleo = browser(client, "curator", name="cleo")
    page = cleo.post("/declare", **FORM, action="add", newfile="data/beds.csv")
    assert 'name="t1name" value="beds"' in page.text
    assert 'value="999"' in page.text  # what was typed is kept
    beds = {"t1name": "beds", "t1file": "data/beds.csv", "t1of": "people", "t1person": "id"}
    beds |= {"t1c1": "bed", "t1kind1": "integer", "t1low1": "0", "t1high1": "9"}
    again = cleo.post("/declare", **FORM, **beds, action="add", newfile="data/beds.csv")
    assert "there is a table &#39;beds&#39; already" in again.text
    outside = cleo.post("/declare", **FORM, **beds, action="add", newfile="visits.csv")
    assert "data/" in outside.text.partition('role="alert"')[2].partition("</div>")[0]
    assert cleo.post("/declare", **FORM, **beds, action="declare").status_code == 303
    here = "/datasets/stays/declaration"
    page = cleo.get(here)
    assert "rows of the same people, named by id" in page.text
    form = {**FORM, **beds, "number": "1"}
    page = cleo.post(here, **form, action="add", newfile="data/sites.csv")
    assert 'name="t2of"' in page.text
    sites = {"t2name": "sites", "t2file": "data/sites.csv", "t2of": "public", "t2key": "site"}
    sites |= {"t2c1": "region", "t2keys1": "north, south"}
    told = cleo.post(here, **form, **sites, action="check")
    assert "declaration.tables.sites" in told.text
    assert cleo.post(here, **form, **sites, action="declare").status_code == 303
    result = client.get(f"{HERE}/declaration", token=client.token("curator")).json()
    assert list(result["declaration"]["tables"]) == ["stays", "beds", "sites"]
    joined = {
        "sql": "select region, count(*) as n from stays join sites using (site) group by region"
    }
    preview = client.post(
        f"{HERE}/preview", json={**joined, "epsilon": 1}, token=client.token("analyst")
    )
    assert preview.status_code == 200, preview.text
    stays = {"number": "2", "t1of": "none"}
    gone = cleo.post(here, **{**form, **sites, **stays}, action="declare")
    assert "the protected tables cannot change" in gone.text
    left = {"number": "2", "t2of": "none"}
    assert cleo.post(here, **{**form, **sites, **left}, action="declare").status_code == 303
    result = client.get(f"{HERE}/declaration", token=client.token("curator")).json()
    assert list(result["declaration"]["tables"]) == ["stays", "beds"]


def test_a_form_names_people_by_several_columns_and_codes_for_missing_values() -> None:
    form = {**FORM, "person1": "site", "c1": "day", "missing1": ' -9..-1, refused,"99"'}
    path = {"tables": {"stays": {"path": "data/stays.csv"}}}
    fields, how = declared_in(lambda name: form.get(name, ""), path, {})
    assert fields["unit"] == {"person": ["person", "site"], "rows": 5}
    assert fields["tables"]["stays"]["missing"] == {"day": [[-9, -1], "99", "refused"]}
    shown = form_of(fields, how, {"stays": ["cost", "day"]})
    assert shown["person"] == ["person", "site", ""]
    assert shown["columns"][1]["missing"] == '-9..-1, "99", "refused"'
    stays = {"c0": "cost", "missing1": shown["columns"][1]["missing"], "c1": "day"}
    again, _ = declared_in(lambda name: stays.get(name, ""), fields, how)
    assert again["tables"]["stays"]["missing"] == fields["tables"]["stays"]["missing"]
    cleared, _ = declared_in(lambda name: {"c1": "day"}.get(name, ""), fields, how)
    assert "missing" not in cleared["tables"]["stays"]
    with pytest.raises(UsageError, match="a quote is not closed"):
        declared_in(lambda name: {"c1": "day", "missing1": '"9'}.get(name, ""), fields, how)


@pytest.mark.full
def test_people_of_two_columns_are_declared_on_the_page_and_asked_over_http(
    client: Client,
) -> None:
    cleo = browser(client, "curator", name="cleo")
    pair = {**FORM, "person1": "site", "missing0": "-9"}
    assert "Codes for missing values" in cleo.post("/declare", **pair, action="check").text
    assert cleo.post("/declare", **pair, action="declare").status_code == 303
    token = client.token("curator")
    reply = client.get(HERE, token=token).json()
    assert reply["unit"]["person"] == ["person", "site"]
    assert reply["tables"]["stays"]["unit"]["column"] == ["person", "site"]
    made = client.get(f"{HERE}/declaration", token=token).json()["declaration"]
    assert made["tables"]["stays"]["missing"] == {"cost": [-9]}
    sql = {"sql": "select count(distinct (person, site)) as n from stays", "epsilon": 1}
    preview = client.post(f"{HERE}/preview", json=sql, token=client.token("analyst"))
    assert preview.status_code == 200, preview.text
    assert "columns person and site" in preview.text
    page = cleo.get("/datasets/stays/declaration")
    assert 'value="-9" placeholder' in page.text
