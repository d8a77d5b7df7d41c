"""One system under the cases, in a process of its own: ids on standard input, JSON out.

What a library prints goes to stderr; the last line of stdout is the result.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys

from tacit.audit.attack_suite.registry import load_cases, system_named
from tacit.audit.attack_suite.system import NotReadyError
from tacit.audit.attack_suite.table import Result

__all__ = ["under_attack"]


def under_attack(name: str, ids: set[str]) -> Result:
    """Run cases on a system in this process.

    >>> found = under_attack("tacit-framework", {"sums in a tree/4 leaves in L2"})
    >>> [outcome.verdict for outcome in found.outcomes.values()]
    ['holds']
    """
    system = system_named(name)
    try:
        system.refuse_unready()
    except NotReadyError as error:
        return Result(name, "", {}, str(error))
    with contextlib.closing(system):
        version = system.version()
        outcomes = {case.id: case.run(system) for case in load_cases() if case.id in ids}
    return Result(name, version, outcomes)


def main() -> None:
    """Answer one request."""
    ids = set(json.load(sys.stdin))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with contextlib.redirect_stdout(sys.stderr):
        found = under_attack(sys.argv[1], ids)
    answers.write(json.dumps(found.as_dict()) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
