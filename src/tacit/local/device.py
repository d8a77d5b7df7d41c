"""Devices: memory of what was answered, for questions that are asked again."""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_fraction, positive, show
from tacit.calls import public
from tacit.errors import BudgetError, LedgerError, MismatchError, UsageError
from tacit.local.batch_file import locked
from tacit.local.collector import write_atomically
from tacit.local.frequency.direct_encoding import DirectEncoding
from tacit.local.oracle import Layout, Oracle, PureOracle, oracle_from
from tacit.local.ranges_and_sets import PaddedSets
from tacit.local.wire import Wire
from tacit.noise import random_bytes
from tacit.noise.bits import injected
from tacit.outside import read_json


@public
class Staged(ABC):
    """A mechanism that draws a permanent answer once, and every report from that answer alone.

    **Privacy.** All reports of one permanent answer together are post-processing of it: they spend
    ``kept.epsilon``, whatever their number.
    """

    @property
    @abstractmethod
    def kept(self) -> Oracle:
        """The mechanism whose report the device keeps: the permanent stage."""

    def standing(self) -> object:
        """Draw what a device keeps whatever its answers are; nothing by default."""
        return None

    @abstractmethod
    def keep(self, value: object, existing: Any) -> object:
        """Draw the permanent answer, a report of ``kept``; ``existing``: see :meth:`standing`."""

    @abstractmethod
    def renew(self, permanent: object) -> object:
        """Draw one report from a permanent answer."""


@public
@dataclass(frozen=True, init=False)
class TwoStage(PureOracle, Staged):
    """Randomise the answer once, permanently, and randomise that result again for every report.

    The permanent stage is direct encoding, with probabilities p1 and q1; the instantaneous stage
    is any pure oracle over the same items, with p2* and q2* and the ratio R2.

    **Privacy.** However many reports a person sends, they are all drawn from the one permanent
    answer: together they spend at most the permanent epsilon, by post-processing.  One report alone
    spends less: its probability under u is ``(p1 - q1) I(y|u) + q1 S(y)``, where S sums I(y|.)
    over all k items.  With I(y|v) >= I(y|u)/R2 for every item the ratio is at most

        (g R2 + q1 (R2 + k - 1)) / (g + q1 (R2 + k - 1)),   g = p1 - q1,

    which is attained where the instantaneous stage is direct encoding.
    **Estimate.** p* = p1 p2* + (1 - p1) q2* and q* = q1 p2* + (1 - q1) q2*, by conditioning on the
    permanent answer.

    The formulas are about one round of reports.  Over many rounds the permanent answers stay, so
    estimates of different rounds share their errors: averaging does not remove those.

    Source: U. Erlingsson, V. Pihur, A. Korolova, *RAPPOR* (2014); H. Arcolezi et al., *Improving
    the utility of locally differentially private protocols for longitudinal and multidimensional
    frequency estimates* (2022).

    Args:
        permanent: direct encoding (or randomized response); p1 must be above q1.
        instant: a pure oracle over the same items.

    Raises:
        UsageError: stages of another kind.
        MismatchError: stages over different items.

    Example:
        >>> from tacit.local import DirectEncoding
        >>> items = ["a", "b", "c"]
        >>> chain = TwoStage(DirectEncoding(items, p="3/4"), DirectEncoding(items, p="1/2"))
        >>> chain.ratio, chain.permanent.ratio, chain.support
        (Fraction(14, 9), Fraction(6, 1), (Fraction(7, 16), Fraction(9, 32)))
    """

    permanent: DirectEncoding
    instant: PureOracle

    def __init__(self, permanent: Oracle, instant: Oracle) -> None:
        if not isinstance(permanent, DirectEncoding) or not isinstance(instant, PureOracle):
            raise UsageError(
                "the permanent stage is DirectEncoding or RandomizedResponse, the instantaneous "
                "one a pure oracle such as DirectEncoding, UnaryEncoding or LocalHashing"
            )
        if permanent.domain != instant.domain:
            raise MismatchError("both stages need the same items", permanent.domain, instant.domain)
        if permanent.p <= permanent.q:
            raise UsageError("the permanent stage must tell the truth more often than each lie")
        self._set(permanent=permanent, instant=instant, domain=permanent.domain)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The pair (p*, q*) of one report."""
        own, other = self.instant.support
        p, lied = self.permanent.support
        return p * own + (1 - p) * other, lied * own + (1 - lied) * other

    @property
    def ratio(self) -> Fraction:
        """A bound on the greatest ratio of one report, attained where both stages are direct."""
        kept, lied = self.permanent.support
        gap, inner = kept - lied, self.instant.ratio
        others = lied * (inner + len(self.domain) - 1)
        return (gap * inner + others) / (gap + others)

    @property
    def layout(self) -> Layout:
        """That of the instantaneous stage."""
        return self.instant.layout

    def valid(self, reports: object) -> NDArray[np.bool_]:
        return self.instant.valid(reports)

    @property
    def kept(self) -> Oracle:
        """The permanent stage."""
        return self.permanent

    def keep(self, value: object, existing: object) -> object:
        """Draw the permanent answer."""
        return self.permanent.perturb(value)

    def renew(self, permanent: object) -> object:
        return self.instant._draw(np.array([permanent], np.int64))[0]

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Draw both stages: reports of people who never reported before."""
        return self.instant._draw(self.permanent._draw(indices).astype(np.int64))

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return self.instant._sums(reports)

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        """See :meth:`~tacit.local.Oracle.distribution`: of one report."""
        distribution: dict[Any, Fraction] = {}
        for lie, share in self.permanent.distribution(value).items():
            for report, p in self.instant.distribution(self.domain.labels[int(str(lie))]).items():
                distribution[report] = distribution.get(report, Fraction(0)) + share * p
        return distribution

    def describe(self) -> dict[str, object]:
        return {
            "mechanism": type(self).__name__,
            "domain": self.domain.describe(),
            "permanent": self.permanent.describe(),
            "instant": self.instant.describe(),
        }

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> TwoStage:
        return cls(oracle_from(description["permanent"]), oracle_from(description["instant"]))


# The device of one person: permanent answers without a table, and a ledger of what is left.
#
# A device that lies again every day tells the truth in the end: the average of its reports.  So the
# lie is drawn once for each question and answer, and kept.  Nothing has to be stored for that: the
# random bits of the lie are BLAKE2b, keyed by the secret of the device, of the question, the period
# and the answer; the same answer gives the same lie.
#
# A question of two stages (:class:`~tacit.local.TwoStage`, :class:`~tacit.local.Rappor`) adds fresh
# noise to the permanent answer in every report; any other question sends the same report again.
#
# **What is promised.**  All reports on one question and period that were made from one true answer
# spend the permanent epsilon together, whatever their number, for they are post-processing of one
# draw.  A new true answer is a new draw and is charged again: d different answers spend d times as
# much.  That counts *what* the answers were, between people who change theirs at the same times.
# *That* someone changed can show in reports without an instantaneous stage, at once, and with one
# it shows slowly; where this matters, hold the first answer of each period (``changes="hold"``).
# Then every person makes one draw a period whether anything changed or not, and the loss over T
# periods is at most T times the permanent epsilon between *any* two histories.
#
# Everything is charged, and the ledger written, before a report is drawn.


SECRET_BYTES = 32
_PERSON = b"tacit permanent1"
_VERSION = 1

Answer: TypeAlias = int | list[int]  # the integers by which a mechanism knows a true answer


@public
class Device:
    """Makes the reports of one person, and knows what that person has left to spend.

    Args:
        budget: the most that all reports together may spend, in epsilon.
        path: a file that keeps the secret and the ledger (readable by its owner alone); the device
            is resumed from it if it exists, with the budget that it was made with.  Several
            processes may share it: a file next to it, ending in ``.lock``, keeps them apart.
        secret: 32 bytes for a device that keeps no file; by default random.

    Raises:
        UsageError: a secret of another size, or both a secret and a file.
        LedgerError: a file that is not that of a device, or that has another budget.

    Example:
        >>> from tacit.local import DirectEncoding, TwoStage
        >>> jobs = ["sales", "craft", "other"]
        >>> daily = TwoStage(DirectEncoding(jobs, epsilon=2), DirectEncoding(jobs, epsilon=1))
        >>> device = Device(budget=5)
        >>> reports = [device.report(daily, "sales") for _ in range(365)]
        >>> device.remaining > 3, device.left(daily)
        (True, 1)
    """

    def __init__(
        self,
        budget: Number,
        *,
        path: str | os.PathLike[str] | None = None,
        secret: bytes | None = None,
    ) -> None:
        self._path = None if path is None else Path(os.path.expanduser(path))
        if path is not None and secret is not None:
            raise UsageError("give a secret or a file that contains one, not both")
        if secret is not None and len(secret) != SECRET_BYTES:
            raise UsageError(f"the secret of a device has {SECRET_BYTES} bytes, not {len(secret)}")
        self.budget = positive(budget, "budget")
        self._secret = random_bytes(SECRET_BYTES) if secret is None else bytes(secret)
        self._charges: dict[str, Fraction] = {}
        self._answers: dict[str, str] = {}
        self._fresh = 0
        with self._alone():
            self._save()

    @property
    def spent(self) -> Fraction:
        """Budget spent by all reports so far."""
        return sum(self._charges.values(), Fraction(0))

    @property
    def remaining(self) -> Fraction:
        """Remaining budget."""
        return self.budget - self.spent

    def cost(self, question: Oracle) -> Fraction:
        """Return what a new true answer to the question costs, rounded up."""
        return _public(question)[1]

    def left(self, question: Oracle) -> int:
        """Return how many more new true answers to the question the budget pays for."""
        return int(self.remaining // self.cost(question))

    def report(
        self,
        question: Oracle,
        value: object,
        *,
        period: str = "",
        changes: Literal["charge", "hold"] = "charge",
        fresh: bool = False,
    ) -> object:
        """Return a report of the true answer ``value``, after it is paid for.

        The same answer again, to the same question in the same period, costs nothing: its permanent
        answer is that of the first time.

        Args:
            question: any mechanism.
            value: the true answer; it is not stored.
            period: a public label, such as ``"2026-11"``; a new period draws and charges again.
            changes: ``"charge"``: a changed answer is drawn and charged again.  ``"hold"``: the
                first answer of the period is reported until the next one.
            fresh: draw again and charge for every report, without a permanent answer.

        Raises:
            UsageError: an answer that the question does not have a place for; nothing is charged.
            BudgetError: the budget does not cover it; nothing is charged or sent.
        """
        answer = _identity(question, value)
        if changes not in ("charge", "hold"):
            raise UsageError(f"changes is 'charge' or 'hold', not {changes!r}")
        if fresh:
            with self._alone():
                self._fresh += 1
                self._charge(self._tag("fresh", question, period, self._fresh), question)
            return question.perturb(value)
        if changes == "hold":
            return self._renewed(question, self._first_answer(question, value, answer, period))
        self._pay(self._tag("answer", question, period, answer), question)
        return self._renewed(question, self._permanent(question, value, answer, period))

    def _permanent(self, question: Oracle, value: Any, answer: Answer, period: str) -> Any:
        """Draw the permanent answer with bits that the secret gives: the same every time."""
        bits = self._stream(self._label("bits", question, period, answer))
        if not isinstance(question, Staged):
            with injected(bits):
                return question.perturb(value)
        with injected(self._stream(self._label("standing", question, "", 0))):
            existing = question.standing()
        with injected(bits):
            return question.keep(value, existing)

    def _renewed(self, question: Oracle, permanent: Any) -> Any:
        return question.renew(permanent) if isinstance(question, Staged) else permanent

    def _first_answer(self, question: Oracle, value: Any, answer: Answer, period: str) -> Any:
        """Return the permanent answer of the period: kept, since the true one may change."""
        tag = self._tag("held", question, period, 0)
        wire = Wire(_permanent_stage(question))
        with self._alone():
            if tag not in self._answers:
                self._afford(question)
                drawn = self._permanent(question, value, answer, period)
                self._answers[tag] = wire.pack(np.asarray(drawn)[None])[0].tobytes().hex()
                self._charge(tag, question)
        stored = np.frombuffer(bytes.fromhex(self._answers[tag]), np.uint8)[None]
        return wire.unpack(stored)[0][0]

    def _afford(self, question: Oracle) -> None:
        cost = self.cost(question)
        if cost > self.remaining:
            raise BudgetError(
                f"this report would spend {show(cost)} and {show(self.remaining)} of "
                f"{show(self.budget)} is left on this device; nothing was sent"
            )

    def _pay(self, tag: str, question: Oracle) -> None:
        """Charge for something new; what was paid for is never taken back, so that is free."""
        if tag not in self._charges:
            with self._alone():
                self._charge(tag, question)

    def _charge(self, tag: str, question: Oracle) -> None:
        """Write down the cost of something new before it is said; within :meth:`_alone`."""
        if tag in self._charges:
            return
        self._afford(question)
        self._charges[tag] = self.cost(question)
        self._save()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from the file meanwhile, after reading what they wrote into it."""
        if self._path is None:
            yield
            return
        lock_file = self._path.with_name(self._path.name + ".lock")
        try:
            file = lock_file.open("ab")
        except OSError as error:
            raise LedgerError(f"{lock_file.name} cannot be written: {error.strerror}") from None
        with file, locked(file):
            if self._path.exists():
                self._resume(self._path)
            yield

    def _label(self, kind: str, question: Oracle, period: str, answer: Answer) -> bytes:
        return json.dumps([kind, _public(question)[0], str(period), answer]).encode()

    def _tag(self, kind: str, question: Oracle, period: str, answer: Answer) -> str:
        """Return what the ledger calls an answer: without the secret it reveals nothing of it."""
        label = self._label(kind, question, period, answer)
        return hashlib.blake2b(label, key=self._secret, digest_size=16).hexdigest()

    def _stream(self, label: bytes) -> Callable[[int], bytes]:
        """Return a generator of bits: BLAKE2b of the label and a block number, keyed."""
        stream = bytearray()
        block = 0

        def take(n: int) -> bytes:
            nonlocal block
            while len(stream) < n:
                data = block.to_bytes(8, "little") + label
                stream.extend(hashlib.blake2b(data, key=self._secret, person=_PERSON).digest())
                block += 1
            taken = bytes(stream[:n])
            del stream[:n]
            return taken

        return take

    def _save(self) -> None:
        if self._path is None:
            return
        fields = {
            "tacit_device": _VERSION,
            "secret": self._secret.hex(),
            "budget": str(self.budget),
            "fresh": self._fresh,
            "charges": {tag: str(cost) for tag, cost in self._charges.items()},
            "held": self._answers,
        }
        write_atomically(self._path, json.dumps(fields, indent=1).encode())

    def _resume(self, path: Path) -> None:
        try:
            fields = read_json(path.read_bytes())
            if fields["tacit_device"] != _VERSION:
                raise LedgerError(f"{path.name} was written by another version of Tacit")
            stored_budget = as_fraction(fields["budget"])
            self._secret = bytes.fromhex(fields["secret"])
            self._charges = {tag: as_fraction(cost) for tag, cost in fields["charges"].items()}
            self._answers, self._fresh = dict(fields["held"]), int(fields["fresh"])
        except OSError as error:
            raise LedgerError(f"{path.name} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, LedgerError):
                raise
            raise LedgerError(f"{path.name} is not the file of a device") from None
        if len(self._secret) != SECRET_BYTES or stored_budget != self.budget:
            raise LedgerError(
                f"{path.name} was made with a budget of {show(stored_budget)}, not "
                f"{show(self.budget)}: what was promised to a person is not changed later"
            )

    def __repr__(self) -> str:
        return f"<Device with {show(self.remaining)} of {show(self.budget)} left>"


def _permanent_stage(question: Oracle) -> Oracle:
    """Return the mechanism whose report a device keeps."""
    return question.kept if isinstance(question, Staged) else question


def _identity(question: Oracle, value: Any) -> Answer:
    """Return what makes two true answers the same one, after refusing what has no place."""
    if not isinstance(question, Oracle):
        raise UsageError("give a local mechanism, such as UnaryEncoding(items, epsilon=1)")
    if isinstance(question, PaddedSets):
        return question.members(value)
    return question.read([value])[0].tolist()  # type: ignore[no-any-return]


@lru_cache(maxsize=256)
def _public(question: Oracle) -> tuple[str, Fraction]:
    """Return the fingerprint of a question, and what a new true answer to it costs."""
    return question.fingerprint, Enclosure.of(_permanent_stage(question).epsilon).rounded(64).upper
