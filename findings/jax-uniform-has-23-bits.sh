#!/usr/bin/env bash
# jax 0.10.2 and numpy 2.4.6 (Python 3.11, CPU): the steps of uniform numbers in float32, which
# decide what `uniform < rate` selects at small rates.
#
# Guess: 2^-24 in both, as the significand of a float32 has 24 bits.
# Seen:  2^-23 in jax, 2^-24 in numpy.
# So no rate below 1.2e-7 can be had by a comparison in jax: a row is selected at least so often.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat >"$folder/seen.py" <<'PY'
import secrets

import jax
import numpy as np

SIZE, BATCHES = 10_000_000, 10


def report(name, draw):
    exponent = 0
    for _ in range(BATCHES):
        numbers = np.asarray(draw(SIZE), dtype=np.float64)
        while np.any(numbers * 2.0**exponent % 1):
            exponent += 1
    print(f"{name}: steps of 2^-{exponent}")


report("jax", lambda n: jax.random.uniform(jax.random.key(secrets.randbits(31)), (n,)))
report("numpy", lambda n: np.random.default_rng().random(n, dtype=np.float32))
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
jax: steps of 2^-23
numpy: steps of 2^-24
SEEN
