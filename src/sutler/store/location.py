"""Location of a project's store: SQLite in its private directory, or a shared PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sutler.errors import RefusedError, UsageError
from sutler.store import home

if TYPE_CHECKING:
    from sutler.store.sql import Store

DATABASE = "state.db"
"""Name of the SQLite file in a project's private directory."""


def open_store(root: str, environ: Mapping[str, str]) -> tuple[Store, str, bytes]:
    """Open a project's store; return it with the private directory and the installation's key.
    SQLite by default, PostgreSQL if SUTLER_STORE is a URL."""
    directory, project, own = home.project_folder(root, environ)
    store = connect(root, directory, project, environ)
    try:
        _require_here(store)
    except BaseException:
        store.close()
        raise
    return store, directory, own


def _require_here(store: Store) -> None:
    from sutler.store.rows import moved_to

    if target := moved_to(store.database, store.project):
        raise RefusedError(
            f"the ledger of this project goes on in another store, as {target}",
            rule="a ledger is continued in one place",
            next_step="set SUTLER_STORE to that store, or 'sutler store move' it back",
        )


def connect(root: str, directory: str, project: str, environ: Mapping[str, str]) -> Store:
    url = environ.get("SUTLER_STORE", "")
    if is_url(url):
        from sutler.store.identity import identity_of
        from sutler.store.postgres import open_postgres

        return open_postgres(url, identity_of(root, environ, project))
    if url:
        raise UsageError(
            "SUTLER_STORE is not a PostgreSQL URL",
            next_step="use postgresql://…, or unset it for SQLite",
        )
    from sutler.store.sqlite import open_sqlite

    return open_sqlite(os.path.join(directory, DATABASE), project)


def is_url(text: str) -> bool:
    return text.startswith(("postgresql://", "postgres://"))
