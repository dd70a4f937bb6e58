"""Goals: prompt templates with parameters, context scripts, context files and a model command; and
the gather loop."""
