"""What of a ranker runs in a browser, and what is said of the rest."""

from pathlib import Path

import numpy as np
import pytest

from askalike import Answer, Archive, Question, SettingsError, build, export_archive
from askalike.store.deployments import serve_ranker
from askalike_browser.parts import find_parts

WITHOUT_VECTORS = "The page searches by words: the archive's ranker has no vectors that a browser can look up."


def test_default_hybrid_runs_whole() -> None:
    ranker = build("hybrid")
    parts = find_parts(ranker, "en")
    assert (parts.is_whole, parts.remarks) == (True, [])
    assert (parts.words, parts.vectors) == (ranker.parts[0].word_scores, ranker.parts[1].vector_scores)
    assert parts.weights == ranker.weights_for("en")
    assert find_parts(ranker, "ru").weights[0] > parts.weights[0]


def test_weights_are_those_of_the_whole_sum() -> None:
    weighted = build("hybrid", {"parts": ["lm_jelinek_mercer", "static"], "weights": [1, 4]})
    assert find_parts(weighted).weights == (1, 4)
    share = build("static").lexical_weight
    assert share is not None
    for ranker in (build("static"), build("cascade", {"parts": ["lm_jelinek_mercer", "static"]})):
        assert find_parts(ranker).weights == pytest.approx((share / (1 + share), 1 / (1 + share)))


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
    parts = find_parts(build(name, settings))
    assert parts.remarks == remarks
    assert parts.words.similarity == "lm_jelinek_mercer"
    assert parts.words.settings["tokenizer"] == "standard"
    assert "answer" not in parts.words.settings["fields"]
    assert parts.is_whole == (remarks == [WITHOUT_VECTORS])
    if "field_weights" in settings:
        assert (parts.words.settings["fields"], parts.words.settings["field_weights"]) == ("title", (2,))


def test_vectors_of_answers_are_left_out() -> None:
    settings = {"parts": ["lm_jelinek_mercer", "static"], "fields": "title,text,answer"}
    parts = find_parts(build("hybrid", settings))
    assert parts.vectors is not None
    assert (parts.vectors.fields, len(parts.vectors.weights)) == (("title", "text"), 2)
    assert (parts.is_whole, len(parts.remarks)) == (False, 1)


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
