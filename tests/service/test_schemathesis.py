"""The API against its own description, by schemathesis: every route, with right and wrong requests,
and sequences that follow the links between them.

Of its checks one is left out: that whatever fits the description is accepted.  SQL, budgets and
names of data sets are text to a description, and most text is none of these.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.servers.left_out import needs
from support.service.clinic import write_clinic
from support.service.server import served
from tacit.service.access import RIGHTS

pytestmark = [
    pytest.mark.full,
    needs("schemathesis", "make setup-engines"),
]
SETTINGS = """
latency = 0.1
[limits]
waiting_jobs = 100000
failed_tokens = 1000000
[collections.colour]
mechanism = "DirectEncoding"
items = ["red", "green"]
epsilon = 1
"""
KNOWN = """
[parameters]
"path.name" = "visits"

[[operations]]
include-path-regex = "/v1/collections/.*"
parameters = { "path.name" = "colour" }
"""
"""Which names there are, so that requests come further than to what is not there."""


def test_no_request_finds_the_service_other_than_described(tmp_path: Path) -> None:
    folder = write_clinic(tmp_path / "clinic", SETTINGS)
    (tmp_path / "schemathesis.toml").write_text(KNOWN)
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    assert program is not None
    with served(folder) as service:
        token = service.token(*RIGHTS)
        words = [
            *(program, "run", f"{service.address}/openapi.json"),
            *("--header", f"Authorization: Bearer {token}"),
            *("--exclude-checks", "positive_data_acceptance"),
            *("--max-examples", "20", "--seed", "1", "--generation-database", "none"),
            *("--no-color", "--max-response-time", "20"),
        ]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=900)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "unexpected" not in service.log.read_text(), service.log.read_text()[-4000:]
