"""A process that continues a count over time: ``python live_worker.py SOURCE LEDGER WAY NOW ...``.

It prints ``ready`` and waits for a line, continues the count up to each NOW, and prints what is
published then.  Some ways end in the midst.
"""

import json
import os
import signal
import sys

import tacit as tc
from tacit.accounting.ledger import Ledger
from tacit.tables.streaming import counter as time_counter


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def die_after(function):
    def wrapped(*given):
        function(*given)
        die()

    return wrapped


WAYS = {
    "finish": lambda: None,
    "die after the charge": lambda: setattr(Ledger, "record", die),
    "die before the part": lambda: setattr(time_counter, "record_part", die),
    "die after the part": lambda: setattr(
        time_counter, "record_part", die_after(time_counter.record_part)
    ),
}


def main(source, ledger, way, *ends):
    WAYS[way]()
    session = tc.Session(source, unit=tc.unit("who", rows=3), budget=tc.epsilon(1), ledger=ledger)
    counter = session.count_over_time("hour", start=0, every=1, periods=60, epsilon=1)
    print("ready", flush=True)
    sys.stdin.readline()
    for now in ends:
        answer = counter.update(now=int(now))
        print(json.dumps(answer.to_dict()), flush=True)
    session.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
