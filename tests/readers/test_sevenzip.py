from pathlib import Path

import py7zr
import pytest
from imported import Refusing

from askalike.core.errors import InputError
from askalike.readers import SourceFiles
from askalike.readers._sevenzip import read_pieces


def write_archive(path: Path, method: int = py7zr.FILTER_LZMA2, **members: bytes) -> Path:
    with py7zr.SevenZipFile(path, "w", filters=[{"id": method}]) as archive:
        for name, content in members.items():
            archive.writestr(content, name)
    return path


def rename_member(path: Path, old: str, new: str) -> Path:
    """The archive with a member's name replaced by one of the same length, checksums put right."""
    import struct
    import zlib

    data = bytearray(path.read_bytes())
    offset, size = struct.unpack_from("<QQ", data, 12)
    start = 32 + offset
    header = bytes(data[start : start + size]).replace(old.encode("utf-16-le"), new.encode("utf-16-le"))
    assert new.encode("utf-16-le") in header
    data[start : start + size] = header
    struct.pack_into("<I", data, 28, zlib.crc32(header))
    struct.pack_into("<I", data, 8, zlib.crc32(bytes(data[12:32])))
    path.write_bytes(data)
    return path


def write_plain_archive(path: Path, name: str, content: bytes = b"<posts/>") -> Path:
    with py7zr.SevenZipFile(path, "w") as archive:
        archive.set_encoded_header_mode(False)
        archive.writestr(content, name)
    return path


@pytest.mark.parametrize("name", ["../Posts.xml", "/a/Posts.xml", "a/../../Posts.xml", "C:/a/Posts.xml"])
def test_members_outside_the_folder_are_refused(expect_refusal: Refusing, tmp_path: Path, name: str) -> None:
    path = rename_member(write_plain_archive(tmp_path / "site.7z", "x" * len(name)), "x" * len(name), name)
    before = sorted(tmp_path.rglob("*"))
    expect_refusal(r"lies outside the archive's folder|cannot be opened", "stackexchange", path)
    assert sorted(tmp_path.rglob("*")) == before


def test_links_are_refused(expect_refusal: Refusing, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/Posts.xml").symlink_to("/etc/hostname")
    with py7zr.SevenZipFile(tmp_path / "site.7z", "w") as archive:
        archive.write(tmp_path / "folder/Posts.xml", "Posts.xml")
    expect_refusal("is a link", "stackexchange", tmp_path / "site.7z")


def test_a_bomb_is_refused_before_it_goes_off(expect_refusal: Refusing, tmp_path: Path) -> None:
    path = write_archive(tmp_path / "site.7z", py7zr.FILTER_DEFLATE, **{"Posts.xml": b" " * 101_000_000})
    assert path.stat().st_size < 1_000_000
    expect_refusal("unpacks to over 96 MB, more than 200 times its size; refused", "stackexchange", path)


@pytest.mark.parametrize("cut", [5, 40, 60])
def test_damaged_archives_are_one_clear_error(expect_refusal: Refusing, tmp_path: Path, cut: int) -> None:
    path = write_archive(tmp_path / "site.7z", **{"Posts.xml": bytes(range(256)) * 40})
    path.write_bytes(path.read_bytes()[:cut])
    expect_refusal(r"cannot be opened as \.7z|cannot be unpacked", "stackexchange", path)


@pytest.mark.parametrize("method", [py7zr.FILTER_LZMA2, py7zr.FILTER_BROTLI, py7zr.FILTER_ZSTD])
def test_damage_inside_is_one_clear_error(tmp_path: Path, method: int) -> None:
    rows = b"".join(b"<row Id='%d' Title='%d'/>" % (n, n * 7919) for n in range(3000))
    path = write_archive(tmp_path / "site.7z", method, **{"Posts.xml": rows})
    data = bytearray(path.read_bytes())
    data[40:48] = bytes(byte ^ 0xFF for byte in data[40:48])
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be unpacked"):
        list(read_pieces(SourceFiles(), path, ["posts.xml"]))


def test_a_reader_that_stops_early_ends_the_unpacking(tmp_path: Path) -> None:
    import random
    import threading

    content = random.Random(0).randbytes(20_000_000)
    path = write_archive(tmp_path / "site.7z", py7zr.FILTER_COPY, **{"Posts.xml": content})
    before = threading.active_count()
    stream = read_pieces(SourceFiles(), path, ["posts.xml"])
    assert next(stream)[0] == "posts.xml"
    assert threading.active_count() > before
    stream.close()
    assert threading.active_count() == before
