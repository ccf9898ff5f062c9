"""The pages in every language: no text of a template is left untranslated, and every catalogue is complete."""

import re
from functools import cache
from importlib.resources import files

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po
from jinja2 import nodes
from selectolax.lexbor import LexborHTMLParser
from serving import Service
from write_catalogues import PAGES, extract_messages, is_translated

from askalike.service.pages import languages
from askalike.service.pages.rendering import create_environment

OTHERS = [language for language in languages.LANGUAGES if language != "en"]
TEXT_ATTRIBUTE = re.compile(r'\b(?:aria-label|placeholder|title|alt)="([^"]*)"')
EXPRESSION = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
LETTERS = re.compile(r"[^\W\d_]{2,}")
SENTENCE = re.compile(r"[A-Z][a-z]+(?: |$)|[a-z]{2,} [a-z]{2,}")
PLACEHOLDER = re.compile(r"%\(\w+\)s|%%")
NAMES = {"askalike", "htmx", "SVG", "PNG"}
UNTRANSLATED = ("api.html",)
"""The reference of the HTTP interface is English, as is the OpenAPI description that it is made of."""
TEMPLATES = [
    (path.name, path.read_text(encoding="utf-8"))
    for path in sorted(PAGES.rglob("*.html"))
    if path.name not in UNTRANSLATED
]
CODE = re.compile(r"[<>=/]|--|^(?:hx-|k\d|card|items|verdict)")


@cache
def messages() -> tuple[Message, ...]:
    return tuple(message for message in extract_messages() if message.id)


@cache
def read_catalogue(language: str) -> Catalog:
    with (files("askalike.service.pages") / "locale" / f"{language}.po").open("rb") as source:
        return read_po(source, language)


def forms_of(id: str | tuple[str, ...] | list[str]) -> list[str]:
    return [id] if isinstance(id, str) else list(id)


def forms(message: Message | None) -> list[str]:
    assert message
    return [message.string] if isinstance(message.string, str) else list(message.string)


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_has_a_translation_with_its_placeholders(language: str) -> None:
    catalogue = read_catalogue(language)
    assert len(messages()) > 200
    for message in messages():
        id = message.id if isinstance(message.id, str) else message.id[0]
        translation = catalogue.get(id)
        assert translation is not None, id
        assert is_translated(translation), id
        assert not translation.fuzzy, id
        english = {placeholder for form in forms_of(message.id) for placeholder in PLACEHOLDER.findall(form)}
        for form in forms(translation):
            assert english >= set(PLACEHOLDER.findall(form)) >= set(PLACEHOLDER.findall(id)), id
    assert len([message for message in catalogue if message.id]) == len(messages())


@pytest.mark.parametrize(("name", "source"), TEMPLATES, ids=[name for name, _ in TEMPLATES])
def test_no_text_of_a_template_is_left_untranslated(name: str, source: str) -> None:
    plain = EXPRESSION.sub("", source)
    texts = re.sub(r"<!--.*?-->|<kbd[^>]*>.*?</kbd>|<[^<>]*>", " ", plain, flags=re.DOTALL)
    left = [
        *LETTERS.findall(texts),
        *(text for found in TEXT_ATTRIBUTE.findall(plain) for text in LETTERS.findall(found)),
    ]
    assert set(left) <= NAMES
    tree = create_environment().parse(source)
    for call in [*tree.find_all(nodes.Call)]:
        if isinstance(call.node, nodes.Name) and call.node.name in ("_", "ngettext", "code", "command"):
            call.args = []
    constants = [node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)]
    assert [text for text in constants if SENTENCE.search(text) and not CODE.search(text.strip())] == []


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("xx, fr;q=0.5, ru;q=0.7", "ru"),
        ("ja", "en"),
        ("*", "en"),
        ("", "en"),
        (";q=x,,", "en"),
    ],
)
def test_reader_gets_their_browsers_language(service: Service, header: str, language: str) -> None:
    page = service.get("/a/riverside", **{"accept-language": header, "accept": "text/html"}).body.decode()
    assert f'<html lang="{language}">' in page


def test_reader_chooses_a_language_in_place(visit) -> None:
    page = visit("/a/riverside?title=my+bike+was+stolen", locale="en-GB")
    page.get_by_role("navigation", name="Language").get_by_role("link", name="Deutsch").click()
    page.get_by_role("heading", name="Was möchten Sie wissen?").wait_for()
    assert page.locator("#title").input_value() == "my bike was stolen"
    assert re.search(r"zu \d+\s%\sdieselbe", page.locator(".item").first.inner_text())
    page.locator("#title").fill("lost my library card")
    page.get_by_text("Das beantwortet meine Frage").first.wait_for()
    page.get_by_role("navigation", name="Sprache").get_by_role("link", name="Русский").click()
    page.get_by_role("heading", name="Что вы хотите узнать?").wait_for()


def test_texts_of_an_archive_name_their_language(visit) -> None:
    page = visit("/a/riverside?title=my+bicycle+was+stolen", locale="de-DE")
    item = page.locator(".item").first
    assert {item.locator(part).get_attribute("lang") for part in ("h3", ".snippet", ".answer > [lang]")} == {"en"}
    page = visit("/a/riverside/queue", locale="de-DE")
    sides = page.locator(".sides h2")
    assert {one.get_attribute("lang") for one in sides.all()} <= {"en", "de"}


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize(
    "path", ["", "/queue", "/gaps", "/drafts", "/quality", "/manage", "/queue/decisions", "/questions/r013"]
)
def test_pages_of_other_languages_show_no_english_message(service: Service, language: str, path: str) -> None:
    english = {id for id in (m.id for m in messages()) if isinstance(id, str) and " " in id and "%" not in id}
    headers = {"accept": "text/html", "accept-language": language}
    page = LexborHTMLParser(service.get(f"/a/riverside{path}", **headers).body.decode())
    page.strip_tags(["script", "style"])
    assert page.body
    text = " ".join(page.body.text(separator=" ").split())
    assert [message for message in english if message in text] == []


def test_numbers_and_dates_follow_the_language() -> None:
    shown = {}
    for language in languages.LANGUAGES:
        languages.use_language(language)
        shown[language] = (
            languages.format_number(1234),
            languages.format_percent(0.5),
            languages.format_day("2026-11-26T10:00"),
        )
    languages.use_language("en")
    assert shown["en"] == ("1,234", "50%", "Nov 26, 2026")
    assert shown["de"] == ("1.234", "50\u00a0%", "26.11.2026")
    assert shown["fr"][0] == "1\u202f234"
    assert "2026" in shown["ru"][2]
    assert (languages.name_language("fr"), languages.name_language("xx")) == ("French", "xx")
    assert languages.format_percent(0.001) == "under 1%"
