"""A git repository on the disk, read without git: where it is, what it is set to, its commit and files.

Nothing is run, locked, written or fetched, whatever its settings, hooks and attributes say: they are bytes to
be read here. Repositories that git would refuse to read, or of an unknown form, are distinguished from a
folder without a repository: a run must not look as if there was nothing to compare with.

Source: git, Documentation/gitrepository-layout.txt, gitattributes.txt and config.txt, setup.c.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from reconciler.core import git
from reconciler.core.git import (
    AttributeFile,
    ConfigEntry,
    is_config_true,
    is_ignored_by,
    last_config_value,
    line_end_attributes,
    matches_wildcards,
    parse_attributes,
    parse_config,
    parse_ignores,
)
from reconciler.core.runs.commit_check import LINK, MODULE, Attributes, TreeEntry
from reconciler.environment.object_store import ObjectStore, read_regular_file

files_max = 2_000_000  # files and folders of a commit that are looked at
_path_max = 4096  # bytes
_config_max = 1024 * 1024  # bytes
_attributes_max = 1024 * 1024  # bytes
_ignores_max = 1024 * 1024  # bytes
_references_max = 256 * 1024 * 1024  # bytes of all that are packed
_includes_max = 100  # files of settings that others name
_include_depth_max = 10
_links_max = 5  # references that name another one
_PATHS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()  # as os.fsdecode reads them
_ID_SIZES = {"sha1": 20, "sha256": 32}
_EXTENSIONS = {
    *("noop", "noop-v1", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees"),
    *("objectformat", "compatobjectformat", "refstorage", "submodulepathconfig"),
}
_REFERENCE = re.compile(r"refs/(?!.*(?:\.\.|//|/\.|\\))[^\0-\x20~^:?*\[\x7f]+", re.ASCII)
_OF_A_WORKTREE = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")


class NoRepository(Exception):
    """What looks like a repository is none that git would read; the message says why."""


class UnreadableRepository(Exception):
    """A repository is there, and what it is at cannot be read here; the message says why."""


def find_repository(root: Path, environ: Mapping[str, str]) -> "Repository":
    """Return the repository that a folder is in, found as git finds it.

    Raises NoRepository, UnreadableRepository.
    """
    start = Path(os.path.realpath(root))
    ceilings = {os.path.realpath(one) for one in _split_folders(environ.get("GIT_CEILING_DIRECTORIES", ""))}
    across = is_config_true(environ.get("GIT_DISCOVERY_ACROSS_FILESYSTEM", ""))
    device, reason = None, "it is not in a repository"
    for folder in (start, *start.parents):
        if folder != start and str(folder) in ceilings:
            break
        try:
            here = folder.stat().st_dev
        except OSError:
            continue  # a folder that is not there, or may not be looked at
        if not across and device not in (None, here):
            break
        device = here
        if os.path.lexists(folder / ".git"):
            try:
                return Repository(folder, environ, _trusted_owners(start, environ))
            except NoRepository as error:
                reason = str(error)
                if not (folder / ".git").is_dir() or isinstance(error, _OfAnotherUser):
                    break
    raise NoRepository(reason)


def _split_folders(text: str) -> list[str]:
    return [one for one in text.split(os.pathsep) if Path(one).is_absolute()]


class NoCommit(NoRepository):
    """A repository is there, and no commit in it yet."""


class _OfAnotherUser(NoRepository):
    """A repository is of a user who is not believed: none further up is looked for."""


class Repository:
    """A repository, and its folder of files `top`. Files of its objects stay open until `close`."""

    def __init__(self, place: Path, environ: Mapping[str, str], owners: frozenset[int]) -> None:
        """`place` is a folder with `.git`; `owners` are the users whose repositories are read.

        Raises NoRepository, UnreadableRepository.
        """
        self.environ = environ
        self.owners = owners
        try:
            self.folder = _resolve_git_folder(place / ".git")
            common = read_regular_file(self.folder / "commondir", _path_max)
            self.common = self.folder / os.fsdecode(common.strip()) if common else self.folder
            if not _is_git_folder(self.folder, self.common):
                raise NoRepository(f"{place / '.git'} is not a git repository")
            self._check_owner(place)
            self._own = tuple(_read_entries(self.common / "config"))
            self._id_size = self._check_form()
            self.objects = ObjectStore(self.common / "objects", self._id_size)
            if is_config_true(last_config_value(self._own, "extensions.worktreeconfig")):
                self._own += tuple(_read_foreign_entries(self.folder / "config.worktree"))
            elsewhere = "" if common else last_config_value(self._own, "core.worktree")
            self.top = Path(os.path.realpath(self.folder / elsewhere if elsewhere else place))
        except (OSError, ValueError) as error:
            raise UnreadableRepository(str(error)) from error

    def _check_owner(self, place: Path) -> None:
        """Raise NoRepository where another user made it: git refuses it too."""
        if os.name != "posix":
            return
        others = {(place / ".git").lstat().st_uid, self.folder.stat().st_uid} - self.owners
        if others and not _is_safe_directory(place, self.environ):
            raise _OfAnotherUser(f"{place / '.git'} belongs to user {min(others)}, and the project does not")

    def _check_form(self) -> int:
        """Return the size of an id. Raises UnreadableRepository where files have a form that is not known."""
        version = last_config_value(self._own, "core.repositoryformatversion", "0")
        extensions = {one.name: one.text for one in self._own if one.section == "extensions" and not one.part}
        unknown = sorted(extensions.keys() - _EXTENSIONS) if version != "0" else []
        storage = extensions.get("refstorage", "files").lower()
        ids = extensions.get("objectformat", "sha1").lower()
        for is_so, why in (
            (version not in ("0", "1"), f"its format has the version {version[:20]!r}"),
            (unknown, f"its format has the extension {', '.join(unknown)[:60]!r}"),
            (storage != "files", f"its references are stored as {storage[:20]!r}, not as files"),
            (ids not in _ID_SIZES, f"its objects are named by {ids[:20]!r}"),
        ):
            if is_so:
                raise UnreadableRepository(why)
        return _ID_SIZES[ids]

    def close(self) -> None:
        """Close the files that were read."""
        self.objects.close()

    @cached_property
    def settings(self) -> tuple[ConfigEntry, ...]:
        """What is set for this repository; the last one counts."""
        own = _with_includes(self._own, self.common, self.environ, self)
        return (*_account_entries(self.environ, self), *own, *_variable_entries(self.environ))

    @cached_property
    def branch(self) -> str:
        """The name of the branch that is checked out, "" for a commit alone."""
        try:
            return _read_reference(self.folder / "HEAD")[0].removeprefix("refs/heads/")
        except (OSError, ValueError):
            return ""

    def head(self) -> bytes:
        """Return the id of the commit that is checked out.

        Raises NoCommit where there is none yet, UnreadableRepository.
        """
        try:
            found = self._head()
            kind = self.objects.read(found)
        except (OSError, ValueError) as error:
            raise UnreadableRepository(str(error)) from error
        if kind is None or kind[0] != git.COMMIT:
            raise UnreadableRepository(f"its commit {found.hex()} is not there")
        return found

    def _head(self) -> bytes:
        name, oid = _read_reference(self.folder / "HEAD")
        for _ in range(_links_max):
            if oid:
                if len(oid) != 2 * self._id_size:
                    break
                return bytes.fromhex(oid)
            if not _REFERENCE.fullmatch(name):
                break
            base = self.folder if name.startswith(_OF_A_WORKTREE) else self.common
            packed = name
            name, oid = _read_reference(base / name)
            if not name and not oid:
                oid = self._packed_reference(packed)
                if not oid:
                    raise NoCommit("it has no commit yet")
        raise ValueError("its HEAD names no commit")

    def _packed_reference(self, name: str) -> str:
        data = read_regular_file(self.common / "packed-refs", _references_max) or b""
        found = re.search(rb"^([0-9a-f]+) %s$" % re.escape(os.fsencode(name)), data, re.MULTILINE)
        return found[1].decode() if found else ""

    def read_commit(self, oid: bytes) -> bytes:
        """Return a commit as it is stored. Raises UnreadableRepository where it is not there, or damaged."""
        return self._object(oid, git.COMMIT)

    @property
    def id_size(self) -> int:
        """The size of an id in bytes: 20 for SHA-1, 32 for SHA-256."""
        return self._id_size

    def cut_commits(self) -> frozenset[bytes]:
        """Return the commits of a shallow clone whose parents are not there. Raises UnreadableRepository."""
        try:
            data = read_regular_file(self.common / "shallow", _references_max) or b""
            return frozenset(bytes.fromhex(one.decode("ascii")) for one in data.split())
        except (OSError, ValueError) as error:
            raise UnreadableRepository(str(error)) from error

    def files(self, commit: bytes, wanted: Iterable[str]) -> dict[str, TreeEntry]:
        """Return the files of a commit that are wanted, or below what is wanted; "" is everything.

        Raises UnreadableRepository where the commit or a folder of it is not there, or damaged.
        """
        try:
            return self._files(commit, set(wanted))
        except ValueError as error:
            raise UnreadableRepository(str(error)) from error

    def _files(self, commit: bytes, paths: set[str]) -> dict[str, TreeEntry]:
        folders = set[str]()
        for folder in {path.rpartition("/")[0] for path in paths}:
            folders.update((folder, *_parent_folders(folder)))
        found, seen = dict[str, TreeEntry](), set[str]()
        left = [("", git.read_tree_id(self._object(commit, git.COMMIT)), "" in paths)]
        while left:
            front, oid, every = left.pop()
            for mode, name, inner in git.read_tree_entries(self._object(oid, git.TREE), self._id_size):
                path = front + name.decode(*_PATHS)
                is_wanted = every or path in paths
                if not is_wanted and path not in folders:
                    continue
                if path in seen or path in found:  # a review may show the one, and a checkout have the other
                    raise ValueError(f"its commit has {path!r} twice")
                if mode == git.FOLDER_MODE:
                    left.append((f"{path}/", inner, is_wanted))
                    seen.add(path)
                elif is_wanted:
                    found[path] = TreeEntry(mode, inner)
            if len(seen) + len(found) > files_max or len(front) > _path_max:
                raise UnreadableRepository(f"its commit has over {files_max:,} files, or too long paths")
        return found

    def _object(self, oid: bytes, kind: str) -> bytes:
        try:
            found = self.objects.read(oid)
        except ValueError as error:
            raise UnreadableRepository(str(error)) from error
        if found is None or found[0] != kind:
            raise UnreadableRepository(f"its {kind} {oid.hex()} is not there")
        return found[1]

    def small_blob(self, oid: bytes, most: int) -> bytes | None:
        """Return the content of a file, where it is there and has at most this many bytes."""
        try:
            found = self.objects.read(oid, most)
        except ValueError:  # too large, or damaged: nothing is known of it
            return None
        return found[1] if found is not None and found[0] == git.BLOB else None

    def line_ends(self, commit: bytes, paths: Iterable[str]) -> dict[str, Attributes]:
        """Return what the attributes say of the line ends of paths.

        Where a file of attributes is not checked out, the one of the commit counts.
        """
        wanted = list(paths)
        folders = {folder for path in wanted for folder in _parent_folders(path)}
        absent = dict[str, str]()
        known: dict[str, AttributeFile] = {}
        for folder in folders:
            name = f"{folder}/.gitattributes" if folder else ".gitattributes"
            file = self.top / name
            data = None if file.is_symlink() else _read_or_none(file, _attributes_max)
            if data is not None:
                known[folder] = parse_attributes(data, folder, macros=not folder)
            elif not os.path.lexists(file):
                absent[name] = folder
        for name, entry in (self.files(commit, absent) if absent else {}).items():
            if name in absent and entry.mode not in (LINK, MODULE):
                data = self.small_blob(entry.oid, _attributes_max) or b""
                known[absent[name]] = parse_attributes(data, absent[name], macros=not absent[name])
        first = self._attribute_file(self.common / "info" / "attributes")
        last = [self._attribute_file(one) for one in self._general_attributes()]
        ignore_case = is_config_true(last_config_value(self.settings, "core.ignorecase"))
        of_folder: dict[str, tuple[AttributeFile, ...]] = {}
        found = dict[str, Attributes]()
        for path in wanted:
            folder = path.rpartition("/")[0]
            if folder not in of_folder:
                own = (known[one] for one in _parent_folders(path) if one in known)
                of_folder[folder] = tuple(one for one in (first, *own, *last) if one.rules or one.macros)
            found[path] = line_end_attributes(path, of_folder[folder], ignore_case=ignore_case)
        return found

    def _general_attributes(self) -> Iterator[Path]:
        """Yield the files of attributes of this account and of this machine."""
        yield from self._account_files("core.attributesfile", "attributes")
        if not is_config_true(self.environ.get("GIT_ATTR_NOSYSTEM", "")):
            yield from (one.with_name("gitattributes") for one in _system_files(self.environ))

    def _account_files(self, setting: str, usual: str) -> list[Path]:
        """Return the file of this account that a setting names, else the usual one beside its settings."""
        named = last_config_value(self.settings, setting)
        if named:
            return [_expand_path(named, self.environ, self.top)]
        return [one / usual for one in _config_homes(self.environ)[:1]]

    def _attribute_file(self, path: Path) -> AttributeFile:
        return parse_attributes(_read_or_none(path, _attributes_max) or b"")

    def ignores(self, path: str) -> bool:
        """Whether a file that is not there yet would be ignored; `path` is that below `top`."""
        general = self._account_files("core.excludesfile", "ignore")
        files = [(one, "") for one in (*general, self.common / "info" / "exclude")]
        files += [(self.top / one / ".gitignore", one) for one in reversed(list(_parent_folders(path)))]
        # Git follows no link that stands in the place of a list in the repository.
        read = ((_read_or_none(one, _ignores_max), at) for one, at in files if not one.is_symlink() or not at)
        rules = (rule for data, at in read for rule in parse_ignores(data or b"", at))
        ignore_case = is_config_true(last_config_value(self.settings, "core.ignorecase"))
        return is_ignored_by(path, rules, ignore_case=ignore_case)

    @property
    def autocrlf(self) -> str:
        """The setting core.autocrlf."""
        return last_config_value(self.settings, "core.autocrlf")


def _parent_folders(path: str) -> Iterator[str]:
    """Yield the folders that a path is in, the nearest first, "" at the end."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _resolve_git_folder(named: Path) -> Path:
    """Return the folder of a repository, which a file may name. Raises NoRepository, OSError, ValueError."""
    if named.is_dir():
        return Path(os.path.realpath(named))
    data = read_regular_file(named, _path_max) or b""
    if not data.startswith(b"gitdir: ") or b"\0" in data:
        raise NoRepository(f"{named} names no repository")
    folder = named.parent / os.fsdecode(data.removeprefix(b"gitdir: ").rstrip(b"\r\n"))
    if not folder.is_dir():
        raise NoRepository(f"{named} names a folder that is not there")
    return Path(os.path.realpath(folder))


def _is_git_folder(folder: Path, common: Path) -> bool:
    """Whether git takes a folder for a repository."""
    return os.path.lexists(folder / "HEAD") and (common / "objects").is_dir() and (common / "refs").is_dir()


def _read_reference(path: Path) -> tuple[str, str]:
    """Return the reference that a file names, or the id; neither where there is no file.

    Raises OSError, ValueError where it holds neither.
    """
    if path.is_symlink():
        leads = path.readlink().as_posix()
        if leads.startswith("refs/"):
            return leads, ""
    if path.is_dir():  # a branch of this name was removed, and others are below it
        return "", ""
    data = read_regular_file(path, _path_max)
    if data is None:
        return "", ""
    text = os.fsdecode(data).strip()
    if text.startswith("ref:"):
        return text.removeprefix("ref:").strip(), ""
    if not re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", text):
        raise ValueError(f"{path} names no commit")
    return "", text


def _trusted_owners(root: Path, environ: Mapping[str, str]) -> frozenset[int]:
    """Return whose repositories are read: ours, root's, and those of the owner of the project."""
    if os.name != "posix":
        return frozenset()
    user, caller = os.geteuid(), environ.get("SUDO_UID", "")
    sudo = {int(caller)} if user == 0 and caller.isascii() and caller.isdecimal() else set[int]()
    try:
        return frozenset({user, 0, root.stat().st_uid} | sudo)
    except OSError:
        return frozenset({user, 0} | sudo)


def _is_safe_directory(place: Path, environ: Mapping[str, str]) -> bool:
    """Whether this account names a folder in safe.directory; a repository cannot say so of itself."""
    safe = False
    for one in (*_account_entries(environ, None), *_variable_entries(environ)):
        if one.key == "safe.directory":
            text = one.text
            named = text.removesuffix("/*")
            path = os.path.realpath(_expand_path(named, environ, place)) if named else ""
            fits = text == "*" or str(place) == path or (text != named and str(place).startswith(f"{path}/"))
            safe = bool(text) and (safe or fits)
    return safe


# Settings -------------------------------------------------------------------------------------------------


def read_remote_addresses(root: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the addresses of the remotes of the repository that a folder is in. They may hold a password."""
    try:
        settings = find_repository(root, environ).settings
    except (NoRepository, UnreadableRepository):
        settings = (*_account_entries(environ, None), *_variable_entries(environ))
    return tuple(one.text for one in settings if (one.section, one.name) == ("remote", "url") and one.part)


def _account_entries(environ: Mapping[str, str], repository: Repository | None) -> Iterator[ConfigEntry]:
    """Yield what is set for this machine and this account."""
    for path in (*_system_files(environ), *_global_files(environ)):
        yield from _with_includes(_read_foreign_entries(path), path.parent, environ, repository)


def _variable_entries(environ: Mapping[str, str]) -> Iterator[ConfigEntry]:
    """Yield what variables set."""
    count = environ.get("GIT_CONFIG_COUNT", "")
    pairs = [
        (environ.get(f"GIT_CONFIG_KEY_{number}", ""), environ.get(f"GIT_CONFIG_VALUE_{number}", ""))
        for number in range(min(int(count), _includes_max) if count.isascii() and count.isdecimal() else 0)
    ]
    try:
        words = shlex.split(environ.get("GIT_CONFIG_PARAMETERS", ""))
    except ValueError:
        words = []
    pairs += [(word.partition("=")[0], word.partition("=")[2] if "=" in word else "true") for word in words]
    for key, value in pairs:
        section, _, rest = key.partition(".")
        part, _, name = rest.rpartition(".")
        if section and name:
            yield ConfigEntry(section.lower(), part, name.lower(), value)


def _system_files(environ: Mapping[str, str]) -> list[Path]:
    if is_config_true(environ.get("GIT_CONFIG_NOSYSTEM", "")):
        return []
    named = environ.get("GIT_CONFIG_SYSTEM")
    if named is not None:
        return [Path(named)] if named else []
    if os.name == "nt":
        programs = (environ.get("PROGRAMFILES", ""), environ.get("PROGRAMDATA", ""))
        return [Path(one) / "Git" / "etc" / "gitconfig" for one in programs if one]
    return [Path("/etc/gitconfig")]


def _global_files(environ: Mapping[str, str]) -> list[Path]:
    named = environ.get("GIT_CONFIG_GLOBAL")
    if named is not None:
        return [Path(named)] if named else []
    home = _home_folder(environ)
    return [*(one / "config" for one in _config_homes(environ)[:1]), *([home / ".gitconfig"] if home else [])]


def _config_homes(environ: Mapping[str, str]) -> list[Path]:
    """Return the folder of this account's settings of git, if there is one."""
    named, home = environ.get("XDG_CONFIG_HOME", ""), _home_folder(environ)
    return [Path(named) / "git"] if named else [home / ".config" / "git"] if home else []


def _home_folder(environ: Mapping[str, str]) -> Path | None:
    named = environ.get("HOME", "") or (environ.get("USERPROFILE", "") if os.name == "nt" else "")
    return Path(named) if named else None


def _expand_path(path: str, environ: Mapping[str, str], base: Path) -> Path:
    home = _home_folder(environ)
    if path.startswith("~/") and home is not None:
        return home / path[2:]
    return base / path


def _with_includes(
    entries: Iterable[ConfigEntry], base: Path, environ: Mapping[str, str], repository: Repository | None
) -> Iterator[ConfigEntry]:
    """Yield entries, and in the place of those that name a file what it sets."""
    left, count = [(iter(entries), base)], 0
    while left:
        one = next(left[-1][0], None)
        if one is None:
            left.pop()
            continue
        yield one
        folder = left[-1][1]
        wanted = one.key == "include.path" or (
            (one.section, one.name) == ("includeif", "path")
            and _is_condition_met(one.part, folder, environ, repository)
        )
        if wanted and count < _includes_max and len(left) <= _include_depth_max:
            count += 1
            path = _expand_path(one.text, environ, folder)
            left.append((iter(_read_foreign_entries(path)), path.parent))


def _is_condition_met(
    condition: str, base: Path, environ: Mapping[str, str], repository: Repository | None
) -> bool:
    """Whether the condition of an include is met; one that asks for addresses of remotes never is."""
    kind, _, pattern = condition.partition(":")
    if repository is None or kind not in ("gitdir", "gitdir/i", "onbranch"):
        return False
    if kind == "onbranch":
        return bool(repository.branch) and matches_wildcards(
            repository.branch, pattern + "**" * pattern.endswith("/")
        )
    text = repository.folder.as_posix()
    if pattern.startswith(("~/", "./")):
        pattern = _expand_path(pattern.removeprefix("./"), environ, base).as_posix() + "/" * pattern.endswith(
            "/"
        )
    elif not Path(pattern).is_absolute():
        pattern = f"**/{pattern}"
    pattern += "**" * pattern.endswith("/")
    fold = str.lower if kind == "gitdir/i" else str
    return matches_wildcards(fold(text), fold(pattern))


def _read_entries(path: Path) -> Iterator[ConfigEntry]:
    """Yield what a file sets. Raises OSError, ValueError where there is one that cannot be read."""
    return parse_config(os.fsdecode(read_regular_file(path, _config_max) or b""))


def _read_foreign_entries(path: Path) -> Iterator[ConfigEntry]:
    """Yield what a file sets; nothing where it cannot be read."""
    return parse_config(os.fsdecode(_read_or_none(path, _config_max) or b""))


def _read_or_none(path: Path, most: int) -> bytes | None:
    try:
        return read_regular_file(path, most)
    except (OSError, ValueError):
        return None
