"""One text has the same hits with the same grades, whichever way it is asked."""

import json
import re
from collections.abc import Callable, Mapping
from html import unescape
from urllib.parse import quote

import pytest
from serving import Service

import askalike
from askalike.search.archive_retriever import ArchiveRetriever, SearchRequest
from commands import askalike as run_askalike
from contracts.ways_contract import TEXTS, WORDS, K

Grades = Mapping[str, str | None]


@pytest.fixture(scope="module")
def engine(example):
    with askalike.load(example, WORDS) as engine:
        yield engine


def asked(engine: ArchiveRetriever, text: str) -> Grades:
    return {hit.id: hit.grade for hit in engine.search(text, K)}


def typed(engine: ArchiveRetriever, text: str) -> Grades:
    return {hit.id: hit.grade for hit in engine.search(f"{text} ", K, prefix=True)}


def in_a_batch(engine: ArchiveRetriever, text: str) -> Grades:
    [*_, last] = engine.search_batch([SearchRequest(one, k=K) for one in (*TEXTS, text)])
    return {hit.id: hit.grade for hit in last}


def without_reasons(engine: ArchiveRetriever, text: str) -> Grades:
    return {hit.id: hit.grade for hit in engine.search(text, K, explain=False)}


def by_command(engine: ArchiveRetriever, text: str) -> Grades:
    output = run_askalike("search", engine.archive.path, text, "-r", WORDS, "-k", str(K), "--json").stdout
    return {result["id"]: result["grade"] for result in json.loads(output)["results"]}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("way", [typed, in_a_batch, without_reasons, by_command], ids=lambda way: way.__name__)
def test_ways_of_this_machine_agree(engine, way: Callable[[ArchiveRetriever, str], Grades], text):
    assert way(engine, text) == asked(engine, text)


def test_service_agrees(engine, service: Service):
    for text in TEXTS:
        expected = asked(engine, text)
        by_get = service.get(f"/v1/riverside/similar?title={quote(text)}&k={K}").json
        by_post = service.send("POST", "/v1/riverside/similar", {"title": text, "k": K, "prefix": True}).json
        for answer in (by_get, by_post):
            assert {one["id"]: one["grade"] for one in answer["results"]} == expected, text
            assert answer["abstained"] == (not expected)


def test_page_agrees(engine, service: Service):
    for text in TEXTS:
        page = service.get(f"/a/riverside?title={quote(text)}").body.decode()
        shown = [unescape(id) for id in re.findall(r'name="shown" value="([^"]*)"', page)]
        assert shown == list(asked(engine, text)), text


def test_answers_are_of_the_same(engine):
    for text in TEXTS:
        grades = asked(engine, text)
        sources = engine.answer(text, k=K).sources
        assert {source.question.id for source in sources} <= {id for id, grade in grades.items() if grade == "same"}
