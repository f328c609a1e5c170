"""What only some need, and is installed apart: the extras of the package, and the error where one is missing.

Belongs here: the table, and whether an extra is there. Not here: importing it, which its users do after
`require_extra`. `pyproject.toml` says which packages an extra installs; a test holds both against each other.
"""

import re
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import NamedTuple

from reconciler.errors import MissingExtra

_BEHIND_NAME = re.compile(r"[^A-Za-z0-9._-]")  # what ends the name of a package that is required


class Library(NamedTuple):
    """A package that an extra installs: its requirement for pip, and the module that shows it is there."""

    required: str
    module: str

    @property
    def package(self) -> str:
        """Its name as it is published, without extras and versions."""
        return _BEHIND_NAME.split(self.required, maxsplit=1)[0]


class Extra(NamedTuple):
    """What an extra installs that this program imports.

    `use` says what it is for, as the subject of a sentence.
    """

    use: str
    libraries: tuple[Library, ...]

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages as they are published."""
        return tuple(one.package for one in self.libraries)

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules as they are imported."""
        return tuple(one.module for one in self.libraries)


EXTRAS: Mapping[str, Extra] = {
    "encryption": Extra("encrypting or decrypting a plan", (Library("pyrage>=1.2", "pyrage"),)),
    "fast": Extra("a faster event loop", (Library("uvloop>=0.21; sys_platform != 'win32'", "uvloop"),)),
    "ldap": Extra("asking a directory over LDAP", (Library("ldap3>=2.9", "ldap3"),)),
    "otel": Extra(
        "sending traces and metrics",
        (
            Library("opentelemetry-exporter-otlp-proto-http>=1.30", "opentelemetry.exporter.otlp.proto.http"),
            Library("opentelemetry-sdk>=1.30", "opentelemetry.sdk"),
            Library("requests>=2.31", "requests"),
        ),
    ),
    "postgres": Extra(
        "a store or a roster on a PostgreSQL server", (Library("psycopg[binary]>=3.2", "psycopg"),)
    ),
    "sql": Extra(
        "a roster from a database that is neither SQLite nor PostgreSQL",
        (Library("sqlalchemy>=2.0.40", "sqlalchemy"),),
    ),
}


def require_extra(name: str) -> None:
    """Do nothing where this extra is installed, so that it can be imported. Raises MissingExtra."""
    if not is_extra_installed(name):
        raise MissingExtra(
            f"{EXTRAS[name].use} needs the extra {name}, which is not installed.", next=install_hint(name)
        )


def is_extra_installed(name: str) -> bool:
    """Whether every module of this extra is found. Imports none of them, at most a package above one."""
    return all(map(_is_module_found, EXTRAS[name].modules))


def install_hint(*names: str) -> str:
    """Return the command that installs the libraries of these extras that are missing.

    It names libraries and never this program: whoever has the name of ours on the index that pip asks would
    be installed in its place. It starts the Python that runs, because the command may be in an environment of
    its own; with -P, so that no file of the working directory takes the place of pip.
    """
    libraries = [one for name in names for one in EXTRAS[name].libraries]
    wanted = [one.required for one in libraries if not _is_module_found(one.module)]
    return shlex.join([*_install_command(), *(wanted or [one.required for one in libraries])])


def _install_command() -> tuple[str, ...]:
    """Return the command that installs into the environment of this program."""
    python = sys.executable or "python3"
    if _is_module_found("pip"):
        return python, "-P", "-m", "pip", "install"
    return "uv", "pip", "install", "--python", python  # uv makes environments without pip


def _is_module_found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package above it
        return False


def installed_versions(name: str) -> tuple[str, ...]:
    """Return the packages of an extra with their versions, as far as they are there."""
    found = []
    for package in EXTRAS[name].packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return tuple(found)
