"""Mailing lists: mbox files (RFC 4155) as Mailman and mail programs write them."""

from pathlib import Path

import pytest
from imported import Importing, Refusing

from askalike.readers.mbox import clean_subject

LIST = Path(__file__).parents[1] / "data" / "list.mbox"


def test_threads_are_questions_with_the_replies_of_others(imported: Importing) -> None:
    done = imported("mbox", LIST, language=None, link="https://lists.example/m/{id}/")
    compost, sowing = done.questions["1@garden.example"], done.questions["6@garden.example"]
    assert (compost.title, compost.author) == ("Which compost for tomatoes?", "Ada")
    assert compost.body == "My tomatoes are pale.\nFrom where do I get compost?"
    assert compost.created_at == "2026-01-05T08:00:00"
    assert compost.url == "https://lists.example/m/1@garden.example/"
    assert (sowing.title, sowing.body) == ("Wann säen?", "Im März?")
    assert done.rows("SELECT question_id, body, author FROM answers") == [
        ("1@garden.example", "Ours, from the café.", "Grace")
    ]
    assert done.summary.rejected == 1
    assert dict(done.summary.notes) == {
        "mails that programs sent left out": 1,
        "replies whose first mail is not in the files left out": 1,
        "replies by the asker, or without a text of their own, left out": 1,
    }


def test_no_address_of_a_person_is_kept(imported: Importing) -> None:
    done = imported("mbox", LIST)
    stored = done.rows("SELECT author FROM questions UNION SELECT author FROM answers")
    assert not any("@" in (author or "") for (author,) in stored)


def test_since_keeps_answers_to_older_questions(imported: Importing) -> None:
    done = imported("mbox", LIST, since="2026-01-05T08:30:00")
    assert set(done.questions) == {"6@garden.example"}
    assert done.rows("SELECT question_id FROM answers") == [("1@garden.example",)]


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        ("Re: [list] AW: RE[2]: Why?", "Why?"), ("[PATCH] [list] x", "x"), ("Response: why", "Response: why"),
        ("Re:", ""),
    ],
)  # fmt: skip
def test_marks_of_replies_are_taken_off_a_subject(subject: str, title: str) -> None:
    assert clean_subject(subject) == title


def test_damaged_mails_are_rejected_and_the_others_read(imported: Importing, tmp_path: Path) -> None:
    path = tmp_path / "odd.mbox"
    good = LIST.read_bytes()
    nested = b"\n".join(b"Content-Type: multipart/mixed; boundary=%d\n\n--%d" % (n, n) for n in range(900))
    path.write_bytes(
        b"From x@example.org Mon Jan  5 09:00:00 2026\nContent-Type: text/plain; charset=no-such\nSubject: a\n\nx\n\n"
        b"From x@example.org Mon Jan  5 09:00:00 2026\n\xff\xfe: \xff\nSubject: \xe4\xf6\nDate: \x00\n\n\xff\xff\n\n"
        b"From x@example.org Mon Jan  5 09:00:00 2026\nDate: 5 Jan 2026 9:0:0 +"
        + b"9"
        * 4_000
        + b"\nSubject: b\n\nx\n\n"
        b"From x@example.org Mon Jan  5 09:00:00 2026\nSubject: c\n" + nested + b"\nx\n\n" + good
    )
    done = imported("mbox", path)
    assert "1@garden.example" in done.questions
    assert done.summary.rejected >= 1


def test_what_is_no_mbox_is_one_clear_error(expect_refusal: Refusing, tmp_path: Path) -> None:
    (tmp_path / "x.mbox").write_text("Dear Sir\n")
    expect_refusal("expected mbox", "mbox", tmp_path / "x.mbox")
