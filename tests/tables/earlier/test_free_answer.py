"""Free answers, written down: the ledger, the certificate, and what makes them fail."""

from __future__ import annotations

import copy
import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pyarrow as pa
import pytest

import tacit as tc
from tacit.accounting.ledger import Ledger, on_account_of
from tacit.errors import UsageError, VerificationError
from tacit.report.issued import digest
from tacit.tables.plan.preview import Preview
from tacit.tables.session import PaidSession


@pytest.fixture(name="session")
def _session():
    people = pa.table({"sex": ["f", "m", "f"], "age": [31, 45, 67]})
    session = tc.Session(people, tc.one_row_each, tc.epsilon(1), name="p")
    question = session.group_by("sex", keys=["f", "m"]).agg(n=tc.count())
    question.release(epsilon="1/4")
    session.agg(ages=tc.histogram("age", [0, 40, 80])).release(epsilon="1/4")
    return session


def both(session):
    return session.filter(tc.col("sex").is_in(["f", "m"])).agg(n=tc.count())


def test_it_spends_nothing_and_the_ledger_says_from_which_releases(session) -> None:
    before = session.spent, len(session.history())
    answer = both(session).free_answer()
    assert (session.spent, len(session.history())) == before
    assert answer.cost.is_nothing
    (part,) = [event for event in session.ledger.events() if event.event == "part"]
    source = session.history()[0]
    assert part.body["part"]["from"] == [source.hash]
    assert part.body["charge"] == source.sequence
    assert part.body["part"]["digest"] == answer.certificate.body["digest"]
    session.ledger.verify_chain()


def test_asked_again_it_is_the_same_and_is_written_once(session) -> None:
    one, two = both(session).free_answer(), both(session).free_answer()
    assert one.certificate == two.certificate
    assert sum(event.event == "part" for event in session.ledger.events()) == 1


def test_it_is_verified_with_and_without_the_ledger(session, tmp_path) -> None:
    found = both(session).free_answer().certificate
    assert found.verify()
    assert found.verify(session.ledger)
    found.save(tmp_path / "free.json")
    assert tc.Certificate.load(tmp_path / "free.json") == found
    other = tc.Session(pa.table({"sex": ["f"]}), tc.one_row_each, tc.epsilon(1), name="p")
    assert not found.verify(other.ledger)


def test_a_tag_is_another_version_of_the_table(session) -> None:
    assert both(session).free_answer(tag="later") is None
    session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/4", tag="later")
    assert both(session).free_answer(tag="later") is not None


def test_certificates_of_another_ledger(session, tmp_path) -> None:
    source = session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/4")
    people = pa.table({"sex": ["f"], "age": [3]})
    other = tc.Session(people, tc.one_row_each, tc.epsilon(1), name="p")
    assert both(other).free_answer() is None
    free = both(other).free_answer([source.certificate])
    assert free.value("n") == both(session).free_answer().value("n")
    assert other.spent.is_nothing
    body = copy.deepcopy(source.certificate.body)
    body["answer"]["released"][0][0] += 1
    with pytest.raises(UsageError, match="does not hold"):
        both(other).free_answer([tc.Certificate(body)])
    with pytest.raises(UsageError, match="adds nothing"):
        both(other).free_answer([free.certificate])
    third = tc.Session(people, tc.one_row_each, tc.epsilon(1), name="q")
    with pytest.raises(UsageError, match="another data set"):
        both(third).free_answer([source.certificate])
    with pytest.raises(UsageError, match="certificates"):
        both(other).free_answer([source])  # an answer, not its certificate


def test_what_was_answered_on_another_account_is_left_alone(session) -> None:
    ada = PaidSession(session, on_account_of(session.ledger, "analyst:ada"), {})
    assert both(ada).free_answer() is None
    ada.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/8")
    assert both(ada).free_answer() is not None
    bob = PaidSession(session, on_account_of(session.ledger, "analyst:bob"), {})
    assert both(bob).free_answer() is None


def test_pages_and_cards(session) -> None:
    certificate = both(session).free_answer().certificate
    page = certificate.to_html()
    assert "nothing was spent" in page
    assert "earlier releases" in page
    assert certificate.body["sources"][0]["digest"][:16] in str(certificate)
    with pytest.raises(UsageError, match="register these"):
        certificate.registry_entry()


def test_a_certificate_that_claims_to_stand_in_this_ledger_must_stand_there(session) -> None:
    """Sealed anew it agrees with itself, with any numbers; the ledger knows better."""
    made_up = pa.table({"sex": ["f"] * 500, "age": [3] * 500})
    other = tc.Session(made_up, tc.one_row_each, tc.epsilon(1), name="p")
    counted = other.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon=1)
    body = copy.deepcopy(counted.certificate.body)
    ours = session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/4")
    body["ledger"] = ours.certificate.body["ledger"]
    body["digest"] = digest(body)
    forged = tc.Certificate(body)
    assert forged.verify()
    before = len(session.ledger.events())
    with pytest.raises(UsageError, match="stands in this ledger, and it does not"):
        both(session).free_answer([forged])
    assert len(session.ledger.events()) == before
    assert both(session).free_answer().value("n") < 100


def test_one_of_another_ledger_is_no_proof_and_the_ledger_says_so(session) -> None:
    """A certificate alone shows that it agrees with itself; the answer is worth what it is."""
    made_up = pa.table({"sex": ["f"] * 500, "age": [3] * 500})
    other = tc.Session(made_up, tc.one_row_each, tc.epsilon(1), name="p")
    counted = other.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon=1)
    found = both(session).free_answer([counted.certificate])
    assert found.value("n") > 400  # of the least error, whoever made it
    assert not found.certificate.verify(session.ledger)
    assert all(event.event != "part" for event in session.ledger.events())


def test_whether_there_is_an_answer_and_its_error_do_not_depend_on_rows() -> None:
    """Neither a row more, nor a hostile one, nor none at all: what is free is decided publicly."""
    told = []
    hostile = {"sex": ["f", None, "x" * 70000], "age": [None, 2**62, -(2**62)]}
    for rows in ({"sex": ["f"], "age": [31]}, {"sex": [], "age": []}, hostile):
        typed = pa.table({"sex": pa.array(rows["sex"], "string"), "age": pa.array(rows["age"])})
        typed = typed.cast(pa.schema([("sex", pa.string()), ("age", pa.int64())]))
        session = tc.Session(typed, tc.one_row_each, tc.epsilon(1), name="p")
        assert both(session).free_answer() is None
        session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/4")
        assert session.filter(tc.col("sex") == "x").agg(n=tc.count()).free_answer() is None
        found = both(session).free_answer()
        told.append(
            (found.column("n")["standard_error"], len(session.ledger.events()), session.spent)
        )
    assert told[0] == told[1] == told[2]


def test_an_edited_ledger_is_found_by_whoever_verifies_the_answer(tmp_path) -> None:
    """Who may write to a ledger is trusted; what they change is seen by whoever verifies."""
    people = pa.table({"sex": ["f", "m", "f"]})

    def opened():
        place = tmp_path / "p.ledger"
        return tc.Session(people, tc.one_row_each, tc.epsilon(1), name="p", ledger=place)

    with opened() as session:
        session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/4")
    with closing(sqlite3.connect(tmp_path / "p.ledger")) as file, file:
        where = "where body like '%\"answer\",%'"
        ((sequence, text),) = file.execute(f"select sequence, body from event {where}").fetchall()
        event = json.loads(text)
        event["body"]["answer"]["released"][0][0] += 1000
        changed = json.dumps(event, separators=(",", ":"))
        file.execute("update event set body = ? where sequence = ?", (changed, sequence))
    with opened() as session:
        certificate = both(session).free_answer().certificate
        assert not certificate.verify(session.ledger)
        assert not certificate.verify()
        with pytest.raises(VerificationError, match="was changed after it was written"):
            session.ledger.verify_chain()


def test_a_preview_says_that_the_answer_is_free(session) -> None:
    question = both(session)
    found = question.preview(epsilon="1/4")
    assert found.free == question.free_errors()
    assert "n: follows from earlier releases at no cost" in str(found)
    assert Preview.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert not session.filter(tc.col("age") > 50).agg(n=tc.count()).preview(epsilon="1/4").free
    written = found.to_json()
    del written["free"]  # as versions before wrote it
    assert Preview.from_json(written) == replace(found, free={})


def test_a_preview_of_means_does_not_read_the_history(session, monkeypatch) -> None:
    def read(self: object) -> list[object]:
        raise AssertionError("the whole ledger was read")

    monkeypatch.setattr(Ledger, "history", read)
    session.agg(a=tc.mean("age", 0, 99)).preview(epsilon=1)
    with pytest.raises(AssertionError, match="whole ledger"):
        both(session).preview(epsilon=1)


def test_a_preview_of_a_shared_table_neither_tells_nor_looks(session, monkeypatch) -> None:
    ada = PaidSession(session, on_account_of(session.ledger, "analyst:ada"), {})
    bob = PaidSession(session, on_account_of(session.ledger, "analyst:bob"), {})
    ada.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/8")
    assert both(ada).free_errors() is not None
    assert both(bob).free_errors() is None
    monkeypatch.setattr(Ledger, "history", None)  # it takes the longer, the more others asked
    for own in (ada, bob):
        assert both(own).preview(epsilon="1/4").free == {}
        assert own.plan([both(own)]).preview(epsilon="1/4").free == {}
