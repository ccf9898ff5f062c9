"""Several sources in one archive: their ids never meet, and an import changes only what its own source brought."""

from pathlib import Path
from typing import Any

import pytest

from askalike.core.errors import ArchiveError, InputError, SettingsError
from askalike.core.records import Answer, Link, Question
from askalike.health.statistics import compute_statistics
from askalike.readers import import_archive
from askalike.store import Archive, content_hash
from askalike.store.contents import ArchiveSummary
from askalike.store.editing import put_records
from askalike.store.import_pass import ArchiveSink
from askalike.store.sources import SourceSummary, import_numbers, plan_source, source_names
from database import run_sql

HEADER = "id,question,answer,duplicate_of\n"
BEER = f"{HEADER}1,How long does a keg last?,A month.,\n2,What is a stout?,Dark beer.,\n3,Stout?,,2\n"
TEA = f"{HEADER}1,How long does tea steep?,Three minutes.,\n4,Does green tea spoil?,Yes.,1\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def import_table(path: Path, directory: Path, **more: Any) -> ArchiveSummary:
    return import_archive("table", [path], directory, language="en", **more)


def titles(directory: Path) -> dict[str, str]:
    with Archive.open(directory) as archive:
        return {question.id: question.title for _, question in archive.view().questions()}


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """An archive of two sources, whose ids 1 would meet."""
    for name, text in (("beer.csv", BEER), ("tea.csv", TEA)):
        import_table(write(tmp_path / name, text), tmp_path / "mix")
    return tmp_path / "mix"


def test_a_second_source_overwrites_nothing(mixed: Path) -> None:
    assert titles(mixed) == {
        "1": "How long does a keg last?",
        "2": "What is a stout?",
        "3": "Stout?",
        "tea/1": "How long does tea steep?",
        "4": "Does green tea spoil?",
    }
    with Archive.open(mixed) as archive:
        answers = archive.view().get_answers_to(["1", "tea/1"])
        assert [a.body for a in answers["1"]] == ["A month."]
        assert [(a.body, a.accepted) for a in answers["tea/1"]] == [("Three minutes.", True)]
        assert set(archive.view().links()) == {Link("3", "2"), Link("4", "tea/1")}
        assert source_names(archive.view(), ["1", "tea/1", "4"]) == {"1": "beer", "tea/1": "tea", "4": "tea"}
        assert [(s.name, s.questions, s.answers) for s in compute_statistics(archive).sources] == [
            ("beer", 3, 2), ("tea", 2, 2),
        ]  # fmt: skip


def test_each_source_is_updated_under_its_own_ids(mixed: Path, tmp_path: Path) -> None:
    for name, text in (("tea.csv", TEA), ("beer.csv", BEER)):
        done = import_table(tmp_path / name, mixed)
        assert {table: c["added"] + c["updated"] + c["removed"] for table, c in done.changes.items()} == {
            "questions": 0, "answers": 0, "links": 0,
        }  # fmt: skip
        changed = write(tmp_path / name, text.replace("How long does", "How many days does"))
        done = import_table(changed, mixed, yes=True)
        assert done.changes["questions"]["updated"] == 1
        assert done.changes["answers"] == {"added": 0, "updated": 0, "unchanged": 2, "removed": 0}
    assert titles(mixed)["1"] == "How many days does a keg last?"
    assert titles(mixed)["tea/1"] == "How many days does tea steep?"


def test_missing_reference_is_not_resolved_elsewhere(tmp_path: Path) -> None:
    import_table(write(tmp_path / "beer.csv", BEER + "5,Lager?,,9\n"), tmp_path / "mix")
    import_table(write(tmp_path / "tea.csv", TEA + "9,Is tea a herb?,,2\n"), tmp_path / "mix")
    with Archive.open(tmp_path / "mix") as archive:
        assert set(archive.view().links()) == {Link("3", "2"), Link("4", "tea/1")}
        assert {"tea/9", "4"} <= archive.view().docids(["tea/9", "4", "9"]).keys()
        assert "9" not in archive.view().docids(["9"])


def test_dry_run_says_what_the_import_does(mixed: Path, tmp_path: Path) -> None:
    changed = write(tmp_path / "tea.csv", TEA.replace("4,", "6,") + "7,Is mate tea?,No.,\n")
    with Archive.open(mixed) as archive:
        before = content_hash(archive), archive.view().change
    told = import_table(changed, mixed, dry_run=True, prune=True)
    with Archive.open(mixed) as archive:
        assert (content_hash(archive), archive.view().change) == before
    done = import_table(changed, mixed, prune=True, yes=True)
    assert told.changes == done.changes
    assert done.changes["questions"] == {"added": 2, "updated": 0, "unchanged": 1, "removed": 1}
    assert "4" not in titles(mixed)
    assert len(titles(mixed)) == 6


def test_dry_run_of_a_new_archive_makes_none(tmp_path: Path) -> None:
    told = import_table(write(tmp_path / "tea.csv", TEA), tmp_path / "new", dry_run=True)
    assert told.changes["questions"]["added"] == 2
    assert not (tmp_path / "new").exists()


def test_file_with_other_texts_is_stopped(mixed: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = write(tmp_path / "other/tea.csv", TEA.replace("tea", "coffee"))
    problem = r"text of 2 of the 4 questions and answers of 'tea' that it has again.*--yes.*--source"
    with pytest.raises(ArchiveError, match=problem):
        import_table(other, mixed)
    assert "coffee" not in " ".join(titles(mixed).values())
    import_table(other, mixed, source="coffee")
    assert titles(mixed)["coffee/1"] == "How long does coffee steep?"
    import_table(other, mixed, yes=True)
    assert titles(mixed)["tea/1"] == "How long does coffee steep?"


def test_few_rows_of_another_file_are_stopped(tmp_path: Path) -> None:
    rows = "".join(f"{n},What is part {n}?,\n" for n in range(100))
    import_table(write(tmp_path / "faq.csv", f"id,question,answer\n{rows}"), tmp_path / "archive")
    (tmp_path / "other").mkdir()
    other = write(tmp_path / "other/faq.csv", "id,question,answer\n1,Where do I park?,\n2,When do you open?,\n")
    with pytest.raises(ArchiveError, match="text of 2 of the 2 questions and answers of 'faq' that it has again"):
        import_table(other, tmp_path / "archive")
    assert import_table(other, tmp_path / "archive", source="faq").changes["questions"]["updated"] == 2


@pytest.mark.parametrize("first_id", ["number", None])
def test_file_with_other_ids_is_stopped(tmp_path: Path, first_id: str | None) -> None:
    rows = "".join(f"{n},What is part {n}?,Iron.\n" for n in range(20))
    file, archive = write(tmp_path / "faq.csv", f"number,question,answer\n{rows}"), tmp_path / "archive"
    first, other = {"id": first_id}, {"id": None if first_id else "number"}
    import_table(file, archive, options=first)
    with pytest.raises(ArchiveError, match=r"add 20 of the 20 questions of 'faq' again, with other ids.*--id.*--yes"):
        import_table(file, archive, options=other)
    told = import_table(file, archive, options=other, dry_run=True)
    assert told.notes["questions that are here already, with other ids (see --id)"] == 20
    assert import_table(file, archive, options=first).changes["questions"]["unchanged"] == 20
    import_table(file, archive, options=other, prune=True, yes=True)
    assert len(titles(archive)) == 20


def test_texts_that_other_questions_have_already_are_imported(tmp_path: Path) -> None:
    file, archive = tmp_path / "faq.csv", tmp_path / "archive"
    import_table(write(file, "id,question\n1,Why?\n2,When?\n3,Who?\n"), archive)
    added = import_table(write(file, "id,question\n1,Why?\n2,When?\n3,Who?\n4,Why?\n5,When?\n"), archive)
    assert added.changes["questions"] == {"added": 2, "updated": 0, "unchanged": 3, "removed": 0}
    other_part = import_table(write(file, "id,question\n6,Why?\n7,How?\n8,Where?\n"), archive)
    assert other_part.changes["questions"]["added"] == 3


def test_nothing_is_pruned_by_rejected_or_empty_files(mixed: Path, tmp_path: Path) -> None:
    broken = write(tmp_path / "beer.csv", BEER.replace("3,Stout?,,2", "3,,,2"))
    with pytest.raises(ArchiveError, match="1 row cannot be taken, and --prune would remove what they held"):
        import_table(broken, mixed, prune=True)
    with pytest.raises(InputError, match="no question in it"):
        import_table(write(tmp_path / "beer.csv", "id,question\n"), mixed, prune=True, yes=True)
    assert "3" in titles(mixed)


def test_always_rejected_rows_stop_no_idle_prune(mixed: Path, tmp_path: Path) -> None:
    grown = write(tmp_path / "beer.csv", BEER + "4,,No title.,\n5,Who brews?,The monks.,\n")
    done = import_table(grown, mixed, prune=True)
    assert (done.rejected, done.changes["questions"]["added"]) == (1, 1)
    assert import_table(grown, mixed, prune=True).rejected == 1
    with pytest.raises(ArchiveError, match="1 row cannot be taken"):
        import_table(write(grown, BEER + "4,,No title.,\n"), mixed, prune=True)


def test_what_left_the_source_is_noted(mixed: Path, tmp_path: Path) -> None:
    fewer = write(tmp_path / "beer.csv", BEER.replace("3,Stout?,,2\n", ""))
    told = import_table(fewer, mixed, dry_run=True)
    done = import_table(fewer, mixed)
    absent = "that beer brought earlier and that are not in these files (if they are all of it, --prune removes them)"
    assert done.notes == told.notes == {f"questions {absent}": 1}
    assert import_table(tmp_path / "beer.csv", mixed, prune=True, yes=True).changes["links"]["removed"] == 1
    assert "3" not in titles(mixed)


def test_archives_own_writing_is_never_overwritten(tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    with Archive.create(desk) as archive:
        put_records(archive, [Question("1", "Where is the key?"), Question("2", "What is a stout?")])
        put_records(archive, [Answer("faq", "1", "Under the mat.")])
    done = import_table(write(tmp_path / "beer.csv", BEER), desk)
    assert done.changes["questions"] == {"added": 2, "updated": 1, "unchanged": 0, "removed": 0}
    assert titles(desk)["1"] == "Where is the key?"
    assert titles(desk)["beer/1"] == "How long does a keg last?"
    with Archive.open(desk) as archive:
        put_records(archive, [Question("beer/1", "How long does a full keg last?")])
        assert source_names(archive.view(), ["1", "2", "beer/1"]) == {"2": "beer", "beer/1": "beer"}
        assert SourceSummary(None, 1, 1, None) in compute_statistics(archive).sources
    import_table(tmp_path / "beer.csv", desk, prune=True, yes=True)
    assert titles(desk)["1"] == "Where is the key?"
    assert titles(desk)["beer/1"] == "How long does a full keg last?"  # a correction


def test_evaluation_queries_of_two_sets_stay_apart(tmp_path: Path) -> None:
    for name, thing in (("one", "keg"), ("two", "tea")):
        folder = tmp_path / name
        (folder / "qrels").mkdir(parents=True)
        write(
            folder / "corpus.jsonl", f'{{"_id": "1", "text": "A {thing} is open"}}\n{{"_id": "7", "text": "{thing}"}}\n'
        )
        write(
            folder / "queries.jsonl",
            f'{{"_id": "7", "text": "open {thing}"}}\n{{"_id": "1", "text": "A {thing} is open"}}\n',
        )
        write(folder / "qrels/test.tsv", "query-id\tcorpus-id\tscore\n7\t1\t1\n1\t7\t1\n")
        import_archive("beir", [folder], tmp_path / "mix", language="en")
    with Archive.open(tmp_path / "mix") as archive:
        rows = run_sql(archive, "SELECT query_id, document_id FROM judgements")
        assert sorted(rows) == [("1", "7"), ("7", "1"), ("two/1", "two/7"), ("two/7", "two/1")]
        queries = run_sql(archive, "SELECT x.id FROM queries x JOIN questions q USING (id, title)")
        assert sorted(queries) == [("1",), ("two/1",)]


def test_sources_survive_an_export(mixed: Path, tmp_path: Path) -> None:
    from askalike.export import export_archive

    with Archive.open(mixed) as archive:
        put_records(archive, [Question("faq-1", "Where is the key?")])
        put_records(archive, [Answer("a", "tea/1", "Four."), Link("faq-1", "1", "related")])
        before = content_hash(archive)
        for format in ("csv", "beir"):
            export_archive(archive, format, tmp_path / format)
    for format, reader in (("csv", "table"), ("beir", "beir")):
        again = tmp_path / f"again-{format}"
        import_archive(reader, [tmp_path / format], again)
        with Archive.open(again) as archive:
            assert content_hash(archive) == before
            ids = ["1", "tea/1", "faq-1"]
            assert source_names(archive.view(), ids) == {"1": "beer", "tea/1": "tea"}
            assert source_names(archive.view("answers"), ["a", "4_1"]) == {"4_1": "tea"}
        done = import_table(tmp_path / "tea.csv", again)
        assert done.changes["questions"] == {"added": 0, "updated": 0, "unchanged": 2, "removed": 0}
        repeated = import_archive(reader, [tmp_path / format], again)
        assert sum(c["added"] + c["updated"] for c in repeated.changes.values()) == 0


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 201])
def test_a_source_needs_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="expected a name"):
        import_table(write(tmp_path / "tea.csv", TEA), tmp_path / "new", source=name)


def test_concurrent_imports_have_their_own_sources(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "mix") as archive, Archive.open(tmp_path / "mix") as other:
        planned = plan_source(archive, "beer"), plan_source(other, "tea"), plan_source(other, "beer")
        begun = [ArchiveSink(archive, "table", "a.csv").begin(source) for source in planned]
        beer, tea = plan_source(archive, "beer"), plan_source(archive, "tea")
        assert beer.number != tea.number
        assert import_numbers(archive, beer) == {begun[0], begun[2]}
        assert import_numbers(archive, tea) == {begun[1]}
