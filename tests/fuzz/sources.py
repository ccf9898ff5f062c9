"""Small sources for every reader, as files: name → content. Those of `apache_answer` are a site's responses by path."""

import bz2
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "readers"))

import test_azure_qna
import test_discourse
import test_github
import test_question2answer
import test_slack
import test_zulip

TESTS = Path(__file__).parents[1]
Source = tuple[str, dict[str, Any], dict[str, bytes]]
"""A reader, its options, and its files."""

CSV = (TESTS.parent / "examples" / "riverside.csv").read_bytes()
ROWS = [
    {"id": n, "title": f"How do I renew card {n}?", "tags": ["a", "b"], "created_at": "2026-01-01"} for n in range(20)
]
POSTS = "".join(
    f'<row Id="{n}" PostTypeId="1" CreationDate="2020-01-01T00:00:00" Title="Card {n}" Body="&lt;p&gt;x" Tags="|a|"/>'
    for n in range(1, 20)
)
QUESTION = {"id": "1", "title": "Card?", "show": 1, "status": 2, "tags": [{"slug_name": "a"}], "answer_count": 1}
ANSWER = {"id": "11", "content": "Wait.", "status": 1, "vote_count": 0, "create_time": 1700000001}
RESPONSES = {
    "question/page": {"count": 1, "list": [QUESTION]},
    "question/info": {
        **QUESTION,
        "content": "Body",
        "create_time": 1700000000,
        "operation": {"msg": "", "time": 1700000900},
    },
    "answer/page": {"count": 1, "list": [ANSWER]},
}


def to_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def to_tsv(rows: list[list[str]]) -> bytes:
    return "".join("\t".join(row) + "\n" for row in rows).encode()


def read_folder(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


DATA = TESTS / "data"
SOURCES: list[Source] = [
    ("apache_answer", {"pause": 0}, {path: to_json({"code": 200, "data": data}) for path, data in RESPONSES.items()}),
    ("azure_qna", {}, {"faq.tsv": to_tsv([test_azure_qna.HEADER, *test_azure_qna.ROWS])}),
    ("beir", {}, read_folder(DATA / "allotment-beir")),
    ("discourse", {"category": "all"}, {"topics.jsonl": b"\n".join(map(to_json, test_discourse.TOPICS))}),
    ("faq_pages", {}, read_folder(DATA / "saved-pages")),
    ("github", {}, {"issues.json": to_json([test_github.issue(n, f"Fails {n}") for n in range(9)])}),
    ("markdown", {}, read_folder(DATA / "garden-faq")),
    ("mbox", {}, {"list.mbox": (DATA / "list.mbox").read_bytes()}),
    ("pairs", {}, {"pairs.csv": b"query,candidate,label,candidate_id\nWhy?,Wherefore?,0,c1\nHow?,How come?,1,c2\n"}),
    ("question2answer", {}, {"qa_posts.tsv": to_tsv([test_question2answer.NAMES, *test_question2answer.ROWS])}),
    ("slack", {}, {
        "channels.json": to_json([{"id": "C1", "name": "help"}]), "users.json": to_json(test_slack.USERS),
        **{f"help/{day}.json": to_json(messages) for day, messages in test_slack.DAYS.items()},
    }),
    ("stackexchange", {}, {"Posts.xml": f'<?xml version="1.0" encoding="utf-8"?><posts>{POSTS}</posts>'.encode()}),
    ("stackexchange", {}, {"Posts.xml": f'<?xml version="1.0" encoding="gbk"?><posts>{POSTS}图</posts>'.encode("gbk")}),
    ("stackexchange", {}, read_folder(DATA / "bakery.stackexchange.com")),
    ("table", {}, {"rows.csv": CSV}),
    ("table", {}, {"rows.csv.gz": gzip.compress(CSV)}),
    ("table", {}, {"rows.csv.bz2": bz2.compress(CSV)}),
    ("table", {}, {"rows.jsonl": b"\n".join(map(to_json, ROWS))}),
    ("table", {}, {"rows.json": to_json(ROWS)}),
    ("zulip", {}, {"messages.json": to_json({"result": "success", "messages": test_zulip.MESSAGES})}),
]  # fmt: skip


def make_packed_sources() -> list[Source]:
    """Return those that other packages write: a workbook, a Parquet file and a packed dump."""
    import openpyxl
    import py7zr
    import pyarrow
    from pyarrow import parquet

    workbook, table, packed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    book = openpyxl.Workbook()
    for row in [test_azure_qna.HEADER, *test_azure_qna.ROWS]:
        book.active.append(row)
    book.active.title = "QnAs"
    book.save(workbook)
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), table)
    with py7zr.SevenZipFile(packed, "w") as archive:
        archive.writestr(f"<posts>{POSTS}</posts>", "Posts.xml")
    return [
        ("azure_qna", {}, {"faq.xlsx": workbook.getvalue()}),
        ("table", {}, {"faq.xlsx": workbook.getvalue()}),
        ("parquet", {}, {"rows.parquet": table.getvalue()}),
        ("stackexchange", {}, {"site.7z": packed.getvalue()}),
    ]
