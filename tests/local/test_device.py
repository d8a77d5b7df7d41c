"""A device over time: permanent answers without a table, and a ledger that cannot be overdrawn."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from local.every_mechanism import CASES, ORACLES
from tacit.errors import BudgetError, LedgerError, MismatchError, UsageError
from tacit.local import (
    Device,
    DirectEncoding,
    RandomizedResponse,
    Rappor,
    TwoStage,
    UnaryEncoding,
    Wire,
    oracle_from,
)
from tacit.local.device import Staged

ITEMS = ["a", "b", "c", "d"]
PERMANENT = DirectEncoding(ITEMS, epsilon=2)
DAILY = TwoStage(PERMANENT, UnaryEncoding(ITEMS, epsilon=1))
DIRECT = TwoStage(PERMANENT, DirectEncoding(ITEMS, epsilon=1))
VECTORS = Path(__file__).parents[0] / "vectors" / "permanent.json"


@pytest.mark.parametrize("vector", json.loads(VECTORS.read_text("utf-8")), ids=lambda v: v["name"])
def test_permanent_answers_never_change(vector: dict) -> None:
    """Not between versions either: a device that answered anew would lose twice as much."""
    oracle = oracle_from(vector["oracle"])
    wire = Wire(oracle)
    device = Device(10**6, secret=bytes.fromhex(vector["secret"]))
    for answer, payload in zip(vector["answers"], vector["payloads"], strict=True):
        report = device.report(oracle, answer)  # type: ignore[arg-type]
        assert wire.pack(np.asarray(report)[None])[0].tobytes().hex() == payload


@pytest.mark.parametrize("chain", [DAILY, DIRECT], ids=["unary", "direct"])
def test_two_stages_are_as_private_and_as_precise_as_they_say(chain: TwoStage) -> None:
    laws = [chain.distribution(item) for item in ITEMS]
    assert all(sum(law.values()) == 1 for law in laws)
    greatest = max(u[y] / v[y] for u in laws for v in laws for y in u)
    assert greatest <= chain.ratio < chain.permanent.ratio
    if chain is DIRECT:
        assert greatest == chain.ratio
    own, other = chain.support
    for i, law in enumerate(laws):
        for j in range(4):
            supports = sum(p for y, p in law.items() if y[0] >> j & 1) if chain is DAILY else law[j]
            assert supports == (own if i == j else other)
    assert oracle_from(chain.describe()) == chain


@pytest.mark.full
def test_365_calls_do_not_reveal_more() -> None:
    """The vote over a year of reports names the permanent answer, not the true one."""
    people, days = 80, 365
    naive = memoised = kept = 0
    for person in range(people):
        truth = ITEMS[person % 4]
        device = Device(budget=3)
        reports = [int(device.report(DIRECT, truth)) for _ in range(days)]
        vote = ITEMS[np.bincount(reports, minlength=4).argmax()]
        memoised += vote == truth
        kept += device.spent == device.cost(DIRECT)
        fresh = DIRECT.instant.perturb_many([truth] * days)
        naive += ITEMS[np.bincount(fresh, minlength=4).argmax()] == truth
    assert kept == people
    assert naive > 0.9 * people  # without memory a year reveals nearly everybody
    share = float(PERMANENT.p)  # 0.711: what the permanent answer alone reveals
    assert memoised < people * (share + 5 * (share * (1 - share) / people) ** 0.5)


@pytest.mark.full
def test_permanent_answers_have_exactly_their_law() -> None:
    n = 3000
    counts = np.bincount([int(Device(9).report(PERMANENT, "b")) for _ in range(n)], minlength=4)
    for i, count in enumerate(counts.tolist()):
        p = float(PERMANENT.p if i == 1 else PERMANENT.q)
        assert abs(count - n * p) < 5 * (n * p * (1 - p)) ** 0.5


def test_answers_of_different_questions_values_periods_and_people_are_independent() -> None:
    wide = UnaryEncoding(256, epsilon=1)
    one, two = Device(100), Device(100)
    reports = [
        one.report(wide, 1),
        one.report(wide, 2),
        one.report(wide, 1, period="2026-12"),
        one.report(UnaryEncoding(256, epsilon="1.25"), 1),
        two.report(wide, 1),
    ]
    assert len({r.tobytes() for r in reports}) == 5
    assert one.report(wide, 1).tobytes() == reports[0].tobytes()


def test_a_change_is_charged_and_a_return_is_free() -> None:
    device = Device(budget="6.1")
    cost = device.cost(DIRECT)
    assert float(cost) == pytest.approx(2, abs=1e-5)
    for answer, spent in (("a", 1), ("a", 1), ("b", 2), ("a", 2), ("c", 3)):
        device.report(DIRECT, answer)
        assert device.spent == spent * cost
    assert device.left(DIRECT) == 0
    with pytest.raises(BudgetError, match="is left"):
        device.report(DIRECT, "d")
    device.report(DIRECT, "a")  # what was paid for goes on
    assert device.spent == 3 * cost


def test_holding_the_first_answer_of_a_period() -> None:
    device = Device(budget=5, secret=b"s" * 32)
    first = [int(device.report(PERMANENT, "a", period="1", changes="hold")) for _ in range(3)]
    later = [int(device.report(PERMANENT, x, period="1", changes="hold")) for x in "bcd"]
    assert len({*first, *later}) == 1
    assert device.spent == device.cost(PERMANENT)
    device.report(DAILY, "b", period="2", changes="hold")
    assert device.left(DAILY) == 0
    with pytest.raises(BudgetError):
        device.report(PERMANENT, "a", period="3", changes="hold")


def test_fresh_reports_are_charged_each() -> None:
    coins = RandomizedResponse(p="3/4")
    device = Device(budget="3.4")
    for _ in range(3):
        device.report(coins, True, fresh=True)
    assert device.spent == 3 * device.cost(coins)
    with pytest.raises(BudgetError):
        device.report(coins, True, fresh=True)


def test_a_device_is_resumed_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    device = Device(budget=5, path=path)
    told = [device.report(UnaryEncoding(64, epsilon=1), 3).tolist()]
    device.report(DAILY, "c", changes="hold")
    again = Device(budget=5, path=path)
    told.append(again.report(UnaryEncoding(64, epsilon=1), 3).tolist())
    assert told[0] == told[1]
    assert again.spent == device.spent
    assert path.stat().st_mode & 0o077 == 0  # nobody else reads the secret
    with pytest.raises(LedgerError, match="budget of 5"):
        Device(budget=50, path=path)
    text = path.read_text()
    assert '"c"' not in text
    for bad in ("", "{}", text.replace('"tacit_device": 1', '"tacit_device": 2'), text[:-30]):
        path.write_text(bad)
        with pytest.raises(LedgerError):
            Device(budget=5, path=path)


def test_the_ledger_is_written_before_a_report_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "device.json"
    device = Device(budget=5, path=path)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DirectEncoding, "_draw", dies)
    with pytest.raises(KeyboardInterrupt):
        device.report(PERMANENT, "a")
    assert Device(budget=5, path=path).spent == device.cost(PERMANENT)


def test_what_is_refused_costs_nothing() -> None:
    device = Device(budget=5)
    with pytest.raises(UsageError, match="listed items"):
        device.report(DAILY, "magician")
    with pytest.raises(UsageError, match="hold"):
        device.report(DAILY, "a", changes="forget")  # type: ignore[arg-type]
    assert device.spent == 0
    for bad in (0, -1, "nan"):
        with pytest.raises(UsageError):
            Device(budget=bad)
    with pytest.raises(UsageError, match="32 bytes"):
        Device(budget=1, secret=b"short")


def test_stages_must_fit() -> None:
    with pytest.raises(MismatchError, match="same items"):
        TwoStage(PERMANENT, DirectEncoding(ITEMS[:3], epsilon=1))
    with pytest.raises(UsageError, match="permanent stage is"):
        TwoStage(UnaryEncoding(ITEMS, epsilon=1), PERMANENT)
    with pytest.raises(UsageError, match="more often"):
        TwoStage(DirectEncoding(ITEMS, p=Fraction(1, 8)), PERMANENT)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", CASES)
def test_every_mechanism_is_asked_again_and_paid_for_once(name: str, tmp_path: Path) -> None:
    oracle, answers = ORACLES[name], CASES[name].answers
    path = tmp_path / "device.json"
    device = Device(budget=1000, path=path)
    first = [device.report(oracle, answer) for answer in answers]
    spent = device.spent
    assert spent == len(answers) * device.cost(oracle)
    assert all(device.cost(oracle) >= Fraction(loss.lower) for loss in [_loss(oracle)])
    again = Device(budget=1000, path=path)
    second = [again.report(oracle, answer) for answer in answers]
    assert oracle.valid(np.array(first)).all()
    if name not in ("two stages", "rappor"):  # those add noise to what is kept
        assert [r.tolist() for r in map(np.asarray, first)] == [
            r.tolist() for r in map(np.asarray, second)
        ]
    held = [device.report(oracle, a, period="1", changes="hold") for a in answers]
    assert oracle.valid(np.array(held)).all()
    device.report(oracle, answers[0], fresh=True)
    assert device.spent == spent + 2 * device.cost(oracle)


def _loss(oracle):
    from tacit.arithmetic.enclosure import Enclosure

    return Enclosure.of(oracle.epsilon if not hasattr(oracle, "kept") else oracle.kept.epsilon)


def spend(path: str) -> int:
    """Report all answers of a question that nobody can pay for whole, in another process."""
    device, told = Device(budget=10, path=path), 0
    for place in range(40):
        try:
            device.report(DirectEncoding(40, epsilon=1), place)
            told += 1
        except BudgetError:
            pass
    return told


@pytest.mark.full
def test_processes_that_share_a_file_cannot_overdraw_it(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        told = list(pool.map(spend, [str(path)] * 3))
    device = Device(budget=10, path=path)
    assert device.spent <= 10
    assert device.left(DirectEncoding(40, epsilon=1)) == 0
    assert max(told) == 10  # the same ten answers are free for the others


def test_two_devices_in_one_file_are_one(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    one, two = Device(budget=3, path=path), Device(budget=3, path=path)
    question = DirectEncoding(64, epsilon=1)
    for place in range(2):
        assert one.report(question, place) == two.report(question, place)
    two.report(question, 2)
    with pytest.raises(BudgetError):
        one.report(question, 3)
    path.write_text("{}")
    with pytest.raises(LedgerError):
        one.report(question, 4)
    with pytest.raises(LedgerError, match="cannot be written"):
        Device(budget=3, path=tmp_path / "none" / "device.json")


# What mechanisms of two stages share: reports come of the permanent answer alone.


TWO = TwoStage(DirectEncoding(5, epsilon=2), UnaryEncoding(5, epsilon=1))


def test_nothing_stands_beside_the_answer_unless_a_mechanism_says_so() -> None:
    assert isinstance(TWO, Staged)
    assert TWO.standing() is None
    rappor = Rappor(bloom_bits=16, hashes=2, cohorts=4)
    assert rappor.standing() in range(4)


def test_a_report_is_drawn_from_what_was_kept() -> None:
    kept = TWO.keep(3, TWO.standing())
    assert TWO.kept.valid([kept]).all()
    assert TWO.layout.check([TWO.renew(kept)]).shape[0] == 1


def test_a_mechanism_without_its_stages_is_none() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Staged()  # type: ignore[abstract]
