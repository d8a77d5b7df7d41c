"""Steps from records to numbers: counts, sums, means, variances, histograms."""
