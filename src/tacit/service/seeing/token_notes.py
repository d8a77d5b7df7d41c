"""What happens to tokens, in the audit log: made, narrowed, revoked, signed in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from tacit.service.access.caller import Caller
from tacit.service.access.tokens import Note
from tacit.service.seeing.audit_log import AuditLog

__all__ = ["noted_in"]


def noted_in(audit: AuditLog) -> Note:
    """Return what writes down in an audit log what happens to tokens.

    An event stands there if and only if the token was changed: both are of one transaction.
    """

    def note(
        run: sa.Connection, action: str, who: str, token: Caller, details: Mapping[str, Any]
    ) -> None:
        own = action in ("sign_in", "sign_out")
        audit.write(
            action,
            who,
            team=token.team if own else None,
            token=token.token_id if own else None,
            subject=None if own else token.token_id,
            details=details,
            connection=run,
        )

    return note
