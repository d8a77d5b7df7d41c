"""Collections: devices send reports of the local model; granted callers see the estimate."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool

from tacit.errors import did_you_mean
from tacit.outside import read_json
from tacit.report.odds import Wanted
from tacit.service.access import Caller, visible
from tacit.service.problem import Problem
from tacit.service.refresh.collection import MAX_REPORTS, Collection, Posted, live_estimate
from tacit.service.tokens import root
from tacit.service.web.routing import ERRORS, CallerOf, DatasetName, ReplyModel, Route, needs
from tacit.service.web.state import ServiceState, StateOf

router = APIRouter(route_class=Route, tags=["collections"], responses=ERRORS)

_BYTES, _JSON = "application/octet-stream", "application/json"
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            _BYTES: {"schema": {"type": "string", "format": "binary"}},
            _JSON: {
                "schema": {
                    "oneOf": [
                        {"type": "object", "description": "one report, as a device writes it"},
                        {
                            "type": "array",
                            "maxItems": MAX_REPORTS,
                            "description": "such reports, or base64 of their bytes; an invalid one "
                            "is counted as refused",
                        },
                    ]
                }
            },
        },
    }
}


class CollectionReply(ReplyModel):
    """A question of the local model."""

    name: str
    purpose: str
    oracle: dict[str, Any]
    fingerprint: str
    epsilon: float
    replay: bool
    per_token: int | None


class Collections(ReplyModel):
    """The questions that the caller may see."""

    items: list[CollectionReply]


class PostedReply(ReplyModel):
    """Outcome of the reports: how many were accepted, and how many refused by reason."""

    accepted: int
    refused: dict[str, int]


class EstimateReply(ReplyModel):
    """The estimate from all reports so far."""

    collection: str
    n: int
    refused: dict[str, int]
    epsilon: float
    level: str
    results: list[dict[str, Any]]
    poisoned: dict[str, Any] | None = None


@router.get("/v1/collections")
def collections(caller: CallerOf, state: StateOf) -> Collections:
    """List the questions of the local model that the caller may answer or see."""
    seen = [c for name, c in state.collections.items() if visible(caller, name)]
    return Collections(items=[_reply(one) for one in seen])


@router.get("/v1/collections/{name}/question")
def question(
    name: DatasetName,
    _caller: Annotated[Caller, Depends(needs("report", on="name"))],
    state: StateOf,
) -> CollectionReply:
    """Return what a device needs to make a report."""
    return _reply(_known(state, name))


@router.post("/v1/collections/{name}/reports", openapi_extra=_BODY)
async def reports(
    name: DatasetName,
    caller: Annotated[Caller, Depends(needs("report", on="name"))],
    state: StateOf,
    request: Request,
) -> PostedReply:
    """Take reports, as bytes of the wire format sequentially or as JSON.

    A report that comes again, of another question, or that no device can have made is counted by
    its reason and disturbs no other.
    """
    collection = _known(state, name)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (_BYTES, _JSON):
        raise Problem("invalid_request", f"send the reports as {_BYTES} or as {_JSON}")
    sent = await _body(request, state.settings.limits.report_bytes)
    given: Any = sent if kind == _BYTES else read_json(sent, "the request")
    posted = await run_in_threadpool(_post, state, collection, given, caller)
    state.metrics.reports(name, "accepted", posted.accepted)
    for reason, number in posted.refused.items():
        state.metrics.reports(name, reason, number)
    return PostedReply(accepted=posted.accepted, refused=posted.refused)


_Level = Annotated[
    str, Query(pattern=r"^0\.\d{1,9}$", description="the confidence of the intervals")
]
_Together = Annotated[bool, Query(description="intervals that hold all at once")]
_Candidates = Annotated[
    list[str] | None,
    Query(max_length=1000, description="the answers to look for, where any text may be given"),
]
_Ranges = Annotated[
    str | None, Query(max_length=1000, description="of whole numbers, such as 18..25,26..64")
]
_Heaviest = Annotated[int | None, Query(ge=1, le=1000, description="how many of the most frequent")]
_Poisoned = Annotated[
    int | None,
    Query(ge=1, le=10**9, description="show how far this many poisoned reports move the estimate"),
]


@router.get("/v1/collections/{name}/estimate")
def estimate(
    name: DatasetName,
    _caller: Annotated[Caller, Depends(needs("see_dataset", on="name"))],
    state: StateOf,
    level: _Level = "0.95",
    together: _Together = False,
    candidates: _Candidates = None,
    ranges: _Ranges = None,
    heaviest: _Heaviest = None,
    poisoned: _Poisoned = None,
) -> EstimateReply:
    """Give the live estimate with its intervals; the reports are random, so it costs nothing."""
    collection = _known(state, name)
    sums, refused = state.reports.state(collection)
    wanted = Wanted(level, together, candidates, ranges, heaviest)
    return EstimateReply(**live_estimate(collection, sums, refused, wanted, poisoned))


def _post(state: ServiceState, collection: Collection, given: Any, caller: Caller) -> Posted:
    """Store reports; a token has one share with all that were narrowed from it."""
    return state.reports.post(collection, given, root(state.database, caller.token_id))


def _known(state: ServiceState, name: str) -> Collection:
    collection = state.collections.get(name)
    if collection is None:
        raise Problem(
            "not_found", f"there is no collection {name!r}", did_you_mean(name, state.collections)
        )
    return collection


def _reply(one: Collection) -> CollectionReply:
    return CollectionReply(**one.describe())


async def _body(request: Request, limit: int) -> bytes:
    """Read the body of a request, up to a limit."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise Problem(
                "too_large", f"a request with reports has at most {limit:,} bytes", "send fewer"
            )
        parts.append(part)
    return b"".join(parts)
