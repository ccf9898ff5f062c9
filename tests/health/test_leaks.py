"""Each check for leaks finds what it is for, and nothing else."""

from itertools import product

import pytest
from hypothesis import given, strategies as st

from askalike.core.records import Answer, EvaluationQuery, Judgement, Link, Question
from askalike.health import LEAK_CHECKS, run_checks
from askalike.health.leaks import NEAR_DUPLICATE_JACCARD, NearDuplicateIndex
from askalike.labels.partitions import create_partition
from askalike.readers import import_archive
from askalike.store import Archive


def run_check(archive, name):
    return next(finding for finding in run_checks(archive, checks=LEAK_CHECKS) if finding.name == name)


def test_near_duplicates_in_two_splits(archive):
    said = "how do I boil a fresh egg without a lid on the pot"
    archive.upsert([Question("1", said), Question("2", "something else"), Question("3", "to boil eggs")])
    archive.upsert([EvaluationQuery("train", Question("a", "unlike")), Judgement("train", "a", "1", 1)])
    archive.upsert([EvaluationQuery("test", Question("b", said.upper() + " please")), Judgement("test", "b", "3", 1)])
    archive.upsert([EvaluationQuery("test", Question("c", "how do I boil")), Judgement("test", "c", "2", 1)])
    finding = run_check(archive, "same_text_across_splits")
    assert (finding.count, finding.n, finding.examples) == (1, 2, ("b (test) ~ 1 (train)",))


TERMS = st.lists(st.frozensets(st.sampled_from("abcdefghij")), max_size=12)


@given(TERMS, TERMS)
def test_near_duplicates_equal_those_of_an_exhaustive_search(asked, others):
    nearby = NearDuplicateIndex()
    for n, terms in enumerate(asked):
        nearby.add("test", str(n), terms)
    near = {(id, n) for n, terms in enumerate(others) for _, id in nearby.find_near_duplicates("train", terms)}
    both = product(enumerate(asked), enumerate(others))
    assert near == {
        (str(a), b)
        for (a, one), (b, other) in both
        if one and len(one & other) / len(one | other) >= NEAR_DUPLICATE_JACCARD
    }


def test_clusters_in_two_splits(archive):
    archive.upsert(Question(id, f"question {id}") for id in "abcdef")
    archive.upsert([EvaluationQuery("train", Question("q", "?")), Judgement("train", "q", "a", 1)])
    archive.upsert([EvaluationQuery("test", Question("r", "?")), Judgement("test", "r", "b", 1)])
    archive.upsert([EvaluationQuery("test", Question("s", "?")), Judgement("test", "s", "c", 1)])
    assert run_check(archive, "clusters_across_splits").count == 0
    archive.upsert([Link("a", "d"), Link("d", "b")])
    finding = run_check(archive, "clusters_across_splits")
    assert (finding.count, finding.n, finding.examples) == (1, 2, ("r (test)",))


def test_a_link_added_after_the_cut_is_noticed(archive):
    archive.upsert(Question(f"{x}{n}", f"{x}{n}") for n in range(4) for x in "ab")
    archive.upsert(Link(f"a{n}", f"b{n}") for n in range(4))
    create_partition(archive, "folds", {"folds": 2})
    assert run_check(archive, "clusters_across_splits").count == 0
    archive.upsert(Link("b0", f"b{n}") for n in (1, 2, 3))
    assert run_check(archive, "clusters_across_splits").count == 4


def test_related_links_between_duplicates(archive):
    archive.upsert(Question(id, id) for id in "abcde")
    archive.upsert([Link("a", "b"), Link("b", "c"), Link("d", "e")])
    archive.upsert([Link("b", "a", "related"), Link("a", "c", "related"), Link("a", "d", "related")])
    finding = run_check(archive, "related_duplicates")
    assert (finding.count, finding.n, finding.examples) == (1, 3, ("a → b",))
    assert finding.details == ("2 of 3 related links are inside a duplicate cluster",)


def test_answers_that_quote_their_question(archive):
    body = "<p>The water boils over whenever I put the lid on.</p>"
    archive.upsert([Question("1", "How long do I boil an egg?", body, "html"), Question("2", "Eggs?")])
    archive.upsert(
        [
            Answer("title", "1", "How long do I BOIL an egg: ten minutes."),
            Answer("body", "1", "<blockquote>boils over whenever I put the lid on</blockquote> No lid.", "html"),
            Answer("words", "1", "I boil an egg for long; how do you?"),
            Answer("short", "2", "Eggs? Yes."),
        ]
    )
    finding = run_check(archive, "answers_quoting_questions")
    assert (finding.count, finding.n, finding.unit, finding.examples) == (2, 4, "answers", ("title", "body"))


@pytest.mark.parametrize(("site", "both", "of"), [("cs", 137, 212), ("beer", 12, 17), ("ai", 6, 6)])
def test_real_communities(shared_data, tmp_path, site, both, of):
    import_archive("stackexchange", [shared_data / f"stackexchange/{site}.stackexchange.com"], tmp_path / site)
    with Archive.open(tmp_path / site) as archive:
        create_partition(archive, "folds", {"folds": 2})
        finding = run_check(archive, "related_duplicates")
        assert (finding.count, finding.n) == (both, of)
        assert run_check(archive, "clusters_across_splits").count == 0


def test_named_originals_are_found_without_notice_end(archive):
    flat = "> **Possible Duplicate:** > How do I boil an egg? I have tried it for an hour."
    archive.upsert(
        [
            Question("old", "How do I boil an egg?"), Question("flat", "Egg, boiled", flat),
            Question("other", "Hard eggs", "> **Possible Duplicate:** > Something else? Hard ones, please."),
            Question("plain", "Soft eggs", "How do I boil an egg? Possible duplicate of mine."),
            Question("unlabelled", "My egg", flat), *(Link(id, "old") for id in ("flat", "other", "plain")),
        ]
    )  # fmt: skip
    archive.upsert(
        [EvaluationQuery("test", Question("q", "How do I boil an egg?")), Judgement("test", "q", "other", 1)]
    )
    finding = run_check(archive, "named_originals")
    assert (finding.count, finding.n, finding.examples) == (1, 3, ("flat",))
