"""What a service replies of an answer is a function of what was released, and of no row.

A clinic answers and is closed; a person is taken out of its table; it opens again.  Every reply,
in every format, is the same, byte for byte: neither its numbers nor its length can depend on
whoever is in the table.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.service.client import Client, running
from support.service.clinic import FAST, SECRET_NAMES, write_clinic
from support.service.hosting import released
from support.service.pages import browser

pytestmark = pytest.mark.full

ASKED = (
    {"sql": "select count(*) as n from visits", "epsilon": "1/2"},
    {"sql": "select site, avg(cost) as m from visits group by site", "epsilon": "1/2"},
    {"sql": "select median(cost) as m from visits", "epsilon": "1/2"},
)
ENDS = (
    *("", "/certificate", "/answer", "/answer?form=long"),
    *(
        f"/answer?format={name}&form={form}"
        for name in ("csv", "arrow", "parquet")
        for form in ("wide", "long")
    ),
)
"""What can be asked of a release."""


def replies(client: Client, token: str, names: list[str]) -> dict[str, bytes]:
    found = {
        f"{name}{end}": client.get(f"/v1/releases/{name}{end}", token=token)
        for name in names
        for end in ENDS
    }
    assert {reply.status_code for reply in found.values()} == {200}
    seen = {name: reply.content for name, reply in found.items()}
    ada = browser(client, "analyst", name="ada")
    return seen | {f"page {name}": ada.get(f"/releases/{name}").content for name in names}


def test_every_reply_of_an_answer_is_the_same_without_a_person(tmp_path: Path) -> None:
    folder = write_clinic(tmp_path, FAST)
    with running(folder) as client:
        ada = client.token("analyst", name="ada")
        names = [released(client, ada, ask)["id"] for ask in ASKED]
        before = replies(client, ada, names)
    table = folder / "visits.csv"
    rows = table.read_text().splitlines()
    left = [row for row in rows if not row.startswith(SECRET_NAMES)]
    assert len(left) == len(rows) - len(SECRET_NAMES)
    table.write_text("\n".join(left) + "\n")
    with running(folder) as client:
        after = replies(client, ada, names)
    assert len(before) == len(ASKED) * (len(ENDS) + 1)
    assert after == before
