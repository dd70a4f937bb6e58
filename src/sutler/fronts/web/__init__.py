"""The report, live: served on loopback to one person's browser."""
