"""The languages of the pages: the catalogue of each, the choice for a reader, and dates and numbers as it writes them.

The messages are in `locale/LANGUAGE.po`, which tools/write_catalogues.py keeps up with the templates.
"""

import re
from collections.abc import Sequence
from contextvars import ContextVar
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from io import BytesIO

from babel import dates, numbers, units as babel_units
from babel.core import Locale, negotiate_locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import NullTranslations, Translations
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

LANGUAGES = {"en": "English", "de": "Deutsch", "fr": "Français", "ru": "Русский"}
"""The languages of the pages, each by its own name; the texts in the code are English."""
COOKIE, COOKIE_AGE_S = "language", 31_536_000
QUALITY = re.compile(r";\s*q=([\d.]+)")
router = APIRouter()
_current: ContextVar[str] = ContextVar("language", default="en")


def mark(message: str) -> str:
    """Return the message unchanged: it is in the catalogue, and is translated where it is shown."""
    return message


@cache
def load_catalogue(language: str) -> NullTranslations:
    """Return the translations into a language, compiled from its catalogue."""
    if language == "en":
        return NullTranslations()
    with (files("askalike.service.pages") / "locale" / f"{language}.po").open("rb") as source:
        catalogue = read_po(source, language)
    compiled = BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return Translations(compiled)


def translate(message: str) -> str:
    """Return the message in the language of the page that is rendered."""
    return load_catalogue(_current.get()).gettext(message)


def translate_count(one: str, several: str, count: int) -> str:
    """Return the form of a message for a number of things."""
    return load_catalogue(_current.get()).ngettext(one, several, count)


def use_language(language: str) -> None:
    """Use a language for the page that is rendered in this request."""
    _current.set(language)


def current_language() -> str:
    """Return the language of the page that is rendered."""
    return _current.get()


def choose_language(request: Request, archive_language: str | None) -> str:
    """Return the language that a reader chose, else the first that their browser asks for, else the archive's."""
    if (chosen := request.cookies.get(COOKIE, "")) in LANGUAGES:
        return chosen
    wanted = _wanted_languages(request.headers.get("accept-language", ""))
    if found := negotiate_locale(wanted, list(LANGUAGES), sep="-"):
        return found
    return archive_language if archive_language in LANGUAGES else "en"


def _wanted_languages(header: str) -> Sequence[str]:
    """Return the languages of an Accept-Language header, the most wanted first."""
    ranges = [part.strip() for part in header[:1_000].split(",") if part.strip() and part.strip() != "*"]
    qualities = {part: float(found[1]) if (found := QUALITY.search(part)) else 1.0 for part in ranges}
    return [part.partition(";")[0] for part in sorted(ranges, key=lambda part: -qualities[part])]


@router.get("/language/{language}")
async def get_language(request: Request, language: str, next: str = "/") -> Response:
    """Remember the language that a reader chose, and lead back to their page."""
    if language not in LANGUAGES:
        raise HTTPException(404, f"no language {language!r}; there are: {', '.join(LANGUAGES)}")
    response = RedirectResponse(to_local_path(next), 303)
    response.set_cookie(COOKIE, language, COOKIE_AGE_S, httponly=True, samesite="lax")
    return response


def to_local_path(next: str) -> str:
    """Return a path of this service unchanged, and the start page's for anything else."""
    is_local = next.startswith("/") and not next.startswith("//") and not set(next) & set("\\\r\n\t")
    return next if is_local else "/"


def name_language(code: str) -> str:
    """Return the name of a language; its code if it has none."""
    return str(Locale(_current.get()).languages.get(code, code))


def format_number(number: float, digits: int = 0) -> str:
    """Return a number with the separators of the language, and a number of decimals."""
    return str(numbers.format_decimal(number, "#,##0." + "0" * digits if digits else "#,##0", _current.get()))


def format_percent(share: float) -> str:
    """Return a share as people read it."""
    if 0 < share < 0.005:
        return translate("under %(share)s") % {"share": format_percent(0.01)}
    return str(numbers.format_percent(round(share, 2), locale=_current.get()))


def format_bytes(count: int) -> str:
    """Return a size, in the largest unit of which there is at least one."""
    units = ("kilobyte", "megabyte", "gigabyte", "terabyte")
    power = next((n for n in range(len(units), 1, -1) if count >= 1_000**n), 1)
    number = round(count / 1_000**power, 1)
    return str(babel_units.format_unit(number, f"digital-{units[power - 1]}", "short", locale=_current.get()))


def format_day(day: str | None) -> str:
    """Return the day of an ISO date; "" for none."""
    if not day:
        return ""
    try:
        return str(dates.format_date(date.fromisoformat(day[:10]), "medium", _current.get()))
    except ValueError:  # a year beyond those of Python
        return day[:10]


def format_short_day(day: str) -> str:
    """Return the day and month of an ISO date, for a chart."""
    return str(dates.format_skeleton("MMMd", date.fromisoformat(day), locale=_current.get()))


def format_minute(moment: str) -> str:
    """Return the day and minute of an ISO date, in UTC."""
    time = dates.format_time(datetime.fromisoformat(moment[:16]), "short", locale=_current.get())
    return f"{format_day(moment)}, {time} UTC"
