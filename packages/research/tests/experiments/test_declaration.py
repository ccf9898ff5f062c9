"""What a TOML file may say, and that all its errors are listed at once."""

import pytest
from small import archive_at, toml_at

from askalike.core.config import parse_assignments, validate_settings
from askalike.core.errors import SettingsError
from askalike_research.experiments.declaration import PartitionSettings, read_experiment

WRONG = """
titel = "x"
archive = "ARCHIVE"
split = "tset"
k = "100"
measures = ["Success@1", "Sucess@5"]
rule = "trec"
seeds = [0, 0]

[[system]]
ranker = "bm26"

[[system]]
ranker = "bm25"
settings = { k1 = "x", q = 1 }
tune = { b = 3 }

[[system]]
rankr = "bm25"
paper = { "Success@1" = 7.3 }

[[system]]
ranker = "ib"
tune = { c = [1, -1], lambda = ["df", "xx"] }
"""

ERRORS = (
    "titel is not a setting (known: title, archive, engine, split",
    "split: ARCHIVE: no split 'tset' with judged questions; there are: rephrasings",
    "k='100': expected a whole number",
    "measures[1]='Sucess@5': no measure is called 'Sucess@5'",
    "rule='trec': no rule is called 'trec'; there are: trec_eval",
    "seeds: 0 given twice",
    "system[0].ranker='bm26': no ranker is called 'bm26'; there are: bm25",
    "system[1].settings: bm25: k1='x': expected a number",
    "q is not a setting (known: k1, b)",
    "system[1].tune: {'b': 3} is not a grid; expected true, or lists",
    "system[2].ranker is missing",
    "system[2].rankr is not a setting (known: ranker, label",
    "system[2].paper.Success@1=7.3: expected 1 or less",
    "system[3].tune: ib: c=-1: expected a number above 0; ib: lambda='xx'",
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return archive_at(tmp_path_factory.mktemp("reading") / "archive")


def error_of(path, changes=None):
    with pytest.raises(SettingsError) as caught:
        read_experiment(path, changes)
    return str(caught.value)


def test_all_errors_are_listed_with_their_paths(archive, tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text(WRONG.replace("ARCHIVE", str(archive)))
    message = error_of(path)
    for part in ERRORS:
        assert part.replace("ARCHIVE", str(archive)) in message, message
    assert len(message.splitlines()) == 1 + len(ERRORS) - 1  # a heading, a line each; two of the texts share one


def test_a_baseline_must_be_a_label(archive, tmp_path):
    assert "baseline = 'x' is not a label; expected one of: " in error_of(
        toml_at(tmp_path / "x.toml", archive, baseline="x")
    )


def test_a_missing_archive_is_listed_with_other_errors(tmp_path):
    message = error_of(toml_at(tmp_path / "x.toml", tmp_path / "nowhere", k=0))
    assert "k=0: expected 1 or more" in message
    assert "archive: " in message
    assert "not an archive" in message


def test_the_split_to_tune_on_must_exist(archive, tmp_path):
    tuned = [{"ranker": "bm25", "tune": {"k1": [0.6, 1.2]}}]
    assert "dev: " in error_of(toml_at(tmp_path / "x.toml", archive, system=tuned))
    assert (
        read_experiment(toml_at(tmp_path / "x.toml", archive, system=tuned), {"dev": "rephrasings"}).dev
        == "rephrasings"
    )


def test_paper_may_name_an_unmeasured_measure(archive, tmp_path):
    systems = [{"ranker": "bm25", "paper": {"MAP": 0.3, "MRR": 0.5}}]
    message = error_of(toml_at(tmp_path / "x.toml", archive, system=systems))
    assert "system[0].paper: bm25 has a value of MAP, which is not one of the measures" in message
    assert "MRR" not in message  # RR in another spelling


def test_labels_of_equal_file_names_are_refused(archive, tmp_path):
    systems = [{"ranker": "bm25", "label": "a b"}, {"ranker": "tfidf", "label": "a (b)"}]
    assert "labels 'a (b)', 'a b' make the same file name" in error_of(
        toml_at(tmp_path / "x.toml", archive, system=systems)
    )


def test_run_file_is_a_system(archive, tmp_path):
    def errors(**system):
        return error_of(toml_at(tmp_path / "x.toml", archive, system=[{"ranker": "bm25"}, system]))

    assert "nowhere.trec: no such file" in errors(run="nowhere.trec")
    (tmp_path / "there.trec").write_text("q Q0 a 1 1 t\n")
    there = str(tmp_path / "there.trec")
    assert "run and settings: a run file is measured as it is" in errors(run=there, settings={"k1": 1})
    assert "run and ranker: expected one of them" in errors(run=there, ranker="tfidf")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k = ", "not valid TOML"),
        ("", "system is missing"),
        ("system = 3", "system=3: expected a list"),
        ('[system]\nranker = "bm25"', "system: expected a list; a list of tables is written [[system]]"),
        ('system = ["bm25"]', "system[0]='bm25': expected one table"),
        ('[[system]]\nranker = "bm25"\nsettings = 3', "system[0].settings=3: expected a table"),
        ('[[system]]\nranker = "bm25"\nlabel = ""', "system[0].label='': expected some text"),
        ("[[partition]]\nfolds = 2", "partition: expected one table"),
        ('[partition]\nmethod = "time"\nbefore = "May"', "partition.before='May': date 'May': expected a date such as"),
        ("archive = 3", "archive=3: expected a path"),
        (
            'fields = "titles"',
            "fields='titles': 'titles': expected fields with commas between them, each once: title, body, text",
        ),
        ('typing_curve = "yes"', "typing_curve='yes': expected true or false"),
        ("measures = []", "measures: the list is empty"),
        ('archive = "x"\nsystem = []', "system: no systems"),
        ('archive = "${NO_SUCH_VARIABLE}"', "archive: the variable NO_SUCH_VARIABLE is not set"),
    ],
)
def test_broken_files(tmp_path, text, message):
    path = tmp_path / "broken.toml"
    path.write_text(text)
    assert message in error_of(path)


@pytest.mark.parametrize("date", ["2022-01-05", '"2022-01-05"'])
def test_date_is_toml_or_text(date):
    values = parse_assignments([f"before={date}", "after=2022"])
    settings = validate_settings(PartitionSettings, {"method": "time", **values}, "partition")
    assert settings.settings == {"before": "2022-01-05", "after": "2022"}


def test_no_file(tmp_path):
    assert "No such file" in error_of(tmp_path / "absent.toml")


def test_variables_and_changes(archive, tmp_path, monkeypatch):
    path = toml_at(tmp_path / "plain.toml", "${DATA:-nowhere}/archive")  # type: ignore[arg-type]
    assert f"{'nowhere'}/archive: not an archive" in error_of(path)
    monkeypatch.setenv("DATA", str(archive.parent))
    assert read_experiment(path).archive == archive
    assert read_experiment(path).title == "plain"
    assert read_experiment(path, {"k": 7, "title": "Seven"}).k == 7
    assert read_experiment(path, {"archive": str(archive)}).system[1].label == "TF-IDF (ours)"


def test_table_keys_change_and_list_items_do_not(archive, tmp_path):
    path = toml_at(tmp_path / "x.toml", archive)
    assert "partition.sed is not a setting (known: method, source_split, name" in error_of(path, {"partition.sed": 3})
    assert "system is not a table" in error_of(path, {"system.k1": 3})
