"""What works on any measurement: calibration, accuracy, adaptive composition, sampling."""
