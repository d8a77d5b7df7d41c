"""Attacks on certificates: changed, and sealed anew."""

from __future__ import annotations

from tacit.audit.attack_suite.case import Outcome, case, falls, holds
from tacit.audit.attack_suite.system import NotOfferedError, System

__all__: list[str] = []

_FORGED = "certificates resealed against their own page (found in a development state of Tacit)"


def _forged(change: str) -> None:
    @case(
        "forged certificates",
        change,
        "does a changed certificate, with its seals made anew, still verify?",
        _FORGED,
    )
    def _(system: System) -> Outcome:
        if not system.verifies(system.certificate()):
            raise NotOfferedError("a certificate that verifies")
        changed = system.forgeries()
        if change not in changed:
            raise NotOfferedError(f"a {change} in its certificates")
        if system.verifies(changed[change]):
            return falls(f"a certificate with a {change} verifies")
        return holds(f"a certificate with a {change} is refused")


for _change in (
    "smaller epsilon",
    "narrower bound",
    "larger noise",
    "other statistic",
    "other unit",
):
    _forged(_change)
