"""The dataset: a Parquet file for each unit and table, and SQL over the files of finished units.

A file is written under a temporary name and renamed, so that readers see only complete files. The
queue decides which files count: a unit is in the dataset if its state in the queue is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from sutler.errors import SutlerError, UsageError
from sutler.fleet.queue import Unit

SCHEMA_VERSION = 1
_UNFINISHED = ".tmp"

_PLACE = {
    "repo": ("string", "name of the repository in the fleet"),
    "tree": ("string", "id of git's tree"),
}
_FILE = _PLACE | {"path": ("string", "path in the repository")}
TABLES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "files": _FILE
    | {
        "blob": ("string", "id of git's blob"),
        "size": ("int64", "bytes"),
        "language": ("string", "language by name and content; empty if unknown"),
        "category": ("string", "category of seed 004: source, test, config …"),
        "lines": ("int64", "lines of text"),
        "status": ("string", "how far a grammar read it: parsed, partial, plain …"),
    },
    "symbols": _FILE
    | {
        "name": ("string", "name of the definition"),
        "kind": ("string", "class, function, method, field, constant, type, module or macro"),
        "start": ("int64", "first line"),
        "end": ("int64", "last line"),
        "signature": ("string", "first line of the definition, redacted"),
    },
    "imports": _FILE
    | {
        "text": ("string", "the import as written"),
        "line": ("int64", "its line"),
        "targets": ("string", "modules or files it names, with spaces between"),
    },
    "findings": _FILE
    | {
        "rule": ("string", "rule that matched"),
        "line": ("int64", "line of the secret; the value is never kept"),
        "confidence": ("double", "0 to 1"),
    },
    "surveys": _PLACE
    | {
        "project_type": ("string", "kind of the project"),
        "purpose": ("string", "what the project says it is for"),
        "dependencies": ("string", "JSON"),
        "entry_points": ("string", "JSON"),
        "key_files": ("string", "JSON"),
        "hotspots": ("string", "JSON"),
    },
    "packs": _PLACE
    | {
        "files": ("int64", "files shown"),
        "tokens": ("int64", "tokens of the text"),
        "sha256": ("string", "digest of the text"),
        "text": ("string", "the pack"),
    },
    "runs": _PLACE
    | {
        "kind": ("string", "kind of work"),
        "version": ("string", "version of sutler, of its languages and of its secret rules"),
        "policy": ("string", "digest of the settings"),
        "files": ("int64", "files of the tree"),
        "rows": ("int64", "rows that the unit added to other tables"),
    },
}
"""Columns of each table: Arrow type and meaning."""


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise UsageError(
            "the dataset of a fleet needs pyarrow", next_step="run pip install pyarrow duckdb"
        ) from None
    return pyarrow


def path_of(dataset: str, table: str, unit: Unit) -> str:
    # Quoted: a slash in a name must not create another folder.
    folder = f"repo={quote(unit.repo, safe='')}"
    return os.path.join(dataset, table, folder, f"{unit.key}.parquet")


def write(dataset: str, unit: Unit, rows: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """Write the rows of a unit; return the tables that have any."""
    arrow = _arrow()
    from pyarrow import parquet

    names = [table for table in TABLES if rows.get(table)]
    for table in names:
        schema = arrow.schema([(name, kind) for name, (kind, _) in TABLES[table].items()])
        path = path_of(dataset, table, unit)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{os.getpid()}{_UNFINISHED}"
        try:
            parquet.write_table(
                arrow.Table.from_pylist(rows[table], schema=schema), temporary, compression="zstd"
            )
            with open(temporary, "rb") as stream:
                os.fsync(stream.fileno())
            os.replace(temporary, path)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)
    return names


def remove(dataset: str, unit: Unit) -> None:
    """Delete the files of a unit that no longer counts."""
    for table in unit.tables:
        path = path_of(dataset, table, unit)
        if os.path.exists(path):
            os.unlink(path)


def sweep(dataset: str) -> None:
    """Delete files that a writer left unfinished; no unit may be open."""
    for folder, _, names in os.walk(dataset):
        for name in names:
            if name.endswith(_UNFINISHED):
                with suppress(FileNotFoundError):  # another worker sweeps too
                    os.unlink(os.path.join(folder, name))


def query(dataset: str, units: Iterable[Unit], sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run SQL over the finished units; return the column names and the rows. The database can read
    only the files of these tables."""
    try:
        import duckdb
    except ImportError:
        raise UsageError(
            "SQL over a fleet needs duckdb", next_step="run pip install pyarrow duckdb"
        ) from None
    arrow = _arrow()
    connection = duckdb.connect(":memory:")
    try:
        done = list(units)
        for table, columns in TABLES.items():
            files = [path_of(dataset, table, unit) for unit in done if table in unit.tables]
            if files:
                listed = ", ".join("'" + path.replace("'", "''") + "'" for path in files)
                source = f"read_parquet([{listed}], hive_partitioning = false)"
                # No injection: the table is ours and the paths are escaped.
                connection.execute(f"CREATE VIEW {table} AS SELECT * FROM {source}")  # noqa: S608
            else:
                schema = arrow.schema([(name, kind) for name, (kind, _) in columns.items()])
                connection.register(table, schema.empty_table())
        # In this order: the lock makes the other two settings final.
        connection.execute("SET allowed_directories = [?]", [dataset])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        answer = connection.execute(sql)
        names = [column[0] for column in answer.description or ()]
        return names, answer.fetchall()
    except duckdb.Error as error:
        raise SutlerError(
            f"the query failed: {str(error).splitlines()[0][:300]}",
            next_step="see the tables and columns in the dataset's README.md",
        ) from None
    finally:
        connection.close()


def readme() -> str:
    """Render the description of the tables for the dataset's README.md."""
    parts = [
        "# Dataset of a sutler fleet",
        f"Schema version {SCHEMA_VERSION}. Parquet, one folder for each table and repository. "
        "`sutler fleet sql` reads the files of finished units only.",
    ]
    for table, columns in TABLES.items():
        rows = "\n".join(f"| {name} | {kind} | {what} |" for name, (kind, what) in columns.items())
        parts.append(f"## {table}\n\n| column | type | meaning |\n|---|---|---|\n{rows}")
    return "\n\n".join(parts) + "\n"
