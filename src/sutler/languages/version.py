"""The version of everything that facts follow from: a digest of sources, so that no number is
raised by hand."""

from __future__ import annotations

from functools import cache


@cache
def source_version(package: str, *modules: str) -> int:
    """A number that changes whenever these modules of a package change; all of its modules if none
    is named."""
    import pkgutil
    from hashlib import sha256
    from importlib import import_module

    names = modules or sorted(
        info.name for info in pkgutil.iter_modules(import_module(package).__path__)
    )
    digest = sha256()
    for name in names:
        # A source edited in place has the old bytecode only until it is imported: the source
        # decides.
        digest.update(b"%s\0%s\0" % (name.encode(), pkgutil.get_data(package, f"{name}.py") or b""))
    return int.from_bytes(digest.digest()[:6], "big")


def facts_version() -> int:
    """The version of the facts that `extract` yields: cached facts of another version are stale."""
    return source_version("sutler.languages")
