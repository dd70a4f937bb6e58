"""Tera 1.x templates: parser, evaluator and built-ins, with no way from a template to Python objects."""
