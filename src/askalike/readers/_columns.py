"""The columns of a table that hold the parts of a record: named by the user, or by a usual name in five languages."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from askalike.core.errors import InputError
from askalike.core.records import LocatedRecord, Record, RejectedRow
from askalike.readers._json import Row
from askalike.readers._rows import Table
from askalike.readers._source import SourceFiles, parse_rows

_NAMES = {
    "question": (
        "question question_text title subject query summary",
        "frage fragen titel betreff",
        "questions titre sujet objet",
        "pregunta preguntas titulo asunto",
        "вопрос вопросы заголовок",
        "text",
    ),
    "answer": (
        "answer answer_text answers response reply solution",
        "antwort antworten loesung lösung",
        "réponse réponses",
        "respuesta respuestas solución",
        "ответ ответы решение",
    ),
    "body": (
        "body question_body body_text description details content message",
        "beschreibung inhalt fragetext nachricht",
        "détails contenu",
        "descripción detalles contenido",
        "описание подробности содержание",
        "text texte texto текст",
    ),
    "tags": (
        "tags labels keywords metadata",
        "schlagworte schlagwörter schlagwoerter stichworte stichwörter schlüsselwörter",
        "étiquettes mots_clés",
        "etiquetas palabras_clave",
        "теги тэги метки ключевые_слова",
    ),
    "category": (
        "category section topic",
        "kategorie rubrik bereich thema",
        "catégorie rubrique thème",
        "categoría sección tema",
        "категория раздел рубрика тема",
    ),
    "id": (
        "id uid question_id qid document_id ticket_id issue_key topic_id thread_id",
        "kennung", "identifiant", "identificador", "идентификатор",
    ),
    "alternates": (
        "alternates alternate_questions rephrasings rephr paraphrases variants",
        "varianten umformulierungen andere_formulierungen",
        "variantes reformulations",
        "reformulaciones",
        "варианты перефразировки другие_формулировки",
    ),
    "duplicate_of": (
        "duplicate_of duplicateof duplicate",
        "duplikat_von dublette_von",
        "doublon_de",
        "duplicado_de duplicada_de",
        "дубликат",
    ),
    "url": ("url source_uri link permalink", "", "lien", "enlace", "ссылка"),
    "lang": ("lang language language_code locale", "sprache", "langue", "idioma", "язык"),
    "created_at": (
        "created_at created created_on creation_date date posted posted_at posted_on post_date",
        "datum erstellt erstellt_am erstelldatum",
        "date_de_création créé_le",
        "fecha fecha_de_creación",
        "дата дата_создания создан создано",
    ),
    "state": ("state status", "zustand", "état statut", "estado", "статус состояние"),
    "solved_in": (
        "solved_in fixed_in fix_version",
        "gelöst_in behoben_in",
        "résolu_dans corrigé_dans",
        "resuelto_en corregido_en",
        "исправлено_в решено_в",
    ),
}  # fmt: skip
USUAL_COLUMNS: dict[str, Sequence[str]] = {part: " ".join(names).split() for part, names in _NAMES.items()}
"""Part → usual names, those that come first before others; accents do not count.

Among them are those in exports of Kendra (`_question`) and QnA Maker (`Metadata`). Numbers of rows (`Nr.`, `No.`) are
no ids, as they change when a row is inserted.
"""
NUMBERED_COLUMNS = USUAL_COLUMNS | {part: [*USUAL_COLUMNS[part], n] for part, n in (("question", "1"), ("answer", "2"))}
"""Those of a table without a header, whose columns are called `1`, `2`, …: the first holds the question."""

MAX_HEADERS = 1_000
MAX_LISTED = 8
"""Maximum number of columns listed in a note."""
CellParser = Callable[[Mapping[str, Any]], Iterable[Record]]
TableOpener = Callable[[SourceFiles, Path], Table]


class Columns:
    """The column of each part: the one named by the user, else the first with a usual name, in any spelling.

    A name with dots is a path through nested JSON objects and lists of them: `title.text`, `answers.body`.
    """

    def __init__(
        self,
        chosen: Mapping[str, str | None],
        usual: Mapping[str, Sequence[str]],
        required: Sequence[str],
        advice: str = "",
    ) -> None:
        """advice: what else may be wrong where a required part has no column."""
        self._advice = advice
        self._chosen = {part: name for part, name in chosen.items() if name}
        self._usual = usual
        self._required = required
        self._names_by_header: dict[tuple[str, ...], Mapping[str, str]] = {}
        self._unread: dict[str, None] = {}

    def check(self, files: Sequence[Path], open_table: TableOpener, encoding: str | None) -> None:
        """Raise InputError if a column named by the user is in no file, or if a required part has no column.

        Of a file with a header only that is read; rows of JSON are read until each named column has been found.
        """
        unseen = dict(self._chosen)
        keys: dict[str, None] = {}
        for file in files:
            for row in _sample_rows(open_table(SourceFiles(encoding=encoding), file)):
                if not keys:
                    self._check_required(row, file)
                if len(keys) < MAX_HEADERS:
                    keys |= dict.fromkeys(row)
                names = self._match(tuple(row))
                unseen = {part: name for part, name in unseen.items() if not _has_value(row, names.get(part))}
                if not unseen:
                    return
        for part, name in unseen.items():
            problem = f"no column {name!r}, which {format_option(part)} names; there are: {', '.join(keys)}"
            raise InputError(f"{files[-1]}: {problem}")

    def extract(self, row: Row, note: Callable[[str], None]) -> Mapping[str, Any]:
        """Return the row's values by part. Raises ValueError if a needed value is an object of JSON.

        note: called for an object in a column that the user did not name; the part is then left out.
        """
        keys = tuple(row)
        if keys not in self._names_by_header:
            if len(self._names_by_header) >= MAX_HEADERS:
                self._names_by_header.clear()
            self._names_by_header[keys] = self._match(keys)
            self._add_unread(keys)
        values: dict[str, Any] = {}
        for part, name in self._names_by_header[keys].items():
            value = _look_up(row, name)
            if inner := _object_keys(value):
                problem, example = f"{name} is an object in JSON", f"e.g. {format_option(part)} {name}.{inner[0]}"
                if part in self._required or part in self._chosen:
                    raise ValueError(
                        f"{part}: {problem}; name the key to take, {example} (there are: {', '.join(inner)})"
                    )
                note(f"values left out, as {problem} (name the key to take, {example})")
                continue
            values[part] = value
        return values

    def note_unread(self, note: Callable[[str, int], None]) -> None:
        """Note the columns of the rows so far that were not used."""
        if self._unread:
            names = ", ".join([*self._unread][:MAX_LISTED]) + (", …" if len(self._unread) > MAX_LISTED else "")
            found = {part for columns in self._names_by_header.values() for part in columns}
            free = ", ".join(format_option(part) for part in self._usual if part not in found)
            advice = f"; to import one, name it with {free}" if free else ""
            note(f"columns left out{advice} ({names})", len(self._unread))

    def _add_unread(self, keys: Sequence[str]) -> None:
        """Collect the columns of a row that were not used; nested ones by their outermost name."""
        names = self._names_by_header[tuple(keys)].values()
        read = {*names, *(name.partition(".")[0] for name in names)}
        if len(self._unread) < MAX_HEADERS:
            self._unread |= dict.fromkeys(key for key in keys if key.strip() and key not in read)

    def _match(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Return part → column: those named by the user, then the usual names among the other columns."""
        by_name = {_normalise(key): key for key in reversed(keys)} | {key: key for key in keys}

        def find(name: str) -> str | None:
            nested = name if name.partition(".")[0] in keys else None
            return by_name.get(name) or by_name.get(_normalise(name)) or nested

        columns = {part: column for part, name in self._chosen.items() if (column := find(name))}
        for part, usual in self._usual.items():
            if part not in self._chosen:
                free = (c for c in map(find, usual) if c and c not in columns.values())
                if column := next(free, None):
                    columns[part] = column
        return {part: columns[part] for part in self._usual if part in columns}

    def _check_required(self, row: Row, path: Path) -> None:
        columns = self._match(tuple(row))
        for part in self._required:
            if part in columns:
                continue
            name = self._chosen.get(part)
            problem = f"no column {name!r}" if name else f"no column is known to hold the {part}"
            uses = [f"{column!r} is given as {format_option(p)}" for p, column in columns.items() if p in self._chosen]
            others = f"{', '.join(row)}{' (' + ', '.join(uses) + ')' if uses else ''}"
            raise InputError(f"{path}: {problem}; there are: {others}. {self._advise(part, row)}")

    def _advise(self, part: str, row: Row) -> str:
        """Return what to do about a part without a column: a row that holds a list of rows is a document."""
        if rows := _find_rows(row):
            return f"Name the way to the list of rows with --records {rows}"
        return f"Name it with {format_option(part)}{self._advice if not any(row.values()) else ''}"


def read_table(
    source: SourceFiles, files: Sequence[Path], columns: Columns, parse: CellParser, open_table: TableOpener
) -> Iterator[LocatedRecord]:
    """Yield the records that `parse` makes from rows as part → value. Raises InputError for a missing column."""
    columns.check(files, open_table, source.encoding)
    for file in files:
        rows = open_table(source, file).rows
        yield from parse_rows(rows, lambda row: parse(columns.extract(row, source.note)))
    columns.note_unread(source.note)


def format_option(part: str) -> str:
    """Return the command-line option that names the column of a part."""
    return f"--{part.replace('_', '-')}"


def _find_rows(value: Row) -> str | None:
    """Return the path to the first list of objects in an object of JSON, `data.items`; None if it has none."""
    for key, inner in value.items():
        if isinstance(inner, list) and any(isinstance(item, dict) for item in inner):
            return key
        if isinstance(inner, dict) and (path := _find_rows(inner)):
            return f"{key}.{path}"
    return None


def _sample_rows(table: Table) -> Iterator[Row]:
    """Yield a table's header as a row, or all rows if it has no header."""
    if table.header is not None:
        yield dict.fromkeys(table.header, "")
        return
    yield from (row for _, row in table.rows if not isinstance(row, RejectedRow))


def _look_up(row: Row, name: str) -> Any:
    """Return the value of a column; None if a nested one is absent. Lists along the path give a list of values."""
    if name in row:
        return row[name]
    value: Any = row
    for key in name.split("."):
        items = value if isinstance(value, list) else [value]
        inner = [item[key] for item in items if isinstance(item, dict) and key in item]
        value = inner if isinstance(value, list) else next(iter(inner), None)
    return value


def _has_value(row: Row, name: str | None) -> bool:
    return name is not None and (name in row or _look_up(row, name) not in (None, []))


def _object_keys(value: Any) -> Sequence[str]:
    """Return the keys of an object, or of the first object in a list; nothing for any other value."""
    items = value if isinstance(value, list) else [value]
    return next((list(map(str, item)) or ["?"] for item in items if isinstance(item, dict)), [])


def _normalise(name: str) -> str:
    """Return a name without accents and in lower case, with one `_` for all that is neither letter nor digit."""
    plain = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", name.lower()))
    return re.sub(r"\W+", "_", plain).strip("_")
