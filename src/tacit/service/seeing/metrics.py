"""Metrics for Prometheus, of which no number depends on a row of a data set.

======================================  ===========================================================
``tacit_requests_total``                requests by route, method and status.  Who sent a request
                                        saw its status, and a status that depends on data is fixed
                                        at a tick that is known before
``tacit_outcomes_total``                outcomes of releases by data set and state, counted when
                                        they become visible to whoever asked, at a tick
``tacit_late_ticks_total``              ticks by which outcomes were late.  An engine that took
                                        longer than the declared latency is seen by whoever asked,
                                        too: log-many bits, see ``docs/service-security.md``
``tacit_refreshes_total``               refreshes by data set: by clock or by call
``tacit_reports_total``                 local reports by collection and outcome: a report was made
                                        random on the device and is public from there on
``tacit_audit_events``                  events in the audit log
``tacit_build_info``                    the version
======================================  ===========================================================

What is left out, because it depends on the rows: seconds of an engine, the processor time and the
memory of the process (the usual collectors of the Prometheus client have both and are not
registered), sizes of answers, numbers of rows.

Counters are those of one process.  With several processes, give each its own port and have
Prometheus read each; the events of the audit log are the same in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tacit.errors import need

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["Metrics"]

Sample = tuple[Mapping[str, str], float]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    r"""The metrics of one process.

    Args:
        version: that of Tacit.

    Example:
        >>> metrics = Metrics("0.1")
        >>> metrics.request("/v1/me", "GET", 200)
        >>> metrics.late("visits", 2)
        >>> "tacit_late_ticks_total{dataset=\"visits\"} 2.0" in metrics.text()
        True
    """

    def __init__(self, version: str) -> None:
        client: Any = need("prometheus_client", "serve")
        # A registry of its own: the default one has the time and memory of the process.
        self.registry: CollectorRegistry = client.CollectorRegistry(auto_describe=False)
        self._client = client
        self._requests = self._counter(
            "tacit_requests", "Requests by route, method and status", "route", "method", "status"
        )
        self._releases = self._counter(
            "tacit_outcomes", "Outcomes of releases, at their ticks", "dataset", "state"
        )
        self._late = self._counter(
            "tacit_late_ticks", "Ticks by which outcomes were late", "dataset"
        )
        self._refreshes = self._counter("tacit_refreshes", "Refreshes", "dataset")
        self._reports = self._counter(
            "tacit_reports", "Local reports by outcome", "collection", "outcome"
        )
        build = client.Gauge("tacit_build_info", "The version", ["version"], registry=self.registry)
        build.labels(version).set(1)

    def _counter(self, name: str, about: str, *labels: str) -> Any:
        return self._client.Counter(name, about, labels, registry=self.registry)

    def request(self, route: str, method: str, status: int) -> None:
        """Count a request, by the pattern of its route."""
        self._requests.labels(route, method, str(status)).inc()

    def release(self, dataset: str, state: str) -> None:
        """Count the outcome of a release; called when it becomes visible, at its tick."""
        self._releases.labels(dataset, state).inc()

    def late(self, dataset: str, ticks: int) -> None:
        """Count ticks by which an outcome was late; called at the tick."""
        self._late.labels(dataset).inc(ticks)

    def refreshed(self, dataset: str) -> None:
        """Count a refresh."""
        self._refreshes.labels(dataset).inc()

    def reports(self, collection: str, outcome: str, number: int) -> None:
        """Count local reports of one outcome: ``accepted``, or why they were refused."""
        self._reports.labels(collection, outcome).inc(number)

    def gauge(
        self, name: str, about: str, labels: tuple[str, ...], read: Callable[[], Iterable[Sample]]
    ) -> None:
        """Add a number that is read anew, from the store, each time that the metrics are asked for.

        Args:
            name: of the metric.
            about: what it says.
            labels: their names.
            read: returns the labels' values with the number; where it fails the metric is absent.
        """
        self.registry.register(_Stored(name, about, labels, read))

    def text(self) -> str:
        """Return all metrics in the text format of Prometheus."""
        made: bytes = self._client.generate_latest(self.registry)
        return made.decode()


class _Stored:
    """A gauge that is read when it is asked for; the client calls ``collect``."""

    def __init__(
        self, name: str, about: str, labels: tuple[str, ...], read: Callable[[], Iterable[Sample]]
    ) -> None:
        self._about, self._labels, self._read = (name, about), labels, read

    def describe(self) -> list[Any]:
        """Return nothing: what there is shows when it is read."""
        return []

    def collect(self) -> Iterable[Any]:
        """Yield the metric with its numbers of now."""
        core: Any = need("prometheus_client.core", "serve")
        family = core.GaugeMetricFamily(*self._about, labels=self._labels)
        try:
            for labels, number in self._read():
                family.add_metric([labels[name] for name in self._labels], number)
        except Exception:  # a store that is away must not take the other metrics with it
            return
        yield family
