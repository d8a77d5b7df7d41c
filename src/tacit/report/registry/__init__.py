"""An entry of the public registry of deployments of differential privacy, from a certificate."""
