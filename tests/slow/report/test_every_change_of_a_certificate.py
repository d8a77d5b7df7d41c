"""All changes of every kind of certificate: refused, or named as unchecked; with a ledger none."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from support.certificates.certificate_changes import (
    FIRST,
    OPEN,
    changed,
    changes,
    is_default,
    named,
)
from support.certificates.certificate_kinds import KINDS

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parents[2] / "report" / "fixtures"
SECONDS = 30
"""No answer takes longer, on a machine that does much else."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_change_is_refused_or_named(kind: str) -> None:
    certificate, ledger = KINDS[kind]()
    first = json.loads((FIXTURES / f"{kind}.json").read_text(encoding="utf-8"))
    for body, patterns in ((certificate.body, OPEN), (first, FIRST)):
        for path, value in changes(body):
            began = time.monotonic()
            report = changed(body, path, value).verify()
            assert time.monotonic() - began < SECONDS, (path, value)
            told = named(path, report.unchecked, patterns) or is_default(path, value, body)
            assert not report or told, (path, value)
            if body is certificate.body and report:
                assert not changed(body, path, value).verify(ledger), (path, value)
