"""Files at an address: read by the user's own extensions of DuckDB, or refused with the remedy."""

from __future__ import annotations

import functools
import http.server
import threading

import duckdb
import pytest

import tacit as tc
from support.servers.left_out import reason
from tacit.errors import DataSourceError
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.parquet import check_remote, public_part

INSTALLED = duckdb.sql(
    "select installed from duckdb_extensions() where extension_name = 'httpfs'"
).fetchall() == [(True,)]
without = pytest.mark.skipif(INSTALLED, reason="DuckDB's extension httpfs is installed here")
with_it = pytest.mark.skipif(
    not INSTALLED,
    reason=reason("DuckDB's httpfs", "python -c \"import duckdb; duckdb.sql('install httpfs')\""),
)


def test_an_unknown_kind_of_address_is_refused_before_anything_is_fetched():
    with pytest.raises(
        DataSourceError, match=r"addresses of the form htps://.*did you mean 'https'"
    ):
        tc.Session("htps://example.org/a.parquet", unit=tc.one_row_each, budget=tc.epsilon(1))


@without
@pytest.mark.parametrize("address", ["s3://bucket/*.parquet", "https://example.org/a.csv"])
def test_a_missing_extension_is_named_with_the_way_to_install_it(address):
    with pytest.raises(DataSourceError, match="install httpfs"):
        tc.Session(address, unit=tc.one_row_each, budget=tc.epsilon(1))


class Told(DuckEngine):
    """An engine that says of every extension whether it is there."""

    def __init__(self, answer):
        self.answer = answer

    def rows(self, sql):
        assert "'azure'" in sql
        return self.answer


@pytest.mark.parametrize("answer", [[], [(False,)]])
def test_azure_has_an_extension_of_its_own(answer):
    with pytest.raises(DataSourceError, match="install azure"):
        check_remote("az://box/a.parquet", Told(answer))
    check_remote("az://box/a.parquet", Told([(True,)]))


def test_secrets_in_an_address_are_in_no_name_and_no_error():
    secret = "https://ann:hush@example.org/a.parquet?signature=hush"
    assert public_part(secret) == "https://example.org/a.parquet"
    with pytest.raises(DataSourceError) as caught:
        tc.Session(secret, unit=tc.one_row_each, budget=tc.epsilon(1))
    assert "hush" not in str(caught.value)


@with_it
def test_a_remote_table_answers_like_the_local_one(tmp_path):
    (tmp_path / "small.csv").write_text('a;b\n1;x\n2;"y;z"\n')
    folder = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/small.csv"
    with tc.Session(address, unit=tc.one_row_each, budget=tc.epsilon(10_000)) as session:
        assert session.columns == {"a": "integer", "b": "text"}
        assert session.source.name == "small.csv"
        total = session.agg(total=tc.sum("a", 0, 5)).release(epsilon=10_000).value("total")
        assert round(total) == 3
    server.shutdown()
    server.server_close()
