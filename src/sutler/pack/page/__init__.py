"""The report page: a pack as rows, and the rows as one HTML file."""
