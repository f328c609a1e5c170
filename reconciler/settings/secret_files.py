"""Which files no manifest may name: what the settings and the environment use for secrets and the store.

Of every environment's section, not only of the one that a run works with: a manifest that is merged for one
is applied in all of them. Only paths belong here; `files/project_files.py` compares them on the disk.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reconciler import database_urls
from reconciler.settings.values import OF_DIRECTORIES, REFERENCES, Layers

_OPTIONS = ("passfile", "sslkey")  # of a store's URL
_VARIABLES = ("RECONCILER_IDENTITY", "PGPASSFILE", "PGSSLKEY")


def private_files(layers: Layers, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths, each once; relative ones begin at the folder of the settings."""
    found = [str(layers.file)]
    sections = layers.written.get("environments", {})
    for section in (layers.written, *sections.values()):
        found += _of_secrets(section)
        found += _of_store(section.get("store", ""))
        found += _of_directories(section)
        found += section.get("secrets", {}).get("files", ())
    found += _of_store(layers.values["store",].raw)
    found += layers.values["secrets", "files"].raw
    found += [environ[name] for name in _VARIABLES if environ.get(name)]
    return tuple(dict.fromkeys(str(layers.root / Path(path)) for path in found))


def _of_secrets(section: Mapping[str, Any]) -> Iterator[str]:
    for name in REFERENCES:
        written: Any = section
        for step in name.split("."):
            written = written.get(step, {})
        if isinstance(written, dict) and "file" in written:
            yield written["file"]


def _of_directories(section: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files of their secrets, and databases that are files: what is not asked for is not told."""
    for described in section.get("directories", {}).values():
        for kind, key in (*OF_DIRECTORIES, ("sql", "url")):
            written = described.get(kind, {}).get(key, "")
            if isinstance(written, dict) and "file" in written:
                yield written["file"]
            elif key == "url" and isinstance(written, str):
                yield from _of_store(written)


def _of_store(url: str) -> Iterator[str]:
    path = database_urls.sqlite_path(url)
    if path is not None:
        yield from (path + end for end in database_urls.STORE_FILE_ENDINGS)
    elif url.startswith(database_urls.POSTGRESQL):
        try:
            options = database_urls.parse_server_url(url).options
        except database_urls.UnusableUrl:  # of another environment: a run with it says so
            return
        yield from (options[name] for name in _OPTIONS if name in options)
