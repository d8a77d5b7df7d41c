"""A device with every kind of question: RAPPOR's cohort and row are kept, and paid for once."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from local.every_mechanism import CASES, ORACLES
from tacit.errors import BudgetError, LedgerError
from tacit.local import Device, DirectEncoding, Rappor

RAPPOR = Rappor(bloom_bits=32, hashes=2, cohorts=8, f="1/2", p="1/4", q="3/4")
BARE = Rappor(bloom_bits=32, hashes=2, cohorts=8, f="1/2", p=0, q=1)


def unpacked(reports: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The filter bits and the cohort bits of reports."""
    bits = np.unpackbits(np.array(reports), axis=1, bitorder="little")
    return bits[:, :32], bits[:, 32:35]


def test_a_year_of_rappor_reports_shows_the_kept_row_and_no_more() -> None:
    device = Device(budget=10)
    bits, cohorts = unpacked([device.report(RAPPOR, "red") for _ in range(365)])
    assert len({row.tobytes() for row in bits}) > 300  # every report has noise of its own
    assert len({row.tobytes() for row in cohorts}) == 1  # a device stays in its cohort
    assert device.spent == device.cost(RAPPOR)
    assert float(device.cost(RAPPOR)) == pytest.approx(float(RAPPOR.permanent_epsilon))  # type: ignore[arg-type]
    vote = (bits.mean(axis=0) > 0.5).astype(np.uint8)
    number = cohorts[0] @ (1 << np.arange(3))
    true = RAPPOR.filters(RAPPOR.read(["red"]), np.array([number]))[0]
    assert (vote != true).any()  # true bits without a permanent stage would come out, all 32
    means = bits.mean(axis=0)
    assert np.all(np.abs(means - np.where(vote, 0.75, 0.25)) < 6 * (0.1875 / 365) ** 0.5)


def test_kept_rows_have_exactly_the_law_of_the_permanent_stage() -> None:
    n = 1500
    secrets = [Device(budget=10) for _ in range(n)]
    bits, cohorts = unpacked([device.report(BARE, "red") for device in secrets])
    numbers = cohorts @ (1 << np.arange(3))
    true = BARE.filters(np.repeat(BARE.read(["red"]), n), numbers.astype(np.int64))
    for value, share in ((0, 0.25), (1, 0.75)):
        seen = bits[true == value]
        assert abs(seen.mean() - share) < 6 * (share * (1 - share) / seen.size) ** 0.5
    assert np.all(np.abs(np.bincount(numbers, minlength=8) - n / 8) < 6 * (n / 8) ** 0.5)


def test_a_change_of_the_true_answer_keeps_the_cohort_and_is_charged() -> None:
    device = Device(budget=15)  # a new answer costs 4 ln 3 = 4.39
    first, second = (unpacked([device.report(RAPPOR, w)]) for w in ("red", "blue"))
    assert np.array_equal(first[1], second[1])
    assert device.spent == 2 * device.cost(RAPPOR)
    device.report(RAPPOR, "red")
    device.report(RAPPOR, "green")
    assert device.left(RAPPOR) == 0
    with pytest.raises(BudgetError):
        device.report(RAPPOR, "white")
    device.report(RAPPOR, "blue")
    assert device.spent == 3 * device.cost(RAPPOR)


def test_a_held_answer_stands_for_the_period() -> None:
    device = Device(budget=5)
    told = [device.report(BARE, w, period="1", changes="hold").tolist() for w in ("red", "blue")]
    assert told[0] == told[1]
    assert device.spent == device.cost(BARE)
    with pytest.raises(BudgetError):
        device.report(BARE, "red", period="2", changes="hold")


def test_without_a_permanent_stage_the_same_report_is_sent_again() -> None:
    once = Rappor(bloom_bits=32, hashes=2, cohorts=8, f=0, p="1/4", q="3/4")
    device = Device(budget=6)
    told = {device.report(once, "red").tobytes() for _ in range(50)}
    assert len(told) == 1
    assert float(device.spent) == pytest.approx(float(once.epsilon))


@pytest.mark.full
def test_reports_of_devices_are_estimated() -> None:
    words = ["red"] * 1500 + ["blue"] * 500
    reports = np.array([Device(budget=5).report(RAPPOR, word) for word in words])
    found = RAPPOR.estimate(reports, ["red", "blue", "green"], nonnegative=False)
    assert np.all(np.abs(found.counts - [1500, 500, 0]) < 5 * found.standard_error)


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
