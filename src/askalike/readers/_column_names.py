"""Usual names of a table's columns, in English, German, French, Spanish and Russian."""

from collections.abc import Sequence

_NAMES = {
    "question": (
        "question question_text title subject query",
        "frage fragen titel betreff",
        "questions titre sujet objet",
        "pregunta preguntas titulo asunto",
        "вопрос вопросы заголовок",
        "text",
    ),
    "answer": (
        "answer answer_text answers response",
        "antwort antworten loesung lösung",
        "réponse réponses",
        "respuesta respuestas solución",
        "ответ ответы решение",
    ),
    "body": (
        "body question_body description details content",
        "beschreibung inhalt fragetext",
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
    "id": ("id uid question_id qid document_id", "kennung", "identifiant", "identificador", "идентификатор"),
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
    "url": ("url source_uri link", "", "lien", "enlace", "ссылка"),
    "lang": ("lang language language_code locale", "sprache", "langue", "idioma", "язык"),
    "created_at": (
        "created_at created creation_date date",
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
