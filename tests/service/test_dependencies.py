"""No package that is installed here has a known weakness, where the advisories can be asked."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from support.servers.left_out import leave_out, needs

pytestmark = [pytest.mark.full, needs("pip_audit", "make setup-engines")]


def test_no_package_has_a_known_weakness() -> None:
    words = ["--format", "json", "--skip-editable", "--progress-spinner", "off", "--timeout", "20"]
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", *words], capture_output=True, text=True, timeout=600
    )
    if not done.stdout.startswith("{"):
        leave_out("the advisories of packages", "a network that reaches them")
    found = json.loads(done.stdout)["dependencies"]
    asked = [one for one in found if "skip_reason" not in one]
    if len(asked) < len(found) / 2:
        leave_out("the advisories of packages", "a network that reaches them")
    weak = {one["name"]: [w["id"] for w in one["vulns"]] for one in asked if one["vulns"]}
    assert weak == {}
