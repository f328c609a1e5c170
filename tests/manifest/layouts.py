"""Manifests as people write them: every layout that YAML allows, comments in all places."""

import json
from random import Random
from typing import Any

from reconciler.parsing.tree import read_tree

WORDS = (
    "Jane",
    "no",
    "NO",
    "012",
    "1e3",
    "2024-01-01",
    "12:30",
    "0x1F",
    "0o17",
    ".5",
    "true",
    "True",
    "+61491570156",
    "${env:TOKEN}",
    "$${x}",
    "a: b",
    "a #b",
    "#b",
    "- a",
    "Jane's",
    'say "x"',
    "C:\\x",
    "ünï 🙂",
    "a,b",
    "{a}",
    "[a]",
    "",
    " ",
    "tab\tin",
    "&a",
    "*a",
    "!x",
    "%x",
    "@x",
    "`x",
    "|",
    ">",
    "?",
    "? x",
    "-",
    "=",
    "<<",
    "null",
    "~",
    "two\nlines",
    "end\n",
    "end\n\n",
    " lead\nthen",
    "\n\nx",
    "a\u00a0b",
    "...",
    "---",
    "x" * 200,
)
NAMES = ("jane-doe", "sam-lee", "0010", "no", "on", "e3", "1e3", "a.b")
FIELDS = ("firstName", "lastName", "jobTitle", "timezone", "workMobilePhone1", "workEmailAddress1", "unknown")
META = {
    "tags": "map",
    "ignore": ["word"],
    "protect": "word",
    "renamedFrom": "word",
}
CHANNELS = {
    at: {"primary": "word", "enabled": "word", "secondary": "word"} for at in ("sms", "email", "voice")
}
DEVICE = {"pushToken": "word", "status": "word", "deviceName": "word", "meta": META}
CONTACT = {
    **dict.fromkeys(FIELDS, "word"),
    "custom": "map",
    "messagingOptions": CHANNELS,
    "devices": ("named", DEVICE),
    "meta": META,
}
RESOURCE = {"name": "word", "mimeType": "word", "content": {"rows": ["map"], "text": "word"}}
MANIFEST = {
    "contacts": ("named", CONTACT),
    "resources": ("named", RESOURCE),
    "tags": "map",
    "defaults": {"contacts": dict.fromkeys(FIELDS, "word")},
    "removed": {"contacts": ["word"], "devices": ["word"]},
    "rosters": [{"name": "word", "file": "word", "contacts": dict.fromkeys(FIELDS, "word")}],
}


def made(shape: Any, chance: Random) -> Any:
    """Return a value of a shape: some of its keys, in any order."""
    match shape:
        case "word":
            return chance.choice(WORDS)
        case "map":
            return {name: made("word", chance) for name in chance.sample(NAMES, chance.randint(0, 3))}
        case ("named", inner):
            return {name: made(inner, chance) for name in chance.sample(NAMES, chance.randint(0, 3))}
        case [inner]:
            return [made(inner, chance) for _ in range(chance.randint(0, 3))]
        case _:
            keys = chance.sample([*shape], chance.randint(0, min(5, len(shape))))
            return {key: made(shape[key], chance) for key in keys}


class Layout:
    """One way to write a value down. Every choice is chance's."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._notes = 0

    def _is(self, part: int = 3) -> bool:
        return self._chance.randint(0, part) == 0

    def _note(self) -> str:
        self._notes += 1
        return f"# note {self._notes}{self._chance.choice(['', ': x', ' - {a', chr(39), '  #'])}"

    def above(self, column: int) -> str:
        text = ""
        while self._is():
            at = self._chance.randint(0, column + 3)
            text += self._chance.choice(["\n", "  \n", f"{' ' * at}{self._note()}\n"])
        return text

    def _beside(self) -> str:
        return f"{' ' * self._chance.randint(1, 9)}{self._note()}" if self._is() else ""

    def _scalar(self, value: str, column: int, *, flow: bool, key: bool = False) -> str:
        forms = [json.dumps(value, ensure_ascii=False)] * 2
        if "\n" not in value:
            forms.append("'" + value.replace("'", "''") + "'")
        bare = value.strip() == value and "\n" not in value
        if bare and self._reads(
            f"{{{value}: x}}" if key else f"[{value}]" if flow else f"k: {value}", value, key=key
        ):
            forms += [value] * 3
        if not key and not flow and "\n" in value and value.strip("\n"):
            forms += self._blocks(value, column)
        if not key and " " in value.strip() and self._is():
            first, _, rest = json.dumps(value).partition(" ")
            if rest.strip(' "') and not rest.startswith(" ") and not first.endswith(" "):
                forms += [f"{first}\n{' ' * (column + 3)}{rest}"] * 3
        return self._chance.choice(forms)

    def _reads(self, text: str, value: str, *, key: bool) -> bool:
        tree = read_tree(f"k: {text}".encode() if text[0] in "{[" else text.encode(), "a.yaml")
        wanted = {value: "x"} if key else [value] if text[0] == "[" else value
        return not tree.problems and tree.value == {"k": wanted}

    def _blocks(self, value: str, column: int) -> list[str]:
        stripped = value.rstrip("\n")
        ends = len(value) - len(stripped)
        sign = "-" if not ends else "" if ends == 1 else "+"
        step = self._chance.randint(1, 4)
        digit = str(step) if stripped[0] in " \n" or self._is() else ""
        pad = " " * (column + step)
        lines = "".join(f"{pad}{line}\n" if line else "\n" for line in stripped.split("\n"))
        found = [f"|{digit}{sign}{self._beside()}\n{lines}{chr(10) * max(0, ends - 1)}".rstrip("\n")]
        return found if ends < 2 else [found[0] + "\n" * (ends - 1)]

    def _flow(self, node: Any, column: int, *, lines: bool) -> str:
        if isinstance(node, str):
            return self._scalar(node, column, flow=True)
        pieces = [
            (f"{self._scalar(one, column, flow=True, key=True)}: " if isinstance(node, dict) else "")
            + self._flow(node[one] if isinstance(node, dict) else one, column, lines=lines and self._is(1))
            for one in node
        ]
        start, end = "{}" if isinstance(node, dict) else "[]"
        if not lines:
            return f"{start}{', '.join(pieces)}{end}"
        pad = " " * (column + 1 + self._chance.randint(0, 3))
        text = f"{start}{self._beside()}\n"
        for number, piece in enumerate(pieces, 1):
            comma = "," if number < len(pieces) or self._is() else ""
            text += f"{self.above(column + 1)}{pad}{piece}{comma}{self._beside()}\n"
        return f"{text}{self.above(column + 1)}{pad}{end}"

    def node(self, node: Any, column: int, above: int) -> str:
        """Return a value as it stands behind a key or a dash, line end included. `above`: their column."""
        if isinstance(node, str):
            text = self._scalar(node, above, flow=False)
            return f"{text}{'' if text[0] == '|' else self._beside()}\n"
        if not node or self._is(4):
            return f"{self._flow(node, column, lines=self._is(1))}{self._beside()}\n"
        return f"{self._beside()}\n{self.block(node, column)}"

    def block(self, node: Any, column: int) -> str:
        """Return the lines of a container with something in it."""
        pad = " " * column
        text = ""
        for one in node:
            text += self.above(column)
            deeper = column + self._chance.randint(1, 4)
            if isinstance(node, dict):
                seq = isinstance(node[one], list) and self._is(1)
                key = self._scalar(one, column, flow=False, key=True)
                text += f"{pad}{key}: {self.node(node[one], column if seq else deeper, column)}"
            elif isinstance(one, dict) and one and self._is(1):
                text += f"{pad}- {self.block(one, column + 2).lstrip(' ')}"
            else:
                text += f"{pad}- {self.node(one, deeper, column)}"
        return text


def manifest(seed: int) -> bytes:
    """Return a manifest, nearly always one that can be read."""
    chance = Random(seed)
    layout = Layout(chance)
    value = {"version": "1", "workspace": "ops", **made(MANIFEST, chance)}
    keys = chance.sample([*value], len(value))
    text = layout.above(0) + chance.choice(["", "", "---\n", "--- # start\n"])
    text += layout.block({key: value[key] for key in keys}, 0) + layout.above(0)
    if chance.random() < 0.5 and not text.endswith("\n\n"):
        text = text.removesuffix("\n")
    text = text.replace("\n", chance.choice(["\n", "\n", "\r\n"]))
    return text.encode(chance.choice(["utf-8", "utf-8", "utf-8-sig"]))
