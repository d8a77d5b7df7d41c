"""The one place that decides who may do what; what is not granted is denied."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.errors import did_you_mean
from tacit.service.access.caller import EVERYTHING, Caller
from tacit.service.access.roles import ACTIONS, RIGHTS, WITHOUT_DATASET, roles_with
from tacit.service.problem import Problem

__all__ = ["Decision", "decide", "demand", "visible"]


@dataclass(frozen=True)
class Decision:
    """Whether something may be done, why, and what would change it."""

    allowed: bool
    because: str
    remedy: str = ""


def decide(caller: Caller | None, action: str, dataset: str | None = None) -> Decision:
    """Decide whether a caller may do something.

    Args:
        caller: who asks; None for somebody without a token.
        action: one of :data:`tacit.service.access.roles.ACTIONS`.
        dataset: on which data set; None asks whether on any at all.

    Raises:
        Problem: there is no such action.

    >>> from tacit.service.access.caller import Grant
    >>> ada = Caller("ada", None, (Grant("analyst", "visits"),), "t", 0)
    >>> decide(ada, "ask", "visits")
    Decision(allowed=True, because="'ada' is analyst on 'visits', who may ask", remedy='')
    >>> decide(ada, "ask", "births").allowed, decide(ada, "approve", "visits").allowed
    (False, False)
    """
    if action not in ACTIONS:
        raise Problem(
            "invalid_request", f"there is no action {action!r}", did_you_mean(action, ACTIONS)
        )
    if caller is None:
        return Decision(
            False,
            "nobody is signed in",
            "send a token, Authorization: Bearer ...; the operator creates one with tacit token "
            "create",
        )
    if action in WITHOUT_DATASET:
        dataset = EVERYTHING
    held = caller.roles if dataset is None else caller.roles_on(dataset)
    able = [role for role in held if action in RIGHTS[role]]
    where = "on any data set" if dataset is None else f"on {dataset!r}"
    where = "on the whole service" if dataset == EVERYTHING else where
    if able:
        return Decision(True, f"{caller.name!r} is {able[0]} {where}, who may {action}")
    has = f"{caller.name!r} is {' and '.join(held)} {where}" if held else ""
    because = f"{has or f'{caller.name!r} has no role {where}'}; {action} is for " + " or ".join(
        roles_with(action)
    )
    return Decision(False, because, f"ask a curator for a token with such a role {where}")


def demand(caller: Caller, action: str, dataset: str | None = None) -> None:
    """Refuse what a caller may not do.

    Whoever has no right to a data set at all learns no more than that it is not for them: the
    answer is the same whether there is such a data set or not.

    Raises:
        Problem: ``forbidden``.
    """
    decision = decide(caller, action, dataset)
    if not decision.allowed:
        raise Problem("forbidden", decision.because, decision.remedy)


def visible(caller: Caller, dataset: str) -> bool:
    """Return whether a caller has any role on a data set."""
    return bool(caller.roles_on(dataset))
