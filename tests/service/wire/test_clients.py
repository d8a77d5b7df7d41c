"""Real clients: psycopg, SQLAlchemy and psql against a service that runs."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service.client import running
from support.service.hosting import hosted_clinic
from support.service.server import free_port

pytestmark = pytest.mark.full
BY_SITE = "select site, count(*) as n from visits group by site"
OPTIONS = "-c tacit.epsilon=0.25"
_PAGE = Path(__file__).parents[3] / "docs" / "service-wire.md"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    port = free_port()
    folder = hosted_clinic(tmp_path_factory.mktemp("clinic"), f"[wire]\nport = {port}\n")
    with running(folder) as client:
        token = client.token("analyst", "visits", "ada")
        yield {"host": "127.0.0.1", "port": port, "user": "ada", "password": token}


def test_psycopg(address: dict[str, Any]) -> None:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(**address, dbname="visits", options=OPTIONS) as connection:
        many = connection.execute(f"{BY_SITE} order by site").fetchall()
        assert [row[0] for row in many] == [1, 2, 3]
        query = "select count(*) as n from visits where day >= %s and cost > %s"
        (n, low, high, _) = connection.execute(query, (datetime.date(2024, 2, 1), 20)).fetchone()
        assert low <= n <= high
        binary = connection.execute(f"{BY_SITE} order by site", binary=True).fetchall()
        assert binary == many  # the same release, in the other format
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="never shown"):
            connection.execute("select * from visits")
        connection.rollback()
    with psycopg.connect(**address, dbname="visits") as connection:
        with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
            connection.execute(BY_SITE)
        assert "tacit.epsilon" in caught.value.diag.message_hint
    with pytest.raises(psycopg.OperationalError, match="not one of this service"):
        psycopg.connect(**{**address, "password": "x"}, dbname="visits")


def test_sqlalchemy(address: dict[str, Any]) -> None:
    pytest.importorskip("psycopg")
    sa = pytest.importorskip("sqlalchemy")
    url = sa.URL.create(
        "postgresql+psycopg",
        "ada",
        address["password"],
        address["host"],
        address["port"],
        "visits",
    )
    engine = sa.create_engine(url, connect_args={"options": OPTIONS})
    try:
        names = sa.inspect(engine).get_table_names()
        assert sorted(names) == ["patients", "sites", "visits"]
        visits = sa.Table("visits", sa.MetaData(), autoload_with=engine)
        assert [str(one.type) for one in visits.columns] == [
            *("BIGINT", "BIGINT", "DOUBLE PRECISION", "DATE")
        ]
        asked = sa.select(visits.c.site, sa.func.count().label("n")).group_by(visits.c.site)
        with engine.connect() as connection:
            rows = connection.execute(asked.order_by(sa.desc("n")).limit(2)).mappings().all()
            assert len(rows) == 2
            assert rows[0]["n"] >= rows[1]["n"]
            assert set(rows[0]) == {"site", "n", "n_lower", "n_upper", "certificate"}
            mean = sa.select(sa.func.avg(visits.c.cost).label("m")).where(visits.c.site == 1)
            row = connection.execute(mean).mappings().one()
            assert row["m_lower"] <= row["m"] <= row["m_upper"]
    finally:
        engine.dispose()


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql(address: dict[str, Any], tmp_path: Path) -> None:
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"}
    env = {**os.environ, **{names[name]: str(value) for name, value in address.items()}}
    env |= {"PGDATABASE": "visits", "PGOPTIONS": OPTIONS, "HOME": str(tmp_path)}
    commands = ["\\dt", "\\d visits", "\\d+ patients", "\\l", "\\du", "\\dn", "\\df", BY_SITE]
    flags = [part for command in commands for part in ("-c", command)]
    ran = subprocess.run(
        ["psql", "-X", *flags], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "ERROR" not in ran.stderr
    assert "NOTICE:  release" in ran.stderr
    # libpq takes no second equals sign in an option of an address
    place = f"postgresql://127.0.0.1:{address['port']}/visits"
    url = f"{place}?options=-c%20tacit.epsilon%3D0.25"
    assert url.partition("?")[2].replace("0.25", "0.1") in _PAGE.read_text()
    flags = ["psql", "-X", url, "-c", "show tacit.epsilon"]
    env.pop("PGOPTIONS")
    shown = subprocess.run(flags, env=env, capture_output=True, text=True, timeout=60, check=True)
    assert "0.25" in shown.stdout
    for words in ('Table "public.visits"', "double precision", "n_lower", "certificate"):
        assert words in ran.stdout
