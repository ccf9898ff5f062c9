import encodings
import pkgutil
import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

import py7zr
import pytest
from imported import Importing, Refusing

from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Answer, Link
from askalike.readers import import_archive
from askalike.readers._source import SourceFiles
from askalike.readers._xml import read_elements
from askalike.store import Archive
from askalike.store.contents import content_hash
from commands import run_command
from text.growth import assert_linear

HEAD = '\ufeff<?xml version="1.0" encoding="utf-8"?>\n'
BANNER = '<blockquote><p><strong>Possible Duplicate:</strong><br> <a href="#">Foam?</a></p></blockquote>'


def row(**attributes: object) -> str:
    return f"<row {' '.join(f'{name}={quoteattr(str(value))}' for name, value in attributes.items())} />"


QUESTION = row(
    Id=1, PostTypeId=1, AcceptedAnswerId=2, CreationDate="2010-01-21T20:26:05.383", Score=17,
    Body="<p>Why does it foam?</p>", OwnerUserId=7, Title="Why does beer foam?", Tags="<foam><head-retention>",
)  # fmt: skip
DUPLICATE = row(
    Id=3, PostTypeId=1, CreationDate="2020-01-21T20:26:05.383", ClosedDate="2020-01-22T00:00:00.000",
    Body=f"{BANNER}<p>Mine foams.</p>", Title="Foam & more", Tags="|foam|", ContentLicense="CC BY-SA 9",
)  # fmt: skip
POSTS = [
    QUESTION,
    row(Id=2, PostTypeId=2, ParentId=1, CreationDate="2014-01-22T20:26:05.383", Score=-3, Body="<p>Proteins.</p>"),
    DUPLICATE,
    row(Id=4, PostTypeId=5, CreationDate="2020-01-21T20:26:05.383", Body="a wiki"),
    row(Id=1000000001, PostTypeId=1, CreationDate="2025-07-01T00:00:00.000", Title="Planted", Body=""),
    row(Id=1000000010, PostTypeId=2, ParentId=1, CreationDate="2025-07-01T00:00:00.000", Body=""),
]
LINKS = [
    '<row Id="1" CreationDate="2020-01-21T21:04:25.230" PostId="3" RelatedPostId="1" LinkTypeId="3" />',
    '<row Id="2" CreationDate="2020-01-21T21:04:25.230" PostId="3" RelatedPostId="99" LinkTypeId="1" />',
    '<row Id="3" CreationDate="2020-01-21T21:04:25.230" PostId="1000000001" RelatedPostId="1" LinkTypeId="3" />',
    '<row Id="4" CreationDate="2020-01-21T21:04:25.230" PostId="3" RelatedPostId="1" LinkTypeId="7" />',
]


def xml(tag: str, rows: list[str]) -> str:
    return f"{HEAD}<{tag}>\n" + "".join(f"  {row}\n" for row in rows) + f"</{tag}>"


def dump(folder: Path, posts: list[str] = POSTS, links: list[str] = LINKS) -> Path:
    folder.mkdir()
    (folder / "Posts.xml").write_text(xml("posts", posts))
    (folder / "PostLinks.xml").write_text(xml("postlinks", links))
    return folder


def pack(folder: Path) -> Path:
    target = folder.parent / f"{folder.name}.7z"
    with py7zr.SevenZipFile(target, "w") as archive:
        archive.writestr(b"never read", "Badges.xml")
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    return target


@pytest.fixture(params=["folder", "7z"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = dump(tmp_path / "beer.stackexchange.com")
    return folder if request.param == "folder" else pack(folder)


def test_a_site(imported: Importing, site: Path) -> None:
    done = imported("stackexchange", site, language=None)
    assert done.summary.counts == "2 questions, 1 answer, 1 duplicate link, 0 rejected"
    assert done.summary.notes == {
        "planted posts dropped": 2,
        "label-leak banners removed": 1,
        "posts skipped that are neither question nor answer": 1,
        "links skipped that are neither duplicate nor related": 1,
    }
    first, third = done.questions["1"], done.questions["3"]
    assert (first.title, first.tags, first.votes) == ("Why does beer foam?", ("foam", "head-retention"), 17)
    assert (first.created_at, first.license) == ("2010-01-21T20:26:05", "CC BY-SA 2.5")
    assert (first.url, first.markup) == ("https://beer.stackexchange.com/q/1", "html")
    assert (third.title, third.tags, third.closed_at) == ("Foam & more", ("foam",), "2020-01-22T00:00:00")
    assert (third.body, third.license) == ("<p>Mine foams.</p>", "CC BY-SA 9")
    [answer] = done.archive.view().get_answers_to(["1"])["1"]
    assert answer == Answer(
        "2", "1", "<p>Proteins.</p>", "html", True, "2014-01-22T20:26:05", url="https://beer.stackexchange.com/a/2",
        license="CC BY-SA 3.0", votes=-3,
    )  # fmt: skip
    assert list(done.archive.view().links()) == [Link("3", "1", "duplicate", "2020-01-21T21:04:25")]
    assert done.archive.meta["language"] == "en"


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "7z"])
def test_authors_have_names(imported: Importing, tmp_path: Path, packed: bool) -> None:
    """Licences ask for the author's name: that of Users.xml, of the post, or the one that Stack Exchange would show."""
    posts = [
        QUESTION,
        row(Id=5, PostTypeId=1, CreationDate="2020-01-01T00:00:00", Title="b", OwnerDisplayName="gone"),
        row(Id=6, PostTypeId=1, CreationDate="2020-01-01T00:00:00", Title="c", OwnerUserId=8),
        row(Id=7, PostTypeId=1, CreationDate="2020-01-01T00:00:00", Title="d"),
    ]
    folder = dump(tmp_path / "beer.stackexchange.com", posts, [])
    (folder / "Users.xml").write_text(xml("users", [row(Id=7, DisplayName="Zoë"), row(Id=-1, Reputation=1)]))
    done = imported("stackexchange", pack(folder) if packed else folder, language=None)
    authors = {id: question.author for id, question in done.questions.items()}
    assert authors == {"1": "Zoë", "5": "gone", "6": "user8", "7": None}


@pytest.mark.parametrize(
    ("folder", "language"),
    [("ru.stackoverflow.com", "ru"), ("askubuntu.com", "en"), ("japanese.stackexchange.com", "en")],
)
def test_the_site_says_the_language(imported: Importing, tmp_path: Path, folder: str, language: str) -> None:
    assert imported("stackexchange", dump(tmp_path / folder), language=None).archive.meta["language"] == language


def test_rows_that_cannot_be_taken_are_named(imported: Importing, tmp_path: Path) -> None:
    posts = [
        *POSTS,
        '<row Id="11" PostTypeId="1" CreationDate="yesterday" Title="a" />',
        '<row Id="12" PostTypeId="1" CreationDate="2020-01-01T00:00:00" />',
        '<row Id="13" PostTypeId="1" CreationDate="2020-01-01T00:00:00" Title="a" Score="many" />',
        '<row Id="1" PostTypeId="1" CreationDate="2020-01-01T00:00:00" Title="again" />',
        '<row Id="14" PostTypeId="2" CreationDate="2020-01-01T00:00:00" Body="orphan" />',
    ]
    links = [
        *LINKS,
        '<row Id="9" PostId="1" LinkTypeId="3" />',
        '<row PostId="1" RelatedPostId="3" LinkTypeId="3" CreationDate="x" />',
    ]
    done = imported("stackexchange", dump(tmp_path / "site", posts, links))
    rejected = (done.archive.path / "rejected.jsonl").read_text()
    assert done.summary.rejected == 7
    for line, reason in [(9, "date 'yesterday'"), (10, "no Title"), (11, "Score 'many'"), (13, "no ParentId")]:
        assert re.search(rf'Posts.xml", "line": {line}, "reason": "{re.escape(reason)}', rejected)
    assert re.search(r'Posts.xml", "line": 12, "reason": "question id \'1\' occurs twice', rejected)
    assert done.questions["1"].title == "Why does beer foam?"


def test_forbidden_characters_are_mended(imported: Importing, tmp_path: Path) -> None:
    mangled = '<row Id="1" PostTypeId="1" CreationDate="2020-01-01T00:00:00" Title="a&#x0;b\x01c&#xD800;d&#xA;e" />'
    done = imported("stackexchange", dump(tmp_path / "site", [mangled]))
    assert done.questions["1"].title == "a\ufffdb\ufffdc\ufffdd\ne"
    assert done.summary.notes["characters that XML forbids replaced"] == 3


def test_a_truncated_dump_keeps_what_came_before(tmp_path: Path) -> None:
    folder = dump(tmp_path / "site")
    text = (folder / "Posts.xml").read_text()
    (folder / "Posts.xml").write_text(text[: text.index("Foam &amp;")])
    with pytest.raises(InputError, match=r"Posts\.xml, line 5: the XML ends .*; kept the 1 question before it$"):
        import_archive("stackexchange", [folder], tmp_path / "out")
    assert (tmp_path / "out/archive.sqlite").exists()


def laughs() -> str:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f'<!DOCTYPE posts [<!ENTITY l0 "ha">{entities}]><posts><row Id="1" Title="&l9;"/></posts>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (laughs().encode(), r"line 1: declares the entity 'l0'"),
        (b"<posts>\n<row Id='1' Title='caf\xe9'/></posts>", r"line 2: byte 30 \(0xe9\) is not UTF-8"),
        (b"<posts><row Id='1'></posts>", r"line 1: not well-formed XML \(mismatched tag\)"),
        (b"", r"line 1: the XML ends before its last element is closed"),
        (b"<posts></posts>", r"no question in it; is it what the reader stackexchange expects\?"),
        (b"<posts><row Id='&unknown;'/></posts>", r"undefined entity"),
    ],
)
def test_bad_xml_is_refused_and_leaves_nothing(
    expect_refusal: Refusing, tmp_path: Path, content: bytes, message: str
) -> None:
    folder = dump(tmp_path / "site")
    (folder / "Posts.xml").write_bytes(content)
    expect_refusal(message, "stackexchange", folder)


@pytest.mark.parametrize(
    ("encoding", "title"),
    [
        ("gbk", "如何烤面包"), ("gb18030", "如何烤面包"), ("big5", "如何烤麵包"), ("shift_jis", "パンの表"),
        ("euc-jp", "パンの表"), ("euc-kr", "빵 굽기"), ("utf-16", "Café"), ("latin-1", "Café"), ("cp1252", "Café"),
    ],
)  # fmt: skip
def test_dumps_in_the_encoding_that_they_declare(
    imported: Importing, tmp_path: Path, encoding: str, title: str
) -> None:
    folder = dump(tmp_path / "dump")
    text = xml("posts", POSTS).removeprefix("\ufeff").replace("utf-8", encoding).replace("Foam", title)
    (folder / "Posts.xml").write_bytes(text.encode(encoding))
    assert imported("stackexchange", folder).questions["3"].title == f"{title} & more"


@pytest.mark.parametrize("encoding", ["utf-7", "utf-32", "klingon", "base64", "idna", "gbk", "undefined", "punycode"])
def test_unreadable_encoding_is_one_line(expect_refusal: Refusing, tmp_path: Path, encoding: str) -> None:
    folder = dump(tmp_path / "dump")
    text = xml("posts", POSTS).removeprefix("\ufeff").replace("utf-8", encoding)
    (folder / "Posts.xml").write_bytes(text.encode() + b"\xff\xff")
    expect_refusal(r"Posts\.xml", "stackexchange", folder)


@pytest.mark.long
def test_any_python_encoding_is_read_or_refused(tmp_path: Path) -> None:
    names = sorted(module.name for module in pkgutil.iter_modules(encodings.__path__))
    assert "utf_8" in names
    for encoding in names:
        text = xml("posts", POSTS).removeprefix("\ufeff").replace("utf-8", encoding)
        folder = dump(tmp_path / encoding)
        (folder / "Posts.xml").write_bytes(text.encode() + b"\xff\xff-\xff")
        code, _, said = run_command(
            "import", "stackexchange", folder, "-o", tmp_path / f"{encoding}-archive", "--encoder", "none"
        )
        assert code in (0, 2), encoding
        assert code == 0 or len(said.splitlines()) == 1, encoding


@pytest.mark.parametrize("inside", ["<a>" * 10_000, "<a></a>" * 20_000])
def test_a_row_of_very_many_elements_is_refused(expect_refusal: Refusing, tmp_path: Path, inside: str) -> None:
    folder = dump(tmp_path / "dump")
    (folder / "Posts.xml").write_text(f"<posts><row Id='1'>{inside}</row></posts>", "utf-8")
    expect_refusal("over 32 levels or 10,000 elements", "stackexchange", folder)


def test_a_long_text_takes_linear_time() -> None:
    def read(size: int) -> None:
        pieces = [b"<posts><row>", *[b"word &amp; text\n" * 100] * size, b"</row></posts>"]
        assert len(list(read_elements(SourceFiles(), Path("posts"), pieces, "row"))) == 1

    assert_linear(read)


def test_dumps_of_two_sites_are_two_imports(imported: Importing, tmp_path: Path) -> None:
    two = [dump(tmp_path / name, [*POSTS, row(Id=9, PostTypeId=1)]) for name in ("a", "b")]
    done = imported("stackexchange", *two)
    assert (set(done.questions), done.summary.source) == ({"1", "3", "b/1", "b/3"}, "a, b")
    assert (done.summary.rejected, done.summary.changes["questions"]["added"]) == (2, 4)
    assert done.summary.notes["planted posts dropped"] == 4
    rejected = (done.archive.path / "rejected.jsonl").read_text().splitlines()
    assert [str(folder) in line for folder, line in zip(two, rejected, strict=True)] == [True, True]
    one_after_the_other = tmp_path / "other"
    for folder in two:
        import_archive("stackexchange", folder, one_after_the_other)
    with Archive.open(one_after_the_other) as other:
        assert content_hash(other) == content_hash(done.archive)
    with pytest.raises(SettingsError, match=r"--source x: these are 2 sites; import each"):
        import_archive("stackexchange", two, tmp_path / "out", source="x")


def test_paths_that_hold_no_dump(expect_refusal: Refusing, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    expect_refusal("no Posts.xml in it", "stackexchange", tmp_path / "empty")
    expect_refusal("not there", "stackexchange", tmp_path / "gone")


def test_prune_keeps_answers_whose_question_left(tmp_path: Path) -> None:
    answer = row(Id=5, PostTypeId=2, ParentId=3, CreationDate="2021-01-22T20:26:05.383", Body="<p>Mine too.</p>")
    posts = [QUESTION, POSTS[1], DUPLICATE, answer]
    archive, fewer = tmp_path / "beer", dump(tmp_path / "fewer", [post for post in posts if post != DUPLICATE])
    fresh = import_archive("stackexchange", [dump(tmp_path / "all", posts)], archive, source="beer")
    assert fresh.changes["answers"]["added"] == 2
    pruned, again = (
        import_archive("stackexchange", [fewer], archive, source="beer", prune=True, yes=True) for _ in range(2)
    )
    assert (pruned.changes["questions"]["removed"], pruned.changes["answers"]["removed"]) == (1, 0)
    assert [again.changes[name]["unchanged"] for name in ("questions", "answers")] == [1, 2]
    assert not any(numbers["added"] + numbers["removed"] for numbers in again.changes.values())
    import_archive("stackexchange", [fewer], tmp_path / "new", source="beer")
    with Archive.open(archive) as one, Archive.open(tmp_path / "new") as other:
        assert content_hash(one) == content_hash(other)
