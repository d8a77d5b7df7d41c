"""What the tests of ledgers in PostgreSQL share."""

import pytest

from accounting.ledger_postgres.roles import COST
from tacit.accounting import create_ledger, epsilon


@pytest.fixture
def clinic(postgres):
    """The address of a ledger in a fresh database."""
    address = f"{postgres.dsn()}?ledger=clinic"
    with create_ledger(address, dataset="clinic", budget=epsilon(1)) as ledger:
        ledger.charge("first", COST, {})
    return address
