"""Refreshes of data sets that grow: by call, and their history."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from tacit.service.access import Caller
from tacit.service.refresh.refreshes import Refresh
from tacit.service.web.routing import DatasetName, Reply, needs
from tacit.service.web.state import StateOf

router = APIRouter(tags=["refresh"])


class RefreshReply(Reply):
    """A refresh of a data set."""

    number: int
    at: float
    way: str


class Refreshed(Reply):
    """All refreshes of a data set, and their meaning."""

    text: str
    schedule: str | None
    items: list[RefreshReply]


@router.post("/v1/datasets/{name}/refresh", status_code=202)
def refresh(
    name: DatasetName,
    caller: Annotated[Caller, Depends(needs("refresh", on="name"))],
    state: StateOf,
) -> RefreshReply:
    """Have a data set read again before its next question; the budget stays unchanged."""
    state.datasets.of(name)
    state.datasets.refuse_overlaps()
    made = state.refreshes.ask(name, caller.name, token=caller.token_id)
    state.metrics.refreshed(name)
    return _reply(made)


@router.get("/v1/datasets/{name}/refreshes")
def refreshes(
    name: DatasetName,
    _caller: Annotated[Caller, Depends(needs("see_dataset", on="name"))],
    state: StateOf,
) -> Refreshed:
    """List when a data set was read again (seconds since 1970, UTC), and by call or by clock."""
    hosted = state.datasets.of(name)
    return Refreshed(
        text=state.refreshes.describe(name, hosted.dataset.whole_budget),
        schedule=hosted.settings.refresh,
        items=[_reply(one) for one in state.refreshes.history(name)],
    )


def _reply(one: Refresh) -> RefreshReply:
    return RefreshReply(number=one.number, at=one.at, way=one.way)
