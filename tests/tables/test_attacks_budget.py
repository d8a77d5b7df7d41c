"""Attacks on the budget: twice, two at once, killed between charge and answer, a copied ledger."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.errors import BudgetError, LedgerError

WORKER = Path(__file__).with_name("release_worker.py")


@pytest.fixture(name="files")
def _files(tmp_path):
    source, ledger = tmp_path / "people.csv", tmp_path / "people.ledger"
    pd.DataFrame({"x": range(100)}).to_csv(source, index=False)
    tc.Session(source, unit=tc.one_row_each, budget=tc.epsilon("1/2"), ledger=ledger).close()
    return source, ledger


def run(files, way="live", tag="a"):
    return subprocess.Popen(
        [sys.executable, str(WORKER), *map(str, files), way, tag],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.strip()


def reopened(files):
    return tc.Session(files[0], unit=tc.one_row_each, ledger=files[1])


@pytest.mark.full
@pytest.mark.parametrize("way", ["die", "die before noise"])
def test_a_killed_release_is_spent_and_never_told(files, way):
    process = run(files, way)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert out == ""
    with reopened(files) as s:
        assert s.spent == tc.epsilon("1/10")
        (entry,) = s.history()
        assert entry.state == "open"
        assert entry.answer is None
        # asking again goes on under its charge
        assert s.agg(n=tc.count()).is_charged(epsilon="1/10", tag="a")
        assert not s.agg(n=tc.count()).is_answered(epsilon="1/10", tag="a")
        answer = s.agg(n=tc.count()).release(epsilon="1/10", tag="a")
        assert not answer.replayed
        assert s.spent == tc.epsilon("1/10")
        assert answer.certificate.verify(s.ledger)
        assert s.agg(n=tc.count()).release(epsilon="1/10", tag="a").replayed


@pytest.mark.full
def test_processes_at_once_never_overdraw_nor_tell_two_answers(files):
    processes = [run(files, tag=tag) for tag in ("a", "a", "b", "c")]
    told = [said(p) for p in processes]
    assert told[0].split()[0] == told[1].split()[0]
    with reopened(files) as s:
        assert s.spent.amount <= s.budget.amount
        answered = {e.question["tag"]: e.answer for e in s.history() if e.answer is not None}
        assert set(answered) == {"a", "b", "c"}
        answers = {s.agg(n=tc.count()).release(epsilon="1/10", tag=t).value("n") for t in "abc"}
        assert {int(line.split()[0]) for line in told} == answers


def test_threads_at_once_pay_once_for_one_question_and_never_overdraw():
    data = pd.DataFrame({"x": np.arange(1000)})
    with tc.Session(data, unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
        found, refused = [], []
        gate = threading.Barrier(12)

        def ask(tag):
            gate.wait()
            try:
                found.append((tag, s.agg(n=tc.count()).release(epsilon="1/4", tag=tag).value("n")))
            except BudgetError:
                refused.append(tag)

        threads = [threading.Thread(target=ask, args=(str(i // 2),)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(s.history()) == 4
        assert s.remaining.is_nothing
        assert len(dict(found)) == 4
        assert len(set(found)) == 4  # both askers of a question have the same answer
        assert len(found) + len(refused) == 12


def test_the_same_release_twice_is_one_release(files):
    with reopened(files) as s:
        first = s.agg(n=tc.count()).release(epsilon="1/2")
    with reopened(files) as s:
        again = s.agg(n=tc.count()).release(epsilon=0.5)
        assert again.replayed
        assert again.to_dict() == first.to_dict()
        assert again.certificate == first.certificate
        with pytest.raises(BudgetError):
            s.agg(n=tc.count()).release(epsilon="1/2", tag="again")


def test_a_copied_ledger_is_refused(files, tmp_path):
    copy = tmp_path / "copy.ledger"
    shutil.copy(files[1], copy)
    with pytest.raises(LedgerError, match="copied or moved"):
        reopened((files[0], copy))


def test_a_ledger_put_back_is_refused_and_the_certificate_tells(files, tmp_path):
    old = files[1].read_bytes()
    with reopened(files) as s:
        certificate = s.agg(n=tc.count()).release(epsilon="1/4").certificate
    for beside in files[1].parent.glob("people.ledger-*"):
        beside.unlink()
    files[1].write_bytes(old)
    with pytest.raises(LedgerError, match=r"shows less than was already spent|older|copied"):
        reopened(files).agg(n=tc.count()).release(epsilon="1/4")
    from tacit.accounting import restore_ledger

    with restore_ledger(files[1]) as ledger:
        assert "not in this ledger" in str(certificate.verify(ledger))


def test_a_ledger_in_a_folder_that_cannot_be_written_is_refused(files):
    folder = files[1].parent / "none" / "deeper"
    with pytest.raises(LedgerError):
        tc.Session(files[0], unit=tc.one_row_each, budget=tc.epsilon(1), ledger=folder / "a")


def test_an_answer_that_fails_is_paid_once_and_goes_on(monkeypatch):
    import tacit.tables.question as room

    data = pd.DataFrame({"x": np.arange(1000)})
    with tc.Session(data, unit=tc.one_row_each, budget=tc.epsilon(1)) as s:
        with monkeypatch.context() as patched:
            patched.setattr(room, "release_answer", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError) as caught:
                s.agg(n=tc.count()).release(epsilon="1/2")
        assert (
            "epsilon 0.5 was charged for this release, and it stays open"
            in (caught.value.__notes__[0])
        )
        assert s.remaining == tc.epsilon("1/2")
        s.agg(n=tc.count()).release(epsilon="1/2")
        assert s.remaining == tc.epsilon("1/2")
