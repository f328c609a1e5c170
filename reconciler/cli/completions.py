"""What a shell may offer for an option or an argument: files, environments, workspaces, addresses, codes.

Read offline from the settings and manifests that are there; no secret is read. Whatever cannot be read offers
nothing: a prompt is no place for an error. A name that a shell might take for anything but a word is not
offered, for a checkout may be anybody's.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from reconciler.errors import ReconcilerError
from reconciler.manifest.entries import iterate_entries, top_level_kinds
from reconciler.manifest.sources import ManifestFile, find_manifests, read_manifest
from reconciler.model import address
from reconciler.model.codes import CODES
from reconciler.parsing.tree import read_tree
from reconciler.schema import shipped
from reconciler.settings.layers import read_layers
from reconciler.settings.reader import read_settings, working_folder

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@-]{0,299}", re.ASCII)
_BYTES_MAX = 2 * 1024 * 1024  # of all manifests together: about a second; beyond it nothing is offered
_SHOWN_MAX = 500  # words; a shell asks before it shows as many


def complete_files(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Leave it to the shell, which knows files."""
    return [CompletionItem(incomplete, type="file")]


def complete_folders(
    _ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Leave it to the shell, which knows folders."""
    return [CompletionItem(incomplete, type="dir")]


def complete_environments(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the sections of `environments:` in the settings."""
    return _offer_words(_read_section_names(ctx, "environments"), incomplete)


def complete_workspaces(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the aliases of workspaces in the settings."""
    return _offer_words(("default", *_read_section_names(ctx, "workspaces")), incomplete)


def complete_schema_names(
    _ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of the shipped schemas."""
    return _offer_words(shipped.list_schema_names(), incomplete)


def complete_addresses(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the addresses that YAML and JSON manifests declare; rows of rosters are not read."""
    try:
        return _offer_words(_iterate_declared(ctx), incomplete)
    except (ReconcilerError, OSError):
        return []


def complete_topics(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return what `explain` knows: addresses, and codes once a word begins like one."""
    # Unasked, a hundred codes would hide the few addresses.
    codes = _offer_words(CODES, incomplete.upper()) if incomplete else []
    return [*complete_addresses(ctx, parameter, incomplete), *codes]


def _read_section_names(ctx: click.Context, name: str) -> Iterable[str]:
    try:
        layers = read_layers(
            config=ctx.params.get("config"), environment=None, cwd=working_folder(), environ=os.environ
        )
    except (ReconcilerError, OSError):
        return ()
    return tuple(layers.written.get(name, {}))


def _iterate_declared(ctx: click.Context) -> Iterator[str]:
    given = ctx.params
    settings = read_settings(
        config=given.get("config"),
        environment=given.get("environment"),
        cwd=working_folder(),
        environ=os.environ,
        service=False,
    ).settings
    root = Path(settings.root)
    found, _ = find_manifests([Path(one) for one in settings.manifests], root.resolve())
    if sum(one.path.stat().st_size for one in found) <= _BYTES_MAX:
        for one in found:
            yield from _iterate_file_addresses(one)


def _iterate_file_addresses(file: ManifestFile) -> Iterator[str]:
    data = read_manifest(file)
    tree = read_tree(data, file.name) if isinstance(data, bytes) else None
    # What has mistakes may have another shape; `validate` says which.
    if tree is None or tree.problems or not isinstance(workspace := tree.value.get("workspace"), str):
        return
    for kind in top_level_kinds().values():
        section = tree.value.get(kind.plural, {})
        if isinstance(section, dict) and all(isinstance(body, dict) for body in section.values()):
            for one in iterate_entries(tree.value, kind):
                yield address.make_address(one.kind.name, workspace, one.name, parent=one.parent)


def _offer_words(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    fitting = (word for word in words if word.startswith(incomplete) and _WORD.fullmatch(word))
    return [CompletionItem(word) for word in sorted({*fitting})[:_SHOWN_MAX]]
