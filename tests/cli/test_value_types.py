"""What people write for a value is checked alike on the command line, over HTTP, in TOML and in Python."""

import math

import pytest
from pydantic import ValidationError

from askalike import Archive, Filter, Question, SettingsError, load
from askalike.core.config import validate_settings
from askalike.core.values import check_weights, parse_language, parse_memory, parse_tag
from askalike.labels.partitions import TimeSplitter
from askalike.rankers.hybrid import HybridSettings
from askalike.readers import import_archive
from askalike.service.schema import SimilarRequest
from commands import assert_refused, run_command as run

NO_DATES = ["soon", "2021-13-45", "", "01.09.2021", "2021-02-30", "20-01-01"]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    path = tmp_path_factory.mktemp("values") / "desk"
    with Archive.create(path) as archive:
        archive.upsert(
            [
                Question("1", "How do I boil rice?", tags=("rice", "kitchen"), created_at="2021-05-01T10:00:00"),
                Question("2", "How do I boil an egg?", tags=("egg",), created_at="2022-05-01T10:00:00"),
            ]
        )
    return path


@pytest.mark.parametrize("date", NO_DATES)
def test_what_is_no_date_is_refused_everywhere(date, desk) -> None:
    for command in (
        ("search", desk, "rice", "--before", date),
        ("search", desk, "rice", "--after", date),
        ("rank", desk, "--queries", "nothing.jsonl", "-o", "x.run", "--before", date),
        ("split", desk, "--by", "time", "--before", date),
    ):
        assert_refused(run(*command), "expected a date such as 2014-01-21", f"{command[-2]}")
    for make in (lambda: Filter(before=date), lambda: Filter(after=date)):
        with pytest.raises(SettingsError, match="expected a date"):
            make()
    with pytest.raises(ValidationError, match="expected a date"):
        SimilarRequest(title="rice", before=date)
    with pytest.raises(SettingsError, match="expected a date"):
        validate_settings(TimeSplitter, {"before": date}, "split.toml")


@pytest.mark.parametrize("date", ["2021", "2021-09", "2021-09-01", "2021-09-01T10:00:00+02:00", "1630483200"])
def test_dates_that_people_write_are_taken(date, desk) -> None:
    code, out, _ = run("search", desk, "boil", "--after", date, "-r", "lm_jelinek_mercer")
    assert (code, "egg" in out, "rice" in out) == (0, True, date == "2021")


def test_dates_with_nothing_between_are_refused(desk) -> None:
    refused = run("search", desk, "rice", "--after", "2022-01-01", "--before", "2021-01-01")
    assert_refused(refused, "after=2022-01-01 must be earlier than before=2021-01-01")
    with pytest.raises(SettingsError, match="must be earlier than"):
        Filter(after="2021", before="2021")


def test_unknown_tag_is_refused_with_similar_ones(desk) -> None:
    for tag in ("Kitchens", "nowhere"):
        refused = run("search", desk, "rice", "--tag", tag, "-r", "lm_jelinek_mercer")
        assert_refused(refused, f"tag '{tag}': no question has it")
        assert ("kitchen" in refused[2]) == (tag == "Kitchens")
    assert run("search", desk, "rice", "--tag", " ")[0] == 2
    assert run("search", desk, "rice", "--tag", "kitchen", "-r", "lm_jelinek_mercer")[0] == 0
    with load(desk, "lm_jelinek_mercer") as engine, pytest.raises(SettingsError, match="no question has it"):
        engine.search("rice", filter=Filter(("nowhere",)))
    for tags in ([""], ["rice", " "]):
        with pytest.raises(ValidationError, match="a tag is empty"):
            SimilarRequest(title="rice", tags=tags)


@pytest.mark.parametrize("weights", ["0,0", "-1,1", "nan,1"])
def test_weights_of_nothing_or_less_are_refused(weights, desk) -> None:
    assert_refused(run("search", desk, "rice", "-r", "hybrid", f"--set=weights={weights}"), "weights")
    with pytest.raises(SettingsError, match="weights"):
        validate_settings(HybridSettings, {"weights": weights}, "experiment.toml")


def test_a_language_is_a_code(tmp_path) -> None:
    (tmp_path / "faq.csv").write_text("question,answer\nHow?,So.\n")
    refused = run("import", "table", tmp_path / "faq.csv", "-o", tmp_path / "faq", "--language", "xx")
    assert_refused(refused, "language 'xx': expected a code of ISO 639-1 such as en")
    assert not (tmp_path / "faq").exists()
    with pytest.raises(SettingsError, match="ISO 639-1"):
        import_archive("table", [tmp_path / "faq.csv"], tmp_path / "faq", language="english")
    records = pytest.importorskip("askalike.service.schema", reason="needs askalike[service]")
    with pytest.raises(ValidationError, match="ISO 639-1"):
        records.QuestionFields(title="How?", language="xx")


def test_each_kind_of_value_by_itself() -> None:
    assert [parse_language(code) for code in ("en", "EN", "en-US", "de_DE", "nds")] == ["en", "en", "en", "de", "nds"]
    assert (parse_tag(" a "), check_weights((0.0, 2.0))) == ("a", (0.0, 2.0))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"k": 0}, "k must be at least 1, got 0"),
        ({"min_similarity": -1.0}, "min_similarity must be between 0 and 1, got -1.0"),
        ({"min_similarity": 1.5}, "min_similarity must be between 0 and 1, got 1.5"),
        ({"min_probability": math.nan}, "min_probability must be between 0 and 1, got nan"),
    ],
)
def test_impossible_numbers_are_refused_in_python_and_http(values, problem, desk) -> None:
    with load(desk, "lm_jelinek_mercer") as engine, pytest.raises(SettingsError, match=problem):
        engine.search("rice", **values)
    with pytest.raises(ValidationError):
        SimilarRequest(title="rice", **values)


def test_amounts_of_memory():
    texts = ("1024", "1k", "500M", "2GB", "1.5 GiB")
    assert [parse_memory(text) for text in texts] == [1024, 1024, 500 << 20, 2 << 30, 3 << 29]
    for text in ("", "much", "0", "-1G", "2 GBs"):
        with pytest.raises(ValueError, match="such as 500M or 2GB"):
            parse_memory(text)
