"""Random histories of a service, with crashes, tokens, approvals and two processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.accounting.service_machine import histories, template
from tacit.errors import TacitError
from tacit.service.access import Decisions
from tacit.service.jobs.desk import Desk
from tacit.service.tokens import Tokens

pytestmark = pytest.mark.full


@pytest.mark.parametrize("approval", [False, True])
def test_no_history_charges_what_nobody_asked_or_approved(tmp_path: Path, approval: bool) -> None:
    happened = histories(
        template(tmp_path / "made", approval=approval), range(14), approval=approval
    )
    for kind in ("crashes", "charges", "answers"):
        assert happened[kind] > 0, kind


def _pays_at_once(self: Desk, caller: object, values: dict[str, object], pay: object) -> object:
    values["state"] = "queued"
    return _added(self, caller, values, pay)


_added = Desk._added
MUTANTS = [
    (Decisions, "refuse_own", lambda *_: None, True),
    (Desk, "_added", _pays_at_once, True),
    (Tokens, "_write_expired", lambda self: None, False),
    (Tokens, "revoke", lambda self, name, by="": 0, False),
]


@pytest.mark.parametrize(("of", "name", "wrong", "approval"), MUTANTS)
def test_the_machine_finds_a_service_that_is_wrong(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    of: type,
    name: str,
    wrong: object,
    approval: bool,
) -> None:
    made = template(tmp_path / "made", approval=approval)
    monkeypatch.setattr(of, name, wrong)
    with pytest.raises((AssertionError, TacitError)) as found:
        histories(made, range(60), approval=approval, steps=25)
    assert found.value.__notes__
