"""Everything with which a folder makes git run a program is planted, and no command of ours runs any of it.

Whoever can write a folder's `.git`, or hands one over in an archive, must not run a command with the rights
and the credentials of whoever plans or applies there. Each plant leaves its name in a file.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from cli.hands import PLAIN, Project, Service
from cli.test_checkout import WHO, commit, git, write
from waiting import patience_s

from reconciler.cli.main import COMMANDS, usage_error

# What runs something, from `git help --config` and the pages of git-lfs, git-svn and others. $X and $P are
# a program that tells that it ran, $A, $H and $I a file of attributes, a folder of hooks and more settings.
KEYS = """
alias.fetch=!$X
alias.ls-tree=!$X
alias.rev-parse=!$X
alias.status=!$X
browser.x.cmd=$X
browser.x.path=$P
core.alternateRefsCommand=$X
core.askPass=$P
core.attributesFile=$A
core.editor=$X
core.fsmonitor=$P
core.gitProxy=$P
core.hooksPath=$H
core.notesRef=refs/notes/x
core.pager=$X
core.sshCommand=$X
core.untrackedCache=true
credential.helper=!$X
credential.https://example.com.helper=!$X
diff.external=$P
diff.tool=x
diff.x.cachetextconv=false
diff.x.command=$P
diff.x.textconv=$X
difftool.x.cmd=$X
difftool.x.path=$P
extensions.partialClone=evil
extensions.worktreeConfig=true
fetch.recurseSubmodules=true
filter.lfs.clean=git-lfs clean -- %f
filter.lfs.process=git-lfs filter-process
filter.lfs.smudge=git-lfs smudge -- %f
filter.lfs.required=true
filter.x.clean=$X
filter.x.process=$X
filter.x.required=true
filter.x.smudge=$X
gc.auto=1
gc.recentObjectsHook=$X
gpg.openpgp.program=$P
gpg.program=$P
gpg.ssh.allowedSignersFile=$A
gpg.ssh.defaultKeyCommand=$X
gpg.ssh.program=$P
gpg.x509.program=$P
gui.gcWarning=true
guitool.x.cmd=$X
hook.x.command=$X
hook.x.event=reference-transaction
imap.tunnel=$X
include.path=$I
includeIf.gitdir:**.path=$I
init.templateDir=$H
instaweb.httpd=$X
interactive.diffFilter=$X
lfs.customtransfer.x.path=$P
lfs.extension.x.clean=$X
lfs.extension.x.smudge=$X
lfs.standalonetransferagent=x
log.showSignature=true
maintenance.auto=true
man.viewer=x
man.x.cmd=$X
man.x.path=$P
merge.tool=x
merge.x.driver=$X
mergetool.x.cmd=$X
mergetool.x.path=$P
notes.rewriteRef=refs/notes/*
pack.packSizeLimit=1
pager.diff=$X
pager.log=$X
pager.ls-tree=$X
pager.status=$X
protocol.allow=always
protocol.ext.allow=always
receive.procReceiveRefs=refs/
remote.evil.fetch=+refs/*:refs/remotes/evil/*
remote.evil.partialclonefilter=blob:none
remote.evil.promisor=true
remote.evil.receivepack=$X
remote.evil.uploadpack=$X
remote.evil.url=ext::$P
remote.origin.url=evil.example.com:x
remote.vcs.vcs=evil
remote.vcs.url=evil::x
safe.directory=*
sendemail.sendmailCmd=$X
sendemail.toCmd=$X
sendemail.ccCmd=$X
sendemail.headerCmd=$X
sequence.editor=$X
ssh.variant=simple
status.submoduleSummary=true
submodule.inner.update=!$X
submodule.recurse=true
svn.authorsProg=$P
tar.x.command=$X
trailer.x.command=$X
trailer.x.cmd=$X
transfer.credentialsInUrl=allow
uploadpack.packObjectsHook=$P
url.ext::$P.insteadOf=https://
web.browser=x
"""
HOOKS = (
    *("applypatch-msg", "commit-msg", "fsmonitor-watchman", "p4-pre-submit", "post-applypatch"),
    *("post-checkout", "post-commit", "post-index-change", "post-merge", "post-receive", "post-rewrite"),
    *("post-update", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push"),
    *("pre-rebase", "pre-receive", "prepare-commit-msg", "proc-receive", "push-to-checkout"),
    *("reference-transaction", "sendemail-validate", "update"),
)
PROGRAMS = (
    *("git", "git-lfs", "git-remote-ext", "git-remote-evil", "git-credential-x", "git-upload-pack"),
    *(
        "git-svn",
        "gpg",
        "gpgsm",
        "ssh",
        "ssh-keygen",
        "ssh-askpass",
        "less",
        "more",
        "vi",
        "vim",
        "nano",
        "editor",
    ),
    *("sensible-editor", "xdg-open", "x-www-browser", "hg", "svn", "man"),
)
VARIABLES = (
    *("BROWSER", "EDITOR", "GIT_ASKPASS", "GIT_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_PAGER"),
    *("GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND", "PAGER", "SSH_ASKPASS"),
    *("VISUAL",),
)

ID = "4C8FE1A2B3D4E5F6"
# Commands with what they need, in an order in which one finds what another made. All others are run by name.
WITH_ARGUMENTS = (
    *("validate", "plan -o plan.json", "plan --format json", "show plan.json", "apply --yes", "drift"),
    *(
        "adopt --yes --all",
        "forget --yes contact/default/nobody",
        "resume",
        "undo 3f2a --yes",
        "pause --until 8h --reason moving",
        "list",
        "history --verify",
    ),
    *("explain contact/default/ada", "fmt", "export --into exported", "init", "init below"),
    *("unlock --force 0123456789ab", "rosters snapshot staff", "contacts search firstName=x"),
    *(
        "approvals list",
        "messages list",
        "callbacks list",
        "workspaces list",
        "completion bash",
        "apply plan.json",
    ),
    *("sandbox --help", "demo --help"),  # servers, and no project
)
LINES = (*WITH_ARGUMENTS, *sorted(COMMANDS.keys() - {line.split()[0] for line in WITH_ARGUMENTS}))


class Plants:
    """A project whose repository plants everything; `ran` are the names of what was run since it was read."""

    def __init__(self, project: Project) -> None:
        self.folder = project.folder
        self.outside = project.folder.parent
        self.tools = self.outside / "tools"
        self.marks = self.outside / "marks"
        self.marks.mkdir()
        for name in PROGRAMS:
            self._program(self.tools / name, f"program {name}")
        self.environ = {
            "HOME": str(self.outside / "home"),
            "PATH": f"{self.tools}{os.pathsep}{PLAIN['PATH']}",
            **{name: self._program(self.outside / "variables" / name, name) for name in VARIABLES},
        }

    def _program(self, path: Path, name: str) -> str:
        marker = self.marks / name.replace("/", "_").replace(" ", "_")
        write(path.parent, path.name, f"#!/bin/sh\necho x > '{marker}'\nexit 1\n")
        path.chmod(0o755)
        return str(path)

    @property
    def ran(self) -> set[str]:
        found = {one.name for one in self.marks.iterdir()}
        for one in self.marks.iterdir():
            one.unlink()
        return found

    def lines(self) -> list[tuple[str, str]]:
        """Each key with its value."""
        hooks, attributes, included = (self.outside / name for name in ("hooks", "attributes", "included"))
        for name in HOOKS:
            self._program(hooks / name, f"hook of a path {name}")
            self._program(self.folder / ".git/hooks" / name, f"hook {name}")
        write(self.outside, "attributes", "* filter=x diff=x merge=x\n")
        write(self.outside, "included", f'[filter "x"]\n\tclean = {self.outside}/programs/included\n')
        self._program(self.outside / "programs/included", "included")
        found = list[tuple[str, str]]()
        for line in KEYS.split("\n"):
            key, equals, value = line.partition("=")
            if not equals:
                continue
            program = self._program(self.outside / "programs" / str(len(found)), key)
            key, value = key.replace("$P", program), value.replace("$P", program).replace("$X", program)
            value = (
                value.replace("$H", str(hooks)).replace("$A", str(attributes)).replace("$I", str(included))
            )
            found.append((key, value))
        return found

    def plant(self, service: Service) -> None:
        """Set every key in every file and variable that git reads, and what a folder holds beside them."""
        write(
            self.folder, ".gitattributes", "* filter=x diff=x merge=x text\n*.csv filter=lfs\n*.json ident\n"
        )
        write(
            self.folder, ".gitmodules", '[submodule "inner"]\n\tpath = inner\n\turl = ./x\n\tupdate = none\n'
        )
        write(self.folder, ".lfsconfig", '[lfs]\n\turl = ext::x\n[lfs "extension.y"]\n\tclean = false\n')
        shutil.rmtree(self.folder / ".git", ignore_errors=True)
        git(self.folder, "init", "-q")
        commit(self.folder)
        text = "".join(_section(key, value) for key, value in self.lines())
        with (self.folder / ".git/config").open("a") as file:
            file.write("[core]\n\trepositoryformatversion = 1\n" + text)
        write(self.folder, ".git/config.worktree", text)
        write(self.folder, ".git/info/attributes", "* filter=x diff=x merge=x -text\n")
        write(self.folder, ".git/objects/info/alternates", f"{self.outside}/none\n/dev/zero\n")
        write(self.outside, "home/.gitconfig", text)
        write(self.outside, "home/.config/git/config", text)
        self.environ |= {"GIT_CONFIG_COUNT": str(len(self.lines()))}
        for number, (key, value) in enumerate(self.lines()):
            self.environ |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        manifest = self.folder / "manifests/team.yaml"
        manifest.write_bytes(manifest.read_bytes().replace(b"\n", b"\r\n"))  # its line ends are asked for
        assert service.address


def _section(key: str, value: str) -> str:
    section, _, rest = key.partition(".")
    part, _, name = rest.rpartition(".")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{section}{f" {chr(34)}{part}{chr(34)}" if part else ""}]\n\t{name} = "{quoted}"\n'


@pytest.fixture
def plants(project: Project, service: Service) -> Plants:
    made = Plants(project)
    made.plant(service)
    return made


@pytest.mark.parametrize("state", ["whole", "without a tree", "without a commit", "another form"])
def test_nothing_that_git_is_set_to_run_is_run_by_any_command(
    plants: Plants, project: Project, service: Service, state: str
) -> None:
    """Over 100 keys, 25 hooks and 13 variables; what a partial clone lacks would be fetched by a command."""
    names = git_quietly(plants.folder, "rev-parse", "HEAD", "HEAD^{tree}").split()
    for name in {"without a tree": names[1:], "without a commit": names[:1]}.get(state, []):
        (plants.folder / ".git/objects" / name[:2] / name[2:]).unlink()
    if state == "another form":
        with (plants.folder / ".git/config").open("a") as file:
            file.write("[extensions]\n\trefStorage = reftable\n")
    assert plants.ran is not None

    for line in LINES if state == "whole" else ("plan", "drift", "apply --yes", "doctor", "history", "init"):
        done = project.run(service, *line.split(), env=plants.environ)
        assert "Traceback" not in done.stderr
        assert done.returncode != usage_error, f"{line}: name what it needs in WITH_ARGUMENTS\n{done.stderr}"
        assert (line, plants.ran) == (line, set())


def test_the_plants_are_alive(plants: Plants) -> None:
    """A plant that git would not run proves nothing. Its own commands, in the same folder, run these."""
    real = {**PLAIN, "HOME": plants.environ["HOME"], "GIT_TERMINAL_PROMPT": "0"}
    assert plants.ran is not None
    off = (
        *("filter.x.process=", "filter.x.clean=cat", "filter.x.smudge=cat", "filter.x.required=false"),
        *("filter.lfs.process=", "filter.lfs.clean=cat", "filter.lfs.required=false"),
        *("core.fsmonitor=false", "diff.external="),
    )
    calm = tuple(word for one in off for word in ("-c", one))
    (plants.folder / "manifests/team.yaml").write_text("x: 1\n")
    for words in (
        *("status", "fetch evil", "fetch origin", "ls-remote vcs", "add -A", "diff", "-p diff", "-p log -1"),
        *("log -p --show-signature -1", "commit -a", "commit -a -m x", "tag -s -m x x", "difftool -y HEAD~1"),
        *("credential fill", "archive --format=x HEAD", "interpret-trailers --trailer x=1"),
    ):
        for before in ((), calm):
            subprocess.run(
                ["git", *WHO[:4], *before, *words.split()],
                cwd=plants.folder,
                env=real,
                input=b"protocol=https\nhost=example.com\n\n",
                capture_output=True,
                timeout=patience_s,
                check=False,
            )
    ran = plants.ran

    assert ran >= {"core.fsmonitor", "filter.x.process", "remote.evil.url", "core.sshCommand"}
    assert len(ran) >= 12, sorted(ran)


def git_quietly(folder: Path, *words: str) -> str:
    """What git says of a folder whose settings count for nothing."""
    bare: Mapping[str, str] = {**PLAIN, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    config = (folder / ".git/config").read_text()
    (folder / ".git/config").write_text("")
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, env=bare, check=True, capture_output=True, text=True
        )
    finally:
        (folder / ".git/config").write_text(config)
    return done.stdout
