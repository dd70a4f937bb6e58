"""The command line: one module per family of commands, imported when it is called."""
