# noqa: INP001 - a script, started by script/generate-docs; part of no package
"""Write the pages of reference that follow from tables of the program: fields, schemas, settings, exit codes.

docs/fields.md and docs/schemas.md are whole pages; in docs/settings.md, docs/directories.md and
docs/guides/exit-codes.md the table between two marks is made. With --check nothing is written; exit code 1
and a line for each page say what is stale.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from msgspec import structs

from reconciler.cli.main import COMMANDS, cli
from reconciler.model.directories import DIRECTORY_SETTINGS
from reconciler.model.kind import Field, Kind
from reconciler.model.kinds import KINDS
from reconciler.model.runs import EXIT_CODE_WORDS
from reconciler.model.setting_description import DescribedSetting, list_settings
from reconciler.model.settings import SETTINGS, WorkspaceRef

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SCHEMAS = ROOT / "schemas"
GUIDE = DOCS / "guides" / "exit-codes.md"
_MADE = "Made by `script/generate-docs` from the program itself; a test holds the two together."

FIELDS = f"""\
# Fields

{_MADE}

Every field of every kind, with its name in [manifests](manifest.md). [Planning](planning.md) says how fields
are compared, [values that are checked](manifest.md#values-that-are-checked) what is checked. A deployment may
have further fields (`fields.contacts` of the [settings](settings.md)) and
[kinds of its own](profiles.md#kinds-of-your-own).

| word | means |
|---|---|
| required | must be set, in the entry or in defaults |
| required to create | must be set to create the entity; an existing one is managed without it |
| secret | never shown; use a variable |
| write-only | cannot be read back; compared with the value that was sent last |
| own | cannot have a default, because each entity has its own value |
| kept | the service keeps it when it is left out, so it cannot be cleared by leaving it out |
"""

SCHEMAS_HEAD = f"""\
# Schemas

{_MADE}

JSON Schema (draft 2020-12) of every file that you write and of everything that a program may read.
`reconciler schema` lists them, `reconciler schema NAME` prints one, and with `--config FILE` it holds the
kinds of your profile too. An editor shows descriptions and mistakes while you type where the first line of
a file is `# yaml-language-server: $schema=PATH`.
"""

ALWAYS = {64, 130}  # whose options can be wrong, and what a signal can stop, need not say so
# What a field of such a type holds, where its row says nothing.
HOLDS = {
    "custom": "[Custom fields](manifest.md#contacts) by name.",
    "channels": "[Channels](manifest.md#contacts): `sms`, `email`, `voice`.",
    "content": "[The content of the file](manifest.md#resources): one of `file`, `text`, `rows`.",
}
# What each schema is of, in the order in which people need them; all others are what commands print.
READ = ("manifest", "settings", "profile", "message")
WRITTEN = ("plan", "run", "event", "log", "reply")


def fields_page() -> str:
    """Return docs/fields.md."""
    return "\n".join([FIELDS, *(part for kind in KINDS.values() for part in _kind(kind))])


def _kind(kind: Kind) -> Iterator[str]:
    yield f"## {kind.title}\n\n{kind.about}\n"
    how = "all together" if kind.together else "in order of preference"
    names = ", ".join(f"`{name}`" for name in kind.identity)
    yield f"Under `{kind.plural}:`; recognized by {names}{f' ({how})' if len(kind.identity) > 1 else ''}.\n"
    yield "| field | type | holds | rules |\n|---|---|---|---|"
    yield from (_field(kind, one) for one in kind.fields if not one.server_owned)
    alone = ", ".join(f"`{one.name}`" for one in kind.fields if one.server_owned)
    yield f"\nWritten by the service alone: {alone}.\n"


def _field(kind: Kind, field: Field) -> str:
    to_create = field.name in kind.needed_to_create
    said = {
        "required": field.required and not to_create,
        "required to create": to_create,
        "secret": field.secret,
        "write-only": field.write_only,
        "own": field.own,
        "kept": field.sticky,
    }
    words = sorted(set(field.words.values())) if field.words else []
    about = [field.about or HOLDS.get(field.type, "")]
    about += [f"One of {', '.join(f'`{word}`' for word in words)}."] if words else []
    about += [f"Absent: `{_plain(field.absent)}`."] if field.absent != "" else []
    cells = [f"`{field.name}`", field.type, " ".join(about), ", ".join(word for word in said if said[word])]
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def schemas_page() -> str:
    """Return docs/schemas.md."""
    parts = [SCHEMAS_HEAD, "## Files that you write\n"]
    parts += [part for name in READ for part in _schema(name)]
    parts.append("## Files and lines that the program writes\n")
    parts += [part for name in WRITTEN for part in _schema(name)]
    parts.append("## What commands print with `--format json`\n")
    parts.append("Every document has `version`, `outcome` and `exit_code`.\n")
    parts.append("| schema | what it is | holds |\n|---|---|---|")
    for path in sorted((SCHEMAS / "output").glob("*.schema.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        parts.append(f"| {_link(f'output/{_stem(path)}')} | {schema['title']} | {_keys(schema)} |")
    return "\n".join(parts) + "\n"


def _schema(name: str) -> Iterator[str]:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    about = schema.get("description", "")
    yield f"### {schema['title']}\n\n{_link(name)}{f': {about}' if about else ''}\n"
    rows = [(key, _resolved(schema, part)) for key, part in schema.get("properties", {}).items()]
    if rows:
        needed = schema.get("required", ())
        yield "| key | holds |\n|---|---|"
        for key, part in rows:
            said = part.get("description") or part.get("title") or "see the schema"
            yield f"| `{key}`{' (required)' if key in needed else ''} | {_cell(said)} |"
        yield ""


def _resolved(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Return a part with what it refers to within its own file; what it says itself goes first."""
    file, _, steps = str(part.get("$ref", "")).partition("#/")
    found = schema if steps and not file else {}
    for step in steps.split("/") if found else ():
        found = found[step]
    return {**found, **part}


def _cell(text: str) -> str:
    return text.replace("|", "&#124;").replace("\n", " ").replace("<", "&lt;")


def _keys(schema: dict[str, Any]) -> str:
    forms = schema.get("oneOf") or schema.get("anyOf") or [schema]
    names = dict.fromkeys(key for form in forms for key in form.get("properties", {}))
    own = [f"`{name}`" for name in names if name not in {"version", "outcome", "exit_code"}]
    return ", ".join(own) or "see the schema"


def _link(name: str) -> str:
    return f"[`{name}`](../schemas/{name}.schema.json)"


def _stem(path: Path) -> str:
    return path.name.removesuffix(".schema.json")


def exit_codes() -> str:
    """Return the table of exit codes: the word of each, and which commands say that they end so."""
    by_code: dict[int, list[str]] = {code: [] for code in EXIT_CODE_WORDS}
    for words, command in _commands():
        for code in _codes_of(command.help or ""):
            by_code[code].append(f"`{words}`")
    rows = [
        f"| [{code}](#{code}-{word.replace(' ', '-')}) | `{word}` | {_some(code, by_code[code])} |"
        for code, word in sorted(EXIT_CODE_WORDS.items())
    ]
    return "\n".join(["| code | outcome | commands |", "|---|---|---|", *rows, ""])


def _some(code: int, commands: list[str]) -> str:
    return "all" if code in ALWAYS or len(commands) >= len(COMMANDS) else ", ".join(commands)


def _commands() -> Iterator[tuple[str, click.Command]]:
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None  # noqa: S101 - the table names it
        below = command.commands if isinstance(command, click.Group) else {}
        if not below:
            yield name, command
        yield from ((f"{name} {word}", one) for word, one in below.items())


def _codes_of(text: str) -> list[int]:
    said = re.search(r"Exit codes:(.*?)(?:\n\s*\n|\Z)", text, re.DOTALL)
    pieces = re.split(r"[,;]", " ".join(said[1].split())) if said else []
    return [int(found[1]) for piece in pieces if (found := re.match(r"\s*(\d+)\b", piece))]


def settings_table() -> str:
    """Return the table of all settings but those of directories, in the order of `reconciler config`."""
    rows = {one.path: one for one in list_settings(WorkspaceRef, "workspaces.ALIAS.")}
    service = [path for path in SETTINGS if path.startswith("service.")]
    after = list(SETTINGS).index(service[-1]) + 1
    ordered = [*SETTINGS.values()]
    return _settings_rows([*ordered[:after], *rows.values(), *ordered[after:]])


def directories_table() -> str:
    """Return the table of the settings of a directory, named as below `directories.NAME`."""
    rows = _settings_rows(
        [
            structs.replace(one, path=f"{form}.{one.path}")
            for form, settings in DIRECTORY_SETTINGS.items()
            for one in settings
        ]
    )
    return rows.replace("](#", "](settings.md#")  # descriptions link to sections of the page of settings


def _settings_rows(settings: list[DescribedSetting]) -> str:
    rows = [f"| {' | '.join(cell.replace('|', '&#124;') for cell in _setting(one))} |" for one in settings]
    return "\n".join(["| setting | values | default | meaning |", "|---|---|---|---|", *rows, ""])


def _setting(one: DescribedSetting) -> tuple[str, str, str, str]:
    default = one.written_default
    words = ", ".join(map(str, default)) if isinstance(default, list) else str(default or "")
    about = f"{_escaped(one.setting.about)} {one.setting.more}".rstrip()
    return f"`{one.path}`", one.form.values, f"`{words}`" if words else "", about


def _escaped(text: str) -> str:
    """Return plain text as Markdown; what stands between backticks is code in both."""
    parts = text.split("`")
    return "`".join(
        re.sub(r"([*_<])", r"\\\1", part) if at % 2 == 0 else part for at, part in enumerate(parts)
    )


def _between_marks(page: str, name: str, made: str) -> str:
    marks = re.compile(f"(<!-- {name}: .*? -->\\n).*?(<!-- end of {name} -->)", re.DOTALL)
    return marks.sub(lambda found: f"{found[1]}\n{made}\n{found[2]}", page)


def main(arguments: list[str]) -> int:
    """Write the pages, or look which are stale; return the exit code."""
    tables = {
        GUIDE: ("exit codes", exit_codes()),
        DOCS / "settings.md": ("settings", settings_table()),
        DOCS / "directories.md": ("directories", directories_table()),
    }
    pages = {
        DOCS / "fields.md": fields_page(),
        DOCS / "schemas.md": schemas_page(),
        **{page: _between_marks(page.read_text("utf-8"), *table) for page, table in tables.items()},
    }
    stale = [path for path, text in pages.items() if path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            sys.stderr.write(f"{path.name} is stale.\n  next: script/generate-docs\n")
        return 1 if stale else 0
    for path in stale:
        path.write_text(pages[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
