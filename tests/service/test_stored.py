"""What people send and the service stores has a rate, a size and a limit of its own."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from serving import Response, Service, create_key

from askalike.store import Archive
from askalike.store.drafts import ThreadDraft, put_thread
from askalike.store.query_log import LoggedQuery, insert_feedback, measure_stored

V1 = "/v1/riverside"
SITE = "https://forum.example"
SLOW = ("--set", "require_keys=true", "--set", "stored_per_s=0.001")


def give_feedback(service: Service, key: str = "", **fields: Any) -> Response:
    headers = {"authorization": f"Bearer {key}", "origin": SITE} if key else {}
    body = {"title": "Where?", "shown_ids": [], "verdict": "none_of_these", **fields}
    return service.send("POST", f"{V1}/feedback", body, headers)


def stored_feedback(archive: Path) -> Iterator[tuple[str, str]]:
    with Archive.open(archive) as opened, closing(opened._connection.cursor()) as cursor:
        yield from cursor.execute("SELECT body, shown_ids FROM feedback ORDER BY created_at").fetchall()


def test_reading_caller_stores_at_its_own_rate(serve, archive: Path) -> None:
    reader, published, writer = (create_key(archive, *key) for key in (("read",), ("read", SITE), ("write",)))
    service = serve(archive, options=SLOW)
    for key in (reader, published):
        answers = [give_feedback(service, key) for _ in range(25)]
        assert [answer.status for answer in answers] == [204] * 20 + [429] * 5
        assert int(answers[-1].headers["retry-after"]) > 1
        assert "too many texts to store" in answers[-1].json["detail"]
        assert service.get(f"{V1}/similar?title=card", authorization=f"Bearer {key}", origin=SITE).status == 200
    assert [give_feedback(service, writer).status for _ in range(25)] == [204] * 25


@pytest.mark.parametrize("header", ["x-forwarded-for", "x-real-ip", "forwarded"])
def test_made_up_address_gives_no_further_rate(serve, archive: Path, header: str) -> None:
    key = create_key(archive, "read", SITE)
    service = serve(archive, options=(*SLOW, "--set", "requests_per_s=0.001", "--set", "burst=30"))
    statuses = []
    for n in range(40):
        made_up = f"for=203.0.113.{n}" if header == "forwarded" else f"203.0.113.{n}"
        headers = {"authorization": f"Bearer {key}", "origin": SITE, header: made_up}
        statuses.append(service.get(f"{V1}/similar?title=card", **headers).status)
    assert statuses == [200] * 30 + [429] * 10


def test_feedback_keeps_the_beginning_of_texts(serve, archive: Path) -> None:
    service = serve(archive)
    ids = [f"r{n:03}" for n in range(1, 101)]
    assert give_feedback(service, body="b" * 100_000, shown_ids=ids, verdict="accept", chosen_id="r100").status == 204
    [(body, shown)] = stored_feedback(archive)
    assert body == "b" * 2_000
    assert len(shown) < 200
    assert "r100" in shown
    assert service.send("POST", f"{V1}/answer", {"title": "card", "body": "b" * 90_000}).status == 200
    with Archive.open(archive) as opened:
        assert measure_stored(opened)[1] < 5_000


def test_as_much_is_stored_as_the_settings_say(serve, archive: Path) -> None:
    service = serve(archive, options=("--set", "max_stored=3"))
    assert service.send("POST", f"{V1}/answer", {"title": "library card"}).status == 200
    answers = [give_feedback(service) for _ in range(4)]
    assert [answer.status for answer in answers] == [204, 204, 429, 429]
    assert "max_stored" in answers[-1].json["detail"]
    assert service.send("POST", f"{V1}/answer", {"title": "library card"}).status == 200
    with Archive.open(archive) as opened:
        assert measure_stored(opened)[0] == 3


def test_stored_bytes_are_as_the_settings_say(serve, archive: Path) -> None:
    with Archive.open(archive) as opened:
        for n in range(10):
            insert_feedback(opened, LoggedQuery(f"title {n}", "é" * 500, [], "lm"), "none_of_these", None)
    service = serve(archive, options=("--set", "max_stored_bytes=10000"))
    assert give_feedback(service).status == 429


def test_drafts_come_in_pages_that_are_not_long(serve, archive: Path) -> None:
    with Archive.open(archive) as opened:
        for n in range(60):
            put_thread(opened, f"asked/{n}", ThreadDraft(str(n), f"Short one {n}?", "", ""))
        for n in range(4):
            put_thread(opened, f"asked/long{n}", ThreadDraft(f"long{n}", f"Long one {n}?", "word " * 9_000, ""))
    service = serve(archive)
    pages = {offset: service.get(f"/a/riverside/drafts?offset={offset}").body for offset in (0, 50, 62)}
    counts = {offset: page.count(b'class="card gap"') for offset, page in pages.items()}
    assert counts == {0: 50, 50: 12, 62: 2}
    assert b"offset=50" in pages[0]
    assert b"offset=62" in pages[50]
    assert b"offset=" not in pages[62]
