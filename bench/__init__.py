"""Measurements against peers and against ground truth; nothing in the test suite depends on these."""
