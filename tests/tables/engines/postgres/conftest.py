"""What the tests of tables in PostgreSQL share."""

import pytest

from tables.engines.postgres.in_the_midst import SECRET


@pytest.fixture
def visits(postgres):
    """A view that takes as long as the table ``patience`` says."""
    reader = postgres.server.role("reader")
    postgres.run(
        "create table patience (seconds double precision)",
        "insert into patience values (60)",
        "create table data (person bigint, age double precision, name text)",
        f"insert into data select i / 2, i % 90, '{SECRET}' from generate_series(0, 99) as i",
        "create view visits as select data.* from patience, pg_sleep(seconds) as nap, data",
        f"grant select on visits to {reader}",
    )
    return postgres
