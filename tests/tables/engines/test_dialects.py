"""Each engine's dialect names every type that keys and plans are cast to."""

import pytest

from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.engines.postgres import POSTGRES
from tacit.tables.engines.spark import SPARK


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("kind", ["integer", "wide", "double", "text", "date", "boolean", "small"])
def test_a_value_is_cast_to_every_kind(dialect, kind):
    assert f" as {getattr(dialect, kind)})" in dialect.cast("x", kind)
