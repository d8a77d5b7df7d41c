"""A process that asks a Spark of its own: ``python spark_asker.py FOLDER MASTER [NAME=VALUE ...]``.

It reads a word a line and answers each with a line of JSON.  ``run`` is for the exact integers,
``release`` for an answer with noise.  Once tasks of the question are done and others are not, a
line that says ``midst`` comes before the answer.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import traceback
from fractions import Fraction

import tacit as tc
from support.servers import spark_session
from tacit.errors import DataSourceError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.privacy_unit import PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Moments, People, Rows

ROWS, PARTS = 200_000, 8
SECRET = "Zaphod"
KEYS = ["north", "south"]
MIXED = f"xxhash64(sha2(repeat(concat('{SECRET}', id), 150), 256))"
COLUMNS = (
    f"pmod({MIXED}, 80000) as person",
    f"cast(pmod({MIXED}, 10007) as double) / 100 as cost",
    f"if(pmod({MIXED}, 3) = 0, 'north', 'south') as region",
    f"concat('{SECRET}', id) as name",
)
AGAIN = [Rows(), Moments(col("cost"), Grid.for_bounds(0, 100, bits=20)), People()]


class Asker:
    """A table that is slow to read, and the questions to it."""

    def __init__(self, folder, master, settings):
        self.spark = spark_session.start(folder, master, **settings)
        self.frame = self.spark.range(0, ROWS, 1, PARTS).selectExpr(*COLUMNS)
        unit = tc.unit("person", rows=2)
        self.session = tc.Session(self.frame, unit=unit, budget=tc.epsilon(10**6), name="visits")

    def run(self):
        """Return the exact integers."""
        unit = PersonUnit("person", rows=2, most_groups=2)
        by = {"by": {"g": col("region")}, "keys": KEYS}
        exact = IntegerQuery(self.session.source, unit, **by).run(AGAIN)
        return {"exact": [_plain(exact.of(request)) for request in AGAIN]}

    def release(self):
        """Return an answer whose noise is next to nothing."""
        question = self.session.group_by("region", keys=KEYS).agg(n=tc.count())
        return {"answer": question.release(epsilon=1000).column("n")["value"]}

    def timed(self):
        """Ask the same with a time for each query, over the same budget."""
        given = {"unit": self.session.unit, "ledger": self.session.ledger, "name": "visits"}
        with tc.Session(self.frame, timeout=5, **given) as session:
            question = session.group_by("region", keys=KEYS).agg(n=tc.count())
            return {"answer": question.release(epsilon=1000, tag="timed").column("n")["value"]}

    def answer(self, word):
        """Return what came of a question, and what is spent."""
        over, failed = threading.Event(), []
        watcher = threading.Thread(target=self._watch, args=(over, failed), daemon=True)
        watcher.start()
        try:
            found = getattr(self, word)()
        except (DataSourceError, KeyboardInterrupt) as error:
            whole = "".join(traceback.format_exception(error, chain=True))
            found = {"error": f"{type(error).__name__} {error}", "quotes": SECRET in whole}
        over.set()
        watcher.join()
        return {**found, "failed": sum(failed), "spent": str(Fraction(self.session.spent.amount))}

    def _watch(self, over, failed):
        """Say once that the question is in its midst; collect how many tasks failed."""
        tracker, said, most = self.spark.sparkContext.statusTracker(), False, {}
        with contextlib.suppress(Exception):  # the context may end meanwhile
            while not over.wait(0.05):
                for job in tracker.getActiveJobsIds():
                    for number in tracker.getJobInfo(job).stageIds:
                        stage = tracker.getStageInfo(number)
                        if stage is None:
                            continue
                        key = (number, stage.currentAttemptId)
                        most[key] = max(most.get(key, 0), stage.numFailedTasks)
                        some = stage.numCompletedTasks >= 2 and stage.numActiveTasks > 0
                        if some and stage.numTasks == PARTS and not said:
                            said = True
                            tell({"midst": True})
        failed.extend(most.values())


def _plain(found):
    """Return arrays, and tuples of them, as lists."""
    if hasattr(found, "tolist"):
        return found.tolist()
    return [_plain(part) for part in found] if isinstance(found, (list, tuple)) else found


def tell(line):
    """Print a line of JSON."""
    print(json.dumps(line, default=int), flush=True)


def main(folder, master, *settings):
    """Answer the words of the standard input."""
    asker = Asker(folder, master, dict(setting.split("=") for setting in settings))
    tell({"ready": True})
    for line in sys.stdin:
        tell(asker.answer(line.strip()))
    asker.session.close()
    asker.spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
