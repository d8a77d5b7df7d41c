#!/bin/bash
# Flower (flwr) 1.42.0: the noise of its local mod (`LocalDpMod(clipping_norm, sensitivity, epsilon,
# delta)`) is that of the textbook formula, whose proof ends at epsilon 1, for any epsilon.
#
# Guess: an exact calibration beyond 1, or a refusal, as by diffprivlib's Gaussian mechanism.
# Seen: the deviation is sensitivity sqrt(2 ln(1.25 / delta)) / epsilon at epsilon 1, 10, 20 and 50,
# without a warning.  The exact delta of that noise at the epsilon and delta of 1e-5 that were asked
# for: 4e-8, 2.3e-5, 1.5e-3 and .59.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q flwr==1.42.0 scipy==1.17.1
"$folder/venv/bin/python" - <<'PY'
import math

import numpy as np
from flwr.compat.common.parameter import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.supercore.differential_privacy import add_localdp_gaussian_noise_to_params
from scipy.stats import norm


def exact(epsilon, deviation):  # of sensitivity 1 (Balle and Wang 2018)
    a, b = 1 / (2 * deviation), epsilon * deviation
    return norm.cdf(a - b) - math.exp(epsilon + norm.logcdf(-a - b))


zeros = ndarrays_to_parameters([np.zeros(400_000)])
for epsilon, least, most in ((1, 3e-8, 5e-8), (10, 2e-5, 3e-5), (20, 1e-3, 2e-3), (50, 0.58, 0.6)):
    noisy = add_localdp_gaussian_noise_to_params(zeros, 1.0, epsilon, 1e-5)
    deviation = float(parameters_to_ndarrays(noisy)[0].std())
    formula = math.sqrt(2 * math.log(1.25 / 1e-5)) / epsilon
    delta = exact(epsilon, formula)
    print(f"epsilon {epsilon}: deviation {deviation:.4f}, formula {formula:.4f}, delta {delta:.2g}")
    assert abs(deviation / formula - 1) < 0.01, "changed"
    assert least < delta < most, delta
PY
