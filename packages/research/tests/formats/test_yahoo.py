import bz2
import gzip
from pathlib import Path

import pytest
from imported import Importing

from askalike.core.errors import InputError
from askalike.readers import import_archive

OPENING = '<?xml version="1.0" encoding="UTF-8"?>\n<ystfeed><vespaadd>\n'
CLOSING = "</vespaadd></ystfeed>\n"


def document(uri: str, lang: str = "en", subject: str = "Why &amp;amp; how?", more: str = "") -> str:
    return (
        f'<document type="wisdom">\n<uri>{uri}</uri><subject>{subject}</subject>\n'
        "<content>It&amp;#39;s &lt;br /&gt; late</content><bestanswer>So.</bestanswer>\n"
        "<nbestanswers><answer_item>Maybe.</answer_item><answer_item>So.</answer_item></nbestanswers>\n"
        "<cat>Cooking &amp;amp; Recipes</cat><maincat>Food</maincat><subcat>Cooking</subcat>"
        f"<date>1400000000</date><id>u7</id><qlang>{lang}</qlang>{more}</document>\n"
    )


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_one_category_at_any_level(imported: Importing, tmp_path: Path) -> None:
    other = document("2").replace("Cooking", "Cars").replace("Food", "Transport")
    path = write(tmp_path / "l6.xml", OPENING + document("1") + other + CLOSING)
    for level in ("Cooking & Recipes", "Food", "Cooking"):
        assert set(imported("yahoo", path, category=level).questions) == {"1"}


def test_a_document(imported: Importing, tmp_path: Path) -> None:
    path = write(tmp_path / "l6.xml", OPENING + document("1") + document("2", "es") + CLOSING)
    done = imported("yahoo", path, lang="en")
    assert done.summary.counts == "1 question, 2 answers, 0 duplicate links, 0 rejected"
    question = done.questions["1"]
    assert (question.title, question.body, question.markup) == ("Why & how?", "It&#39;s <br /> late", "html")
    assert (question.category, question.language) == ("Cooking & Recipes", "en")
    assert question.tags == ("cat:Cooking & Recipes", "maincat:Food", "subcat:Cooking")
    assert (question.created_at, question.author) == ("2014-05-13T16:53:20", "u7")
    answers = done.archive.view().get_answers_to(["1"])["1"]
    assert [(a.id, a.body, a.accepted) for a in answers] == [("1_1", "So.", True), ("1_2", "Maybe.", False)]


@pytest.mark.parametrize("cut", [30, 200, 460, 700])
def test_one_file_in_two_parts(imported: Importing, tmp_path: Path, cut: int) -> None:
    whole = (OPENING + document("1") + document("2") + CLOSING).encode()
    (tmp_path / "l6.xml.part1.gz").write_bytes(gzip.compress(whole[:cut]))
    (tmp_path / "l6.xml.part2.bz2").write_bytes(bz2.compress(whole[cut:]))
    assert set(imported("yahoo", tmp_path).questions) == {"1", "2"}


def test_a_closing_tag_alone_is_passed_over(imported: Importing, tmp_path: Path) -> None:
    path = write(tmp_path / "l6.xml", OPENING + "</document>\n" + document("1") + CLOSING)
    assert set(imported("yahoo", path).questions) == {"1"}


def test_bad_document_is_rejected_and_others_read(imported: Importing, tmp_path: Path) -> None:
    documents = [
        document("1"),
        "<document>\n<uri>2</uri><subject>&lol9;</subject>\n</document>",
        document("3", more="<date2>"),
        "<document><uri>4</uri>never closed\n",
        document("5", subject=""),
        document("6"),
    ]
    done = imported("yahoo", write(tmp_path / "l6.xml", OPENING + "".join(documents) + CLOSING))
    assert set(done.questions) == {"1", "6"}
    rejected = (done.archive.path / "rejected.jsonl").read_text().splitlines()
    assert len(rejected) == done.summary.rejected == 4
    assert '"line": 8' in rejected[0]
    assert "undefined entity" in rejected[0]


def test_a_sample_is_exact_and_repeatable(imported: Importing, tmp_path: Path) -> None:
    path = write(tmp_path / "l6.xml", OPENING + "".join(document(str(n), "en" if n % 2 else "fr") for n in range(200)))

    def sample(name: str, seed: int) -> set[str]:
        from askalike.store import Archive

        import_archive("yahoo", [path], tmp_path / name, options={"sample": 30, "seed": seed, "lang": "en"})
        with Archive.open(tmp_path / name) as archive:
            return {q.id for _, q in archive.view().questions()}

    first = sample("a", 0)
    assert len(first) == 30
    assert sample("b", 0) == first
    assert sample("c", 1) != first
    assert all(int(id) % 2 for id in first)


def test_cut_file_is_one_error_after_its_beginning(tmp_path: Path) -> None:
    path = write(tmp_path / "l6.xml", OPENING + document("1") + document("2")[:300])
    with pytest.raises(InputError, match=r"line 8: its <document> is not closed.*; kept the 1 question before it"):
        import_archive("yahoo", [path], tmp_path / "out")
