"""Write golden entries that are missing: ``python -m tests.golden.make`` from the root.

An entry that exists is not written again unless it is named, ``FILE:START``: each entry of FILE
whose name begins with START.  With ``--check`` nothing is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from . import FILES
from .store import differences, now, read, write


def main(arguments: list[str]) -> int:
    """Write what is missing or named; return 1 where another entry differs."""
    check = "--check" in arguments
    named = [argument.partition(":")[::2] for argument in arguments if argument != "--check"]
    bad = 0
    for file, cases in FILES.items():
        stored = read(file)
        entries = dict(stored)
        made = dict(cases())
        for name in stored.keys() - made.keys():
            print(f"{file}: {name}: no case gives it any more")
            bad = 1
        for name, case in made.items():
            found = now(case)
            again = any(file == of and name.startswith(start) for of, start in named)
            if name not in stored or again:
                entries[name] = found
                if found != stored.get(name):
                    print(f"{file}: {name}: written")
            elif lines := differences(stored[name], found):
                print(f"{file}: {name}: differs, and is kept as it is", *lines[:5], sep="\n    ")
                bad = 1
        if not check and entries != stored:
            write(file, entries)
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
