"""The application: its routes, its guard and its errors, over one state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

import tacit
from tacit.service.seeing.observe import Observe
from tacit.service.settings import Settings
from tacit.service.web.guard import Guard
from tacit.service.web.openapi import describe
from tacit.service.web.page_routes import admin as admin_pages
from tacit.service.web.page_routes import budgets as budget_pages
from tacit.service.web.page_routes import datasets as dataset_pages
from tacit.service.web.page_routes import declare as declare_pages
from tacit.service.web.page_routes import entry as entry_pages
from tacit.service.web.page_routes import live as live_pages
from tacit.service.web.page_routes import releases as release_pages
from tacit.service.web.problems import handle_problems
from tacit.service.web.routes import (
    access,
    audit,
    collections,
    dashboards,
    datasets,
    declarations,
    health,
    refresh,
    releases,
    sign_in,
    tokens,
)
from tacit.service.web.routing import cookie_name, signed_in
from tacit.service.web.schemas import ErrorBody
from tacit.service.web.state import State

__all__ = ["ROUTERS", "create_app"]

ROUTERS: tuple[APIRouter, ...] = (
    health.router,
    access.router,
    tokens.router,
    sign_in.router,
    datasets.router,
    declarations.router,
    releases.router,
    refresh.router,
    collections.router,
    dashboards.router,
    audit.router,
    entry_pages.router,
    dataset_pages.router,
    release_pages.router,
    declare_pages.router,
    budget_pages.router,
    live_pages.router,
    admin_pages.router,
)
"""Every router of the service, in the order of the documentation."""
LARGE = ("/v1/collections/",)
"""The beginnings of paths that take the reports of many devices at once."""


def create_app(given: Settings | State) -> FastAPI:
    """Return the application of a folder.

    Args:
        given: the settings, or a state that is open.

    Raises:
        UsageError: a part of the service cannot be opened.
    """
    state = given if isinstance(given, State) else State.open(given)

    @asynccontextmanager
    async def running(_app: FastAPI) -> AsyncIterator[dict[str, int]]:
        await asyncio.to_thread(state.start)
        try:
            yield {"header_seconds": state.settings.limits.header_seconds}
        finally:
            await asyncio.to_thread(state.close)

    app = FastAPI(
        title=state.settings.title,
        version=tacit.__version__,
        description="Statistics of sensitive tables, with differential privacy.",
        lifespan=running,
        docs_url=None,  # their page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # its redirects go where the header Host says
        responses={
            "4XX": {"model": ErrorBody, "description": "The request is refused"},
            "5XX": {"model": ErrorBody, "description": "The service failed"},
        },
    )
    app.state.tacit = state
    app.state.every_route = [route for router in ROUTERS for route in router.routes]
    handle_problems(app, signed_in)
    for router in ROUTERS:
        app.include_router(router)
    describe(app)
    app.add_middleware(
        Guard,
        settings=state.settings,
        cookie=cookie_name(state.settings.secure),
        large=LARGE,
    )
    app.add_middleware(Observe, metrics=state.metrics, traces=state.traces)
    return app
