"""What only some need, and is installed apart: the extras of the package, and the error where one is missing.

Belongs here: the table, and whether an extra is there. Not here: importing it, which its users do after
`require`. `pyproject.toml` says which packages an extra installs; a test holds both against each other.
"""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import NamedTuple

from reconciler.errors import MissingExtra


class Extra(NamedTuple):
    """What an extra installs that this program imports: packages as they are published, modules as imported.

    `use` says what it is for, as the subject of a sentence.
    """

    use: str
    packages: tuple[str, ...]
    modules: tuple[str, ...]


EXTRAS: Mapping[str, Extra] = {
    "encryption": Extra("encrypting or decrypting a plan", ("pyrage",), ("pyrage",)),
    "fast": Extra("a faster event loop", ("uvloop",), ("uvloop",)),
    "ldap": Extra("asking a directory over LDAP", ("ldap3",), ("ldap3",)),
    "otel": Extra(
        "sending traces and metrics",
        ("opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk"),
        ("opentelemetry.exporter.otlp.proto.http", "opentelemetry.sdk"),
    ),
    "postgres": Extra("a store or a roster on a PostgreSQL server", ("psycopg",), ("psycopg",)),
    "sandbox": Extra(
        "serving the sandbox or receiving callbacks", ("starlette", "uvicorn"), ("starlette", "uvicorn")
    ),
    "xlsx": Extra("reading a spreadsheet", ("python-calamine",), ("python_calamine",)),
}


def require(name: str) -> None:
    """Do nothing where this extra is installed, so that it can be imported. Raises MissingExtra."""
    if not is_installed(name):
        raise MissingExtra(
            f"{EXTRAS[name].use} needs the extra {name}, which is not installed.", next=install_hint(name)
        )


def is_installed(name: str) -> bool:
    """Whether every module of this extra is found. Imports none of them, at most a package above one."""
    try:
        return all(find_spec(module) is not None for module in EXTRAS[name].modules)
    except ModuleNotFoundError:  # the package above it
        return False


def install_hint(*names: str) -> str:
    """Return the command that installs these extras."""
    return f"pip install 'reconciler[{','.join(names)}]'"


def versions(name: str) -> tuple[str, ...]:
    """Return the packages of an extra with their versions, as far as they are there."""
    found = []
    for package in EXTRAS[name].packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return tuple(found)
