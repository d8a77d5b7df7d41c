"""The page on which curators raise a budget, set caps, and see which charges have no answer."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.clinic import DECLARED, make_clinic
from support.servers.left_out import reason
from support.service.client import Client, running
from support.service.hosting import COUNT, hosted_clinic
from support.service.pages import browser
from support.service.server import served
from tacit import local
from tacit.errors import DataSourceError
from tacit.service.jobs import release_service


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(hosted_clinic(tmp_path)) as client:
        yield client


def cap(page: Any, whose: str, who: str, amount: str) -> Any:
    said = {"whose": whose, "who": who, "amount": amount, "reason": "a share", "action": "cap"}
    return page.post("/datasets/visits/budget", **said)


@pytest.mark.full
def test_a_curator_sets_caps_and_raises_the_budget(client: Client) -> None:
    cleo = browser(client, "curator", name="cleo")
    assert "Set its budget and caps" in cleo.get("/datasets/visits").text
    assert "is set" in cap(cleo, "team:*", "", "2").text
    page = cap(cleo, "team", "oncology", "1/2")
    assert "team oncology" in page.text
    ada = client.token("analyst", "visits", "ada", team="oncology")
    over = client.post("/v1/datasets/visits/releases", json={**COUNT, "epsilon": 1}, token=ada)
    assert "cap of team:oncology" in over.text
    for page in ("ask", "plan"):
        person = browser(client, "analyst", "visits", name="ada", team="oncology")
        text = person.get(f"/datasets/visits/{page}")
        assert "epsilon 0.5 is left under the cap of team oncology" in text.text
    assert "removed" in cap(cleo, "team", "oncology", "").text
    said = {"caps": {"analyst:ada": {"epsilon": 1}}, "reason": "as declared"}
    own = client.put("/v1/datasets/visits/caps", json=said, token=client.token("curator"))
    assert (own.status_code, "say your own" in own.text) == (400, True)
    raised = {"amount": "2000", "reason": "a yearly report", "action": "raise"}
    page = cleo.post("/datasets/visits/budget", **raised)
    assert "of epsilon 2,000" in page.text or "of epsilon 2000" in page.text
    for wrong in ({**raised, "amount": "1"}, {**raised, "reason": ""}, {**raised, "amount": "x"}):
        assert 'role="alert"' in cleo.post("/datasets/visits/budget", **wrong).text
    assert browser(client, "analyst").get("/datasets/visits/budget").status_code == 403


@pytest.mark.full
def test_what_was_charged_and_not_answered_is_shown(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, cleo = client.token("analyst", name="ada"), browser(client, "curator")
    where = "/v1/datasets/visits/releases"

    def away(*_: Any, **__: Any) -> Any:
        raise DataSourceError("4711")

    with monkeypatch.context() as patch:
        patch.setattr(release_service, "release_charged", away)
        made = client.post(where, json=COUNT, token=ada).json()
        result = client.get(f"/v1/releases/{made['id']}?wait=30", token=ada).json()
    assert (result["state"], result["left_open"]) == ("failed", True)
    assert made["id"] in cleo.get("/datasets/visits/budget").text
    page = browser(client, "analyst", name="ada").get(f"/releases/{made['id']}")
    assert "it stays charged" in page.text
    listed = client.get("/v1/releases?left_open=true", token=client.token("curator")).json()
    assert [one["id"] for one in listed["items"]] == [made["id"]]
    again = client.post(where, json=COUNT, token=ada).json()
    assert client.get(f"/v1/releases/{again['id']}?wait=30", token=ada).json()["state"] == "done"
    assert made["id"] not in cleo.get("/datasets/visits/budget").text
    assert client.get("/v1/releases?left_open=true", token=ada).json()["items"] == []


@pytest.mark.full
def test_what_was_cancelled_after_its_charge_is_left_open(tmp_path: Path) -> None:
    settings = "[datasets.visits]\nlatency = 60\napproval = {}\n"
    for approval in ("false", "true"):  # with it, nothing is charged before it is approved
        folder = tmp_path / approval
        folder.mkdir()
        with running(hosted_clinic(folder, settings.format(approval))) as client:
            ada = client.token("analyst")
            made = client.post("/v1/datasets/visits/releases", json=COUNT, token=ada).json()
            assert client.post(f"{made['href']}/cancel", token=ada).status_code == 200
            result = client.get(made["href"], token=ada).json()
            assert (result["state"], result["left_open"]) == ("cancelled", approval == "false")
            page = browser(client, "analyst").get(made["href"].removeprefix("/v1")).text
            assert ("it stays charged" in page) == result["left_open"]
            listed = client.get("/v1/releases?left_open=true", token=ada).json()["items"]
            assert len(listed) == result["left_open"]


# Every page in a real Chromium: by keyboard, without scripts, small and dark; held by axe.


BROWSER = Path(__file__).parents[3] / "support" / "browser"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NODE = shutil.which("node")
THERE = (BROWSER / "node_modules" / "puppeteer-core").is_dir()

SETTINGS = """
title = "Clinic"
latency = 0.5
[datasets.births]
approval = true
[collections.colour]
purpose = "which colour people like"
mechanism = "DirectEncoding"
items = ["red", "green", "blue"]
epsilon = 1
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("clinic")
    make_clinic(folder)
    births = DECLARED.partition("[tables.patients]")[0].replace("tables.visits", "tables.births")
    births = births.replace('name = "visits"', 'name = "births"').replace(
        "visits.csv", "births.csv"
    )
    (folder / "births.csv").write_text("person,site,cost,day\n1,1,2,2024-01-05\n")
    (folder / "births.toml").write_text(births)
    (folder / "service.toml").write_text(SETTINGS)
    (folder / "data").mkdir()
    for name in ("desk", "night"):  # one that each walk declares
        (folder / "data" / f"{name}.csv").write_bytes((folder / "visits.csv").read_bytes())
    (folder / "data" / "sites.csv").write_text("site,region\n1,north\n2,south\n")
    with served(folder) as here:
        oracle = local.DirectEncoding(["red", "green", "blue"], epsilon=1)
        sent = b"".join(map(local.Wire(oracle).encode, oracle.perturb_many(["red", "blue"] * 200)))
        reports = f"{here.address}/v1/collections/colour/reports"
        kind = {"Content-Type": "application/octet-stream"}
        bearer = {"Authorization": f"Bearer {here.token('device', name='phone')}"}
        assert httpx.post(reports, content=sent, headers={**bearer, **kind}).status_code == 200
        orders = {
            "chromium": CHROMIUM,
            "address": here.address,
            "token": here.token("analyst", name="ada", team="oncology"),
            "reviewer": here.token("curator", "reviewer", "auditor", name="rita"),
        }
        (folder / "orders.json").write_text(json.dumps(orders))
        assert NODE is not None
        done = subprocess.run(
            [NODE, str(BROWSER / "pages.mjs"), str(folder / "orders.json")],
            capture_output=True,
            text=True,
            timeout=900,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_no_page_is_wrong_by_the_guidelines_of_wcag(found: Any) -> None:
    wrong = {page["name"]: page["wrong"] for page in found["pages"] if page["wrong"]}
    assert wrong == {}
    checked = [page for page in found["pages"] if page["passes"]]
    assert len(checked) == 2 * 14 + 5 + 3 + 2 * 14

    # light and dark, a review, four answers, and a curator's twice


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_every_page_was_seen(found: Any) -> None:
    names = {page["name"].removeprefix("light-") for page in found["pages"]}
    assert {
        *("sign-in", "datasets", "dataset", "preview", "release", "certificate", "refused"),
        *("plan", "plan-release"),
        *("releases", "tokens", "verify", "explorer", "nowhere"),
        *("waiting", "approvals", "decision", "audit", "tokens-made"),
    } <= names
    assert {"dark-phone-release", "plain-release"} <= names
    assert {
        f"{walk}-{page}"
        for walk in ("desk", "night")
        for page in (
            *(
                "declare",
                "declare-tables",
                "declare-checked",
                "declared",
                "declaration",
                "budget",
                "count",
            ),
            *("dashboard", "dashboards", "collections", "collection"),
            *("new-schedule", "schedule", "schedules"),
        )
    } <= names


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_a_dashboard_of_periods_that_are_over_shows_them(found: Any) -> None:
    assert found["notes"]["desk charts"] == found["notes"]["night charts"] == 2


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_no_page_is_wider_than_a_phone(found: Any) -> None:
    assert [page["name"] for page in found["pages"] if page["overflow"]] == []


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_no_page_breaks_its_own_policy(found: Any) -> None:
    said = [text for text in found["console"] if "Refused" in text or "Policy" in text]
    assert said == []
    errors = [text for text in found["console"] if "Error" in text]
    assert errors == []


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_everything_is_reached_by_the_keyboard_and_shows_its_focus(found: Any) -> None:
    reached = found["notes"]["keyboard"]
    for wanted in ("A #main", "SELECT statistic", "TEXTAREA sql", "INPUT amount", "BUTTON preview"):
        assert wanted in reached
    assert found["notes"]["unseen"] == 0


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_people_of_the_explorer_are_moved_by_slider_and_by_hand(found: Any) -> None:
    slid, dragged = found["notes"]["slid"], found["notes"]["dragged"]
    assert slid == "1, 2, 5, 7, 8"
    assert dragged.split(", ")[0] not in ("1", "8")


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_a_choice_is_previewed_before_it_is_written_as_sql(found: Any) -> None:
    assert found["notes"]["expected"] == 1
    assert 'sum("cost")' in found["notes"]["clicked"]


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_the_words_of_charts_can_be_read_on_a_phone(found: Any) -> None:
    drawn = {page["name"]: page["smallest"] for page in found["pages"] if page["smallest"] < 99}
    assert {"dark-phone-release", "dark-phone-preview", "four-phone-certificate"} <= set(drawn)
    assert {name: size for name, size in drawn.items() if size < 10} == {}


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_no_table_of_values_is_cut_off(found: Any) -> None:
    names = {page["name"]: page["cut"] for page in found["pages"] if "four" in page["name"]}
    assert len(names) == 4
    assert set(names.values()) == {0}


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_signing_out_is_beside_the_name_of_the_service(found: Any) -> None:
    assert [page["name"] for page in found["pages"] if abs(page["signOut"]) > 20] == []


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_every_page_of_somebody_signed_in_has_the_menu(found: Any) -> None:
    bare = {page["name"] for page in found["pages"] if not page["menu"]}
    assert {name for name in bare if "certificate" not in name and "sign-in" not in name} == set()
