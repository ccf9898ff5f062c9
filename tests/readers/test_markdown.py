"""FAQs in Markdown: headings as questions, as GitHub Flavored Markdown and MDX have them."""

from pathlib import Path

import pytest
from imported import Importing, Refusing

FAQ = Path(__file__).parents[1] / "data" / "garden-faq"


def test_headings_that_ask_are_questions(imported: Importing) -> None:
    done = imported("markdown", FAQ, site="https://garden.example/docs")
    assert {id: q.title for id, q in done.questions.items()} == {
        "watering.md#how-often-should-i-water": "How often should I water?",
        "watering.md#hose": "Which hose",
        "watering.md#can-it-freeze": "Can it freeze?",
        "watering.md#is-rain-enough": "Is rain enough?",
        "watering.md#how-often-should-i-water-1": "How often should I water?",
        "frost.mdx": "When does the frost end?",
    }
    first = done.questions["watering.md#how-often-should-i-water"]
    assert (first.tags, first.category, first.created_at) == (
        ("water", "drip hoses"),
        "Watering",
        "2026-01-05T00:00:00",
    )
    assert first.url == "https://garden.example/docs/watering#how-often-should-i-water"
    assert done.questions["frost.mdx"].url == "https://garden.example/docs/frost"
    answers = dict(done.rows("SELECT question_id, body FROM answers"))
    assert answers[first.id] == "Twice a week.\n\n```sh\n# Is this a question?\n```\n\n### In summer\nEvery day."
    assert answers["watering.md#is-rain-enough"] == "Mostly."
    assert answers["frost.mdx"] == "In May, after the ice saints."
    assert done.summary.notes["questions without an answer left out"] == 1


def test_all_headings(imported: Importing) -> None:
    done = imported("markdown", FAQ / "watering.md", headings="all")
    assert done.questions["watering.md#in-summer"].title == "In summer"
    answers = dict(done.rows("SELECT question_id, body FROM answers"))
    assert answers["watering.md#watering"] == "All about water."


def test_moved_and_new_headings_keep_other_ids(imported: Importing, tmp_path: Path) -> None:
    file = tmp_path / "faq.md"
    file.write_text("# Why?\nSo.\n# How?\nThus.\n")
    first = set(imported("markdown", file).questions)
    file.write_text("# How?\nThus.\n# New?\nYes.\n# Why?\nSo.\n")
    assert first < set(imported("markdown", file).questions)


@pytest.mark.parametrize(
    ("heading", "title", "anchor"),
    [
        ("What does `flag_value` do?", "What does flag_value do?", "what-does-flag_value-do"),
        ("Why _not_ **this**?", "Why not this?", "why-not-this"),
        ("Is [it](https://x.example) <b>free</b>? #", "Is it free?", "is-it-free"),
        ("Was kostet’s?", "Was kostet’s?", "was-kostets"),
    ],
)
def test_headings_lose_their_markup_and_nothing_else(
    imported: Importing, tmp_path: Path, heading: str, title: str, anchor: str
) -> None:
    (tmp_path / "faq.md").write_text(f"## {heading}\nSo.\n")
    [(id, question)] = imported("markdown", tmp_path).questions.items()
    assert (id, question.title) == (f"faq.md#{anchor}", title)


def test_a_date_that_is_none_is_rejected(imported: Importing, tmp_path: Path) -> None:
    (tmp_path / "faq.md").write_text("---\ndate: soonish\n---\n# Why?\nSo.\n")
    (tmp_path / "other.md").write_text("# How?\nThus.\n")
    done = imported("markdown", tmp_path)
    assert (set(done.questions), done.summary.rejected) == ({"other.md#how"}, 1)


@pytest.mark.parametrize("text", ["", "just text\n", "# Installation\ntext\n", "---\ntitle: x\n", "# Why?\n"])
def test_a_file_without_questions_is_one_clear_error(expect_refusal: Refusing, tmp_path: Path, text: str) -> None:
    (tmp_path / "page.md").write_text(text)
    expect_refusal("--headings all", "markdown", tmp_path / "page.md")
