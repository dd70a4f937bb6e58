"""A platform without what the kernel of Linux offers, for a whole run of the fast tests."""
