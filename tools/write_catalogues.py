"""Updates the catalogues of the pages' languages, service/pages/locale/*.po: python tools/write_catalogues.py

Messages that the templates and the code no longer have are removed; new ones are added without a translation. Fill them
in, and run tests/service/pages/test_page_languages.py. A new language is an empty file and a line of LANGUAGES.
"""

from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

PAGES = Path(__file__).parents[1] / "src" / "askalike" / "service" / "pages"
HEADER = """msgid ""
msgstr ""
"Language: {language}\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Plural-Forms: {plural_forms}\\n"

"""
METHODS = [("**.py", "python"), ("**.html", "jinja2.ext:babel_extract")]
KEYWORDS = {"_": None, "mark": None, "translate": None, "ngettext": (1, 2)}


def extract_messages() -> Catalog:
    """Return all messages of the templates and the code."""
    catalogue = Catalog(fuzzy=False)
    options = {"**.html": {"trimmed": "true"}}
    for path, _, message, comments, _ in extract_from_dir(PAGES, METHODS, options, KEYWORDS):
        catalogue.add(message, locations=[(path, 0)], auto_comments=comments)
    return catalogue


def is_translated(message: Message) -> bool:
    """Return whether every form of a message has a translation."""
    return bool(message.string) and all([message.string] if isinstance(message.string, str) else message.string)


def main() -> None:
    """Update each catalogue."""
    messages = extract_messages()
    for path in sorted((PAGES / "locale").glob("*.po")):
        with path.open("rb") as source:
            catalogue = read_po(source, path.stem)
        catalogue.update(messages, no_fuzzy_matching=True, update_header_comment=False)
        catalogue.obsolete.clear()
        entries = BytesIO()
        write_po(entries, catalogue, width=120, include_lineno=False, sort_output=True, omit_header=True)
        header = HEADER.format(language=path.stem, plural_forms=catalogue.plural_forms.rstrip(";") + ";")
        path.write_text(header + entries.getvalue().decode(), encoding="utf-8")
        n_missing = sum(not is_translated(message) for message in catalogue if message.id)
        print(f"{path.name}: {len(catalogue)} messages, {n_missing} without a translation")


if __name__ == "__main__":
    main()
