#!/usr/bin/env bash
# mypy 2.4.1 with attrs 26.1.0 (Python 3.11): a field whose converter is attrs.Converter(...,
# takes_field=True), the documented way for a converter to know the name of its field.
#
# Guess: the argument of the constructor has the type of the converter's first parameter, as it has
#        with a plain function.
# Seen:  mypy calls the converter unsupported, and types the argument as Any; a plain function is
#        read.  So a converter that says in its error which field was wrong costs the types of the
#        constructor, or a function for each name of a field.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mypy==2.4.1 attrs==26.1.0
cat >"$folder/seen.py" <<'PY'
from fractions import Fraction
from typing import Any

import attrs


def named(value: int | str, field: "attrs.Attribute[Any]") -> Fraction:
    try:
        return Fraction(value)
    except ValueError:
        raise ValueError(f"{field.name} is no number") from None


def plain(value: int | str) -> Fraction:
    return Fraction(value)


@attrs.frozen
class Noise:
    scale: Fraction = attrs.field(converter=attrs.Converter(named, takes_field=True))
    shift: Fraction = attrs.field(converter=plain)


reveal_type(Noise.__init__)
PY
cd "$folder"
{ venv/bin/mypy --strict --no-error-summary seen.py || true; } | tee seen.txt
diff - seen.txt <<'SEEN'
seen.py:20: error: Unsupported converter, only named functions, types and lambdas are currently supported  [misc]
seen.py:24: note: Revealed type is "def (self: seen.Noise, scale: Any, shift: int | str)"
SEEN
