"""A backup is one consistent state whatever is written meanwhile, and a restored archive is that one, or none."""

import hashlib
import io
import json
import shutil
import sys
import tarfile
import threading
import time
from multiprocessing import get_context
from pathlib import Path

import pytest

from askalike.core.errors import ArchiveError
from askalike.core.records import Question
from askalike.store.archive import Archive
from askalike.store.backup import MANIFEST_FILE, backup, restore, verify_backup
from askalike.store.contents import content_hash
from askalike.store.database import DATABASE_FILE
from askalike.store.keys import create_key, list_keys, revoke_key
from commands import askalike

N = 300


def question(id: str, batch: int = 0) -> Question:
    return Question(id, f"Question {id} of batch {batch}", "b" * 300)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with Archive.create(tmp_path / "desk") as made:
        made.upsert([question(f"q{n}") for n in range(N)])
    (tmp_path / "desk" / "models" / "m").mkdir(parents=True)
    (tmp_path / "desk" / "models" / "m" / "model.toml").write_text("name = 'm'\n")
    (tmp_path / "desk" / "calibration").mkdir()
    (tmp_path / "desk" / "calibration" / "m.json").write_text("{}")
    (tmp_path / "desk" / "index" / "terms").mkdir(parents=True)
    (tmp_path / "desk" / "index" / "terms" / "manifest.json").write_text("{}")
    return tmp_path / "desk"


def file_names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_a_restored_archive_equals_the_saved_one(archive: Path, tmp_path: Path) -> None:
    manifest = backup(archive, tmp_path / "b.tar")
    assert restore(tmp_path / "b.tar", tmp_path / "again") == manifest
    assert file_names(tmp_path / "again") == [DATABASE_FILE, "calibration/m.json", "models/m/model.toml"]
    with Archive.open(tmp_path / "again") as again, Archive.open(archive) as before:
        assert content_hash(again) == content_hash(before) == manifest.content_hash
        assert len(again.view()) == manifest.questions == N
        assert again.view().change == before.view().change
    assert not list(tmp_path.glob("*.new"))


def test_restore_tells_keys_and_can_drop_them(archive: Path, tmp_path: Path) -> None:
    with Archive.open(archive) as opened:
        revoked = create_key(opened, "read").split("_")[1]
        create_key(opened, "manage")
        revoke_key(opened, revoked)
    backup(archive, tmp_path / "theirs.tar")
    told = askalike("restore", tmp_path / "theirs.tar", tmp_path / "with")
    silent = askalike("restore", tmp_path / "theirs.tar", tmp_path / "without", "--without-keys")
    assert "it has 1 active key: see askalike keys list" in told.stderr
    assert (silent.returncode, silent.stderr) == (0, "")
    with Archive.open(tmp_path / "without") as restored, Archive.open(tmp_path / "with") as other:
        assert (list_keys(restored), len(list_keys(other))) == ([], 2)
        assert content_hash(restored) == content_hash(other)


def test_a_backup_is_a_plain_tar(archive: Path, tmp_path: Path) -> None:
    backup(archive, tmp_path / "b.tar")
    with tarfile.open(tmp_path / "b.tar") as tar:
        assert tar.getnames() == [MANIFEST_FILE, DATABASE_FILE, "calibration/m.json", "models/m/model.toml"]


def test_concurrent_writes_are_in_backups_whole(archive: Path, tmp_path: Path) -> None:
    ended = threading.Event()

    def write() -> None:
        with Archive.open(archive) as writing:
            batch = 0
            while not ended.is_set():
                batch += 1
                writing.upsert([question(f"q{n}", batch) for n in range(N)])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for n in range(4):
            backup(archive, tmp_path / f"{n}.tar")
            time.sleep(0.05)
    finally:
        ended.set()
        writer.join()
    for n in range(4):
        restore(tmp_path / f"{n}.tar", tmp_path / str(n))
        with Archive.open(tmp_path / str(n)) as restored:
            batches = {q.title.rpartition(" ")[2] for _, q in restored.view().questions()}
            assert (len(restored.view()), len(batches)) == (N, 1)
            restored.require_intact(thorough=True)


def test_nothing_is_overwritten(archive: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.tar"
    backup(archive, file)
    with pytest.raises(ArchiveError, match="already exists"):
        backup(archive, file)
    with pytest.raises(ArchiveError, match="lies inside the archive"):
        backup(archive, archive / "b.tar")
    with pytest.raises(ArchiveError, match="new or empty"):
        restore(file, archive)
    with pytest.raises(ArchiveError, match="not a file"):
        restore(tmp_path / "none.tar", tmp_path / "x")
    (tmp_path / "empty").mkdir()
    restore(file, tmp_path / "empty")


@pytest.mark.parametrize("where", ["start", "header", "middle", "end"])
def test_a_damaged_backup_restores_nothing(archive: Path, tmp_path: Path, where: str) -> None:
    file = tmp_path / "b.tar"
    backup(archive, file)
    content = bytearray(file.read_bytes())
    at = {"start": 3, "header": 1_100, "middle": len(content) // 2, "end": 0}[where]
    if where == "end":
        del content[len(content) // 3 :]
    else:
        content[at] ^= 0xFF
    file.write_bytes(content)
    with pytest.raises(ArchiveError, match="backup"):
        restore(file, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert not list(tmp_path.glob("*.new"))


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "models/../../evil", "more"])
def test_paths_outside_the_archive_are_refused(archive: Path, tmp_path: Path, name: str) -> None:
    manifest = backup(archive, tmp_path / "good.tar")
    about = json.dumps(
        {n: getattr(manifest, n) for n in manifest.__slots__} | {"files": {**manifest.files, name: "0" * 64}}
    )
    with tarfile.open(tmp_path / "bad.tar", "w") as tar:
        for member, content in ((MANIFEST_FILE, about.encode()), (name, b"evil")):
            info = tarfile.TarInfo(member)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    with pytest.raises(ArchiveError, match="not a backup|SHA-256|which is not part of a backup"):
        restore(tmp_path / "bad.tar", tmp_path / "x" / "again")
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("limit", [0, 2_000, 100_000])
def test_on_a_full_disk_nothing_is_left(archive: Path, tmp_path: Path, limit_file_size, monkeypatch, limit) -> None:
    backup(archive, tmp_path / "good.tar")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # else Python cuts its own caches off, too
    limit_file_size(limit)
    for arguments in (("backup", archive, tmp_path / "b.tar"), ("restore", tmp_path / "good.tar", tmp_path / "again")):
        done = askalike(*arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert file_names(tmp_path) == [f"desk/{n}" for n in file_names(archive)] + ["good.tar"]


@pytest.mark.parametrize("what", ["backup", "restore"])
def test_kill_9_leaves_a_complete_backup_or_none(archive: Path, tmp_path: Path, what: str) -> None:
    backup(archive, tmp_path / "good.tar")
    target = tmp_path / "made"
    pair = (archive, target) if what == "backup" else (tmp_path / "good.tar", target)
    work = backup if what == "backup" else restore
    for delay in (0, 0.002, 0.005, 0.01, 0.02, 0.04):
        process = get_context("fork").Process(target=work, args=pair)
        process.start()
        time.sleep(delay)
        process.kill()
        process.join()
        if target.exists():
            if what == "backup":
                restore(target, tmp_path / "checked")
                shutil.rmtree(tmp_path / "checked")
                target.unlink()
            else:
                assert file_names(target) == [DATABASE_FILE, "calibration/m.json", "models/m/model.toml"]
                shutil.rmtree(target)
    work(*pair)
    assert not list(tmp_path.glob("*.new"))


def test_missing_folder_is_not_made(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"unmounted: no such folder; create it first, or mount its disk"):
        backup(archive, tmp_path / "unmounted/desk.tar")
    assert not (tmp_path / "unmounted").exists()


Member = tuple[tarfile.TarInfo, bytes]


def repack(good: Path, bad: Path, values: dict[str, object], extra: tuple[Member, ...] = ()) -> None:
    """Write a backup again, with other values in its manifest and more members."""
    with tarfile.open(good) as old, tarfile.open(bad, "w", format=tarfile.GNU_FORMAT) as new:
        for member in old:
            stream = old.extractfile(member)
            assert stream
            content = stream.read()
            if member.name == MANIFEST_FILE:
                content = json.dumps(json.loads(content) | values).encode()
                member.size = len(content)
            new.addfile(member, io.BytesIO(content))
        for info, content in extra:
            new.addfile(info, io.BytesIO(content))


def member_of(name: str, content: bytes) -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    return info, content


def test_an_index_in_a_backup_is_refused(archive: Path, tmp_path: Path) -> None:
    """An index is read by machine code; one in a backup is not ours, as ours have none."""
    files = dict(backup(archive, tmp_path / "good.tar").files)
    name = "index/terms/manifest.json"
    files[name] = hashlib.sha256(b"{}").hexdigest()
    repack(tmp_path / "good.tar", tmp_path / "bad.tar", {"files": files}, (member_of(name, b"{}"),))
    with pytest.raises(ArchiveError, match="which is not part of a backup; nothing was restored"):
        restore(tmp_path / "bad.tar", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_sparse_member_fills_no_disk(archive: Path, tmp_path: Path) -> None:
    files = dict(backup(archive, tmp_path / "good.tar").files) | {"models/m/big": "0" * 64}
    info = tarfile.TarInfo("models/m/big")
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 512
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"%011o\0%011o\0" % (0, 512)  # the one stored piece
    header[483:495] = b"%011o\0" % (1 << 32)  # the size it declares
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    repack(tmp_path / "good.tar", tmp_path / "bad.tar", {"files": files})
    whole = (tmp_path / "bad.tar").read_bytes().rstrip(b"\0")
    whole += bytes(-len(whole) % 512) + bytes(header) + bytes(512) + bytes(1024)
    (tmp_path / "bad.tar").write_bytes(whole)
    with tarfile.open(tmp_path / "bad.tar") as tar:
        assert tar.getmembers()[-1].issparse()
    with pytest.raises(ArchiveError, match="'models/m/big', which is not part of a backup"):
        restore(tmp_path / "bad.tar", tmp_path / "again")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        *(
            (values, "expected a backup of format")
            for values in (
                {"files": 5}, {"files": ["models/m/model.toml"]}, {"files": None}, {"questions": {"a": 1}},
                {"questions": True}, {"schema": "1"}, {"content_hash": 5}, {"created_at": None}, {"x": 1},
            )
        ),
        ({"questions": N + 1}, "differs from the saved data"),
    ],
)  # fmt: skip
def test_a_manifest_of_odd_values_restores_nothing(
    archive: Path, tmp_path: Path, values: dict[str, object], message: str
) -> None:
    backup(archive, tmp_path / "good.tar")
    repack(tmp_path / "good.tar", tmp_path / "bad.tar", values)
    with pytest.raises(ArchiveError, match=message):
        restore(tmp_path / "bad.tar", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_nested_manifest_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "bad.tar", "w") as tar:
        info, content = member_of(MANIFEST_FILE, b"[" * 200_000)
        tar.addfile(info, io.BytesIO(content))
    with pytest.raises(ArchiveError, match="expected a backup of format"):
        restore(tmp_path / "bad.tar", tmp_path / "again")


def test_a_folder_that_is_a_file_is_named(archive: Path, tmp_path: Path) -> None:
    files = dict(backup(archive, tmp_path / "good.tar").files)
    more = (member_of("models/x", b"a"), member_of("models/x/y", b"a"))
    files |= {info.name: hashlib.sha256(b"a").hexdigest() for info, _ in more}
    repack(tmp_path / "good.tar", tmp_path / "bad.tar", {"files": files}, more)
    with pytest.raises(ArchiveError, match="contains 'models/x/y' twice, or as a folder"):
        restore(tmp_path / "bad.tar", tmp_path / "again")


def test_a_backup_is_verified_by_restoring_it(archive: Path, tmp_path: Path) -> None:
    manifest = backup(archive, tmp_path / "b.tar")
    assert verify_backup(tmp_path / "b.tar") == manifest
    content = bytearray((tmp_path / "b.tar").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "b.tar").write_bytes(content)
    with pytest.raises(ArchiveError, match="damaged"):
        verify_backup(tmp_path / "b.tar")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar", "desk"]


def test_first_uncopied_file_is_told(archive: Path, tmp_path: Path, monkeypatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'"), ("c", "d", "x")])

    monkeypatch.setattr(shutil, "copytree", fail)
    with pytest.raises(ArchiveError, match=r"cannot be written \(\[Errno 28\] No space left .*; free some"):
        backup(archive, tmp_path / "b.tar")
