"""Translation only: the command line and the other doors."""
