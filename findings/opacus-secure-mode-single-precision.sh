#!/usr/bin/env bash
# opacus 1.6.0, torch 2.13.0 (Python 3.11, CPU): noise of `secure_mode`, which adds four normal
# numbers so that the low bits of a float say nothing of what the noise was added to.
#
# Guess: for float32, as for float64, sums near 0 of noise and 0 and of noise and 1 have the same
#        low bits but for a share that no one can observe.
# Seen:  one sum in twenty with 0 is near 0 and no multiple of 2^-24; none of 10,000,000 with 1 is
#        (without secure_mode: one in eight, and none).
# So the sum of four draws is long enough for the 53 bits of float64, not for the 24 bits of
# float32, in which models are trained.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 opacus==1.6.0
cat >"$folder/seen.py" <<'PY'
import torch
from opacus.optimizers.optimizer import _generate_noise

generator = torch.Generator()
generator.seed()
SIZE, BATCHES = 2_000_000, 5


def share(value, secure):
    found = 0
    for _ in range(BATCHES):
        shape = torch.zeros(SIZE)
        sums = value + _generate_noise(2.0, shape, generator=generator, secure_mode=secure)
        steps = sums.double() * 2**24
        found += int(((sums.abs() < 0.5) & (steps != steps.floor())).sum())
    return f"{found / (SIZE * BATCHES):.2f}" if found else "none"


for secure in (True, False):
    print(f"secure_mode={secure}: with 0 {share(0.0, secure)}, with 1 {share(1.0, secure)}")
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
secure_mode=True: with 0 0.05, with 1 none
secure_mode=False: with 0 0.13, with 1 none
SEEN
