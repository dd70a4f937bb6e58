"""Redaction: the only maker of CleanText.

`redact` looks at the whole text before anything is cut, replaces the secret part of a line by a
typed marker and leaves every line where it was. The marker names the rule and carries a tag keyed
per installation: the same secret has the same tag, and neither the tag nor anything else tells its
length or lets a guess be checked without the key."""
