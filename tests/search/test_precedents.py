"""What was called the same before, nearest to a pair."""

import pytest

from askalike import rankers
from askalike.core.records import Link, Question
from askalike.search.archive_retriever import ArchiveRetriever

TITLES = {
    "a": "my bike was stolen", "b": "somebody took my bike", "c": "boil an egg", "d": "egg boiling time",
    "e": "bike theft insurance",
}  # fmt: skip


def test_the_pair_most_like_this_one_comes_first(archive):
    archive.upsert([Question(id, title) for id, title in TITLES.items()])
    archive.upsert([Link("b", "a"), Link("d", "c")])
    local = ArchiveRetriever(archive, rankers.create("lm_jelinek_mercer"))
    [hit] = local.search("they took my bike", 1)
    found = local.find_precedents("they took my bike", hit.question, 5)
    assert [(p.duplicate.id, p.original.id) for p in found] == [("b", "a")]
    egg = archive.view().get_questions(["c"])["c"]
    assert local.find_precedents("how long to boil an egg", egg, 1)[0].duplicate.id == "d"


def test_unrelated_pair_is_not_cited(archive):
    """The hit shares no more than function words with the query: its own duplicate says nothing about it."""
    titles = {"o": "How to do Big O notation", "d": "Analysis of algorithms", "j": "Where is the library in town?"}
    archive.upsert([Question(id, title) for id, title in titles.items()])
    archive.upsert([Link("d", "o")])
    local = ArchiveRetriever(archive, rankers.create("lm_jelinek_mercer"))
    [hit] = local.search("How to learn to program", 1)
    assert hit.id == "o"
    assert local.find_precedents("How to learn to program", hit.question) == []


@pytest.mark.parametrize(("language", "cited"), [("de", []), ("en", [("d", "o")])])
def test_function_words_are_those_of_the_language(archive, language, cited):
    titles = {"o": "Nudeln im Topf", "d": "Wie kocht man das Abendessen", "j": "Wo liegt unsere Bibliothek"}
    archive.upsert([Question(id, title) for id, title in titles.items()])
    archive.upsert([Link("d", "o")])
    archive.set_meta(language=language)
    local = ArchiveRetriever(archive, rankers.create("lm_jelinek_mercer"))
    found = local.find_precedents("Wie lernt man das Lesen", archive.view().get_questions(["o"])["o"])
    assert [(p.duplicate.id, p.original.id) for p in found] == cited


def test_nothing_similar_has_no_precedent(archive):
    archive.upsert([Question(id, title) for id, title in TITLES.items()])
    local = ArchiveRetriever(archive, rankers.create("lm_jelinek_mercer"))
    [hit] = local.search("bike insurance", 1)
    assert local.find_precedents("bike insurance", hit.question) == []
