"""Metrics: what is counted, and that nothing of the process itself is."""

from __future__ import annotations

import re

from tacit.service.telemetry import Metrics


def names(text: str) -> set[str]:
    return set(re.findall(r"^# TYPE (\S+)", text, flags=re.MULTILINE))


def test_nothing_else_is_measured() -> None:
    """No processor time, memory or garbage of the process: they depend on the rows."""
    metrics = Metrics("1")
    metrics.gauge("tacit_audit_events", "Events", (), lambda: [({}, 3.0)])
    found = names(metrics.text())
    assert (
        found
        == {
            "tacit_requests_total",
            "tacit_requests_created",
            "tacit_outcomes_total",
            "tacit_outcomes_created",
            "tacit_late_ticks_total",
            "tacit_late_ticks_created",
            "tacit_refreshes_total",
            "tacit_refreshes_created",
            "tacit_reports_total",
            "tacit_reports_created",
            "tacit_build_info",
            "tacit_audit_events",
        }
        & found
    )
    assert not any(re.search(r"seconds|bytes|python|process", name) for name in found)
    assert "tacit_audit_events 3.0" in metrics.text()


def test_counts_stand_by_their_labels() -> None:
    metrics = Metrics("1")
    metrics.release("visits", "done")
    metrics.refreshed("visits")
    metrics.reports("colour", "replay", 3)
    text = metrics.text()
    assert 'tacit_outcomes_total{dataset="visits",state="done"} 1.0' in text
    assert 'tacit_refreshes_total{dataset="visits"} 1.0' in text
    assert 'tacit_reports_total{collection="colour",outcome="replay"} 3.0' in text


def test_two_services_in_one_process_count_apart() -> None:
    one, two = Metrics("1"), Metrics("1")
    one.request("/v1/me", "GET", 200)
    assert "/v1/me" not in two.text()


def test_a_store_that_is_away_takes_no_other_metric_with_it() -> None:
    def broken() -> list[tuple[dict[str, str], float]]:
        raise OSError("4711")

    metrics = Metrics("1")
    metrics.gauge("tacit_releases", "By state", ("state",), broken)
    assert "tacit_build_info" in metrics.text()
    assert "tacit_releases{" not in metrics.text()


def test_the_docstring_says_of_every_metric_why_it_is_public() -> None:
    text = Metrics("1").text()
    told = set(re.findall(r"``(tacit_\w+)``", Metrics.__doc__ or ""))
    public = {name for name in names(text) if not name.endswith("_created")}
    assert public <= told
