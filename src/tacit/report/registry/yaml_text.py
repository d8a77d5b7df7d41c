"""Plain values as YAML, the form in which the registry of deployments keeps its entries.

Written are mappings, lists, texts, numbers and nothing else, in a form that YAML 1.1 and 1.2 read
alike: every text is quoted, or a literal block where it has several lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

__all__ = ["yaml_text"]


def yaml_text(value: Mapping[str, object]) -> str:
    r"""Return a mapping as a YAML document.

    >>> print(yaml_text({"tier": 3, "authors": ["Ada"], "delta": 1e-06, "notes": "one\ntwo"}))
    tier: 3
    authors:
      - "Ada"
    delta: 1.0e-06
    notes: |-
      one
      two
    <BLANKLINE>
    """
    return "\n".join(_mapping(value)) + "\n"


def _mapping(value: Mapping[str, object]) -> Iterator[str]:
    for name, part in value.items():
        if isinstance(part, Mapping):
            yield f"{name}:" if part else f"{name}: {{}}"
            yield from _inside(_mapping(part))
        elif isinstance(part, (list, tuple)):
            yield f"{name}:" if part else f"{name}: []"
            yield from _inside(f"- {_scalar(one)}" for one in part)
        elif isinstance(part, str) and _is_block(part):
            yield f"{name}: |-"
            yield from _inside(part.split("\n"))
        else:
            yield f"{name}: {_scalar(part)}"


def _inside(lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    return (f"  {line}" if line else "" for line in lines)


def _is_block(text: str) -> bool:
    """Return whether a text can stand as it is, line by line."""
    lines = text.split("\n")
    plain = all(line.isprintable() and line == line.rstrip() for line in lines)
    return len(lines) > 1 and plain and bool(lines[-1]) and text[:1] not in ("", " ", "\n")


def _scalar(value: object) -> str:
    r"""Write a text or a number.

    >>> _scalar('a "b"'), _scalar(1e-06), _scalar(0.5)
    ('"a \\"b\\""', '1.0e-06', '0.5')
    """
    if isinstance(value, float):
        head, exponent, tail = repr(value).partition("e")
        return f"{head}{exponent}{tail}" if "." in head or not exponent else f"{head}.0e{tail}"
    if isinstance(value, int):
        return str(value)
    return f'"{"".join(map(_character, str(value)))}"'


def _character(one: str) -> str:
    if one in '"\\':
        return f"\\{one}"
    return one if one.isprintable() else f"\\U{ord(one):08x}"
