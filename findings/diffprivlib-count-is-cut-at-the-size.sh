#!/usr/bin/env bash
# diffprivlib 0.6.6 (Python 3.11): the spread of tools.count_nonzero at epsilon 1.
#
# Guess: 1.36, the standard deviation of two-sided geometric noise, whatever the data.
# Seen:  about 0.86 where all 1,000 values are nonzero, 1.36 where half of them are.  The answer
#        is cut to 0..n, since the size n of the array is public in this library.
# A benchmark that counts a column of ones therefore shows noise that a user's count does not have.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  diffprivlib==0.6.6 scikit-learn==1.5.2 numpy==2.4.6 scipy==1.17.1
cat >"$folder/seen.py" <<'PY'
import numpy as np
from diffprivlib import tools

for name, values in (("all nonzero", np.ones(1000)), ("half nonzero", np.arange(1000) % 2)):
    answers = [tools.count_nonzero(values, epsilon=1.0) for _ in range(20_000)]
    print(f"{name}: deviation {np.std(answers):.1f}, above n: {max(answers) > 1000}")
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
all nonzero: deviation 0.9, above n: False
half nonzero: deviation 1.4, above n: False
SEEN
