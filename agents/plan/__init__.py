"""Memory of a run by arithmetic, from the shape of its model and its settings alone."""
