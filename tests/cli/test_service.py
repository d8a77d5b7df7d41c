"""``tacit token``: the operator's own way to tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.service.database import open_store
from tacit.service.demo import write_demo
from tacit.service.settings import Settings
from tacit.service.tokens import Tokens


@pytest.fixture
def clinic(folder: Path) -> Path:
    write_demo(folder / "clinic")
    return folder / "clinic"


def test_create_list_narrow_revoke(clinic: Path, tacit) -> None:
    made = tacit(
        "token create --folder clinic --role analyst --role reviewer --dataset visits --name ada "
        "--team oncology --days 1"
    )
    assert made.code == 0
    text = made.out.strip()
    assert text not in made.err
    (one,) = tacit("token list --folder clinic --json").json
    assert one["team"] == "oncology"
    assert [grant["role"] for grant in one["grants"]] == ["analyst", "reviewer"]
    assert text not in tacit("token list --folder clinic").out
    narrow = tacit(f"token narrow {one['id']} --folder clinic --role reviewer --dataset visits")
    database, key = open_store(Settings.load(clinic))
    tokens = Tokens(database, key)
    assert tokens.check(text).name == "ada"
    assert tokens.check(narrow.out.strip()).roles == ["reviewer"]
    assert "2 tokens" in tacit(f"token revoke {one['id']} --folder clinic").out
    assert {one["ended"] for one in tacit("token list --folder clinic --json").json} == {"revoked"}
    database.close()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("token create --folder clinic --name ada", "--role"),
        ("token create --folder clinic --name ada --role analist", "did you mean 'analyst'"),
        ("token create --folder clinic --name ada --role analyst --dataset visit", "did you mean"),
        ("token create --folder clinic --name ada --role analyst --days 400", "366"),
        ("token create --folder clinic --name ada --role analyst --days nan", "366"),
        ("token create --folder nothere --name ada --role analyst", "there is no folder"),
        ("token revoke 00 --folder clinic", "there is no token"),
        ("token narrow 00 --folder clinic", "there is no token"),
    ],
)
@pytest.mark.usefixtures("clinic")
def test_what_is_refused(words: str, told: str, tacit) -> None:
    done = tacit(words)
    assert done.code == 2
    assert told in done.err


@pytest.mark.usefixtures("clinic")
def test_narrowing_never_widens(tacit) -> None:
    tacit("token create --folder clinic --role analyst --dataset visits --name ada")
    (one,) = tacit("token list --folder clinic --json").json
    done = tacit(f"token narrow {one['id']} --folder clinic --role curator")
    assert done.code == 2
    assert "does not" in done.err
