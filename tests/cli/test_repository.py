"""What is read of a repository without git is what git itself says of it."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import effort
import pytest
from cli.test_checkout import WHO, commit, git, write
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.git import apply_delta, matches_wildcards
from reconciler.environment.object_store import ObjectStore, ObjectTooLarge
from reconciler.environment.repository import NoRepository, Repository, UnreadableRepository, find_repository

TRIES = effort.count(small=40, full=600)


def said(folder: Path, *words: str, given_: bytes = b"", **env: str) -> bytes:
    """What git prints."""
    done = subprocess.run(
        ["git", "-C", str(folder), *WHO, *words],
        input=given_,
        check=True,
        capture_output=True,
        env={**os.environ, **env},
    )
    return done.stdout


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of 30 commits, whose files and folders change little: packs hold deltas of deltas."""
    chance, root = Random(7), tmp_path_factory.mktemp("history") / "project"
    git(root.parent, "init", "-q", "-b", "main/deep", str(root))
    lines = [f"line {number} {chance.random()}\n" for number in range(6000)]
    for number in range(30):
        lines[chance.randrange(6000)] = f"changed {number}\n"
        write(root, "large.txt", "".join(lines))
        write(root, f"many/of a name/ü{number}.yaml", f"{number}\n" * number)
        for below in range(4):
            write(root, f"many/{below}/{number}.csv", f"{chance.random()}\n")
        commit(root)
    (root / "link").symlink_to("large.txt")
    (root / "many/0/1.csv").chmod(0o755)
    write(root, "empty", "")
    commit(root)
    return root


@pytest.fixture
def folder(history: Path, tmp_path: Path) -> Path:
    """A copy of one's own."""
    return Path(shutil.copytree(history, tmp_path / "project", symlinks=True))


def loose(folder: Path) -> Path:
    return folder


def packed(folder: Path) -> Path:
    git(folder, "repack", "-adfq", "--depth=40", "--window=60")
    git(folder, "pack-refs", "--all", "--prune")
    git(folder, "prune-packed")
    return folder


def packed_by_name(folder: Path) -> Path:
    """Deltas that name their base by its id, as servers send them."""
    git(folder, "-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=40", "--window=60")
    return folder


def old_index(folder: Path) -> Path:
    git(folder, "-c", "pack.indexVersion=1", "repack", "-adfq")
    return folder


def large_offsets(folder: Path) -> Path:
    packed(folder)
    pack = next((folder / ".git/objects/pack").glob("*.pack"))
    git(folder, "index-pack", "--index-version=2,0x40", str(pack))
    return folder


def many_packs(folder: Path) -> Path:
    for number in range(70):  # more than are open at the same time
        write(folder, "large.txt", f"{number}\n")
        write(folder, f"more/{number}", f"{number}\n")
        commit(folder)
        git(folder, "repack", "-dq")
    git(folder, "multi-pack-index", "write")
    return folder


def borrowed(folder: Path) -> Path:
    packed(folder)
    git(folder.parent, "clone", "-q", "--shared", str(folder), "shared")
    git(folder.parent, "clone", "-q", "--shared", str(folder.parent / "shared"), "again")
    shutil.rmtree(folder.parent / "again/.git/objects/pack", ignore_errors=True)
    return folder.parent / "again"


def worktree(folder: Path) -> Path:
    git(folder, "worktree", "add", "-q", "-b", "other", str(folder.parent / "second"), "HEAD~3")
    return folder.parent / "second"


def of_a_bare_one(folder: Path) -> Path:
    git(folder.parent, "clone", "-q", "--bare", str(folder), "bare")
    git(folder.parent / "bare", "worktree", "add", "-q", str(folder.parent / "third"), "HEAD")
    return folder.parent / "third"


def detached(folder: Path) -> Path:
    git(folder, "checkout", "-q", "HEAD~5")
    return folder


def separate(folder: Path) -> Path:
    git(folder, "init", "-q", "--separate-git-dir", str(folder.parent / "elsewhere"))
    return folder


def sparse(folder: Path) -> Path:
    git(folder, "sparse-checkout", "set", "many/1")
    return folder


def shallow(folder: Path) -> Path:
    git(folder.parent, "clone", "-q", "--depth=1", f"file://{folder}", "shallow")
    return folder.parent / "shallow"


def partial(folder: Path) -> Path:
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(folder.parent, "clone", "-q", "--filter=blob:none", f"file://{folder}", "partial")
    return folder.parent / "partial"


def submodule(folder: Path) -> Path:
    git(folder.parent, "init", "-q", "outer")
    outer = folder.parent / "outer"
    git(outer, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(folder), "inner")
    commit(outer)
    return outer / "inner"


def with_submodule(folder: Path) -> Path:
    return submodule(folder).parent


def renamed(folder: Path) -> Path:
    git(folder, "mv", "many", "renamed")
    git(folder, "branch", "-m", "main/deep", "renamed")
    commit(folder)
    return folder


def symbolic(folder: Path) -> Path:
    git(folder, "symbolic-ref", "refs/heads/one", "refs/heads/main/deep")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/one")
    return folder


def linked_head(folder: Path) -> Path:
    (folder / ".git/HEAD").unlink()
    (folder / ".git/HEAD").symlink_to("refs/heads/main/deep")
    return folder


def grafted(folder: Path) -> Path:
    git(folder, "replace", "HEAD", "HEAD~7")
    return folder


def by_sha256(folder: Path) -> Path:
    shutil.rmtree(folder / ".git")
    git(folder, "init", "-q", "--object-format=sha256")
    commit(folder)
    return packed(folder)


FORMS = [
    *(loose, packed, packed_by_name, old_index, large_offsets, many_packs, borrowed, worktree),
    *(of_a_bare_one, detached, separate, sparse, shallow, partial, submodule, with_submodule),
    *(renamed, symbolic, linked_head, grafted, by_sha256),
]


@pytest.mark.parametrize("form", FORMS)
def test_commit_and_files_are_those_that_git_names(folder: Path, form: Callable[[Path], Path]) -> None:
    """Loose and packed, borrowed, linked, partial: each form that a checkout may have."""
    root = form(folder)
    found = find_repository(root / "many", os.environ)
    head = found.head()
    rows = said(root, "ls-tree", "-r", "-z", "--full-tree", "HEAD", GIT_NO_REPLACE_OBJECTS="1").split(b"\0")
    files = {f"{entry.mode} {entry.oid.hex()} {path}" for path, entry in found.files(head, [""]).items()}
    some = found.files(head, ["many/1", "large.txt", "many/of a name/ü3.yaml", "none"])
    expected = said(
        root,
        "ls-tree",
        "-r",
        "-z",
        "--full-tree",
        "HEAD",
        "--",
        "many/1",
        "large.txt",
        "many/of a name/ü3.yaml",
        "none",
        GIT_NO_REPLACE_OBJECTS="1",
    )

    assert head.hex() == said(root, "rev-parse", "HEAD").decode().strip()
    assert str(found.top) == os.fsdecode(said(root, "rev-parse", "--show-toplevel")).strip()
    assert files == {
        " ".join(
            (
                row[:6].decode(),
                row.split(b" ")[2].partition(b"\t")[0].decode(),
                os.fsdecode(row.partition(b"\t")[2]),
            )
        )
        for row in rows
        if row
    }
    assert set(some) == {os.fsdecode(row.partition(b"\t")[2]) for row in expected.split(b"\0") if row}
    found.close()


@pytest.mark.parametrize("form", [loose, packed, packed_by_name, large_offsets, borrowed, by_sha256])
def test_every_object_is_read_as_git_reads_it(folder: Path, form: Callable[[Path], Path]) -> None:
    """Deltas of deltas, too; and what is not there is absent."""
    root = form(folder)
    found = find_repository(root, os.environ)
    listed = said(root, "cat-file", "--batch-check", "--batch-all-objects")
    for row in listed.decode().splitlines():
        name, kind, size = row.split()
        read = found.objects.read(bytes.fromhex(name))
        assert read is not None
        assert (read[0], len(read[1])) == (kind, int(size))
        if int(size) > 1:
            with pytest.raises(ObjectTooLarge):
                found.objects.read(bytes.fromhex(name), int(size) - 1)
    absent = found.files(found.head(), [""])["large.txt"].oid

    assert len(listed.splitlines()) > 60
    assert found.objects.read(b"\1" * len(absent)) is None
    found.close()


WORDS = st.lists(
    st.sampled_from(
        [
            *"ab/*?.-",
            "**",
            "**/",
            "/**",
            "[ab]",
            "[!a]",
            "[a-c]",
            "[]a]",
            "[[:alpha:]]",
            "[",
            "\\a",
            "\\*",
            "A",
            "ü",
        ]
    ),
    min_size=1,
    max_size=7,
).map("".join)
PATHS = (
    "a",
    "b",
    "a/b",
    "a/a/b",
    "b/a.b",
    "a.b",
    "A",
    "a/*",
    "ab/ba/c",
    "-",
    "a/ü",
    "a*b",
    "c/a/b/a.b",
    "[",
    "a]",
)
NEW_FILES = ("a/b/x", "b/x", "b/a.b", "A/b", "a/ü", "ab/ba/c", "-", "c/a/b/a.b", "B", "a/b/c/d/A.B", "bb ")
VALUES = (
    "text",
    "-text",
    "!text",
    "text=auto",
    "eol=crlf",
    "eol=lf",
    "crlf",
    "-crlf",
    "crlf=input",
    "binary",
    "mine",
    "x-y",
    "",
)
LINE = st.tuples(WORDS, st.lists(st.sampled_from(VALUES), max_size=3)).map(
    lambda one: " ".join((one[0], *one[1]))
)
FILE = st.lists(
    st.one_of(
        LINE,
        st.sampled_from(
            [
                "# x",
                "",
                "[attr]mine text=auto eol=lf",
                "[attr]mine -text",
                '"a b" text',
                "!a text",
                "  a\ttext",
            ]
        ),
    ),
    max_size=6,
).map("\n".join)


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose attributes are asked for, a hundred times."""
    root = tmp_path_factory.mktemp("attributes")
    git(root, "init", "-q")
    write(root, "seed", "")
    commit(root)
    (root / "a/b").mkdir(parents=True)
    return root


def as_git_says(root: Path, paths: tuple[str, ...]) -> dict[str, dict[str, str]]:
    text = said(root, "check-attr", "-z", "--stdin", "text", "eol", "crlf", given_="\0".join(paths).encode())
    words = os.fsdecode(text).split("\0")
    found: dict[str, dict[str, str]] = {path: {} for path in paths}
    for path, name, value in zip(words[::3], words[1::3], words[2::3], strict=False):
        found[path][name] = value
    return found


@settings(max_examples=TRIES)
@given(whole=FILE, below=FILE, own=FILE, ignore_case=st.booleans())
def test_attributes_are_as_git_finds_them(
    checked: Path, whole: str, below: str, own: str, *, ignore_case: bool
) -> None:
    """Patterns, macros and which file counts most."""
    write(checked, ".gitattributes", whole)
    write(checked, "a/.gitattributes", below)
    write(checked, ".git/info/attributes", own)
    git(checked, "config", "core.ignorecase", str(ignore_case).lower())
    repository = find_repository(checked, os.environ)

    found = repository.line_ends(repository.head(), PATHS)

    assert {path: {"text": one.text, "eol": one.eol, "crlf": one.crlf} for path, one in found.items()} == (
        as_git_says(checked, PATHS)
    )
    repository.close()


IGNORES = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["", "", "!", "/"]), WORDS, st.sampled_from(["", "", "/", " ", "\\ ", "\r"])
        ).map("".join),
        st.sampled_from(["# a", "", "\\#a", "\\!a", "/", "**/b", "a/**", "!"]),
    ),
    max_size=6,
).map("\n".join)


@settings(max_examples=TRIES)
@given(whole=IGNORES, below=IGNORES, own=IGNORES, ignore_case=st.booleans())
def test_a_new_file_is_ignored_where_git_says_so(
    checked: Path, whole: str, below: str, own: str, *, ignore_case: bool
) -> None:
    """Secrets are written into a project where no commit would take them, and git is not run to ask."""
    write(checked, ".gitignore", whole)
    write(checked, "a/.gitignore", below)
    write(checked, ".git/info/exclude", own)
    git(checked, "config", "core.ignorecase", str(ignore_case).lower())
    given_ = "\0".join(NEW_FILES).encode()
    told = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=checked, input=given_, capture_output=True, check=False,
    )  # fmt: skip
    repository = find_repository(checked, os.environ)

    found = {path for path in NEW_FILES if repository.ignores(path)}

    assert found == set(filter(None, os.fsdecode(told.stdout).split("\0")))
    repository.close()


def test_a_pattern_takes_no_longer_than_pattern_times_path() -> None:
    """A search that backs would not end: the places that a pattern can be at are walked instead."""
    pattern, path = "*a" * 500 + "b", "a" * 4000

    assert not matches_wildcards(path, pattern)
    assert matches_wildcards(f"{path}b", pattern)


LAYERS = {
    "~/.gitconfig": "[core]\n\tautocrlf = input ; a comment\n[include]\n\tpath = more\n\tpath = none\n",
    "~/more": '[remote "a.b"]\n\turl = "x # \\"y\\" "  z # no\n[x]y=1\n[One.Two]z\n',
    "~/.config/git/config": "[core]\n\tattributesFile = ~/attributes\n[alias]\n\tst = status \\\n  -s\n",
    ".git/config": '[includeIf "gitdir:~/"]\n\tpath = ~/met\n'
    '[includeIf "gitdir:/nowhere/"]\n\tpath = ~/unmet\n'
    '[includeIf "onbranch:m*"]\n\tpath = ~/met\n[includeIf "gitdir/i:**/PROJECT/.git"]\n\tpath = ~/met\n'
    '[extensions]\n\tworktreeConfig\n[empty]\n\ta =\n\tb\n[remote "origin"] url = git@example.com:a.git\n',
    ".git/config.worktree": "[core]\n\tautocrlf = true\n\tignoreCase = yes\n",
    "~/met": "[met]\r\n\tone = 1\r\n",
    "~/unmet": "[unmet]\n\tone = 1\n",
}


def test_settings_are_those_that_git_lists(tmp_path: Path) -> None:
    """Of the account, of the repository, of a worktree and of variables, with what they include."""
    home = tmp_path / "home"
    root = home / "project"
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    for name, text in LAYERS.items():
        folder, path = (home, name[2:]) if name.startswith("~/") else (root, name)
        before = (folder / path).read_text() if (folder / path).exists() else ""
        write(folder, path, before + text)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "Core.AutoCRLF",
        "GIT_CONFIG_VALUE_0": "false",
        "GIT_CONFIG_KEY_1": "url.A b.insteadOf",
        "GIT_CONFIG_VALUE_1": "x=y",
        "GIT_CONFIG_PARAMETERS": "'a.b'='c d' 'a.e=f'",
    }
    done = subprocess.run(
        ["git", "config", "--list", "-z", "--includes"],
        cwd=root,
        env=environ,
        check=True,
        capture_output=True,
    )
    found = find_repository(root, environ)

    assert [(one.key, one.value) for one in found.settings] == [
        (key, value if equals else None)
        for key, equals, value in (row.partition("\n") for row in os.fsdecode(done.stdout).split("\0") if row)
    ]
    assert found.autocrlf == "false"
    found.close()


def test_a_repository_of_another_user_is_read_where_the_project_is_his_or_named(
    folder: Path, tmp_path: Path
) -> None:
    """Above a project a stranger may have made one; in a container all of a checkout is its host user's."""
    environ = {"HOME": str(tmp_path)}
    owner, stranger = folder.stat().st_uid, frozenset({folder.stat().st_uid + 1})
    refusal = f"belongs to user {owner}"

    with pytest.raises(NoRepository, match=refusal):
        Repository(folder, environ, stranger)
    write(folder, ".git/config", f"[safe]\n\tdirectory = {folder}\n")
    with pytest.raises(NoRepository, match=refusal):
        Repository(folder, environ, stranger)
    write(tmp_path, ".gitconfig", f"[safe]\n\tdirectory = {folder}\n")
    assert Repository(folder, environ, stranger).folder == find_repository(folder, {}).folder
    assert owner in find_repository(folder / "many", {}).owners


def test_a_folder_of_folders_of_folders_ends(tmp_path: Path) -> None:
    """A few small trees that name each other many times stand for more files than any disk holds."""
    git(tmp_path, "init", "-q", str(tmp_path))
    inner = said(tmp_path, "hash-object", "-w", "--stdin", given_=b"x").decode().strip()
    kind, mode = "blob", "100644"
    for _ in range(8):
        rows = "".join(f"{mode} {kind} {inner}\tf{number}\n" for number in range(10))
        inner = said(tmp_path, "mktree", given_=rows.encode()).decode().strip()
        kind, mode = "tree", "040000"
    name = said(tmp_path, "commit-tree", "-m", "x", inner).decode().strip()
    git(tmp_path, "update-ref", "HEAD", name)
    found = find_repository(tmp_path, os.environ)

    with pytest.raises(UnreadableRepository, match="over 2,000,000 files"):
        found.files(found.head(), [""])
    assert len(found.files(found.head(), ["f1/f2/f3/f4/f5/f6"])) == 100
    found.close()


def cut_off(pack: bytes) -> bytes:
    return pack[: len(pack) // 2]


def zeros(pack: bytes) -> bytes:
    return pack[:12] + bytes(len(pack) - 12)


def turned(pack: bytes) -> bytes:
    return pack[:12] + pack[:11:-1]


def ones(pack: bytes) -> bytes:
    """Numbers as large as can be: of ids, of offsets, of sizes."""
    return pack[: len(pack) // 2] + b"\xff" * (len(pack) - len(pack) // 2)


@pytest.mark.parametrize("damage", [cut_off, zeros, turned, ones])
@pytest.mark.parametrize("suffix", ["pack", "idx"])
def test_a_damaged_pack_is_said_to_be_unreadable(
    folder: Path, damage: Callable[[bytes], bytes], suffix: str
) -> None:
    """Never another content, and never an error that nobody expects."""
    packed(folder)
    path = next((folder / ".git/objects/pack").glob(f"*.{suffix}"))
    data = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(damage(data))
    found = find_repository(folder, os.environ)

    with pytest.raises(UnreadableRepository):
        found.files(found.head(), [""])
    found.close()


@pytest.mark.parametrize(
    "delta",
    [
        b"",
        b"\xff" * 1_000_000,
        b"\x05" + b"\xff" * 1_000_000,
        b"\x05",
        b"\x05\x05\x00",
        b"\x05\x09\x90\x05",
        b"\x04\x01\x01a",
        b"\x05\x02\x01a",
        b"\x05\x02\x91",
    ],
    ids=[str(number) for number in range(9)],
)
def test_a_damaged_delta_makes_nothing(delta: bytes) -> None:
    """Not within minutes either: a number of a million digits would be made longer digit by digit."""
    with pytest.raises((ValueError, IndexError)):
        apply_delta(b"12345", delta)


def test_objects_that_borrow_from_each_other_are_looked_at_once(folder: Path, tmp_path: Path) -> None:
    """A circle, a pipe, and a folder that is not there."""
    write(folder, ".git/objects/info/alternates", f"{folder}/.git/objects\n../../nowhere\n/dev/null\n#x\n")
    os.mkfifo(tmp_path / "pipe")
    found = ObjectStore(folder / ".git/objects", 20)

    assert found.read(b"\1" * 20) is None
    found.close()
