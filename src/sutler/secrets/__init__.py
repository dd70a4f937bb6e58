"""Redaction: the only maker of CleanText.

`redact` searches the whole text before anything is cut, replaces the secret part of a line by a
typed marker and keeps every line in its place. The marker names the rule and carries a tag that is
keyed per installation: equal secrets have equal tags, and without the key nothing reveals a
secret's length or confirms a guess."""
