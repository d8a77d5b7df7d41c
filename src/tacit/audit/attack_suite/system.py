"""What a system of differential privacy can be asked to do, in the words of the attacks.

An adapter derives from :class:`System` and fills in what its library offers.  All else raises
:class:`NotOfferedError`, and a case that needs it does not apply.  Errors of the library pass
through: that an error is raised for one data set and not for its neighbour is what some attacks
look for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tacit.errors import RefusedError

__all__ = ["Account", "LocalMechanism", "NotOfferedError", "NotReadyError", "System"]

Rows = Sequence[Any]
Bounds = tuple[float, float]


class NotOfferedError(RefusedError):
    """The system does not offer what a case needs."""


class NotReadyError(RefusedError):
    """The system cannot be attacked here; the text says what it lacks."""


class Account:
    """A budget of one system that is spent by releases."""

    def ask(self, epsilon: float, label: str) -> float:
        """Release a noisy count and charge epsilon; the label makes it a release of its own.

        A system that refuses raises its own error.
        """
        raise NotOfferedError("releases under a budget")

    def spent(self) -> float:
        """Return the epsilon that was charged so far."""
        raise NotOfferedError("a budget that tells what was spent")

    def again(self) -> Account:
        """Return another handle on the same budget, as another process has it."""
        raise NotOfferedError("a budget that outlives its process")

    def files(self) -> Sequence[str]:
        """Return the files in which the budget is stored."""
        raise NotOfferedError("a budget in a file")

    def opened_at(self, path: str) -> Account:
        """Return a handle on the budget stored in a file of another name."""
        raise NotOfferedError("a budget in a file")

    def fail(self, epsilon: float, label: str) -> None:
        """Begin a release and let reading the rows fail; the error passes through."""
        raise NotOfferedError("a release whose reading can be made to fail")


class LocalMechanism:
    """A mechanism of the local model over the items 0, 1, ..., size - 1."""

    def report(self, item: Any) -> Any:
        """Return a fresh report of an item; one outside of the domain may be refused."""
        raise NotOfferedError("reports of one person")

    def losses(self) -> float:
        """Return the largest log ratio of the probabilities of a report, computed exactly."""
        raise NotOfferedError("exact probabilities of reports")

    def accepts(self, report: Any) -> bool:
        """Return whether the collector takes a report."""
        raise NotOfferedError("a collector that checks reports")

    def impossible(self) -> Sequence[Any]:
        """Return reports that no honest device can send."""
        raise NotOfferedError("a collector that checks reports")

    def counts(self, reports: Sequence[Any]) -> Sequence[float]:
        """Return the estimated count of each item."""
        raise NotOfferedError("estimates from reports")

    def device(self) -> Any:
        """Return the client of one person: ``report(item)``, which remembers where it should."""
        raise NotOfferedError("a device that remembers its reports")


class System:
    """One system under attack.  Every method but the first two may be missing.

    Attributes:
        name: how the command line and tables call it.
        title: what it is.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""

    def version(self) -> str:
        """Return the version of the system."""
        raise NotOfferedError("a version")

    def refuse_unready(self) -> None:
        """Refuse where the system cannot be run here, before a case is run.

        Raises:
            NotReadyError: what it lacks.
        """

    def close(self) -> None:
        """End what the system started."""

    def statistic(
        self,
        kind: str,
        rows: Rows,
        *,
        bounds: Bounds | None = None,
        edges: Sequence[float] | None = None,
        epsilon: float = 1.0,
    ) -> Any:
        """Release a statistic of a column, one row a person.

        Args:
            kind: count, sum, mean, variance, median or histogram.
            rows: the column; may hold NaN, infinities and None.
            bounds: public bounds of a value; None where the analyst names none.
            edges: the edges of a histogram.
            epsilon: what is spent.

        Returns:
            A number; for a histogram a list of them.
        """
        raise NotOfferedError(f"a {kind}")

    def sum_sensitivity(self, rows: Rows, bounds: Bounds) -> float:
        """Return how far one row moves a sum of these, by what the system states.

        Args:
            rows: what is summed.
            bounds: of a row; the larger one, unless a system allows for its rounding.
        """
        return max(map(abs, bounds))

    def group_counts(
        self,
        keys: Sequence[Any],
        public: Sequence[Any] | None,
        *,
        epsilon: float,
        delta: float = 0.0,
    ) -> Mapping[Any, float]:
        """Release counts by group: of public keys, or of those that the data shows at delta."""
        raise NotOfferedError("counts by group")

    def planned_counts(
        self, keys: Sequence[str], public: Sequence[str], copies: int, *, epsilon: float
    ) -> Sequence[float]:
        """Release several counts under one charge, as one plan.

        Args:
            keys: the key of each row.
            public: public keys, whose counts are asked for where there are any.
            copies: how often the number of all rows is asked for.
            epsilon: of the whole plan.

        Returns:
            The number of all rows, so many times, then that of each key.
        """
        raise NotOfferedError("plans of several questions")

    def derived(
        self, ask: str, keys: Sequence[str], public: Sequence[str], *, epsilon: float
    ) -> tuple[Sequence[float], float | None, float]:
        """Release counts by public key, then ask for what may follow from them.

        Args:
            ask: "total" (of the rows with these keys), "other group" (the rows with the key "z"),
                "filter" (those rows with the first key for which another column is above 0).
            keys: the key of each row.
            public: the keys.
            epsilon: of the release.

        Returns:
            The released counts; the answer to what was asked, None where the system gives none
            without a charge; and what was charged for it.
        """
        raise NotOfferedError("answers that follow from others")

    def people_keys(
        self, rows: Sequence[tuple[int, str]], groups_each: int, *, epsilon: float, delta: float
    ) -> Sequence[str]:
        """Release the keys that the rows (person, key) show, private by person with so many."""
        raise NotOfferedError("unlisted keys by person")

    def people_sum(
        self,
        rows: Sequence[tuple[int, str, float]],
        public: Sequence[str],
        *,
        rows_each: int,
        groups_each: int,
        upper: float,
        epsilon: float,
    ) -> Mapping[str, float]:
        """Release sums by group of rows (person, group, value in [0, upper]), private by person."""
        raise NotOfferedError("contribution bounding by person")

    def joined_count(self, keys: Rows, public_keys: Rows, *, epsilon: float) -> float:
        """Release the number of rows that match a public table, joined by its key."""
        raise NotOfferedError("joins with a public table")

    def filtered_count(
        self, predicate: str, rows: Rows, *, epsilon: float, other: Rows = ()
    ) -> float:
        """Release the number of rows for which a predicate holds.

        Args:
            predicate: "quotient" (1 / x > 0), "logarithm" (log(x) > 0), "number" (a text as a
                number > 0), "equal" (x equals the first of ``other``).
            rows: the column.
            epsilon: what is spent.
            other: what the predicate compares with.
        """
        raise NotOfferedError("filters")

    def read_sum(
        self, text: str, column: str, kind: str, bounds: Bounds, *, epsilon: float
    ) -> float:
        """Release the sum of a column of a CSV file that is declared to be of a kind."""
        raise NotOfferedError("CSV files")

    def changing_source(self, rows_each: int, *, epsilon: float) -> float:
        """Release a sum over a source whose every reading shows other rows of one person.

        Args:
            rows_each: how many rows of a person count; each row is 1.
            epsilon: what is spent.
        """
        raise NotOfferedError("sources that are read by the system")

    def account(self, budget: float) -> Account:
        """Return a fresh budget."""
        raise NotOfferedError("a budget")

    def noise(self, kind: str, value: float, scale: float) -> float:
        """Return a number with noise: kind is laplace or gaussian."""
        raise NotOfferedError(f"{kind} noise on a number")

    def noise_costs(self, count: int) -> Sequence[tuple[float, float]]:
        """Return the size of so many draws of noise with what each cost: time, or steps."""
        raise NotOfferedError("single draws of noise")

    def seeded(self, seed: int) -> Sequence[float]:
        """Seed every generator that a program can reach, and return some noisy numbers."""
        raise NotOfferedError("noise")

    def forked(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return noisy numbers of two processes forked from this one."""
        raise NotOfferedError("noise in forked processes")

    def written(self, where: str, rows: Rows) -> str:
        """Return what the system writes about a table of 10^6-fold noise beside its answer.

        Args:
            where: "log", "repr", "pickle", "warning", "answer", "certificate" or "history".
            rows: the column.
        """
        raise NotOfferedError(f"a {where}")

    def certificate(self) -> str:
        """Return a certificate of a release, as JSON."""
        raise NotOfferedError("certificates")

    def forgeries(self) -> Mapping[str, str]:
        """Return changed certificates by what was changed, each with its seals made anew."""
        raise NotOfferedError("certificates")

    def verifies(self, certificate: str) -> bool:
        """Return whether the system says that a certificate holds."""
        raise NotOfferedError("certificates")

    def local(self, size: int, epsilon: float, form: str) -> LocalMechanism:
        """Return a mechanism of the local model; form is direct, unary or binary."""
        raise NotOfferedError("the local model")

    def claim(self, name: str) -> float:
        """Return what the system claims where the truth is known; see the cases of claims."""
        raise NotOfferedError("a claim of this kind")
