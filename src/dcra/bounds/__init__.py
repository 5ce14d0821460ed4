"""Lower bounds: by duality of the losses, and by the semidefinite relaxation of quadratics."""
