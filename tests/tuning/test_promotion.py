"""Which ranker is activated: one that is significantly better, on what neither has learned from."""

import json
import re
import shutil

import pytest

from askalike.core.model_folders import LearnedLabels
from askalike.core.records import Link, Question
from askalike.labels.splits import load_split
from askalike.store import deployments
from askalike.store.archive import Archive
from askalike.store.feedback import is_held_out
from askalike.store.query_log import LoggedQuery, insert_feedback
from askalike.tuning import promotion
from askalike.tuning.promotion import promote
from commands import askalike
from database import run_sql

WORDS = "lm_jelinek_mercer"
TITLES = {"fields": "title"}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Sixty duplicates that share words with their originals in the body alone: titles do not find them."""
    path = tmp_path_factory.mktemp("promoting") / "desk"
    with Archive.create(path) as archive:
        for n in range(60):
            body = f"topic{n} matter{n}"
            archive.upsert([Question(f"a{n}", "Please help", body), Question(f"b{n}", "One question", body)])
            archive.upsert([Link(f"b{n}", f"a{n}")])
        deployments.serve_ranker(archive, WORDS, TITLES, "a test")
    return path


@pytest.fixture
def archive(original, tmp_path):
    with Archive.open(shutil.copytree(original, tmp_path / "desk")) as archive:
        yield archive


def in_service(archive):
    return deployments.get_served_ranker(archive).ranker, deployments.get_served_ranker(archive).settings


def test_a_better_ranker_is_put_into_service(archive):
    result = promote(archive, WORDS)
    assert (result.promoted, result.split, result.links, result.feedback) == (True, "duplicates", 60, 0)
    assert result.compared.difference > 0.5
    assert in_service(archive) == (WORDS, {})
    assert deployments.get_served_ranker(archive).reason == result.reason
    assert result.reason.startswith(f"{WORDS}: +")
    assert result.reason.endswith("significantly better; activated")
    again = promote(archive, WORDS)
    assert (again.promoted, "already active" in again.reason) == (False, True)


def test_worse_ranker_is_refused_with_a_reason(archive):
    promote(archive, WORDS)
    for other, settings, verdict in (("bm25", {}, "not significantly better"), (WORDS, TITLES, "significantly worse")):
        result = promote(archive, other, settings)
        assert not result.promoted
        assert result.reason.endswith(f": {verdict}; refused")
    assert in_service(archive) == (WORDS, {})
    assert promote(archive, "bm25", force=True).promoted
    assert in_service(archive) == ("bm25", {})


def test_too_few_queries(archive):
    run_sql(archive, "DELETE FROM links WHERE source > 'b2'")
    result = promote(archive, WORDS)
    assert not result.promoted
    assert "held-out queries are too few to decide" in result.reason


def test_feedback_counts_where_it_is_held_out(archive):
    run_sql(archive, "DELETE FROM links")
    for n in range(60):
        insert_feedback(archive, LoggedQuery(f"What about topic{n}?", "", [f"a{n}"], WORDS), "accept", f"a{n}")
    result = promote(archive, WORDS)
    assert (result.split, result.links) == (None, 0)
    assert result.feedback == sum(is_held_out(f"a{n}") for n in range(60))
    assert not result.promoted
    assert re.search(r"hold some out \(askalike split .* --by cluster\) and train again, or use tune", result.reason)
    for n in range(60, 400):
        archive.upsert([Question(f"a{n}", "Please help", f"topic{n}")])
        insert_feedback(archive, LoggedQuery(f"What about topic{n}?", "", [f"a{n}"], WORDS), "accept", f"a{n}")
    result = promote(archive, WORDS)
    assert (result.promoted, result.feedback > 60) == (True, True)


def test_model_is_measured_on_what_is_unseen(archive):
    def trained_on(*ids):
        class Mine:
            learned_labels = LearnedLabels(duplicates=frozenset(ids))

        return Mine()

    seen = load_split(archive, "duplicates").queries
    assert promotion._select_queries(archive, [trained_on(*seen)]).split_name is None
    assert promotion._select_queries(archive, [trained_on()]).split_name == "duplicates"


def test_the_commands(archive):
    result = askalike("promote", archive.path, WORDS)
    assert result.returncode == 0, result.stderr
    assert "activated" in result.stdout
    assert "askalike calibrate" in result.stdout
    refused = askalike("promote", archive.path, "bm25", "--set", "fields=title", "--json")
    assert refused.returncode == 1, refused.stderr
    assert json.loads(refused.stdout)["promoted"] is False
    parts = ("--set", f"parts={WORDS},dfr", "--set", "dfr.after_effect=b")
    assert askalike("promote", archive.path, "hybrid", *parts, "--force").returncode == 0
    hybrid = " ".join(("hybrid", *parts))
    assert f"active ranker: {hybrid} (the default of --ranker)\n" in askalike("models", archive.path).stdout
    assert askalike("rollback", archive.path).stdout == f"{hybrid} is withdrawn; {WORDS} is active again\n"
    before = f"{WORDS} --set fields=title"
    assert askalike("rollback", archive.path).stdout == f"{WORDS} is withdrawn; {before} is active again\n"
    assert "the default" in askalike("rollback", archive.path).stdout
    nothing = askalike("rollback", archive.path)
    assert (nothing.returncode, "no ranker was activated" in nothing.stderr) == (2, True)
