"""Memory: one seam, two databases."""
