"""A question whose answer follows from another one, and how it is asked."""

from __future__ import annotations

from typing import Any

from support.service.client import Client

__all__ = ["COARSE", "FINE", "HERE", "ask", "costs"]

HERE = "/v1/datasets/visits"


def costs(*edges: int, **more: Any) -> dict[str, Any]:
    """Counts of visits by cost."""
    count = {"statistic": "histogram", "column": "cost", "edges": list(edges)}
    return {"question": {"answers": {"costs": count}}, **more}


FINE = costs(*range(0, 1001, 100), epsilon="1/2")
COARSE = costs(0, 300, 1000, free=True)


def ask(client: Client, token: str, said: dict[str, Any] = COARSE, **more: Any) -> Any:
    return client.post(f"{HERE}/releases", json=said, token=token, **more)
