"""Write what editors and type checkers read of the names that are loaded late.

``tacit``, ``tacit.framework`` and ``tacit.statistics`` load a name when it is first used, which no
type checker can follow.  The stub next to each states where every name is.

Usage: ``python tools/make_stubs.py`` (run it after a public name was added or moved).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import tacit
import tacit.framework
import tacit.statistics

PACKAGE = Path(__file__).parents[1] / "src" / "tacit"
_BEGINS = '"""Where each name of ``{module}`` is; tools/make_stubs.py writes this file."""'


def stub(
    module: str,
    homes: Mapping[str, tuple[str, str]],
    packages: tuple[str, ...] = (),
    public: Iterable[str] | None = None,
) -> str:
    """Return the stub of a package.

    Args:
        module: the package.
        homes: the module and the name there of every name that it loads late.
        packages: its public submodules that it loads late.
        public: the names of its ``__all__``; by default all of these.
    """
    # Behind ``as`` for jedi, in ``__all__`` for mypy and pyright: each takes the other for private.
    lines = [f"from {home} import {inner} as {name}" for name, (home, inner) in homes.items()]
    lines += [f"from {module} import {package} as {package}" for package in packages]
    lines.sort(key=lambda line: (line.split()[1], line))
    names = "".join(f'    "{name}",\n' for name in sorted(public or [*homes, *packages]))
    return "\n".join([_BEGINS.format(module=module), "", *lines, "", f"__all__ = [\n{names}]\n"])


def stubs() -> dict[Path, str]:
    """Return the text of every stub, by its file."""
    version = "\n__version__: str\n"
    top, below = vars(tacit), vars(tacit.statistics)
    statistics = {name: (home, name) for name, home in below["_HOMES"].items()}
    return {
        PACKAGE / "__init__.pyi": stub("tacit", top["_PUBLIC"], top["_NAMESPACES"]) + version,
        PACKAGE / "statistics" / "__init__.pyi": stub(
            "tacit.statistics", statistics, public=tacit.statistics.__all__
        ),
        PACKAGE / "framework.pyi": stub("tacit.framework", vars(tacit.framework)["_PUBLIC"]),
    }


def main() -> None:
    """Write the stubs."""
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
