"""sutler: a context engine for language models."""
