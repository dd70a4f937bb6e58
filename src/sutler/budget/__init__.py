"""Fitting of a pack under a ceiling: claims, the ladder of levels, and the choice of parts."""
