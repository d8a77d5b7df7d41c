"""An error on the command line names flags, not calls of Python."""

from __future__ import annotations

from typing import cast

import pytest

import tacit as tc
from tacit.cli import run
from tacit.cli.shared.ends import in_flags
from tacit.client.remote_session import Job
from tacit.client.transport import Transport
from tacit.errors import ServiceError, TacitError

SAID = {
    "a total is split by weights: release(epsilon={'n': 1}, total='1/2')": None,
    "use a budget such as tc.epsilon_delta(1, '1e-6') and release(epsilon=..., delta=...), or": (
        "use --budget-epsilon 1 --budget-delta 1e-6 and --epsilon ... --delta ..., or"
    ),
    "takes a delta; release(epsilon=..., delta='1e-7'), or list the keys with keys=[...]": (
        "takes a delta; --epsilon ... --delta 1e-7, or list the keys with --keys a,b,c"
    ),
    "or a budget tc.rho('1/10')": "or --budget-rho 1/10",
    "cut it first: with_column(\"bin\", tc.col('age').cut([...]))": (
        "cut it first: --cut age:0,10,20"
    ),
    'keep rows with filter(tc.col("age") >= 18)': 'keep rows with --where "age >= 18"',
    'with_column("old", tc.col("age") >= 65)': '--with "old = age >= 65"',
    "nothing is asked; use .agg(n=tc.count(), ...)": "nothing is asked; use --count",
    "name the categories: tc.top_k(\"site\", 3, ['a', 'b'])": (
        "name the categories: --top-k site:3:a,b"
    ),
    "call it: tc.count_people(...)": "call it: --count-people",
    "this release costs epsilon(100), and epsilon(0) is left of epsilon('1/3')": (
        "this release costs epsilon 100, and epsilon 0 is left of epsilon 1/3"
    ),
    "it has the budget epsilon_delta(1, '1e-6'), not rho('1/10'): raise it with extend(...)": (
        "it has the budget epsilon 1, delta 1e-6, not rho 1/10: raise it with tacit ledger extend"
    ),
    "the column 'tc' holds release(s)": None,
}


@pytest.mark.parametrize("message", SAID)
def test_a_call_is_the_flags_that_do_the_same(message: str) -> None:
    assert in_flags(message) == (SAID[message] or message)


@pytest.mark.parametrize(
    "asked",
    [
        ["--sum", "cost:0:9"],
        ["--histogram", "cost:0:5", "--epsilon", "1"],
        ["--mean", "cost:0:9", "--method", "ptr", "--epsilon", "1"],
        ["--mean", "cost:0:9", "--method", "ptr", "--bound", "1/2", "--epsilon", "1"],
        ["--mean", "cost:0:9", "--method", "smooth", "--distribution", "laplace", "--epsilon", "1"],
        ["--count", "--rho", "1/10"],
    ],
    ids=" ".join,
)
def test_no_refusal_of_a_release_shows_python(asked, tmp_path, capsys) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("site,cost\nA,1\nB,2\n")
    unit = ["--one-row-each", "--budget-epsilon", "5"]
    assert run(["release", str(path), *unit, *asked]) == 2
    said = capsys.readouterr().err
    assert said.startswith("Error: ")
    assert "--" in said
    for python in ("tc.", "release(", "bound=", "delta="):
        assert python not in said


class Waiting:
    """A service in which no reviewer has decided yet."""

    def get(self, _path: str, wait: int | None = None) -> dict[str, str]:
        return {"id": "r1", "state": "waiting"}


def test_a_release_that_waits_names_the_commands() -> None:
    job = Job(cast("Transport", Waiting()), {"id": "r1", "state": "waiting"})
    with pytest.raises(ServiceError) as refused:
        job.result()
    said = in_flags(str(refused.value))
    assert said.startswith("release r1 waits for a reviewer, and costs nothing until then: tacit ")
    assert "tacit ledger show DATASET --server ADDRESS" in said
    assert "run the same command again" in said
    assert "connection" not in said


def test_python_itself_says_calls() -> None:
    with pytest.raises(TacitError, match=r"tc\.histogram\("):
        tc.histogram("cost", [5])
