"""Facts of public projects, written down by hand, against what the survey says of them."""
