"""Whether the service lives, and whether it can answer."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from tacit.service.problem import Problem
from tacit.service.web.problems import rendered
from tacit.service.web.routing import Anyone, Reply
from tacit.service.web.state import StateOf

__all__ = ["router"]

router = APIRouter(tags=["health"], dependencies=[Anyone])


class Health(Reply):
    """What a balancer reads."""

    status: str


@router.get("/healthz")
def healthz() -> Health:
    """Say that the process lives; asks nothing else of it."""
    return Health(status="alive")


class Readiness(Health):
    """What can be used: `ready`, `in part` or `failing`."""

    parts: dict[str, str]


@router.get("/readyz", response_model=Readiness)
def readyz(state: StateOf) -> Readiness | JSONResponse:
    """Say whether the process can answer: its database, workers, ledgers and tables.

    A part of which some work is ready in part: the other data sets are answered.
    """
    parts = state.readiness.parts()
    failing = [name for name, told in parts.items() if told == "failing"]
    if failing:
        told = f"not usable now: {', '.join(failing)}"
        return rendered(Problem("unavailable", told, "", {"parts": parts}))
    status = "ready" if set(parts.values()) == {"ready"} else "ready in part"
    return Readiness(status=status, parts=parts)
