"""*Manage*: an operator sees sources, keys, backups, disk and versions; nobody else does."""

from pathlib import Path

from serving import Service
from test_login import Browser

from askalike.store import Archive, keys
from askalike.store.backup import backup, note_backup, read_last_backup, verify_backup

MANAGE = "/a/riverside/manage"


def test_the_page_shows_what_an_operator_looks_after(visit, service: Service, tmp_path: Path) -> None:
    with Archive.open(service.archive_path) as archive:
        keys.create_key(archive, "read", note="the shop")
    page = visit(MANAGE)
    page.get_by_text("No backup is known.").wait_for()
    sources = page.get_by_role("region", name="Sources").first
    assert "riverside" in sources.inner_text()
    assert "askalike import table FILE -o riverside --source riverside" in sources.inner_text()
    assert "the shop" in page.get_by_role("region", name="Keys").first.inner_text()
    assert "askalike" in page.get_by_role("region", name="Versions").first.inner_text()
    assert "kB" in page.get_by_role("region", name="Disk").first.inner_text()
    file = tmp_path / "monday.tar"
    manifest = backup(service.archive_path, file)
    note_backup(service.archive_path, file, manifest, is_verified=False)
    page.reload()
    page.get_by_text("It has not been verified.").wait_for()
    verify_backup(file)
    note_backup(service.archive_path, file, manifest, is_verified=True)
    page.reload()
    page.get_by_text("verified by restoring it").wait_for()
    assert str(file) in page.get_by_role("region", name="Backups").inner_text()


def test_only_keys_that_manage_open_it(archive: Path, serve) -> None:
    with Archive.open(archive) as opened:
        texts = {scope: keys.create_key(opened, scope) for scope in keys.SCOPES}
    service = serve(archive, options=("--set", "require_keys=true", "--set", "propose=0"))
    for scope, status in (("moderate", 403), ("manage", 200)):
        user = Browser(service)
        assert user.get(MANAGE).headers["location"] == f"/login?next={MANAGE}"
        user.get("/login")
        assert user.post("/login", key=texts[scope], next=MANAGE).headers["location"] == MANAGE
        assert user.get(MANAGE).status == status


def test_backup_is_noted_outside_itself(archive: Path, tmp_path: Path) -> None:
    assert read_last_backup(archive) is None
    for name in ("one.tar", "two.tar"):
        note_backup(archive, tmp_path / name, backup(archive, tmp_path / name), is_verified=True)
    last = read_last_backup(archive)
    assert last
    assert last.file.endswith("two.tar")
    assert b"last-backup" not in (tmp_path / "two.tar").read_bytes()
