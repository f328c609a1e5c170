"""The limit of a payload, against the service that has it."""

from pathlib import Path

from world import World

from reconciler.manifest.load import PAYLOAD_BYTES_MAX


def test_the_largest_payload_is_one_that_the_service_takes(tmp_path: Path) -> None:
    """In base64 it grows by a third: ten megabytes of file would be refused in the middle of an apply."""
    world = World(tmp_path)
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "large.csv").write_bytes(b"x" * PAYLOAD_BYTES_MAX)
    entry = {"name": f"{'n' * 200}.csv", "scope": "private", "mimeType": "text/csv"}
    world.write({"resources": {"large": {**entry, "content": {"file": "large.csv"}}}})

    _, run = world.apply()

    assert [outcome.result for outcome in run.outcomes] == ["applied"], run.outcomes
