"""What people write may repeat any sign for pages: the time to read it grows with its length, not with its square."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from askalike.core.errors import InputError
from askalike.health.templates import extract_mark, extract_opening
from askalike.readers import SourceFiles, github
from askalike.readers._threads import find_question
from askalike.readers._values import parse_optional_date, unescape
from askalike.readers.markdown import MarkdownReader
from askalike.readers.mbox import clean_body, clean_subject
from askalike.readers.slack import SlackUsers
from askalike.readers.stackexchange import parse_tags
from askalike.search.grounded import check_sentences
from askalike.service.pages.display import highlight, render_body
from askalike.text.analyzer import Analyzer
from askalike.text.banners import strip_banner, words_after_banner
from askalike.text.clean import collapse_spaces, guess_markup, plain_text, readable_blocks
from askalike.text.passages import extract_snippet, find_definitions, find_formulas, split_sentences

sys.path.insert(0, str(Path(__file__).parents[2] / "deploy" / "github-action"))
import issue_text
import suggest

SIGNS = (
    "<", "<!--", "-->", "<!-- a -->", "{/*", "[", "]", "(", ")", "`", "```", "```a\n", "*", "**a", "$", "$$", "$a",
    "_", "~", "|", " ", "\t", "\n", "\n ", "a\n", "\n\n", "\r\n", ">", "> ", "-", "--", "- [ ] ", "<a ",
    "<a href=x>", "<a>", "<pre>", "<pre ", "<code>", "<ul><li>", "<p>", "<b>",
    "<i><b>", "<table>", "<x>", "</p>", "<br ", "<summary>", "<details ", "<img",
    "\\", "\\begin{", "\\[", "{", "{#", '"', "'", "a ", ".", "a.", "? ", "。", "#", "# ", "@", "@**", "http://",
    "http://a", "www.", "![", "[a](", "](", "&", "&#", "1.", "1 ", "あ", "\u0301", "\u200b", "re: ", "[a] ",
    "dup of ", "On a wrote:", "fixed in ",
)  # fmt: skip
SURROUNDINGS = (("", ""), ("a", "x"))
SMALL, FACTOR = 600, 8
NOTICEABLE_S = 0.03
"""Quadratic work on the longer text takes longer than this on any processor: 4,800² steps."""


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "plain HTML": lambda text: plain_text(text, "html"),
    "plain HTML with code": lambda text: plain_text(text, "html", code="keep"),
    "plain text": lambda text: plain_text(text, "text"),
    "blocks of HTML": lambda text: readable_blocks(text, "html"),
    "markup": guess_markup,
    "spaces": collapse_spaces,
    "banner of HTML": lambda text: strip_banner(text, "html"),
    "banner of a text": lambda text: strip_banner(text, "text"),
    "words after a banner": lambda text: words_after_banner(text, "html"),
    "sentences": split_sentences,
    "formulas": find_formulas,
    "definitions": find_definitions,
    "snippet": lambda text: extract_snippet(text, [(0, 1)]),
    "analyzer": lambda text: Analyzer().analyze(text, "en"),
    "question of a chat": find_question,
    "message of Slack": SlackUsers([]).plain_text,
    "mark of a title": extract_mark,
    "opening of a title": extract_opening,
    "date": lambda text: _ignore_errors(parse_optional_date, text),
    "cell": unescape,
    "tags": parse_tags,
    "subject of a mail": clean_subject,
    "body of a mail": clean_body,
    "page in HTML": lambda text: render_body(text, "html"),
    "page in plain text": lambda text: render_body(text, "text"),
    "highlighted words": lambda text: highlight(text, ["card"]),
    "sentences of a model": lambda text: check_sentences(text, {"1": "At the desk."}),
    "issue of GitHub": github._clean,
    "original of an issue": github.DUPLICATE_COMMENT.search,
    "label of an issue": github.SOLVED_LABEL.search,
    "issue of the action": lambda text: issue_text.clean_body(text, frozenset()),
    "templates of the action": lambda text: issue_text.find_template_lines([text]),
    "comment of the action": lambda text: suggest.escape(text),
    "suggestions of the action": suggest.suggested_ids,
}


BEGINNINGS = {
    "banner of HTML": ("<p>Possible Duplicate: ", "<blockquote>Possible Duplicate: "),
    "banner of a text": ("Possible Duplicate: ",),
    "words after a banner": ("Possible Duplicate: ",),
    "original of an issue": ("duplicate", "duplicate of", "duplicate of "),
    "label of an issue": ("fixed", "fixed in"),
    "suggestions of the action": ("<!-- suggested:",),
}
"""The words that the patterns of a function begin with."""


def _ignore_errors(work: Callable[[str], object], text: str) -> None:
    try:
        work(text)
    except ValueError:
        return


@pytest.mark.parametrize("name", FUNCTIONS)
def test_repeated_signs_take_time_by_their_number(name: str) -> None:
    check_all(FUNCTIONS[name], *BEGINNINGS.get(name, ()))


def test_repeated_signs_in_markdown(tmp_path: Path) -> None:
    file = tmp_path / "faq.md"

    def read(text: str) -> None:
        file.write_text(f"# How?\nSo.\n{text}\n# {text}\nSo.\n", encoding="utf-8", newline="")
        with suppress(InputError):  # a comment may leave no answer
            list(MarkdownReader(headings="all").read([file], SourceFiles()))

    check_all(read)


def check_all(work: Callable[[str], object], *beginnings: str) -> None:
    """Check that work on repeated signs, also after certain beginnings, grows with their number."""
    quadratic = (
        f"{before!r} + {sign!r} × n + {after!r}"
        for sign in SIGNS
        for before, after in (*SURROUNDINGS, *((beginning, "x") for beginning in beginnings))
        if is_quadratic(work, lambda n: f"{before}{sign * n}{after}")  # noqa: B023  # called at once
    )
    assert next(quadratic, None) is None


def is_quadratic(work: Callable[[str], object], make: Callable[[int], str]) -> bool:
    """Return whether FACTOR times as much takes much more than FACTOR times the processor time, in each turn."""
    small = large = float("inf")
    for _ in range(4):
        large = min(large, measure(work, make(FACTOR * SMALL)))
        if large < NOTICEABLE_S:
            return False
        small = min(small, measure(work, make(SMALL)))
        if large < 3 * FACTOR * small:
            return False
    return True


def measure(work: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    work(text)
    return time.thread_time() - start
