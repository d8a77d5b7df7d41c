"""What ``>>`` builds: steps, transformations and measurements, and how they compose."""
