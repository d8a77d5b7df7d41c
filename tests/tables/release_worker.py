"""A process that releases; it may stop for ever between the charge and the answer."""

import os
import signal
import sys

import tacit as tc
from tacit.accounting.ledger import Ledger


def main(source: str, ledger: str, way: str, tag: str) -> None:
    """Release once; with the way ``"die"``, be killed after the charge."""
    session = tc.Session(source, unit=tc.one_row_each, ledger=ledger)
    if way == "die":
        Ledger.record = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    if way == "die before noise":
        import tacit.tables.question as room

        room.release_answer = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    try:
        answer = session.agg(n=tc.count()).release(epsilon="1/10", tag=tag)
    except tc.errors.BudgetError:
        print("refused")
        return
    print(answer.value("n"), answer.replayed)


if __name__ == "__main__":
    main(*sys.argv[1:])
