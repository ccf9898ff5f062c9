"""Every kind of bad input that is promised one clear line: through the command line, as a person meets it."""

import json
import os
import struct
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import py7zr
import pytest

from askalike.core.types import Question
from askalike.index.manifests import read_manifest, write_manifest
from askalike.store import Archive

Run = Callable[..., tuple[int, str, str]]
HEAD = "id,question,answer,date\n"
GOOD = '1,How long may I keep a book?,Four weeks.,2024-01-01\n2,"Where is it, please?",There.,\n'
POSTS = '<row Id="1" PostTypeId="1" CreationDate="2020-01-01T00:00:00" Title="How?" Body="" />\n'
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.fixture
def desk(tmp_path: Path, run: Run) -> Path:
    (tmp_path / "good.csv").write_text(HEAD + GOOD)
    assert run("import", "table", tmp_path / "good.csv", "-o", tmp_path / "desk", "--language", "en")[0] == 0
    return tmp_path / "desk"


def refused(told: tuple[int, str, str], *messages: str) -> None:
    code, out, err = told
    assert (code, out) == (2, ""), told
    assert err.startswith("askalike: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    for message in messages:
        assert message in err


def packed(path: Path, **members: bytes) -> bytes:
    with py7zr.SevenZipFile(path, "w", filters=[{"id": py7zr.FILTER_DEFLATE}]) as archive:
        archive.set_encoded_header_mode(False)
        for name, content in members.items():
            archive.writestr(content, name)
    return path.read_bytes()


def with_parent(packed: bytes) -> bytes:
    """A .7z whose member `xx/Posts.xml` is called `../Posts.xml`, its checksums put right."""
    data = bytearray(packed)
    offset, size = struct.unpack_from("<QQ", data, 12)
    header = data[32 + offset : 32 + offset + size].replace("xx/".encode("utf-16-le"), "../".encode("utf-16-le"))
    data[32 + offset : 32 + offset + size] = header
    struct.pack_into("<I", data, 28, zlib.crc32(header))
    struct.pack_into("<I", data, 8, zlib.crc32(bytes(data[12:32])))
    return bytes(data)


TABLES = {
    "wrong encoding": (
        HEAD.encode() + b"1,caf\xe9?,x,\n",
        "line 2: byte 29 (0xe9) is not UTF-8; name the encoding, e.g. --encoding cp1252, or convert the file: iconv -f",
    ),
    "missing column": (b"id,answer\n1,x\n", "no column is known to hold the question; there are: id, answer. Name it"),
    "line break in a column's name": (
        b'id,"a\nb\x1b[2J"\n1,x\n',
        r"no column is known to hold the question; there are: id, a\nb\x1b[2J. Name it",
    ),
    "unclosed quote": (
        HEAD.encode() + b'1,"How?,x,\n2,Why?,y,\n',
        "line 2: a quote that opens in this row is not closed",
    ),
    "no row": (HEAD.encode(), "no question in it"),
    "no byte": (b"", "is empty; expected a header and rows"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(run: Run, tmp_path: Path, name: str) -> None:
    content, message = TABLES[name]
    (tmp_path / "faq.csv").write_bytes(content)
    refused(run("import", "table", tmp_path / "faq.csv", "-o", tmp_path / "out"), f"{tmp_path / 'faq.csv'}", message)
    assert not (tmp_path / "out").exists()


def test_rows_under_strict_and_without(run: Run, tmp_path: Path) -> None:
    faq, reason = tmp_path / "faq.csv", "question id '1' occurs twice"
    faq.write_text(f"{HEAD}{GOOD}1,Quite another?,x,\n")
    refused(run("import", "table", faq, "-o", tmp_path / "strict", "--strict"), f"{faq}, line 4: {reason}", "--strict")
    code, out, err = run("import", "table", faq, "-o", tmp_path / "out", "--json", "--repeated-ids", "reject")
    assert (code, json.loads(out)["questions"], json.loads(out)["rejected"]) == (0, 2, 1)
    assert err.endswith(f"1 row rejected: see {tmp_path / 'out/rejected.jsonl'}\n")
    rejected = json.loads((tmp_path / "out/rejected.jsonl").read_text())
    assert (rejected["file"], rejected["line"]) == (str(faq), 4)
    assert rejected["reason"].startswith(reason)


DUMPS = {
    "truncated": (
        f"<posts>\n{POSTS}<row Id='2' Pos".encode(),
        "line 3: the XML ends before",
        "kept the 1 question before it",
    ),
    "wrong encoding": (b"<posts>\n<row Id='1' Title='caf\xe9'/></posts>", "line 2: byte 30 (0xe9) is not UTF-8"),
    "billion laughs": (
        f'<!DOCTYPE p [<!ENTITY l0 "ha">{LAUGHS}]><posts><row Title="&l9;"/></posts>'.encode(),
        "line 1: declares the entity 'l0'",
    ),
    "no question": (b"<posts></posts>", "no question in it"),
}


@pytest.mark.parametrize("name", DUMPS)
def test_dumps(run: Run, tmp_path: Path, name: str) -> None:
    content, *messages = DUMPS[name]
    site = tmp_path / "site"
    site.mkdir()
    (site / "Posts.xml").write_bytes(content)
    refused(run("import", "stackexchange", site, "-o", tmp_path / "out"), str(site), *messages)
    assert (tmp_path / "out").exists() == (name == "truncated")


def test_packed_dumps(run: Run, tmp_path: Path) -> None:
    site, out = tmp_path / "site.7z", tmp_path / "out"
    bomb = packed(site, **{"Posts.xml": b" " * 120_000_000})
    assert len(bomb) < 1_000_000
    refused(
        run("import", "stackexchange", site, "-o", out), "would unpack to 120,000,000 bytes, over 100 times its size"
    )
    good = packed(site, **{"xx/Posts.xml": f"<posts>{POSTS}</posts>".encode()})
    site.write_bytes(with_parent(good))
    refused(run("import", "stackexchange", site, "-o", out), "'../Posts.xml' lies outside the archive's folder")
    site.write_bytes(good[:60])
    refused(run("import", "stackexchange", site, "-o", out), "cannot be opened as .7z")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["site.7z"]
    site.write_bytes(good)
    assert run("import", "stackexchange", site, "-o", out)[1].endswith(
        "1 question, 0 answers, 0 duplicate links, 0 rejected\n"
    )


@pytest.mark.parametrize("text", ["", "  ", "?!… --- ;", "\0\1\2\x7f", "\x1b[;\x07", "\ud800", "?" * 200_000])
def test_questions_without_a_word(run: Run, desk: Path, text: str) -> None:
    before = sorted(desk.iterdir())
    refused(run("search", desk, text), "no word in it to search for; expected letters or digits")
    assert sorted(desk.iterdir()) >= before


def test_questions_of_100_000_words_and_of_odd_characters_are_answered(run: Run, desk: Path, tmp_path: Path) -> None:
    long = " ".join(f"word{n}" for n in range(99_990)) + " how long may I keep a book please now"
    code, out, _ = run("search", desk, long, "--json")
    assert (code, [hit["id"] for hit in json.loads(out)["results"]]) == (0, ["1", "2"])
    queries = tmp_path / "queries.jsonl"
    odd = {"long": long, "nul": "\0 keep \1 book \x1b", "signs": "?!?"}
    queries.write_text("".join(json.dumps({"id": id, "title": text}) + "\n" for id, text in odd.items()))
    assert run("rank", desk, "--queries", queries, "-o", tmp_path / "run.trec")[0] == 0
    lines = (tmp_path / "run.trec").read_text().splitlines()
    assert {line.split()[0] for line in lines} == {"long", "nul"}
    queries.write_text('{"id": "none", "title": ""}\n')
    refused(
        run("rank", desk, "--queries", queries, "-o", tmp_path / "run.trec"),
        f"{queries}, line 1: expected an object with",
    )
    assert (tmp_path / "run.trec").read_text().splitlines() == lines


COMMANDS = {
    "search": ("{dir}", "how"),
    "index": ("{dir}",),
    "info": ("{dir}",),
    "check": ("{dir}",),
    "evaluate": ("{dir}",),
    "export": ("{dir}", "--format", "csv", "-o", "{out}"),
    "rank": ("{dir}", "--queries", "split:test", "-o", "{out}"),
}


def words(command: str, directory: Path, out: Path) -> list[str]:
    return [command, *(word.format(dir=directory, out=out) for word in COMMANDS[command])]


@pytest.mark.parametrize("command", COMMANDS)
def test_directories_that_are_no_archive(run: Run, tmp_path: Path, command: str) -> None:
    places = {"gone": "not an archive", "empty": "not an archive", "other": "damaged, or not an SQLite file"}
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/archive.sqlite").write_text("nothing of the kind " * 100)
    for place, message in places.items():
        refused(run(*words(command, tmp_path / place, tmp_path / "out")), place, message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "other"]
    assert os.listdir(tmp_path / "empty") == []


def test_an_empty_archive(run: Run, tmp_path: Path) -> None:
    Archive.create(tmp_path / "none").close()
    for command in ("index", "info", "check", "export"):
        assert run(*words(command, tmp_path / "none", tmp_path / "out"))[0] == 0
    refused(run(*words("search", tmp_path / "none", tmp_path)), "holds no question", "askalike import")
    refused(run(*words("evaluate", tmp_path / "none", tmp_path)), "none: nothing to evaluate with", "import one")
    refused(run(*words("rank", tmp_path / "none", tmp_path)), "no split 'test'")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of three megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs root, to mount a small tmpfs")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.long
def test_a_disk_that_fills(run: Run, tmp_path: Path, small_disk: Path) -> None:
    faq = tmp_path / "faq.csv"
    rows = (f"{n},How do I mend the part number {n} of my machine?,Turn it {n} times.,\n" for n in range(20_000))
    faq.write_text(HEAD + "".join(rows))
    refused(run("import", "table", faq, "-o", small_disk / "out"), "free some space and repeat")
    assert len(json.loads(run("info", small_disk / "out", "--json")[1])) > 0
    whole, full = tmp_path / "whole", small_disk / "full"
    assert run("import", "table", faq, "-o", whole)[0] == 0
    for format in ("csv", "beir"):
        refused(run("export", whole, "--format", format, "-o", full), "No space left on device", "nothing was exported")
        assert not full.exists()
    queries = tmp_path / "queries.jsonl"
    queries.write_text("".join(json.dumps({"id": str(n), "title": "mend my machine"}) + "\n" for n in range(1_000)))
    refused(run("rank", whole, "--queries", queries, "-o", full), "No space left on device")
    assert not full.exists()


def test_an_index_on_a_full_disk(run: Run, small_disk: Path) -> None:
    with Archive.create(small_disk / "desk") as archive:
        archive.upsert(Question(str(n), f"How do I mend part {n} of machine {n}?") for n in range(800))
    disk = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(disk.f_bavail * disk.f_frsize - 8_192))
    refused(run("search", small_disk / "desk", "mend"), "free some space")
    (small_disk / "ballast").unlink()
    done = run("search", small_disk / "desk", "mend")
    assert done[0] == 0, done


def test_an_index_of_another_version_is_rebuilt(run: Run, desk: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = run("search", desk, "book")
    index = next(desk.glob("index/*/manifest.json")).parent
    write_manifest(index, read_manifest(index) | {"format": 99})
    assert run("search", desk, "book") == found
    [line] = caplog.messages
    assert "format 99, but this askalike reads" in line
    assert "rebuilding it" in line
