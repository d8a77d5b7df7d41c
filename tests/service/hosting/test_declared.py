"""Declarations of curators in the database: each stands, and the latest of a name counts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import UsageError
from tacit.service.database import Database
from tacit.service.hosting.declaring import Declared, DeclaredStore
from tacit.service.settings import Settings

FIELDS: dict[str, Any] = {"unit": "row", "budget": {"epsilon": 0.1}, "tables": {"t": {"path": "t"}}}


def test_the_latest_of_a_name_counts_and_those_before_it_stand(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/service.db")
    database.create()
    store = DeclaredStore(database)
    assert (store.latest(), store.all()) == (0, {})
    for name, latency in (("visits", 1), ("births", 2), ("visits", 0.3)):
        with store.begin() as run:
            store.add(run, Declared(name, FIELDS, {"latency": latency}, "cleo", 5.0))
    assert store.latest() == 3
    assert {name: one.number for name, one in store.all().items()} == {"visits": 3, "births": 2}
    assert store.all()["visits"].hosting == {"latency": 0.3}
    read = store.all()["visits"]
    assert read.dataset(tmp_path) == Declared("visits", FIELDS, {}, "x", 0).dataset(tmp_path)
    assert read.hosted(Settings(tmp_path)).latency == Fraction(3, 10)
    database.close()


def test_what_the_operator_decides_is_no_curators_to_say() -> None:
    settings = Settings.from_fields({"approval": True}, Path())
    for hosting in ({"collusion": "teams apart"}, {"approval": False}):
        with pytest.raises(UsageError):
            Declared("visits", FIELDS, hosting, "cleo", 0.0).hosted(settings)
