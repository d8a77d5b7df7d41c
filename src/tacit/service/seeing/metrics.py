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
``tacit_releases``                      releases by data set and state, as whoever asked sees them
                                        now: before its tick an outcome counts as running
``tacit_budget``                        the whole budget of each ledger, in epsilon or rho and delta
``tacit_budget_spent``                  what is spent of it, rounded up: a charge is made when a
                                        question is asked or approved, and of public facts alone
``tacit_budget_remaining``              what remains, rounded down
``tacit_audit_events``                  events in the audit log
``tacit_build_info``                    the version
======================================  ===========================================================

What is left out, because it depends on the rows: seconds of an engine, the processor time and the
memory of the process (the usual collectors of the Prometheus client have both and are not
registered), sizes of answers, numbers of rows.

All numbers are those of the whole service: counters are added up in its store
(:mod:`tacit.service.seeing.tallies`), and the others are read from it.  So it does not matter which
process a balancer sends Prometheus to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tacit.errors import need
from tacit.service.seeing.tallies import Tallies
from tacit.service.store.database import Database

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["Metrics"]

Sample = tuple[Mapping[str, str], float]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_COUNTERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "tacit_requests": (
        "Requests by route, method and status",
        ("route", "method", "status"),
    ),
    "tacit_outcomes": ("Outcomes of releases, at their ticks", ("dataset", "state")),
    "tacit_late_ticks": ("Ticks by which outcomes were late", ("dataset",)),
    "tacit_refreshes": ("Refreshes", ("dataset",)),
    "tacit_reports": ("Local reports by outcome", ("collection", "outcome")),
}


class Metrics:
    r"""The metrics of a service, as one of its processes counts and shows them.

    Args:
        version: that of Tacit.
        database: the store of the service; None counts in this process alone.

    Example:
        >>> metrics = Metrics("0.1")
        >>> metrics.request("/v1/me", "GET", 200)
        >>> metrics.late("visits", 2)
        >>> "tacit_late_ticks_total{dataset=\"visits\"} 2.0" in metrics.text()
        True
    """

    def __init__(self, version: str, database: Database | None = None) -> None:
        client: Any = need("prometheus_client", "serve")
        # A registry of its own: the default one has the time and memory of the process.
        self.registry: CollectorRegistry = client.CollectorRegistry(auto_describe=False)
        self._client = client
        self._tallies = Tallies(database)
        self.registry.register(_Counted(self._tallies))
        build = client.Gauge("tacit_build_info", "The version", ["version"], registry=self.registry)
        build.labels(version).set(1)

    def request(self, route: str, method: str, status: int) -> None:
        """Count a request, by the pattern of its route."""
        self._tallies.add("tacit_requests", (route, method, str(status)))

    def release(self, dataset: str, state: str) -> None:
        """Count the outcome of a release; called when it becomes visible, at its tick."""
        self._tallies.add("tacit_outcomes", (dataset, state))

    def late(self, dataset: str, ticks: int) -> None:
        """Count ticks by which an outcome was late; called at the tick."""
        self._tallies.add("tacit_late_ticks", (dataset,), ticks)

    def refreshed(self, dataset: str) -> None:
        """Count a refresh."""
        self._tallies.add("tacit_refreshes", (dataset,))

    def reports(self, collection: str, outcome: str, number: int) -> None:
        """Count local reports of one outcome: ``accepted``, or why they were refused."""
        self._tallies.add("tacit_reports", (collection, outcome), number)

    def note(self) -> None:
        """Add what was counted here to the counters of the service; called by a clock.

        Raises:
            Problem: the store is away; what was counted is added the next time.
        """
        self._tallies.note()

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


class _Counted:
    """The counters of the service, as the store has them; the client calls ``collect``."""

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies

    def describe(self) -> list[Any]:
        """Return nothing: what there is shows when it is read."""
        return []

    def collect(self) -> Iterable[Any]:
        """Yield the counters with their numbers of now; none where the store is away."""
        core: Any = need("prometheus_client.core", "serve")
        try:
            totals = self._tallies.totals()
        except Exception:  # a counter that is read as nought would look as if it began anew
            return
        for counter, (about, names) in _COUNTERS.items():
            family = core.CounterMetricFamily(counter, about, labels=names)
            for (name, labels), number in totals.items():
                if name == counter:
                    family.add_metric(labels, number)
            yield family


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
