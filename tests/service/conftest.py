"""What the tests of the service share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from support.service.client import Client, running
from support.service.hosting import hosted_clinic
from support.service.other_process import Mortals
from tacit.service import database as database_module
from tacit.service.database import Database


@pytest.fixture(scope="session", autouse=True)
def compiled_once() -> Iterator[None]:
    """Have statements compiled once in a run, not once for the database of each service."""
    in_file = database_module._in_file
    first: list[sa.Engine] = []

    def of_one_dialect(path: Path) -> tuple[sa.Engine, str]:
        engine, name = in_file(path)
        first.extend([] if first else [engine])
        engine.dialect, engine._compiled_cache = first[0].dialect, first[0]._compiled_cache
        return engine, name

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database_module, "_in_file", of_one_dialect)
        yield


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(hosted_clinic(tmp_path_factory.mktemp("clinic"))) as client:
        yield client


@pytest.fixture(scope="session")
def mortals() -> Iterator[Mortals]:
    made = Mortals()
    yield made
    made.process.communicate(timeout=60)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path}/service.db")
    made.create()
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def any_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    address = f"sqlite:///{tmp_path}/service.db"
    if request.param == "postgres":
        address = request.getfixturevalue("postgres").dsn()
    made = Database(address)
    made.create()
    yield made
    made.close()
