"""Liveness and readiness of the service."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from tacit.service.problem import Problem
from tacit.service.web.problems import rendered
from tacit.service.web.routing import Anyone, Reply
from tacit.service.web.state import StateOf

router = APIRouter(tags=["health"], dependencies=[Anyone])


class Health(Reply):
    """State of the process, for a balancer."""

    status: str


@router.get("/healthz")
def healthz() -> Health:
    """Report that the process is alive; checks nothing else."""
    return Health(status="alive")


class Readiness(Health):
    """State of each part: `ready`, `in part` or `failing`."""

    parts: dict[str, str]


@router.get("/readyz", response_model=Readiness)
def readyz(state: StateOf) -> Readiness | JSONResponse:
    """Report whether the process can answer: its database, workers, ledgers and tables.

    A part of which some work is ready in part: the other data sets are answered.
    """
    parts = state.readiness.parts()
    failing = [name for name, state_of_part in parts.items() if state_of_part == "failing"]
    if failing:
        message = f"not usable now: {', '.join(failing)}"
        return rendered(Problem("unavailable", message, "", {"parts": parts}))
    status = "ready" if set(parts.values()) == {"ready"} else "ready in part"
    return Readiness(status=status, parts=parts)
