"""The audit log and the metrics over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.service.client import running


def test_the_log_is_read_page_by_page_and_replies_are_numbered(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        for n in range(5):
            client.state.audit.write("sign_in", f"person {n}")
        token = client.token("auditor")
        whole = client.get("/v1/audit", token=token).json()
        names = [event["who"] for event in whole["items"] if event["action"] == "sign_in"]
        assert names == [f"person {n}" for n in range(5)]
        assert whole["next"] is None
        for order in ("", "&newest_first=true"):
            seen, cursor = [], ""
            while cursor is not None:
                page = client.get(f"/v1/audit?limit=2&cursor={cursor}{order}", token=token).json()
                seen += [event["sequence"] for event in page["items"]]
                cursor = page["next"]
            every = [event["sequence"] for event in whole["items"]]
            assert seen == (every[::-1] if order else every)
        for odd in ("x", "-1", "1e3", "٣", "9" * 30):
            reply = client.get("/v1/audit", token=token, params={"cursor": odd})
            assert reply.status_code == 400, odd
        # every reply has the number of its request, whatever is sent as one
        numbers = {client.get("/healthz").headers["x-request-id"] for _ in range(3)}
        planted = client.get("/healthz", headers={"x-request-id": "4711"}).headers["x-request-id"]
        assert len(numbers | {planted}) == 4
        assert planted != "4711"


@pytest.mark.full
def test_metrics_are_for_who_may_observe(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        client.get("/v1/me/4711?token=4711")
        reply = client.get("/metrics", token=client.token("auditor"))
        assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert 'tacit_requests_total{method="GET",route="(none)",status="404"} 1.0' in reply.text
        assert "tacit_audit_events 1.0" in reply.text
        assert "4711" not in reply.text
        assert client.get("/metrics", token=client.token("curator")).status_code == 403
        assert client.get("/metrics").status_code == 401
