"""Many random histories of a ledger; ``TACIT_HISTORIES=100000`` for as many as one has time for."""

import os
import random

import pytest

from support.accounting.ledger_machine import histories


@pytest.mark.slow
def test_no_history_of_many_grants_more_than_the_budget(tmp_path):
    begin = random.randrange(10**9)
    histories(tmp_path, range(begin, begin + int(os.environ.get("TACIT_HISTORIES", "10000"))))
