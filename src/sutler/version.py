"""The version, stated in this place only."""

VERSION = "0.1.0"
