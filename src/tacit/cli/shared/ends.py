"""Exit codes of commands, and messages in the words of flags."""

from __future__ import annotations

import re
import signal
from types import FrameType
from typing import Any

from tacit.calls import rewritten

# Signals that end a command in an orderly way: what was spilled to disk is removed first.


class Ends:
    """A block that SIGTERM and SIGHUP end as the keyboard's interrupt does."""

    # Left as they are: a signal that someone ignores (``nohup``) or handles already, and all of
    # them outside of the main thread.

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Ends:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                try:
                    self._before[number] = signal.signal(number, self._end)
                except ValueError:  # not the main thread
                    return self
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        raise KeyboardInterrupt


# Remedies in the words of the command line: an error that shows a call shows the flags instead.
#
# The rooms below say what to do in Python.  What they show comes in few shapes, each of which has
# its flags here; what has none stays as it is.


_FLAGS = {
    r"session\.group_by\(\.\.\.\)\.agg\(\.\.\.\)\.release\(\.\.\.\)": "with tacit release",
    r"release\((epsilon|rho)=\{'n': 1, 'cost': 3\}, total='1/2'\)": r"--\1 n=1,cost=3 --total 1/2",
    r"\b(epsilon|rho)=\{\.\.\.\} holds": r"--\1 holds",
    r"release\(epsilon=\.\.\., delta=\.\.\.\)": "--epsilon ... --delta ...",
    r"types=\{'(\w+)': '(\w+)'\}, or give a data frame a column of (?:numbers|times)": (
        r"--types \1=\2"
    ),
    r"; or say so in the question with \.cast\(float\)": "",
    r"release\(epsilon='([^']*)'\)": r"--epsilon \1",
    r"release\(rho='([^']*)'\)": r"--rho \1",
    r"release\(epsilon=\.\.\., delta='?([^')]*)'?\)": r"--epsilon ... --delta \1",
    r"(?:budget=|a budget such as )?tc\.epsilon_delta\((\d+), '([^']*)'\)": (
        r"--budget-epsilon \1 --budget-delta \2"
    ),
    r"(?:budget=|a budget )?tc\.(rho|epsilon)\('?([^')]*)'?\)": r"--budget-\1 \2",
    r"the budget is (epsilon|rho|epsilon_delta)\(\.\.\.\)": r"the budget is in \1",
    r"Open it as epsilon_delta\(\.\.\.\)": "Open it with --budget-epsilon and --budget-delta",
    r"Open it as (rho|epsilon)\(\.\.\.\)": r"Open it with --budget-\1",
    r"unit=tc\.unit\('(\w+)', rows=(\w+|\.\.\.)\)": r"--person \1 --rows \2",
    r"unit=tc\.one_row_each": "--one-row-each",
    r"bound=\"([^\"]*)\"": r"--bound \1",
    r"\bbound=,": "--bound,",
    r"distribution='(\w+)'": r"--distribution \1",
    r"keys=\[\.\.\.\]": "--keys a,b,c",
    r"\b(structure|dataflow)='([^']*)'": r"--\1 '\2'",
    r"labels=\['([^'\]]*)'\]": r"--labels \1",
    r"labels=\['([^'\]]*)', '([^'\]]*)'\]": r"--labels \1,\2",
    r"ids=\{'([^']*)': '([^']*)'\}": r"--ids \1=\2",
    r"with_columns\(\w+=tc\.col\('(\w+)'\)\.cut\(\[\.\.\.\]\)\)": r"--cut \1:0,10,20",
    r"with_columns\((\w+)=tc\.col\(\"(\w+)\"\) (\W+ \d+)\)": r'--with "\1 = \2 \3"',
    r"filter\(tc\.col\(\"(\w+)\"\) (\W+ \d+)\)": r'--where "\1 \2"',
    r"ask again with connection\.job\('[^']*'\)\.result\(\)": (
        "tacit ledger show DATASET --server ADDRESS shows its state; when it is done, run the same "
        "command again, which shows the answer at no further cost"
    ),
    r"\b(delimiter|encoding|quote|name|table)=('[^']*'|\"[^\"]*\")": r"--\1 \2",
    r"\bmissing= (?=has|names)": "--missing ",
    r"header=\['id', 'age', \.\.\.\]": "--header id,age,...",
    r"raise it with extend\(\.\.\.\)": "raise it with tacit ledger extend",
    r"(?<![\w.])epsilon_delta\('?(\d[^',()]*)'?, '?(\d[^',()]*)'?\)": r"epsilon \1, delta \2",
    r"(?<![\w.])(rho|epsilon)\('?(\d[^',()]*)'?\)": r"\1 \2",
    r"\.?agg\(n=tc\.count\(\)(?:, \.\.\.)?\)": "--count",
}


def in_flags(message: str) -> str:
    """Return a message in which calls of Python are flags.

    >>> in_flags("say what this release may spend: release(epsilon='1/2')")
    'say what this release may spend: --epsilon 1/2'
    >>> in_flags("give them, such as tc.mean('age', 0, 100)")
    'give them, such as --mean age:0:100'
    """
    for call, flags in _FLAGS.items():
        message = re.sub(call, flags, message)
    return rewritten(message, _flag)


def _flag(name: str, given: list[str]) -> str:
    """Return the flag of a kind of answer: its column, and what belongs to it, after colons."""
    flag = "--" + name.replace("_", "-")
    value = ":".join(given)
    return flag if value in ("", "...") else f"{flag} {value}"
