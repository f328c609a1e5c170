"""What the scripts of a CI file may run, as a table: everything else is refused, known or not.

A job runs in a checkout, and beside credentials. Most programs read their working directory: Python imports
`json.py` from it, git its hooks and settings, pip a requirements file, node its packages, bash what it is
told to source. So the rule is a list of the forms that are known to be safe, and not of those that are not.
Rules only, over text; test_ci_templates.py holds the files to them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Found = Iterator[str]

# Where a script may keep things: outside of the checkout, made by the script or by the runner for the job.
_PLACE = r'"\$(?:place|RUNNER_TEMP)(?:/[\w-]+(?:\.\w+)?)*"'
_PYTHON = r'(?:python3|"\$place/[\w/]+/python") -I'
_PIP = "(?:--quiet |--disable-pip-version-check )*--only-binary :all: --no-deps --require-hashes"
_COMMANDS = tuple(
    re.compile(form)
    for form in (
        # Our own program: its launcher is not in the checkout, and it imports nothing from there.
        r"(?:exec )?reconciler \w+(?: .*)?",
        # Isolated: neither the working directory, nor PYTHON* variables, nor the user's site-packages.
        rf"{_PYTHON} -(?: .*)?",
        rf"{_PYTHON} -c '[^']*'(?: .*)?",
        rf"{_PYTHON} -m venv {_PLACE}",
        rf"{_PYTHON} -m pip --isolated install {_PIP} -r {_PLACE}",
        rf"{_PYTHON} -m compileall -q {_PLACE}",
        # git in a repository of the script's own; in the checkout it would obey that one's configuration.
        rf"git init --quiet {_PLACE}",
        rf'git -C {_PLACE} fetch --quiet --depth 1 --no-tags "\$PROGRAM" "\$COMMIT"',
        rf"git -C {_PLACE} (?:-c advice\.detachedHead=false )?(?:checkout --quiet FETCH_HEAD|rev-parse HEAD)",
        rf"cd -- {_PLACE}",
        r"set -(?:[eu]+(?:o pipefail)?|f)",
        r"umask 077",
        r"mktemp -d",
        r'cp -R -P -- "proposed/\$folder" "\$folder"',
        rf'cp -- "\$AGE_IDENTITY" {_PLACE}',
        # With -v, -p or an index bash reads a name as an expression, and runs the commands within it.
        r"(?:test|\[|printf|rm|mkdir|chmod|unset|wait)(?! -[vpR])(?!.* -[vpR] )(?!.*'[^']*\[[^']*\$)(?: .*)?",
        r"(?:echo|kill|exit)(?: .*)?",
    )
)
_VARIABLES = re.compile(
    r"RECONCILER_[A-Z_]+|DATA|RECIPIENTS|PROGRAM|COMMIT|AGE_IDENTITY|GH_TOKEN|COUNTS|JOB|TITLE|NEXT"
    r"|AUTHOR|COMMENT|SAID|RESULT"
    r"|ALLOW_(?:DELETES|CREATES|UPDATES|FEWER_ROWS|MOVES)|CONFIRM_SAME|CREATE_AGAIN|REACTIVATE|SAME_SERVICE"
    r"|(?:CALLBACK|DEVICE)_[A-Z0-9_]+"  # what the settings that `init` writes let a manifest read
)
_ACTIONS = re.compile(
    r"\./\.github/actions/[\w-]+|actions/(?:checkout|upload-artifact|download-artifact)@[0-9a-f]{40}"
)
_STEP = {"name", "id", "if", "uses", "with", "env", "run", "shell"}
_JOB = {
    *("if", "needs", "runs-on", "timeout-minutes", "environment", "permissions", "concurrency"),
    *("outputs", "env", "steps"),
}
_LAB_JOB = {
    *("stage", "extends", "rules", "needs", "interruptible", "timeout", "resource_group", "variables"),
    *("environment", "artifacts", "allow_failure", "before_script", "script", "after_script", "image"),
}
_LAB_PARTS = {
    "artifacts": {"paths", "expire_in", "access"},
    "environment": {"name", "action"},
}
_LAB_TOP = {"stages", "workflow", "default", "variables"}
_LAB_SETTINGS = {
    ("GIT_SUBMODULE_STRATEGY", "none"),
    ("FF_DISABLE_UMASK_FOR_DOCKER_EXECUTOR", "true"),
    ("FF_DISABLE_UMASK_FOR_KUBERNETES_EXECUTOR", "true"),
}
_LAB_WORDS = {"image", "cache", "include", "hooks", "pages", "spec"}

_HEREDOC = re.compile(r"<<'(?P<end>\w+)'(?P<rest>[^\n]*)\n(?P<text>.*?)^(?P=end)$", re.MULTILINE | re.DOTALL)
_TOKEN = re.compile(
    r"(?P<space>(?:[ \t]|\\\n)+|(?<![^\s;(])\#[^\n]*)"
    r"|(?P<list>\w+\+?=\([^()`]*\))"
    r"|(?P<redirect>\d?(?:>>|>|<)&?)"
    r"|(?P<end>\n|;|&&|\|\||\||&|\(|\))"
    r"""|(?P<word>(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s;&|<>()'"\\])+)"""
    r"|(?P<unknown>.)",
    re.DOTALL,
)
_OPENING = {"if", "then", "elif", "else", "do", "while", "until", "!", "{"}
_CLOSING = {"done", "fi", "}"}
_WITHIN = re.compile(r"(?<!\\)(?:`|\$\(|\$\{\w+@)")
# What a report needs. Others load code or settings from files (pickle, site, ctypes, logging.config ...).
# `urllib.request` asks an address of the job for what it says, and loads no code.
_MODULES = {"collections", "json", "os", "sys", "sysconfig", "urllib.request"}
_IMPORT = re.compile(r"\b(?:import +(?P<names>[\w., ]+)|from +(?P<source>[\w.]+) +import)\b")
_REACHES_OUT = re.compile(
    r"subprocess|popen|\bsystem\b|exec|\beval\b|spawn|runpy|importlib|__|\bpath\b|attr\b|\bos\.(?!environ\b)|\bvars\b|compile"
)


# The words by which a person agrees to something, and the one form in which a script may hand them on: each
# as the value of its own option, from a variable that whoever starts the job has filled in.
_AGREES = re.compile(r"--(?:yes|allow-[\w-]+|confirm-same|create-again|reactivate|same-service)\b")
_HANDED_ON = re.compile(
    r"""for one in \$(?P<name>[A-Z_]+); do """
    r"""agreed(?:\+=\("|="\$agreed )--(?P<option>[a-z-]+)=\$one"\)?; done"""
    r"""|if \[ "\$SAME_SERVICE" = true \]; then agreed(?:\+=\(|="\$agreed )--same-service"?\)?; fi"""
)
CONSENTS = frozenset(
    (
        *("ALLOW_DELETES", "ALLOW_CREATES", "ALLOW_UPDATES", "ALLOW_FEWER_ROWS", "ALLOW_MOVES"),
        *("CONFIRM_SAME", "CREATE_AGAIN", "REACTIVATE", "SAME_SERVICE"),
    )
)


def agrees_in_advance(script: str) -> bool:
    """Whether a script agrees to something by itself, or hands on a word in another form, or to an apply."""
    handed = [*_HANDED_ON.finditer(script)]
    renamed = any(
        one["name"]
        and (one["name"] not in CONSENTS or one["name"].lower().replace("_", "-") != one["option"])
        for one in handed
    )
    only_plans = not handed or not re.search(r"reconciler (?!plan\b)\w+", script)
    return renamed or not only_plans or bool(_AGREES.search(_HANDED_ON.sub("", script)))


def refused(script: str) -> Found:
    """Yield each command of a script that is not in the table, and each form that is not understood."""
    for text in _HEREDOC.finditer(script):
        yield from _reached(text["text"])
    for command, targets in _commands(_HEREDOC.sub(r"\g<rest>\n", script)):
        yield from _refused_command(command)
        yield from (
            f"writes beside the checkout: {one}"
            for one in targets
            if not re.fullmatch(
                rf'{_PLACE}|"\$GITHUB_(?:STEP_SUMMARY|OUTPUT|PATH)"|"\$libraries/reconciler\.pth"|/dev/null',
                one,
            )
        )
        if '"$GITHUB_PATH"' in targets and command != ["echo", '"$place/bin"']:
            yield f"finds programs where nobody looked: {' '.join(command)}"


def _commands(script: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the words of every command, those within `$( )` too, and where its output goes."""
    words: list[str] = []
    targets: list[str] = []
    redirected = False
    for token in _TOKEN.finditer(script):
        match token.lastgroup:
            case "end":
                yield words, targets
                words, targets, redirected = [], [], False
            case "redirect":
                redirected = True
            case "word" if redirected:
                targets.append(token[0])
                redirected = False
            case "word" | "list" | "unknown":
                words.append(token[0])
    yield words, targets


def _refused_command(words: list[str]) -> Found:
    while words and words[0] in _OPENING:
        words = words[1:]
    if any(_WITHIN.search(word) for word in words if not word.startswith("'")):
        yield f"a command within a text: {' '.join(words)}"
    if words[:1] == ["for"] or (words and words[0] in _CLOSING):
        return
    while words and (set_to := re.match(r"(\w+)\+?=", words[0])):
        if not set_to[1].islower() or set_to[1] in {"path", "cdpath", "fpath"}:
            yield f"sets {set_to[1]}"
        words = words[1:]
    if not words or words == ["$"]:
        return
    if words[0] == "trap":
        yield from refused(words[1].strip("'"))
        return
    if not any(form.fullmatch(" ".join(words)) for form in _COMMANDS):
        yield f"runs {' '.join(words)}"
    elif " -I -c " in " ".join(words):
        yield from _reached(" ".join(word for word in words if word.startswith("'")))


def _reached(program: str) -> Found:
    """Yield what a program in Python uses that may run, or load, something else."""
    yield from (f"a program that goes on to {found}" for found in _REACHES_OUT.findall(program))
    for found in _IMPORT.finditer(program):
        named = re.split(r"[, ]+", found["source"] or found["names"].strip())
        yield from (f"a program that loads {name}" for name in named if name and name not in _MODULES)


def in_github(says: Mapping[str, Any]) -> Found:
    """Yield what a workflow or an action runs, or sets for what it runs, beyond the tables."""
    jobs = says.get("jobs") or {"action": {"steps": says.get("runs", {}).get("steps", [])}}
    for where in (says, *jobs.values()):
        yield from _variables(where.get("env", {}))
        if "defaults" in where:
            yield "another shell for every step"
    for name, job in jobs.items():
        yield from (f"{name}: {key}" for key in sorted(job.keys() - _JOB))
        if not re.fullmatch(r"ubuntu-[\d.]+", str(job.get("runs-on", "ubuntu-24.04"))):
            yield f"{name}: a machine that is not made anew for each job: {job['runs-on']}"
        for folder in str(job.get("env", {}).get("DATA", "manifests")).split():
            if not re.fullmatch(r"\w[\w-]*(?:/\w[\w-]*)*", folder):
                yield f"{name}: takes more than data of another branch: {folder}"
        for step in job.get("steps", []):
            yield from _step(step)


def _step(step: Mapping[str, Any]) -> Found:
    yield from _variables(step.get("env", {}))
    yield from (f"a step with {key}" for key in sorted(step.keys() - _STEP))
    if "uses" in step and not _ACTIONS.fullmatch(step["uses"]):
        yield f"runs what nobody here has looked at: {step['uses']}"
    if step.get("uses", "").startswith("actions/download-artifact@"):
        place = step.get("with", {}).get("path", ".")
        if not re.fullmatch(r"[a-z]+", place):
            yield f"unpacks files over the checkout or the program: {place}"
    if step.get("shell", "bash") != "bash":
        yield f"another shell: {step['shell']}"
    yield from refused(step.get("run", ""))


def in_gitlab(says: Mapping[str, Any]) -> Found:
    """Yield what the jobs run, or are set for what they run, beyond the tables."""
    yield from (f"default: {key}" for key in sorted(says.get("default", {}).keys() - {"image"}))
    parts = {key: part for key, part in says.items() if key not in _LAB_TOP}
    jobs = {key: part for key, part in parts.items() if isinstance(part, dict) and key not in _LAB_WORDS}
    yield from (f"{key} of every job" for key in sorted(parts.keys() - jobs.keys()))
    for name, job in jobs.items():
        yield from (f"{name}: {key}" for key in sorted(job.keys() - _LAB_JOB))
        # Variables of a report, files of another project, and a job that starts when this one stops.
        for part, known in _LAB_PARTS.items():
            yield from (f"{name}: {part}: {key}" for key in sorted(set(job.get(part, ())) - known))
        yield from (f"{name}: needs {one}" for one in job.get("needs", ()) if not isinstance(one, str))
        yield from _rules(name, job.get("rules", ()))
        for part in ("before_script", "script", "after_script"):
            lines = job.get(part, [])
            yield from refused("\n".join(lines) if isinstance(lines, list) else lines)
    yield from _rules("workflow", says.get("workflow", {}).get("rules", ()))
    yield from (f"workflow: {key}" for key in sorted(says.get("workflow", {}).keys() - {"rules", "name"}))
    for where in (says, *jobs.values()):
        given = where.get("variables", {})
        yield from _variables(
            {key: one for key, one in given.items() if (key, str(one)) not in _LAB_SETTINGS}
        )


def _rules(name: str, rules: Sequence[Mapping[str, Any]]) -> Found:
    """A rule may set variables too."""
    for rule in rules:
        yield from (
            f"{name}: a rule with {key}" for key in sorted(rule.keys() - {"if", "when", "allow_failure"})
        )


def _variables(given: Mapping[str, str]) -> Found:
    """PYTHONPATH, BASH_ENV, GIT_DIR, PIP_INDEX_URL, PATH ...: there are more of them than anybody knows."""
    yield from (f"sets {name}" for name in given if not _VARIABLES.fullmatch(name))
