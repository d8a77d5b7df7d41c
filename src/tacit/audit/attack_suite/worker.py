"""One system under the cases, in a process of its own: ids on standard input, JSON out."""

# What a library prints goes to stderr.  After each case a line of stdout is the result so far: what
# was found is known also where the process does not come to its end.

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace

from tacit.audit.attack_suite.run import AttackResult, load_cases, system_named
from tacit.audit.attack_suite.system import NotReadyError


def under_attack(
    name: str, ids: set[str], tell: Callable[[AttackResult], object] = repr
) -> AttackResult:
    """Run cases on a system in this process.

    >>> found = under_attack("tacit-framework", {"sums in a tree/4 leaves in L2"})
    >>> [outcome.verdict for outcome in found.outcomes.values()]
    ['holds']
    """
    system = system_named(name)
    try:
        system.refuse_unready()
    except NotReadyError as error:
        return AttackResult(name, "", {}, str(error))
    with contextlib.closing(system):
        version = system.version()
        result = AttackResult(name, version, {})
        for case in load_cases():
            if case.id in ids:
                result = replace(result, outcomes={**result.outcomes, case.id: case.run(system)})
                tell(result)
    return result


def main() -> None:
    """Answer one request."""
    ids = set(json.load(sys.stdin))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(result: AttackResult) -> None:
        print(json.dumps(result.as_dict()), file=answers, flush=True)

    with contextlib.redirect_stdout(sys.stderr):
        tell(under_attack(sys.argv[1], ids, tell))


if __name__ == "__main__":
    main()
