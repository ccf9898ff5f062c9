"""Two sources in one archive, a messy file, a disk that is not mounted."""

import json

BEER, AI = "beer.stackexchange.com", "ai.stackexchange.com"


def test_import_of_three_sources(command, shared_data, tmp_path):
    mix, faq = tmp_path / "mix", tmp_path / "faq.csv"
    faq.write_text("id,question,answer\n1,Where is the key?,Below the mat.\n2,Who has it?,Ada.\n3,Is it lost?,No.\n")
    for reader, path in (("stackexchange", shared_data / f"stackexchange/{BEER}"), ("table", faq)):
        assert command("import", reader, path, "-o", mix)[0] == 0
    ai = ("import", "stackexchange", shared_data / f"stackexchange/{AI}", "-o", mix)
    _, told, _ = command(*ai, "--dry-run")
    assert told.startswith(f"dry run, nothing is written; {AI}: added 421 questions, 749 answers, ")
    _, done, _ = command(*ai)
    assert done.startswith(told.removeprefix("dry run, nothing is written; ").rstrip("\n"))
    counts = json.loads(command("info", mix, "--json")[1])
    assert [(s["name"], s["questions"], s["answers"]) for s in counts["sources"]] == [
        (BEER, 591, 1398), ("faq", 3, 3), (AI, 421, 749),
    ]  # fmt: skip
    findings = {f["name"]: f["count"] for f in json.loads(command("check", mix, "--json")[1])["findings"]}
    assert findings["answers_without_question"] == 0
    _, again, _ = command("import", "table", faq, "-o", mix)
    assert again.startswith("faq: added 0; updated 0; unchanged 3 questions, 3 answers; removed 0\n")
    faq.write_text("id,question,answer\n1,How do I brew?,Slowly.\n2,How do I bottle?,Quickly.\n")
    code, _, problem = command("import", "table", faq, "-o", mix)
    assert (code, "nothing was written" in problem, "--yes" in problem, problem.count("\n")) == (2, True, True, 1)


def test_import_notes_of_a_messy_file(command, tmp_path):
    faq = tmp_path / "faq.csv"
    rows = [
        "Frage;Antwort;Thema;Datum",
        "Wie ändere ich es?;Über „Konto“.;Konto;12.03.2023",
        "Und wann?;Heute.;Zeit;bald",
    ]
    faq.write_bytes("\n".join(rows).encode("cp1252"))
    columns = ("--question", "Frage", "--answer", "Antwort", "--created-at", "Datum")
    imported = ("import", "table", faq, "-o", tmp_path / "desk", "--language", "de", *columns)
    assert "--encoding cp1252" in command(*imported)[2]
    code, _, problem = command(*imported, "--encoding", "cp1252", "--category", "topik")
    assert (code, "no column 'topik', which --category names" in problem) == (2, True)
    assert not (tmp_path / "desk").exists()
    code, _, told = command(*imported, "--encoding", "cp1252", "--category", "Thema", "--json")
    assert (code, told) == (0, "dates that could not be read (their rows are kept without a date), e.g. 'bald': 1\n")
    assert "without a date), e.g. 'bald': 1" in " ".join(command("info", tmp_path / "desk")[1].split())
    document = tmp_path / "faq.json"
    document.write_text(json.dumps({"items": [{"title": {"text": "Why?"}}]}, indent=1))
    assert "--records items" in command("import", "table", document, "-o", tmp_path / "doc")[2]
    nested = ("import", "table", document, "-o", tmp_path / "doc", "--records", "items")
    assert "--question title.text" in command(*nested)[2]
    assert command(*nested, "--question", "title.text")[0] == 0


def test_backup_to_an_unmounted_disk(command, tmp_path):
    (tmp_path / "faq.csv").write_text("question\nWhy?\n")
    command("import", "table", tmp_path / "faq.csv", "-o", tmp_path / "desk")
    code, _, problem = command("backup", tmp_path / "desk", tmp_path / "unmounted/desk.tar")
    assert (code, "mount its disk" in problem, (tmp_path / "unmounted").exists()) == (2, True, False)
