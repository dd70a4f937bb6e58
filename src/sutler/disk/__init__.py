"""The only code that opens project files."""
