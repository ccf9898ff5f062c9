"""What of a ranker runs in a browser, and what is said of the rest."""

from pathlib import Path

import numpy as np
import pytest

from askalike import Answer, Archive, Question, SettingsError, build, export_archive
from askalike.store.deployments import serve_ranker
from askalike_browser.parts import find_site_ranker

WITHOUT_VECTORS = "The page searches by words: the archive's ranker has no vectors that a browser can look up."


def test_default_hybrid_runs_as_it_is() -> None:
    ranker = build("hybrid")
    site = find_site_ranker(ranker)
    assert (site.ranker.values, site.remarks) == (ranker.values, [])
    assert site.words == ranker.parts[0].word_scores
    assert site.weights("en") == ranker.weights_for("en")
    assert site.weights("ru")[0] > site.weights("en")[0]


def test_weights_are_those_of_the_whole_sum() -> None:
    weighted = build("hybrid", {"parts": ["lm_jelinek_mercer", "static"], "weights": [1, 4]})
    assert find_site_ranker(weighted).weights(None) == (1, 4)
    share = build("static").lexical_weight
    assert share is not None
    for ranker in (build("static"), build("cascade", {"parts": ["lm_jelinek_mercer", "static"]})):
        assert find_site_ranker(ranker).weights(None) == pytest.approx((share / (1 + share), 1 / (1 + share)))


def test_encoders_give_way_to_packaged_vectors() -> None:
    ranker = build("hybrid", {"parts": ["lm_jelinek_mercer", "minilm_l6"], "fields": "title"})
    site = find_site_ranker(ranker)
    assert [part.name for part in site.ranker.parts] == ["lm_jelinek_mercer", "static"]
    assert site.ranker.values["static.fields"] == "title"
    assert site.remarks == ["The page compares packaged vectors, as a browser cannot compute those of minilm_l6."]


@pytest.mark.parametrize(
    ("name", "settings", "remarks"),
    [
        ("lm_jelinek_mercer", {}, [WITHOUT_VECTORS]),
        ("bm25", {"k1": 0.9}, ["The page ranks words by lm_jelinek_mercer instead of bm25.", WITHOUT_VECTORS]),
        (
            "lm_jelinek_mercer",
            {"tokenizer": "ptb", "lengths": "exact"},
            [
                "The page reads words with tokenizer=standard instead of ptb.",
                "The page reads words with lengths=byte instead of exact.",
                WITHOUT_VECTORS,
            ],
        ),
        (
            "lm_jelinek_mercer",
            {"fields": "title,answer", "field_weights": [2, 1]},
            ["The page does not search answers, as the archive's ranker does.", WITHOUT_VECTORS],
        ),
        (
            "static",
            {},
            ["The page ranks by words as lm_jelinek_mercer does, which the archive's ranker static does not."],
        ),
    ],
)
def test_what_browsers_cannot_do_is_replaced_and_said(name: str, settings: dict[str, object], remarks: list[str]):
    site = find_site_ranker(build(name, settings))
    assert site.remarks == remarks
    assert site.words.similarity == "lm_jelinek_mercer"
    assert site.words.settings["tokenizer"] == "standard"
    assert "answer" not in site.words.settings["fields"]
    if "field_weights" in settings:
        assert (site.words.settings["fields"], site.words.settings["field_weights"]) == ("title", (2,))


def test_vectors_of_answers_are_left_out() -> None:
    settings = {"parts": ["lm_jelinek_mercer", "static"], "fields": "title,text,answer"}
    site = find_site_ranker(build("hybrid", settings))
    assert site.vectors is not None
    assert (site.vectors.fields, len(site.vectors.weights)) == (("title", "text"), 2)
    assert len(site.remarks) == 1


def test_rankers_of_answers_alone_are_refused(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question("q", "first"), Answer("a", "q", "second")])
        serve_ranker(archive, "lm_jelinek_mercer", {"fields": "answer"}, "chosen")
        with pytest.raises(SettingsError, match="searches only answers, and a page of questions cannot") as refused:
            export_archive(archive, "static-site", tmp_path / "site")
    assert str(refused.value).count("\n") == 0
    assert not (tmp_path / "site").exists()


def test_remarks_are_for_who_exports(tmp_path: Path) -> None:
    said: list[str] = []
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question("q", "first")])
        serve_ranker(archive, "bm25", {}, "chosen")
        export_archive(archive, "static-site", tmp_path / "site", log=said.append)
    assert said == ["The page ranks words by lm_jelinek_mercer instead of bm25.", WITHOUT_VECTORS]


def test_lookup_table_gives_the_vectors_of_its_encoder() -> None:
    scores = build("static").vector_scores
    assert scores is not None
    table = scores.encoder.lookup
    assert table is not None
    questions = [Question("a", "How do I renew my card?"), Question("b", "Wie kündige ich?", "<p>Bitte</p>", "html")]
    rows, offsets = table.read(questions)
    expected = scores.encoder.encode_queries(questions).parts[0].values
    for n in range(len(questions)):
        own = rows[offsets[n] : offsets[n + 1]]
        found = (table.vectors[own].astype(np.float32) * table.weights[own, None]).sum(axis=0)
        assert found == pytest.approx(expected[n], abs=1e-4)
