"""Fronts: the command line and the other interfaces. They translate only."""
