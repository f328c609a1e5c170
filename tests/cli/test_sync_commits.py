"""Which commits `sync` follows: those that descend from the last one, signed where the settings say so."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli.hands import Project, Service
from cli.keeping import store_of

from reconciler.environment.checkout import find_lineage

NAMES = {
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
}  # fmt: skip
APPLY = {"RECONCILER_POLICY_MODE": "apply"}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ("git", *words), cwd=folder, check=True, capture_output=True, text=True, env=os.environ | NAMES
    )
    return done.stdout.strip()


def commit(project: Project, title: str, *words: str) -> str:
    """Give Jane another job title, commit, and return the id."""
    text = project.manifest.read_text("utf-8")
    before, found, after = text.partition("    jobTitle: ")
    assert found
    project.manifest.write_text(f"{before}{found}{title}\n{after.partition(chr(10))[2]}", "utf-8")
    git(project.folder, "add", ".")
    git(project.folder, *words[: len(words) // 2], "commit", "-qm", title, *words[len(words) // 2 :])
    return git(project.folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(project: Project) -> Project:
    """A project with a history of its own, and a cache that git leaves alone."""
    (project.folder / ".git").rmdir()
    git(project.folder, "init", "-qb", "main")
    (project.folder / ".gitignore").write_text(".reconciler/\n", "utf-8")
    commit(project, "First")
    return project


def sync(project: Project, service: Service, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return project.run(service, "sync", *words, env={**APPLY, **env})


def said(done: "subprocess.CompletedProcess[str]") -> str:
    return " ".join(done.stderr.split())


def test_a_commit_that_descends_is_applied_also_by_a_merge(repository: Project, service: Service) -> None:
    first = sync(repository, service)
    git(repository.folder, "checkout", "-qb", "side")
    commit(repository, "Side")
    git(repository.folder, "checkout", "-q", "main")
    git(repository.folder, "merge", "-q", "--no-ff", "-m", "merge", "side")

    assert (first.returncode, sync(repository, service).returncode) == (0, 0)
    with store_of(repository, service) as store:
        assert store.last_applied_commit() == git(repository.folder, "rev-parse", "HEAD")


def test_a_force_push_takes_nothing_back_in_silence(repository: Project, service: Service) -> None:
    """The old runner and the replaced branch look alike: both would undo what was applied."""
    old = git(repository.folder, "rev-parse", "HEAD")
    new = commit(repository, "Second")
    assert sync(repository, service).returncode == 0
    writes = service.writes()
    git(repository.folder, "reset", "-q", "--hard", old)

    refused = sync(repository, service)
    assert (refused.returncode, service.writes()) == (7, writes)
    assert f"commit {old} does not descend from {new}, which was applied last" in said(refused)
    assert "--allow-rewind" in said(refused)
    commit(repository, "Other")
    assert sync(repository, service).returncode == 7
    allowed = sync(repository, service, "--allow-rewind")
    assert allowed.returncode == 0
    commit(repository, "Third")
    assert sync(repository, service).returncode == 0


def test_without_changes_an_older_commit_is_no_reason_to_fail(repository: Project, service: Service) -> None:
    """Nothing would be taken back; and a report writes nothing at all."""
    old = git(repository.folder, "rev-parse", "HEAD")
    commit(repository, "Second")
    assert sync(repository, service).returncode == 0
    git(repository.folder, "reset", "-q", "--hard", old)

    assert sync(repository, service, RECONCILER_POLICY_MODE="report").returncode == 2
    git(repository.folder, "reset", "-q", "--hard", "ORIG_HEAD")
    git(repository.folder, "checkout", "-q", "--orphan", "alone")
    git(repository.folder, "commit", "-qm", "the same files")
    assert sync(repository, service).returncode == 0


def test_a_commit_of_another_repository_is_refused(repository: Project, service: Service) -> None:
    assert sync(repository, service).returncode == 0
    shutil.rmtree(repository.folder / ".git")
    git(repository.folder, "init", "-qb", "main")
    commit(repository, "Stranger")

    refused = sync(repository, service)

    assert refused.returncode == 7
    assert "does not descend from" in said(refused)


def test_a_shallow_clone_is_refused_with_the_way_to_fetch_all(
    repository: Project, service: Service, tmp_path: Path
) -> None:
    """What is not there proves nothing, in either direction."""
    assert sync(repository, service).returncode == 0
    for title in ("Second", "Third"):
        commit(repository, title)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", repository.folder.as_uri(), str(clone))
    shutil.copytree(repository.folder / ".reconciler", clone / ".reconciler")

    refused = sync(Project(clone), service)
    assert refused.returncode == 7
    assert "this clone is shallow" in said(refused)
    assert "fetch-depth: 0" in said(refused)
    git(clone, "fetch", "-q", "--unshallow")
    assert sync(Project(clone), service).returncode == 0


def test_a_branch_that_is_gone_is_refused(repository: Project, service: Service) -> None:
    assert sync(repository, service).returncode == 0
    (repository.folder / ".git" / "HEAD").write_text("ref: refs/heads/gone\n", "utf-8")

    refused = sync(repository, service)

    assert refused.returncode == 7
    assert "in no commit" in said(refused)


def test_lineage_is_what_git_says_of_every_pair(repository: Project) -> None:
    """Merges, octopus merges and packed commits included."""
    folder = repository.folder
    for name in ("a", "b", "c"):
        git(folder, "checkout", "-q", "-b", name, "main")
        git(folder, "commit", "-q", "--allow-empty", "-m", name)
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "-m", "octopus", "a", "b")
    git(folder, "gc", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "last")
    every = git(folder, "rev-list", "--all").splitlines()

    for one in every:
        for other in every:
            asked = subprocess.run(
                ("git", "merge-base", "--is-ancestor", other, one), cwd=folder, check=False
            )
            expected = "descends" if asked.returncode == 0 else "does not descend"
            assert find_lineage(folder, one, other)[0] == expected


# --- policy.signed_by ---------------------------------------------------------------------------------------


def key(folder: Path, name: str) -> Path:
    file = folder / name
    words = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(file))
    subprocess.run(words, check=True, capture_output=True)
    return file


def signing(file: Path) -> tuple[str, ...]:
    return ("-c", "gpg.format=ssh", "-c", f"user.signingkey={file}", "-S")


def signed_commit(project: Project, title: str, file: Path) -> str:
    text = project.manifest.read_text("utf-8")
    project.manifest.write_text(text.replace("    jobTitle: ", f"    jobTitle: {title} ", 1), "utf-8")
    git(project.folder, "add", ".")
    git(project.folder, *signing(file)[:4], "commit", "-S", "-qm", title)
    return git(project.folder, "rev-parse", "HEAD")


@contextmanager
def allowed(tmp_path: Path, *keys: Path) -> Iterator[dict[str, str]]:
    """The variable that names a list of these keys, outside of the repository."""
    file = tmp_path / "allowed_signers"
    lines = [f"{one.name}@example.com {one.with_suffix('.pub').read_text('utf-8')}" for one in keys]
    file.write_text("".join(lines), "utf-8")
    yield {"RECONCILER_POLICY_SIGNED_BY": str(file)}


def test_a_commit_is_applied_that_an_allowed_signer_has_signed(
    repository: Project, service: Service, tmp_path: Path
) -> None:
    """An unsigned one, one of a stranger, and one with the signature of another commit are not."""
    maria, stranger = key(tmp_path, "maria"), key(tmp_path, "stranger")
    with allowed(tmp_path, maria) as env:
        unsigned = sync(repository, service, **env)
        signed_commit(repository, "Stranger", stranger)
        foreign = sync(repository, service, **env)
        good = signed_commit(repository, "Maria", maria)
        taken = replace_tree_of(repository, good)
        git(repository.folder, "reset", "-q", "--hard", taken)
        moved = sync(repository, service, **env)
        assert service.writes() == []
        git(repository.folder, "reset", "-q", "--hard", good)
        done = sync(repository, service, **env)

    assert (unsigned.returncode, foreign.returncode, moved.returncode, done.returncode) == (7, 7, 7, 0)
    assert "it has no signature" in said(unsigned)
    assert "nobody of the list has signed it" in said(foreign)
    assert "what was signed is something else" in said(moved)


def replace_tree_of(project: Project, signed: str) -> str:
    """Return a commit with the signature of another one, and other files."""
    text = project.manifest.read_text("utf-8")
    project.manifest.write_text(text.replace("jobTitle: Analyst", "jobTitle: Intruder"), "utf-8")
    git(project.folder, "add", ".")
    tree = git(project.folder, "write-tree")
    stored = subprocess.run(
        ("git", "cat-file", "commit", signed), cwd=project.folder, check=True, capture_output=True
    ).stdout
    body = b"tree " + tree.encode() + stored[stored.index(b"\n") :]
    made = subprocess.run(
        ("git", "hash-object", "-t", "commit", "-w", "--stdin"),
        cwd=project.folder,
        input=body,
        check=True,
        capture_output=True,
    )
    return made.stdout.decode().strip()


def test_a_list_in_the_repository_is_refused(repository: Project, service: Service, tmp_path: Path) -> None:
    """Whoever commits could add a key to it in the same commit."""
    maria = key(tmp_path, "maria")
    (repository.folder / "signers").write_text(f"m {maria.with_suffix('.pub').read_text('utf-8')}", "utf-8")
    signed_commit(repository, "Maria", maria)

    refused = sync(repository, service, RECONCILER_POLICY_SIGNED_BY="signers")

    assert refused.returncode == 7
    assert "a commit could bring its own signers" in said(refused)


def test_nothing_that_the_repository_names_is_run_for_a_signature(
    repository: Project, service: Service, tmp_path: Path
) -> None:
    """Neither programs of its settings, nor one of its own on the path."""
    maria, mark = key(tmp_path, "maria"), tmp_path / "ran"
    signed_commit(repository, "Maria", maria)
    evil = repository.folder / "ssh-keygen"
    evil.write_text(f"#!/bin/sh\ntouch {mark}\nexit 0\n", "utf-8")
    evil.chmod(0o755)
    for name in ("gpg.ssh.program", "gpg.program", "core.fsmonitor", "core.sshCommand"):
        git(repository.folder, "config", name, str(evil))
    path = os.pathsep.join((str(repository.folder), ".", "", os.environ["PATH"]))
    with allowed(tmp_path, maria) as env:
        done = sync(repository, service, PATH=path, **env)

    assert done.returncode == 0
    assert not mark.exists()


def test_a_commit_may_be_signed_by_gpg(repository: Project, service: Service, tmp_path: Path) -> None:
    # A socket of gpg-agent is in it: its path may have no more than some hundred characters.
    home, ring = Path(tempfile.mkdtemp(dir="/tmp")), tmp_path / "signers.gpg"
    alone = ("--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "")
    gpg = ("gpg", "--homedir", str(home), *alone)
    try:
        for name in ("maria@example.com", "stranger@example.com"):
            subprocess.run(
                (*gpg, "--quick-gen-key", name, "ed25519", "sign"), check=True, capture_output=True
            )
        exported = subprocess.run((*gpg, "--export", "maria@example.com"), check=True, capture_output=True)
        ring.write_bytes(exported.stdout)
        codes = []
        for name in ("stranger@example.com", "maria@example.com"):
            text = repository.manifest.read_text("utf-8")
            repository.manifest.write_text(text.replace("    jobTitle: ", "    jobTitle: X", 1), "utf-8")
            git(repository.folder, "add", ".")
            words = ("-c", "gpg.format=openpgp", "-c", f"user.signingkey={name}")
            subprocess.run(
                ("git", *words, "commit", "-S", "-qm", name),
                cwd=repository.folder,
                check=True,
                capture_output=True,
                env=os.environ | NAMES | {"GNUPGHOME": str(home)},
            )
            codes.append(sync(repository, service, RECONCILER_POLICY_SIGNED_BY=str(ring)).returncode)
    finally:
        subprocess.run(("gpgconf", "--homedir", str(home), "--kill", "all"), check=False, capture_output=True)
        shutil.rmtree(home, ignore_errors=True)

    assert codes == [7, 0]
