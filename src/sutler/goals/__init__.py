"""Goals: prompts with parameters, context scripts, files and any model command; and the gather
loop.
"""
