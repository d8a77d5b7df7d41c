"""The description of the API: what the framework writes, with what it cannot know.

- Routes that declare ``anyone`` are described as open; the framework sees their optional token.
- A release that was asked for links to what can be done with it, by its number.
- Questions and dashboards have an example.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from tacit.service.web.routing import declared_right

__all__ = ["describe"]

_RELEASE = {"release": "$response.body#/id"}
_LINKS = {
    "post /v1/datasets/{name}/releases": {
        "look": ("get", "/v1/releases/{release}", _RELEASE),
        "answer": ("get", "/v1/releases/{release}/answer", _RELEASE),
        "certificate": ("get", "/v1/releases/{release}/certificate", _RELEASE),
        "cancel": ("post", "/v1/releases/{release}/cancel", _RELEASE),
        "approve": ("post", "/v1/releases/{release}/approve", _RELEASE),
        "refuse": ("post", "/v1/releases/{release}/refuse", _RELEASE),
    },
    "post /v1/datasets/{name}/dashboards": {
        "look": ("get", "/v1/dashboards/{id}", {"id": "$response.body#/id"}),
    },
}
_COUNT = {"sql": "select count(*) as n from visits", "epsilon": "1/10"}
_DAILY = {
    "column": "arrived",
    "start": "2026-01-01",
    "every": "1d",
    "periods": 365,
    "epsilon": "1/2",
}
_EXAMPLES = {
    "/v1/datasets/{name}/preview": _COUNT,
    "/v1/datasets/{name}/releases": _COUNT,
    "/v1/datasets/{name}/dashboards/preview": _DAILY,
    "/v1/datasets/{name}/dashboards": _DAILY,
}
"""The bodies of requests, each as somebody would send it."""


def describe(app: FastAPI) -> None:
    """Have an application serve the completed description."""
    made = app.openapi

    def completed() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = made()
            for route in app.state.every_route:
                if isinstance(route, APIRoute) and route.include_in_schema and _open(route):
                    for method in route.methods or ():
                        schema["paths"][route.path][method.lower()].pop("security", None)
            _link(schema["paths"])
            for path in _EXAMPLES.keys() & schema["paths"].keys():
                body = schema["paths"][path]["post"]["requestBody"]["content"]["application/json"]
                body["examples"] = {"one": {"value": _EXAMPLES[path]}}
        return app.openapi_schema or {}

    app.openapi = completed  # type: ignore[method-assign]


def _open(route: APIRoute) -> bool:
    found = {declared_right(one.call) for one in route.dependant.dependencies}
    return "anyone" in found


def _link(paths: dict[str, Any]) -> None:
    for name, links in _LINKS.items():
        method, path = name.split(" ")
        replies = paths.get(path, {}).get(method, {}).get("responses", {})
        for status in [s for s in replies if s.startswith("2")]:
            replies[status]["links"] = {
                word: {"operationId": paths[to][how]["operationId"], "parameters": given}
                for word, (how, to, given) in links.items()
            }
