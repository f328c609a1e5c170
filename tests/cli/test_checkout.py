"""What a run has read is compared with the commit, and nothing that the repository wants run is run."""

import hashlib
import os
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.hands import PLAIN, Project, Service
from cli.keeping import told
from msgspec import structs

from reconciler import pipeline
from reconciler.core.runs.commit_check import Attributes, converts_ends, is_generated, make_input_file
from reconciler.environment.checkout import Checkout, collect_inputs, read_checkout
from reconciler.environment.run_context import is_in_ci, read_context
from reconciler.errors import SettingsError
from reconciler.files.project_files import ReadLog
from reconciler.model.documents import Inputs
from reconciler.settings.reader import read_settings

CI = {"CI": "true"}
WHO = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")
SETTINGS = """\
version: 1
manifests: [manifests]
service: {profile: profile.yaml}
commit: {generated: ["made/*.csv", "manifests/made/**"]}
workspaces: {default: {}}
"""
TEAM = """\
version: 1
workspace: default
rosters:
  - {file: ../people/people.csv, name: "{ID}", contacts: {workEmailAddress1: "{Mail}"}}
resources:
  list: {name: list.csv, scope: private, mimeType: text/csv, content: {file: list.csv}}
"""
OTHER = "version: 1\nworkspace: default\ncontacts: {kim: {workEmailAddress1: kim@example.com}}\n"
FILES = {
    "reconciler.yaml": SETTINGS,
    "profile.yaml": "base: service\n",
    "manifests/team.yaml": TEAM,
    "manifests/list.csv": "a,b\n1,2\n",
    "people/people.csv": "ID,Mail\n1,jane@example.com\n",
    "README.md": "read me\n",
    ".gitattributes": "* -text\n",
}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *WHO, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


def write(folder: Path, name: str, text: str | bytes) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a project that reads settings, a profile, a manifest, a roster and a content."""
    folder = tmp_path / "project"
    for name, text in FILES.items():
        write(folder, name, text)
    git(folder, "init", "-q")
    commit(folder)
    return folder


def compared(root: Path, *, caches: bool = False) -> Checkout:
    """What a run in this project would be recorded as."""
    environ = {**PLAIN, "HOME": str(root.parent / "home")}
    read = read_settings(config=None, environment=None, cwd=root, environ=environ, service=False)
    settings = structs.replace(read.settings, caches=caches)
    declared = pipeline.load_declaration(settings, environ)
    return read_checkout(root, collect_inputs(settings, declared.inputs))


def differences(root: Path) -> dict[str, str]:
    return {one.path: one.why for one in compared(root).differences}


def untracked(tree: Path) -> None:
    write(tree, "manifests/left.yaml", OTHER)


def excluded(tree: Path) -> None:
    write(tree, ".git/info/exclude", "manifests/left.yaml\n")
    write(tree, "manifests/left.yaml", OTHER)


def ignored_roster(tree: Path) -> None:
    git(tree, "rm", "-q", "--cached", "people/people.csv")
    write(tree, ".gitignore", "people/\n")
    git(tree, "add", ".gitignore")
    git(tree, "commit", "-q", "-m", "y")


def unchanged_bit(bit: str) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        git(tree, "update-index", f"--{bit}", "people/people.csv")
        write(tree, "people/people.csv", "ID,Mail\n2,john@example.com\n")

    return change


def staged(tree: Path) -> None:
    write(tree, "manifests/list.csv", "a,b\n3,4\n")
    git(tree, "add", "-A")


def edited(name: str) -> Callable[[Path], None]:
    return lambda tree: write(tree, name, FILES[name] + "# more\n")


def removed(tree: Path) -> None:
    write(tree, "manifests/second.yaml", OTHER)
    commit(tree)
    (tree / "manifests/second.yaml").unlink()


def sparse(tree: Path) -> None:
    write(tree, "manifests/deep/second.yml", OTHER)
    commit(tree)
    git(tree, "update-index", "--skip-worktree", "manifests/deep/second.yml")
    shutil.rmtree(tree / "manifests/deep")


def linked(tree: Path) -> None:
    write(tree, "examples/old.yaml", OTHER)
    commit(tree)
    (tree / "manifests/old.yaml").symlink_to("../examples/old.yaml")


def linked_elsewhere(tree: Path) -> None:
    write(tree, "examples/old.yaml", OTHER)
    write(tree, "examples/new.yaml", OTHER.replace("kim", "sam"))
    (tree / "manifests/one.yaml").symlink_to("../examples/old.yaml")
    commit(tree)
    (tree / "manifests/one.yaml").unlink()
    (tree / "manifests/one.yaml").symlink_to("../examples/new.yaml")


def link_as_a_file(tree: Path) -> None:
    write(tree, "examples/old.yaml", OTHER)
    (tree / "manifests/one.yaml").symlink_to("../examples/old.yaml")
    commit(tree)
    (tree / "manifests/one.yaml").unlink()
    write(tree, "manifests/one.yaml", OTHER)


def link_behind_a_link(tree: Path) -> None:
    """The link that is committed leads to another one, which leads elsewhere by now."""
    write(tree, "examples/old.yaml", OTHER)
    write(tree, "examples/new.yaml", OTHER.replace("kim", "sam"))
    (tree / "examples/chosen.yaml").symlink_to("old.yaml")
    (tree / "manifests/one.yaml").symlink_to("../examples/chosen.yaml")
    commit(tree)
    (tree / "examples/chosen.yaml").unlink()
    (tree / "examples/chosen.yaml").symlink_to("new.yaml")


def linked_folder(tree: Path) -> None:
    """A folder above the manifests is another one: all that is read is in the commit, elsewhere."""
    write(tree, "reconciler.yaml", SETTINGS.replace("[manifests]", "[teams/manifests]"))
    write(tree, "teams/manifests/one.yaml", OTHER)
    write(tree, "before/manifests/one.yaml", OTHER.replace("kim", "sam"))
    commit(tree)
    shutil.rmtree(tree / "teams")
    (tree / "teams").symlink_to("before")


def replaced_object(tree: Path) -> None:
    before = git(tree, "rev-parse", "HEAD")
    write(tree, "manifests/left.yaml", OTHER)
    after = commit(tree)
    git(tree, "replace", before, after)
    git(tree, "update-ref", "HEAD", before)


def another_repository(tree: Path) -> None:
    write(tree, "manifests/inner/left.yaml", OTHER)
    git(tree / "manifests/inner", "init", "-q")
    commit(tree / "manifests/inner")


NOT_COMMITTED = {
    "untracked": (untracked, "manifests/left.yaml"),
    "excluded": (excluded, "manifests/left.yaml"),
    "ignored roster": (ignored_roster, "people/people.csv"),
    "assume-unchanged": (unchanged_bit("assume-unchanged"), "people/people.csv"),
    "skip-worktree": (unchanged_bit("skip-worktree"), "people/people.csv"),
    "staged": (staged, "manifests/list.csv"),
    "manifest": (edited("manifests/team.yaml"), "manifests/team.yaml"),
    "settings": (edited("reconciler.yaml"), "reconciler.yaml"),
    "profile": (edited("profile.yaml"), "profile.yaml"),
    "removed": (removed, "manifests/second.yaml"),
    "sparse": (sparse, "manifests/deep/second.yml"),
    "link": (linked, "manifests/old.yaml"),
    "link elsewhere": (linked_elsewhere, "manifests/one.yaml"),
    "link as a file": (link_as_a_file, "manifests/one.yaml"),
    "link behind a link": (link_behind_a_link, "examples/chosen.yaml"),
    "linked folder": (linked_folder, "teams"),
    "replaced object": (replaced_object, "manifests/left.yaml"),
    "another repository": (another_repository, "manifests/inner/left.yaml"),
}


@pytest.mark.parametrize(("change", "path"), NOT_COMMITTED.values(), ids=NOT_COMMITTED)
def test_what_was_read_and_is_not_in_the_commit_is_named(
    tree: Path, change: Callable[[Path], None], path: str
) -> None:
    """The index may say that a file is as it was, or nothing of it: what was read decides."""
    before = differences(tree)
    change(tree)
    found = compared(tree)

    assert before == {}
    assert [one.path for one in found.differences] == [path]
    assert found.differences[0].why
    assert found.commit == git(tree, "rev-parse", "HEAD")
    assert read_context({}, tree, random=str, checkout=found).commit == f"{found.commit}+dirty"


@pytest.mark.parametrize("way", ["config", "variable", "folder"])
def test_a_link_on_the_way_to_the_settings_is_compared(tree: Path, way: str) -> None:
    """A folder of the commit that a link stands for decides whose people are managed."""
    for name, who in (("a", "kim"), ("b", "sam")):
        write(tree, f"{name}/reconciler.yaml", "version: 1\nmanifests: [manifests]\n")
        write(tree, f"{name}/manifests/one.yaml", OTHER.replace("kim", who))
    commit(tree)
    assert told_by(tree, way) == []

    shutil.rmtree(tree / "a")
    (tree / "a").symlink_to("b")

    assert told_by(tree, way) == [("../a", "is in no commit")]


def told_by(tree: Path, way: str) -> list[tuple[str, str]]:
    """The differences of the project in the folder `a`, which a user names in one of three ways."""
    environ = {**PLAIN, "HOME": str(tree.parent / "home")}
    config = "a/reconciler.yaml" if way == "config" else None
    environ |= {"RECONCILER_CONFIG": "a/reconciler.yaml"} if way == "variable" else {}
    environ |= {"PWD": str(tree / "a")} if way == "folder" else {}
    cwd = (tree / "a").resolve() if way == "folder" else tree
    read = read_settings(config=config, environment=None, cwd=cwd, environ=environ, service=False)
    settings = structs.replace(read.settings, caches=False)
    inputs = collect_inputs(settings, pipeline.load_declaration(settings, environ).inputs)
    return [(one.path, one.why) for one in read_checkout(Path(settings.root), inputs).differences]


def test_a_link_outside_of_the_repository_belongs_to_the_machine(tree: Path) -> None:
    """Where a home or a disk is mounted is no matter of a commit."""
    alias = tree.parent / "alias"
    alias.symlink_to(tree)
    environ = {**PLAIN, "HOME": str(tree.parent / "home"), "PWD": str(alias)}
    read = read_settings(config=None, environment=None, cwd=tree, environ=environ, service=False)

    assert read_checkout(tree, collect_inputs(read.settings)).differences == ()


def test_what_nobody_read_does_not_count(tree: Path) -> None:
    """A job writes plans, logs and reports; none of it is applied."""
    (tree / "README.md").write_text("changed")
    write(tree, "plan.json", "{}")
    write(tree, "people/unused.csv", "a\n")
    write(tree, "manifests/.hidden.yaml", "x")
    (tree / "manifests/team.yaml").chmod(0o755)

    assert differences(tree) == {}
    assert read_context({}, tree, random=str, checkout=compared(tree)).commit == git(
        tree, "rev-parse", "HEAD"
    )


def worktree(tree: Path) -> Path:
    git(tree, "worktree", "add", "-q", "--detach", str(tree.parent / "second"))
    return tree.parent / "second"


def shallow(tree: Path) -> Path:
    write(tree, "README.md", "2")
    commit(tree)
    git(tree.parent, "clone", "-q", "--depth=1", f"file://{tree}", "shallow")
    return tree.parent / "shallow"


def below(tree: Path) -> Path:
    (tree / "deep").mkdir()
    for name, text in FILES.items():
        if name != ".gitattributes":
            write(tree / "deep/er", name, text)
    commit(tree)
    return tree / "deep/er"


def by_sha256(tree: Path) -> Path:
    shutil.rmtree(tree / ".git")
    git(tree, "init", "-q", "--object-format=sha256")
    commit(tree)
    return tree


def committed_link(tree: Path) -> Path:
    write(tree, "examples/old.yaml", OTHER)
    (tree / "manifests/old.yaml").symlink_to("../examples/old.yaml")
    commit(tree)
    return tree


def with_odd_names(tree: Path) -> Path:
    for name in ("manifests/a b.yaml", "manifests/[x].yaml", "manifests/ü.yaml", "manifests/-x.yaml"):
        write(tree, name, OTHER.replace("kim", f"p{len(name)}{ord(name[-6])}"))
    commit(tree)
    return tree


@pytest.mark.parametrize("place", [worktree, shallow, below, by_sha256, committed_link, with_odd_names])
def test_a_checkout_of_each_kind_is_as_its_commit(tree: Path, place: Callable[[Path], Path]) -> None:
    """And an untracked manifest is found in each."""
    root = place(tree)
    clean = compared(root)
    write(root, "manifests/left.yaml", OTHER.replace("kim", "left"))

    assert clean == Checkout(git(root, "rev-parse", "HEAD"))
    assert differences(root) == {"manifests/left.yaml": "is in no commit"}
    assert read_context({}, root, random=str, checkout=clean).commit == clean.commit


ENDS = [
    ("*.csv text eol=crlf", "false", True),
    ("*.csv text", "false", True),
    ("*.csv text=auto", "false", True),
    ("*.csv eol=crlf", "false", True),
    ("*.csv crlf", "false", True),
    ("", "true", True),
    ("", "input", True),
    ("", "false", False),
    ("*.csv -text", "true", False),
    ("*.csv binary", "true", False),
    ("*.csv -crlf", "true", False),
]


@pytest.mark.parametrize(("attributes", "autocrlf", "same"), ENDS)
def test_line_ends_count_as_git_writes_them(
    tree: Path, attributes: str, autocrlf: str, *, same: bool
) -> None:
    """A checkout of Windows differs in every line; without an attribute it is another content."""
    write(tree, ".gitattributes", f"{attributes}\n")
    commit(tree)
    git(tree, "config", "core.autocrlf", autocrlf)
    for name in ("manifests/list.csv", "people/people.csv"):
        write(tree, name, FILES[name].replace("\n", "\r\n"))
    git(tree, "add", "-A")

    assert differences(tree) == (
        {}
        if same
        else dict.fromkeys(sorted(("manifests/list.csv", "people/people.csv")), "differs from the commit")
    )
    assert (git(tree, "status", "--porcelain") == "") is same  # as git itself judges


def test_a_content_that_is_no_text_is_not_converted() -> None:
    """`auto` is for texts: git looks for NUL and for carriage returns alone."""
    samples = {b"a\r\nb": True, b"a\r\nb\rc": False, b"a\0\r\n": False}

    assert [make_input_file("x", data).text for data in samples] == list(samples.values())
    assert not converts_ends(Attributes(text="auto"), "false", text=False)
    assert converts_ends(Attributes(text="set"), "false", text=False)


def test_line_ends_across_the_parts_of_a_large_file(tmp_path: Path) -> None:
    r"""What is read in parts may have "\r" at the end of one and "\n" at the beginning of the next."""
    data = b"x" * (1024 * 1024 - 1) + b"\r\n" + b"y\r\n" * 700_000
    (tmp_path / "unix").write_bytes(data.replace(b"\r\n", b"\n"))
    (tmp_path / "whole").write_bytes(data)
    found = make_input_file("x", data)

    assert found.unix is not None
    assert found.unix.sha1.hex() == git(tmp_path, "hash-object", "--no-filters", "unix")
    assert found.blob.sha1.hex() == git(tmp_path, "hash-object", "--no-filters", "whole")


@pytest.mark.parametrize("attribute", ["filter=x", "working-tree-encoding=UTF-16LE", "ident"])
def test_no_other_filter_is_believed_or_run(tree: Path, attribute: str) -> None:
    """What a filter makes of a file is what its command says; git-crypt and others are such."""
    git(tree, "config", "filter.x.clean", f"touch '{tree}/ran'; printf 'a,b\\n1,2\\n'")
    write(tree, ".git/info/attributes", f"manifests/list.csv {attribute}\n")
    text = "a,b\n1,$Id: x $\n" if attribute == "ident" else "a,b\n1,3\n"
    write(tree, "manifests/list.csv", text)

    assert differences(tree) == {"manifests/list.csv": "differs from the commit"}
    assert not (tree / "ran").exists()


@pytest.mark.parametrize("same", [True, False])
def test_a_file_of_git_lfs_is_known_by_the_pointer_in_the_commit(tree: Path, *, same: bool) -> None:
    """The pointer names the SHA-256 of the file: nothing of git-lfs has to run for that."""
    content = b"a,b\n5,6\n"
    file = make_input_file("x", content)
    pointer = (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{file.digest.hex()}\nsize {file.size}\n"
    )
    write(tree, "manifests/list.csv", pointer)
    commit(tree)
    write(tree, "manifests/list.csv", content if same else b"a,b\n7,8\n")

    assert differences(tree) == ({} if same else {"manifests/list.csv": "differs from the commit"})


@pytest.fixture
def modules(tree: Path) -> Path:
    """The same project, with a folder of manifests that is a submodule."""
    inner = tree.parent / "inner"
    write(inner, "kim.yaml", OTHER)
    git(inner, "init", "-q")
    commit(inner)
    git(
        tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "manifests/inner"
    )
    commit(tree)
    return tree


def test_a_submodule_is_compared_with_the_commit_that_the_commit_names(modules: Path) -> None:
    """A submodule at another commit is clean for itself, and no commit of the project has it so."""
    inside = modules / "manifests/inner"
    clean = differences(modules)
    write(inside, "kim.yaml", OTHER.replace("kim@", "other@"))
    edited_ = differences(modules)
    commit(inside)
    elsewhere = differences(modules)
    commit(modules)
    again = differences(modules)
    write(inside, "left.yaml", OTHER.replace("kim", "left"))

    assert (clean, again) == ({}, {})
    assert edited_ == elsewhere == {"manifests/inner/kim.yaml": "differs from the commit"}
    assert differences(modules) == {"manifests/inner/left.yaml": "is in no commit"}


def test_a_submodule_that_is_not_checked_out_is_missed(modules: Path) -> None:
    """Its people would look as if they had left."""
    shutil.rmtree(modules / "manifests/inner")
    (modules / "manifests/inner").mkdir()

    assert differences(modules) == {"manifests/inner": "is a submodule that is not checked out"}


def test_a_manifest_outside_of_the_repository_is_in_none_of_its_commits(tree: Path) -> None:
    write(tree.parent, "shared/more.yaml", OTHER)
    write(tree, "reconciler.yaml", SETTINGS.replace("[manifests]", "[manifests, ../shared]"))
    commit(tree)

    assert differences(tree) == {"../shared/more.yaml": "is outside of the repository"}


def test_generated_files_are_those_that_the_committed_settings_name(tree: Path) -> None:
    """Whoever leaves a file could leave the settings too: those count only as they are committed."""
    write(tree, "manifests/team.yaml", TEAM.replace("people/people", "made/people"))
    commit(tree)
    write(tree, "made/people.csv", FILES["people/people.csv"])
    write(tree, "manifests/made/deep/kim.yaml", OTHER)
    allowed = differences(tree)
    write(tree, "reconciler.yaml", SETTINGS + "# more\n")

    assert allowed == {}
    assert list(differences(tree)) == ["made/people.csv", "manifests/made/deep/kim.yaml", "reconciler.yaml"]


def test_the_settings_themselves_are_never_generated(tree: Path) -> None:
    write(tree, "reconciler.yaml", SETTINGS.replace('"made/*.csv"', '"**"'))

    assert list(differences(tree)) == ["reconciler.yaml"]


def test_a_variable_does_not_say_what_is_generated(tree: Path) -> None:
    """Whoever sets a variable of a job must not decide what nobody has to review."""
    environ = {"RECONCILER_COMMIT_GENERATED": "**"}

    with pytest.raises(SettingsError) as refused:
        read_settings(config=None, environment=None, cwd=tree, environ=environ, service=False)

    assert refused.value.problems[0].file == "environment RECONCILER_COMMIT_GENERATED"


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ("people/*.csv", "people/a.csv", "people/deep/a.csv"),
        ("people/**", "people/deep/a.csv", "people.csv"),
        ("**/made.yaml", "made.yaml", "unmade.yaml"),
        ("**/made.yaml", "a/b/made.yaml", "made.yaml/x"),
        ("a?.csv", "ab.csv", "a/.csv"),
        ("a.csv", "a.csv", "aXcsv"),
        ("[x].csv", "[x].csv", "x.csv"),
    ],
)
def test_a_pattern_is_about_whole_paths(pattern: str, fits: str, fits_not: str) -> None:
    assert (is_generated(fits, [pattern]), is_generated(fits_not, [pattern])) == (True, False)


def test_a_load_from_the_cache_counts_as_read(tree: Path) -> None:
    """Nothing of it is parsed, and it is what is applied all the same."""
    rows = "".join(f"{number},p{number}@example.com\n" for number in range(9000))
    write(tree, "people/people.csv", f"ID,Mail\n{rows}")
    write(tree, "manifests/team.yaml", TEAM.partition("resources")[0])
    commit(tree)
    (tree.parent / "home").mkdir()
    write(tree, "people/people.csv", f"ID,Mail\n{rows}".replace("1,p1@", "1,q1@"))
    git(tree, "update-index", "--assume-unchanged", "people/people.csv")

    first, second = compared(tree, caches=True), compared(tree, caches=True)

    assert list((tree / ".reconciler/cache").iterdir())
    assert [[one.path for one in found.differences] for found in (first, second)] == [
        ["people/people.csv"]
    ] * 2


def test_the_bytes_that_were_read_are_compared(tree: Path) -> None:
    """A file may be put back while the command runs."""
    log = ReadLog(tree)
    log.note(tree / "people/people.csv", b"ID,Mail\n2,john@example.com\n")

    found = read_checkout(tree, Inputs(files=log.files, root=str(tree)))

    assert [one.path for one in found.differences] == ["people/people.csv"]


def test_without_a_repository_the_commit_is_not_known(tree: Path) -> None:
    """An image or a ConfigMap holds what somebody put there: nothing is dirty."""
    shutil.rmtree(tree / ".git")

    assert compared(tree) == Checkout()


def test_where_git_cannot_read_the_commit_nothing_is_vouched_for(tree: Path) -> None:
    """A partial clone fetches what it lacks by a command of its settings: nothing is fetched, nothing run."""
    made = git(tree, "rev-parse", "HEAD^{tree}")
    (tree / ".git/objects" / made[:2] / made[2:]).unlink()
    for name, value in {
        "extensions.partialClone": "evil",
        "core.repositoryformatversion": "1",
        "remote.evil.url": f"ext::sh -c touch% {tree}/ran",
        "remote.evil.promisor": "true",
        "protocol.ext.allow": "always",
    }.items():
        git(tree, "config", name, value)

    assert compared(tree).dirty
    assert not (tree / "ran").exists()


def test_what_is_checked_out_comes_before_what_the_build_system_says(tree: Path, tmp_path: Path) -> None:
    """A job may check out another commit than the one that started it."""
    told_ = {"GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567"}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    assert read_context(told_, tree, random=str).commit == git(tree, "rev-parse", "HEAD")
    assert read_context(told_, elsewhere, random=str).commit in (
        told_["GITHUB_SHA"],
        read_checkout(elsewhere).commit,
    )


def test_nothing_that_the_repository_configures_is_run(tree: Path) -> None:
    """Whoever can write a folder's .git must not run commands with the rights of whoever looks."""
    names = ("core.fsmonitor", "filter.x.clean", "filter.x.process", "filter.x.smudge", "diff.x.textconv")
    for name in names:
        git(tree, "config", name, f"touch '{tree}/ran-{name}'; cat")
    hooks = tree / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch '{tree}/ran-{hook}'\n")
        (hooks / hook).chmod(0o755)
    write(tree, ".git/info/attributes", "* filter=x diff=x text\n")
    write(tree, "manifests/list.csv", "a,b\r\n5,6\r\n")

    assert differences(tree) == {"manifests/list.csv": "differs from the commit"}
    assert [one.name for one in tree.iterdir() if one.name.startswith("ran-")] == []


def test_where_there_is_no_repository_behind_its_name_nothing_is_known(tmp_path: Path) -> None:
    """A folder that is no repository, and one that is not there, fail no run."""
    (tmp_path / ".git").write_text("gitdir: /nowhere")

    for folder in (tmp_path, tmp_path / "none"):
        found = read_checkout(folder)
        assert (found.silent, found.commit, found.unreadable) == (True, "", False)
        assert found.reason.endswith(".git names a folder that is not there")


@pytest.mark.parametrize(
    ("value", "ci"), [("true", True), ("1", True), ("", False), ("0", False), ("FALSE", False)]
)
def test_ci_is_known_by_its_variable(value: str, ci: bool) -> None:  # noqa: FBT001 - a column
    assert is_in_ci({"CI": value}) is ci
    assert not is_in_ci({})


def committed(project: Project) -> str:
    """The project's commit; the folder is a repository of its own from now on."""
    (project.folder / ".git").rmdir()
    git(project.folder, "init", "-q")
    git(project.folder, "add", "-A")
    git(project.folder, "commit", "-q", "-m", "x")
    return git(project.folder, "rev-parse", "HEAD")


def test_in_ci_what_is_in_no_commit_is_not_applied(project: Project, service: Service) -> None:
    """Refused before anything is sent; one option allows it, and the record says what was applied."""
    commit_ = committed(project)
    project.edit("jobTitle: Engineer", "jobTitle: Senior Engineer")

    refused = project.run(service, "apply", "--yes", env=CI)
    asked = service.requests()
    planned = project.run(service, "plan", env=CI)
    allowed = project.run(service, "apply", "--yes", "--allow-dirty", "--format", "json", env=CI)

    assert (refused.returncode, asked) == (7, [])
    flat = " ".join(refused.stderr.split())
    assert f"the files differ from commit {commit_}: manifests/team.yaml differs from the commit." in flat
    assert ("commit.generated" in flat, "--allow-dirty" in flat, "E045" in flat) == (True, True, True)
    assert f"files differ from commit {commit_}: manifests/team.yaml differs" in " ".join(
        planned.stderr.split()
    )
    assert f"commit {commit_}+dirty" in planned.stdout
    assert (planned.returncode, allowed.returncode) == (0, 0)
    assert told(allowed)["context"]["commit"] == f"{commit_}+dirty"
    entries = told(project.run(service, "history", "--format", "json"))["entries"]
    assert {one["commit"] for one in entries} == {f"{commit_}+dirty"}


def test_a_clean_tree_and_a_person_at_a_dirty_one_may_apply(project: Project, service: Service) -> None:
    """On a machine of one's own the mark shows it, and nothing is refused."""
    commit_ = committed(project)
    clean = project.run(service, "apply", "--yes", "--format", "json", env=CI)
    project.edit("jobTitle: Engineer", "jobTitle: Senior Engineer")
    dirty = project.run(service, "apply", "--yes", "--format", "json")

    assert (clean.returncode, dirty.returncode) == (0, 0)
    assert told(clean)["context"]["commit"] == commit_
    assert told(dirty)["context"]["commit"] == f"{commit_}+dirty"


def test_a_plan_and_the_events_of_a_run_name_the_commit(project: Project, service: Service) -> None:
    """A plan of another commit with the same manifests is the same plan: a merge makes a commit."""
    commit_ = committed(project)
    saved = project.folder.parent / "plan.json"
    project.run(service, "plan", "-o", str(saved))
    shown = project.run(service, "show", str(saved))
    (project.folder / "note.txt").write_text("x")
    commit(project.folder)

    applied = project.run(service, "apply", str(saved), "--events", str(saved) + "l", env=CI)

    assert f"commit {commit_}" in shown.stdout
    assert (applied.returncode, applied.stderr) == (0, applied.stderr)
    assert f'"commit":"{git(project.folder, "rev-parse", "HEAD")}"' in Path(str(saved) + "l").read_text()


def test_an_untracked_manifest_is_not_applied_in_ci_though_an_earlier_job_left_it(
    project: Project, service: Service
) -> None:
    committed(project)
    (project.folder / "manifests/left.yaml").write_text(OTHER)

    refused = project.run(service, "apply", "--yes", env=CI)

    assert (refused.returncode, service.requests()) == (7, [])
    assert "manifests/left.yaml is in no commit" in " ".join(refused.stderr.split())


def test_a_commit_is_known_without_git(project: Project, service: Service) -> None:
    """An image of the program need not hold git: what is on the disk is the checkout."""
    commit_ = committed(project)
    without = {**CI, "GITHUB_SHA": "0" * 40, "PATH": str(project.folder / "none")}
    planned = project.run(service, "plan", env=without)
    applied = project.run(service, "apply", "--yes", "--format", "json", env=without)
    history = told(project.run(service, "history", "--format", "json", env=without))
    project.edit("jobTitle: Engineer", "jobTitle: Senior Engineer")
    refused = project.run(service, "apply", "--yes", env=without)

    assert f"commit {commit_}" in planned.stdout
    assert (applied.returncode, told(applied)["context"]["commit"]) == (0, commit_)
    assert {one["commit"] for one in history["entries"]} == {commit_}
    assert (refused.returncode, "E045" in refused.stderr) == (7, True)


def test_a_build_system_whose_checkout_has_no_commit_is_said_to_have_compared_nothing(
    project: Project, service: Service
) -> None:
    """A folder `.git` that is no repository: the commit that the build system tells is a claim."""
    told_ = "0123456789abcdef0123456789abcdef01234567"

    applied = project.run(service, "apply", "--yes", "--format", "json", env={**CI, "GITHUB_SHA": told_})

    assert (applied.returncode, told(applied)["context"]["commit"]) == (0, f"{told_}+unchecked")
    assert f"the files were not compared with commit {told_}" in " ".join(applied.stderr.split())
    assert read_context({}, project.folder, random=str, checkout=Checkout(silent=True)).commit == ""


def reftable(folder: Path) -> None:
    git(folder, "config", "core.repositoryformatversion", "1")
    git(folder, "config", "extensions.refStorage", "reftable")


def unknown_extension(folder: Path) -> None:
    git(folder, "config", "core.repositoryformatversion", "1")
    git(folder, "config", "extensions.newer", "true")


def later_version(folder: Path) -> None:
    git(folder, "config", "core.repositoryformatversion", "2")


def lost_commit(folder: Path) -> None:
    name = git(folder, "rev-parse", "HEAD")
    (folder / ".git/objects" / name[:2] / name[2:]).unlink()


def forged_commit(folder: Path) -> None:
    """The bytes of another commit under the id of this one."""
    name = git(folder, "rev-parse", "HEAD")
    (folder / "note.txt").write_text("x")
    after = commit(folder)
    path = folder / ".git/objects" / name[:2] / name[2:]
    path.unlink()
    shutil.copy(folder / ".git/objects" / after[:2] / after[2:], path)
    (folder / ".git/refs/heads" / git(folder, "branch", "--show-current")).write_text(f"{name}\n")


def broken_head(folder: Path) -> None:
    (folder / ".git/HEAD").write_text("nothing\n")


def head_outside(folder: Path) -> None:
    """A reference is a path below the repository, whatever HEAD says."""
    commit_ = git(folder, "rev-parse", "HEAD")
    (folder / "elsewhere").write_text(commit_)
    (folder / ".git/HEAD").write_text("ref: refs/../../elsewhere\n")


def head_of_a_pipe(folder: Path) -> None:
    (folder / ".git/HEAD").unlink()
    os.mkfifo(folder / ".git/HEAD")


def worktree_of_no_path(folder: Path) -> None:
    with (folder / ".git/config").open("ab") as file:
        file.write(b'[core]\n\tworktree = "a\0b"\n')


UNREADABLE = {
    "worktree": (worktree_of_no_path, "null byte"),
    "reftable": (reftable, "its references are stored as 'reftable', not as files"),
    "extension": (unknown_extension, "its format has the extension 'newer'"),
    "version": (later_version, "its format has the version '2'"),
    "lost commit": (lost_commit, "is not there"),
    "forged commit": (forged_commit, "is damaged: its content has another id"),
    "broken HEAD": (broken_head, "names no commit"),
    "HEAD outside": (head_outside, "names no commit"),
    "HEAD is a pipe": (head_of_a_pipe, "is not a regular file"),
}


@pytest.mark.parametrize(("damage", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_in_ci_nothing_is_applied_where_the_commit_cannot_be_read(
    project: Project, service: Service, damage: Callable[[Path], None], why: str
) -> None:
    """Git might read it, and say that a file is in no commit: not to know is no reason to go on."""
    committed(project)
    damage(project.folder)
    told_ = {**CI, "GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567"}

    refused = project.run(service, "apply", "--yes", env=told_)
    asked = service.requests()
    allowed = project.run(service, "apply", "--yes", "--allow-dirty", "--format", "json", env=told_)

    assert (refused.returncode, asked, "E170" in refused.stderr) == (7, [], True)
    assert why in " ".join(refused.stderr.split())
    assert "--allow-dirty" in refused.stderr
    assert told(allowed)["context"]["commit"] == f"{told_['GITHUB_SHA']}+unchecked"


def test_in_ci_nothing_is_applied_where_there_is_no_commit_yet(project: Project, service: Service) -> None:
    """A branch without commits, as `git checkout --orphan` leaves it: what is there is in no commit."""
    committed(project)
    git(project.folder, "checkout", "-q", "--orphan", "empty")
    told_ = {**CI, "GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567"}

    refused = project.run(service, "apply", "--yes", env=told_)
    asked = service.requests()
    allowed = project.run(service, "apply", "--yes", "--allow-dirty", "--format", "json", env=told_)

    assert (refused.returncode, asked, "E045" in refused.stderr) == (7, [], True)
    assert "the files are in no commit" in " ".join(refused.stderr.split())
    assert told(allowed)["context"]["commit"] == f"{told_['GITHUB_SHA']}+unchecked"


def forged(folder: Path, kind: str, data: bytes) -> str:
    """Write an object as git would, whatever is in it, and return its id."""
    raw = b"%s %d\0" % (kind.encode(), len(data)) + data
    name = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    write(folder, f".git/objects/{name[:2]}/{name[2:]}", zlib.compress(raw))
    return name


def of_tree(folder: Path, data: bytes) -> bytes:
    return b"tree " + forged(folder, "tree", data).encode() + b"\n\nx"


def with_a_name_twice(folder: Path) -> bytes:
    """A review may show one of the two, and a checkout have the other."""
    tree_ = subprocess.run(
        ["git", "-C", str(folder), "cat-file", "tree", "HEAD^{tree}"], check=True, capture_output=True
    ).stdout
    blob = forged(folder, "blob", (folder / "profile.yaml").read_bytes())
    return of_tree(folder, tree_ + b"100644 profile.yaml\0" + bytes.fromhex(blob))


FORGED: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "no tree": (lambda _: b"hello", "names no tree"),
    "tree is no id": (lambda _: b"tree zz\n\nx", "hexadecimal"),
    "short id": (lambda _: b"tree ab\n\nx", "is not there"),
    "tree of rubbish": (lambda folder: of_tree(folder, b"rubbish"), "an entry that cannot be read"),
    "a name twice": (with_a_name_twice, "'profile.yaml' twice"),
}


@pytest.mark.parametrize(("make", "why"), FORGED.values(), ids=FORGED)
def test_a_commit_that_git_would_not_make_holds_nothing(
    tree: Path, make: Callable[[Path], bytes], why: str
) -> None:
    """Its id fits its bytes all the same: anybody can write such an object."""
    write(tree, ".git/HEAD", forged(tree, "commit", make(tree)) + "\n")

    found = compared(tree)

    assert [one.path for one in found.differences] == ["."]
    assert why in found.differences[0].why
