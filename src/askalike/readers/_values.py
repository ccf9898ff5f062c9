"""Values of cells: texts, lists, ids, and dates in ISO 8601, in the order of a country, and with names of months."""

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal

from askalike.core.values import parse_utc
from askalike.readers._source import SourceFiles


def parse_optional_utc(text: Any) -> str | None:
    """Return `parse_utc` of a value; None for None and the empty string. Raises ValueError."""
    return parse_utc(text) if text not in (None, "") else None


def to_text(value: Any) -> str:
    """Return a cell as stripped text: None is empty, numbers are converted."""
    return "" if value is None else str(value).strip()


def require_text(row: Mapping[str, Any], name: str) -> str:
    """Return a row's value as stripped text. Raises KeyError if it has none."""
    if not (text := to_text(row.get(name))):
        raise KeyError(name)
    return text


def parse_integer(name: str, value: Any) -> int:
    """Return a row's value as a whole number. Raises ValueError with the name of the value."""
    try:
        return int(value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{name} {value!r}: expected a whole number") from None


def as_object(value: Any) -> Mapping[str, Any]:
    """Return a value of JSON if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a value of JSON if it is a list; none in another."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def split_cell(value: Any, separators: str = "|;") -> tuple[str, ...]:
    """Return the texts in a cell: a list, a JSON list, or text that is split at the first separator it contains."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, list):
        text = to_text(value)
        value = text.split(next((s for s in separators if s in text), None) or "\0")
    return tuple(to_text(v) for v in value if to_text(v))


def unescape(text: str) -> str:
    """Return escaped HTML as plain text: entities are resolved, line breaks become spaces."""
    return " ".join(re.sub(r"<br\s*/?>", " ", html.unescape(text)).split())


DateOrder = Literal["day-first", "month-first"]

MONTH_NAMES = (
    "january janvier januar enero gennaio janeiro januari janv jänner ene gen январь января янв",
    "february février februar febrero febbraio fevereiro februari févr feb fev февраль февраля фев февр",
    "march mars märz marzo março maart maerz mrz март марта мар",
    "april avril abril aprile avr abr апрель апреля апр",
    "may mai mayo maggio maio mei mag май мая",
    "june juin juni junio giugno junho giu июнь июня июн",
    "july juillet juli julio luglio julho juil lug июль июля июл",
    "august août agosto augustus aout ago август августа авг",
    "september septembre septiembre settembre setembro sept set сентябрь сентября сен сент",
    "october octobre oktober octubre ottobre outubro okt ott out октябрь октября окт",
    "november novembre noviembre novembro ноябрь ноября ноя нояб",
    "december décembre dezember diciembre dicembre dezembro dez dic déc декабрь декабря дек",
)
"""The names of each month in English, German, French, Spanish, Italian, Portuguese, Dutch and Russian; the first three
letters of the English ones are names, too."""
MONTHS = {name: n for n, names in enumerate(MONTH_NAMES, 1) for name in (names[:3], *names.split())}

_TIME = r"""(?:[T,\s]+(?:um\s+|at\s+|à\s+)?(?P<time>\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?)\s*(?P<half>[ap]\.?m\.?)?
    \s*(?:uhr|h)?\s*(?P<zone>z|utc|gmt|[+-]\d\d:?\d\d)?)?"""
_NUMBERS = re.compile(rf"(\d{{1,4}})(?P<mark>[./-])\s?(\d{{1,2}})(?P=mark)\s?(\d{{1,4}}){_TIME}", re.I | re.X)
_WEEKDAY = r"(?:[^\W\d_]{2,10}\.?,?\s+)?"
_MONTH = r"(?P<month>[^\W\d_]{3,10})\.?"
_DAY = r"(?P<day>\d{1,2})(?:\.|st|nd|rd|th|er|º)?"
_DAY_MONTH_YEAR = re.compile(
    rf"{_WEEKDAY}{_DAY}[\s-]*(?:de\s+|of\s+)?{_MONTH}[\s,-]*(?:de\s+)?(?P<year>\d{{4}})(?:\s*г(?:\.|ода)?)?{_TIME}",
    re.I | re.X,
)
_MONTH_DAY_YEAR = re.compile(rf"{_WEEKDAY}{_MONTH}\s*{_DAY},?\s+(?P<year>\d{{4}}){_TIME}", re.I | re.X)

MAX_SHOWN_DATE = 30
"""Number of characters of an unreadable date that are shown."""
UNREADABLE_NOTE = "dates that could not be read (their rows are kept without a date)"
AMBIGUOUS_NOTE = (
    "dates that can be read in two ways, as no other date of the file shows which (their rows are kept without a date; "
    "say it with --dates day-first or --dates month-first)"
)


class DateReader:
    """Reads the dates of one import. By default the file's own dates show whether the day comes first."""

    def __init__(self, order: DateOrder | None, all_dates: Callable[[], Iterable[Any]], source: SourceFiles) -> None:
        """order: as the user gives it; None to detect it. all_dates: yields every date of the files, as written."""
        self._order = order
        self._all_dates = all_dates
        self._source = source
        self._is_order_known = order is not None

    def read(self, value: Any) -> str | None:
        """Return a date in UTC; None if there is none, or, with a note, if it cannot be read.

        Raises ValueError for one that cannot be read if doubtful rows are to be rejected.
        """
        text = to_text(value)
        if not text:
            return None
        try:
            return parse_utc(text)
        except ValueError:
            return self._read_written(text)

    def _read_written(self, text: str) -> str | None:
        orders = possible_orders(text)
        if len(orders) == 2 and not self._is_order_known:
            self._order = find_order(self._all_dates())
            self._is_order_known = True
        ambiguous = len(orders) == 2 and self._order is None
        date = None if ambiguous else parse_written_date(text, orders[0] if len(orders) == 1 else self._order)
        if date is None:
            if self._source.strict:
                raise ValueError(f"date {text!r}: expected a date such as 2014-01-21T20:26:05")
            self._source.note(AMBIGUOUS_NOTE if ambiguous else UNREADABLE_NOTE, example=text[:MAX_SHOWN_DATE])
        return date


def parse_optional_date(value: Any) -> str | None:
    """Return a date in UTC, parsed from ISO 8601, year first, or with a month's name; None if there is none.

    Raises ValueError for what is not a date.
    """
    text = to_text(value)
    try:
        return parse_utc(text) if text else None
    except ValueError:
        if date := parse_written_date(text):
            return date
        raise


def find_order(dates: Iterable[Any]) -> DateOrder | None:
    """Return the order shown by the unambiguous dates; None if they show neither order, or both."""
    shown = {orders[0] for date in dates if len(orders := possible_orders(to_text(date))) == 1}
    return shown.pop() if len(shown) == 1 else None


def possible_orders(text: str) -> tuple[DateOrder, ...]:
    """Return the possible orders of a date that consists only of numbers; none for another text.

    Numbers separated by dots are read day first, the usual order, unless that is not a date.
    """
    match = _NUMBERS.fullmatch(text.strip())
    if match is None or len(match[1]) > 2 or match[1] == match[3]:
        return ()
    first, second = int(match[1]), int(match[3])
    orders: list[DateOrder] = []
    if first <= 31 and second <= 12:
        orders.append("day-first")
    if first <= 12 and second <= 31 and not (match["mark"] == "." and orders):
        orders.append("month-first")
    return tuple(orders)


def parse_written_date(text: str, order: DateOrder | None = None) -> str | None:
    """Return a date in UTC, `2023-03-12T14:05:00`; None if it is not a date. order: for dates that are only numbers."""
    text = text.strip()
    if match := _NUMBERS.fullmatch(text):
        first, second, third = (match[n] for n in (1, 3, 4))
        if len(first) == 4:
            return _build_date(first, second, third, match)
        day, month = (second, first) if order == "month-first" else (first, second)
        return _build_date(_full_year(third), month, day, match)
    for pattern in (_DAY_MONTH_YEAR, _MONTH_DAY_YEAR):
        if (match := pattern.fullmatch(text)) and (number := MONTHS.get(match["month"].lower())):
            return _build_date(match["year"], str(number), match["day"], match)
    return None


def _full_year(year: str) -> str:
    """Return a year of four digits; those of two digits are from 1969 to 2068, as in POSIX."""
    return year if len(year) != 2 else f"{20 if int(year) < 69 else 19}{year}"


def _build_date(year: str, month: str, day: str, match: re.Match[str]) -> str | None:
    hour, minutes = (match["time"] or "0:00").split(":", 1)
    if match["half"]:
        hour = str(int(hour) % 12 + 12 * (match["half"][0].lower() == "p"))
    zone = (match["zone"] or "").lower().replace("utc", "").replace("gmt", "").replace("z", "")
    try:
        return parse_utc(f"{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{minutes}{zone}")
    except ValueError:
        return None
