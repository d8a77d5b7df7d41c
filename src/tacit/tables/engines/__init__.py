"""The engines that the plan runs in, each with the way to open a table there."""
